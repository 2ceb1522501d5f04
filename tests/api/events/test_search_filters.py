"""The filters of GET /api/admin/search/events, each alone and all together."""

from datetime import UTC, datetime, timedelta
from itertools import combinations
from typing import Any

import pytest

from rules.access import Actor
from sql.database import Connection
from tests.support.event_search import NOON, PATH, Log, found
from tests.support.world import Caller, refused

# The query parameters that look at the field of an event of the same name.
FIELDS = ["feature", "project", "type"]
ADA = Actor("ada@example.org", 7)
BEN = Actor("ben@example.org", 70)


@pytest.fixture
def log(conn: Connection) -> Log:
    """The event log, empty."""
    return Log(conn)


def search(caller: Caller, **parameters: str) -> list[int]:
    """The ids that these parameters find; from_ stands for from."""
    return found(caller.get(PATH, query_string={name.rstrip("_"): text for name, text in parameters.items()}))


def complaint(caller: Caller, **parameters: str) -> str:
    """The message with which these parameters are refused."""
    return refused(caller.get(PATH, query_string=parameters))


# feature, project, type


@pytest.mark.parametrize("field", FIELDS)
def test_is_finds_one_name_and_a_comma_list_any_of_them(alice: Caller, log: Log, field: str) -> None:
    a, b, c = (log.add(**{field: name}) for name in ("tag-created", "tag-deleted", "tag-import"))
    log.add(**({field: "drop-tags"}))
    assert search(alice, **{field: "IS:tag-created"}) == [a]
    assert search(alice, **{field: "IS_ANY_OF:tag-created"}) == [a]
    assert search(alice, **{field: "IS:tag-import,tag-created"}) == [c, a]
    assert search(alice, **{field: "IS_ANY_OF:tag-import,tag-created"}) == [c, a]
    assert search(alice, **{field: "IS_ANY_OF:tag-created,tag-deleted,tag-import,no-such-thing"}) == [c, b, a]
    assert search(alice, **{field: "IS_ANY_OF:tag-deleted,tag-deleted"}) == [b]


NOTHINGS = [
    "IS:",
    "IS_ANY_OF:",
    "IS:,",
    "IS_ANY_OF:,,",
    "IS:no-such-thing",
    "IS_ANY_OF:no,such,thing",
    "IS:null",
    "IS:None",
    "IS:*",
]


@pytest.mark.parametrize("field", FIELDS)
def test_a_filter_without_a_name_that_is_there_finds_nothing(alice: Caller, log: Log, field: str) -> None:
    log.add()
    log.add(**{field: "tag-created"})
    assert {text: search(alice, **{field: text}) for text in NOTHINGS} == {text: [] for text in NOTHINGS}


NAMES = [
    "release",
    "Release",
    "RELEASE",
    "release ",
    " release",
    "releases",
    "pre-release",
    "rele_se",
    "rele%",
    "r.*",
    "größe",
    "GRÖSSE",
]


@pytest.mark.parametrize("field", ["feature", "project"])
def test_names_are_exact_and_case_sensitive(alice: Caller, log: Log, field: str) -> None:
    events = {name: log.add(**{field: name}) for name in NAMES}
    for name, event in events.items():
        assert search(alice, **{field: f"IS:{name}"}) == [event], name
        assert search(alice, **{field: f"IS_ANY_OF:{name},no-such-thing"}) == [event], name


@pytest.mark.parametrize(
    "type", ["Tag-created", "TAG-CREATED", "tag_created", "tag-create", "tag-created ", "tag", "tag%", "tag-create."]
)
def test_types_are_exact_and_case_sensitive(alice: Caller, log: Log, type: str) -> None:
    log.add("tag-created")
    assert search(alice, type=f"IS:{type}") == []
    assert search(alice, type=f"IS_ANY_OF:{type},no-such-type") == []


ODD_NAMES = [
    "two words",
    "100%",
    "a_b",
    "it's",
    '"quoted"',
    "back\\slash",
    "a:b",
    "IS:a",
    "a;b",
    "a&b=c",
    "a+b",
    "a#b",
    "a?b",
    "{1}",
    "[x]",
    "'; DROP TABLE events; --",
    "%(project)s",
    "{conditions}",
    "$1",
    "\u202eabc",
    "a\u200bb",
    "\t",
    "__proto__",
    "NULL",
    "漢字",
    "🎉",
]


@pytest.mark.parametrize("field", ["feature", "project"])
def test_a_name_may_hold_any_character_but_a_comma(alice: Caller, log: Log, field: str) -> None:
    events = {name: log.add(**{field: name}) for name in ODD_NAMES}
    log.add(**{field: "a,b"})
    for name, event in events.items():
        for text in (f"IS:{name}", f"IS_ANY_OF:{name}", f"IS:x,{name},y"):
            assert search(alice, **{field: text}) == [event], text
    # A comma separates; it is never part of a name.
    assert search(alice, **{field: "IS:a,b"}) == []


def test_a_filter_looks_at_its_own_field_alone(alice: Caller, log: Log) -> None:
    of_project, of_feature = log.add(project="tag-created"), log.add(feature="tag-created")
    log.add(environment="tag-created", data={"tag-created": 5})
    of_creator, of_type = log.add(by=Actor("tag-created", 5)), log.add("tag-created")
    assert search(alice, project="IS:tag-created") == [of_project]
    assert search(alice, feature="IS:tag-created") == [of_feature]
    assert search(alice, type="IS:tag-created") == [of_type]
    assert search(alice, createdBy="IS:5") == [of_creator]


@pytest.mark.parametrize("parameter", [*FIELDS, "createdBy", "createdByToken"])
def test_a_filter_that_does_not_fit_the_pattern_is_refused(alice: Caller, log: Log, parameter: str) -> None:
    log.add(feature="1", project="1", by=Actor("1", 1))
    assert complaint(alice, **{parameter: "1"}).startswith(f"{parameter}: must ")


@pytest.mark.parametrize(
    "parameter", [*FIELDS, "createdBy", "createdByToken", "query", "from", "to", "limit", "offset"]
)
def test_nul_is_refused(alice: Caller, parameter: str) -> None:
    assert complaint(alice, **{parameter: "IS:a\0b"}).startswith(f"{parameter}: must ")


# createdBy


def test_created_by_takes_the_ids_of_users(alice: Caller, log: Log) -> None:
    ada, ben = log.add(by=ADA), log.add(by=BEN)
    log.add(by=Actor("7"))
    log.add(by=Actor("70", 77))
    assert search(alice, createdBy="IS:7") == [ada]
    assert search(alice, createdBy="IS_ANY_OF:70") == [ben]
    assert search(alice, createdBy="IS:7,70") == [ben, ada]
    assert search(alice, createdBy="IS_ANY_OF:70,7,8") == [ben, ada]
    assert search(alice, createdBy="IS:7,9223372036854775807,2147483648,-7") == [ada]


@pytest.mark.parametrize(
    "text", ["IS:", "IS_ANY_OF:", "IS:8", "IS:0", "IS:-7", "IS:2147483648", "IS:9223372036854775807"]
)
def test_created_by_without_an_id_that_is_there_finds_nothing(alice: Caller, log: Log, text: str) -> None:
    log.add(by=ADA)
    log.add()
    assert search(alice, createdBy=text) == []


@pytest.mark.parametrize("text", ["IS:ada@example.org", "IS_ANY_OF:7,ada"])
def test_created_by_takes_nothing_but_ids(alice: Caller, log: Log, text: str) -> None:
    log.add(by=ADA)
    assert complaint(alice, createdBy=text) == "createdBy: must be user ids, which are integers"


# from, to

MIDNIGHT = datetime(2024, 2, 29, tzinfo=UTC)
DAY = timedelta(days=1)
TICK = timedelta(microseconds=1)


def test_days_are_whole_and_in_utc_and_both_included(alice: Caller, log: Log) -> None:
    before, first, last, after = (
        log.add(at=at) for at in (MIDNIGHT - TICK, MIDNIGHT, MIDNIGHT + DAY - TICK, MIDNIGHT + DAY)
    )
    assert search(alice, from_="IS:2024-02-29", to="IS:2024-02-29") == [last, first]
    assert search(alice, from_="IS:2024-02-29") == [after, last, first]
    assert search(alice, to="IS:2024-02-29") == [last, first, before]
    assert search(alice, from_="IS:2024-02-28", to="IS:2024-03-01") == [after, last, first, before]
    assert search(alice, from_="IS:2024-03-01", to="IS:2024-03-01") == [after]
    assert search(alice, from_="IS:2024-03-01", to="IS:2024-02-29") == []


def test_the_zone_of_the_database_does_not_matter(alice: Caller, log: Log) -> None:
    event = log.add(at=MIDNIGHT)
    log.conn.execute("SET LOCAL TimeZone = 'Pacific/Auckland'")
    assert search(alice, from_="IS:2024-02-29", to="IS:2024-02-29") == [event]
    assert search(alice, to="IS:2024-02-28") == []
    assert alice.get(PATH).json["events"][0]["createdAt"] == "2024-02-29T00:00:00.000Z"


def test_the_first_and_the_last_day_of_all_are_days(alice: Caller, log: Log) -> None:
    ends = (datetime(9999, 12, 31, 23, 59, 59, 999999, tzinfo=UTC), datetime(1, 1, 1, tzinfo=UTC))
    last, first, now = (log.add(at=at) for at in (*ends, NOON))
    assert search(alice, to="IS:9999-12-31") == [last, now, first]
    assert search(alice, from_="IS:0001-01-01") == [last, now, first]
    assert search(alice, from_="IS:9999-12-31") == [last]
    assert search(alice, to="IS:0001-01-01") == [first]


@pytest.mark.parametrize("parameter", ["from", "to"])
def test_only_days_that_exist_are_taken(alice: Caller, parameter: str) -> None:
    assert complaint(alice, **{parameter: "IS:2023-02-29"}) == f"{parameter}: must be a valid date"
    assert complaint(alice, **{parameter: "2024-05-31"}).startswith(f"{parameter}: must look like IS:")


# All together


def test_filters_combine_with_and(alice: Caller, log: Log) -> None:
    wanted: dict[str, Any] = {
        "type": "tag-created",
        "by": ADA,
        "at": NOON,
        "project": "p",
        "feature": "f",
        "data": {"word": "needle"},
    }
    asked = {"type": "IS:tag-created", "createdBy": "IS:7", "project": "IS:p", "feature": "IS:f", "query": "needle"}
    asked |= {"from_": "IS:2024-05-31", "to": "IS:2024-05-31"}
    # One event has it all; of the others, each lacks what one parameter asks for.
    lacks: dict[str, dict[str, Any]] = {
        "type": {"type": "tag-deleted"},
        "createdBy": {"by": BEN},
        "project": {"project": "q"},
    }
    lacks |= {
        "feature": {"feature": "g"},
        "query": {"data": {"word": "hay"}},
        "from_": {"at": NOON - DAY},
        "to": {"at": NOON + DAY},
    }
    lacking = {parameter: log.add(**wanted | other) for parameter, other in lacks.items()}
    whole = log.add(**wanted)
    assert lacking.keys() == asked.keys()
    for size in range(len(asked) + 1):
        for names in combinations(asked, size):
            expected = {whole, *lacking.values()} - {lacking[name] for name in names}
            assert set(search(alice, **{name: asked[name] for name in names})) == expected, names


def test_the_total_counts_the_matches_of_all_filters_whatever_the_page(alice: Caller, log: Log) -> None:
    wanted = [log.add(project="p", at=NOON) for _ in range(5)]
    for _ in range(4):
        log.add(project="q", at=NOON)
    response = alice.get(PATH, query_string={"project": "IS:p", "limit": "2", "offset": "1"})
    assert [event["id"] for event in response.json["events"]] == [wanted[3], wanted[2]]
    assert response.json["total"] == 5
