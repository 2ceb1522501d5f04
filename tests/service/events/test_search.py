"""GET /api/admin/search/events: the pages, the record and the filters."""

import json
from datetime import UTC, datetime, timedelta
from itertools import combinations
from typing import Any

import pytest

from rules.access import Actor
from sql import events
from sql.database import Connection, rows
from sql.events import Event
from tests.support.event_search import NOON, PATH, Log, found, page
from tests.support.event_types_page import recorded, unrecorded
from tests.support.service import ROOT
from tests.support.world import Caller, World, refused
from validators.events import TYPES

# The query parameters that look at the field of an event of the same name.
FIELDS = ["feature", "project", "type", "environment"]
ADA = Actor("ada@example.org", 7)
BEN = Actor("ben@example.org", 70)


def search(caller: Caller, **parameters: str) -> list[int]:
    """The ids that these parameters find; from_ stands for from."""
    return found(caller.get(PATH, query_string={name.rstrip("_"): text for name, text in parameters.items()}))


def complaint(caller: Caller, **parameters: str) -> str:
    """The message with which these parameters are refused."""
    return refused(caller.get(PATH, query_string=parameters))


def test_pages_together_hold_every_event_once(alice: Caller, log: Log) -> None:
    # Few instants for many events: most of them differ by id only.
    instants = {log.add(at=NOON + timedelta(seconds=number * 7 % 5)): number * 7 % 5 for number in range(53)}
    expected = sorted(instants, key=lambda event: (instants[event], event), reverse=True)
    listed = []
    for offset in range(0, 60, 6):
        ids, total = page(alice.get(PATH, query_string={"limit": 6, "offset": offset}))
        assert total == 53
        assert len(ids) == max(0, min(6, 53 - offset))
        listed += ids
    assert listed == expected
    assert found(alice.get(PATH, query_string={"limit": 1000})) == expected


def test_page_has_50_events_or_up_to_1000(alice: Caller, log: Log) -> None:
    statement = "INSERT INTO events (type, created_by) SELECT 'tag-created', 'system' FROM generate_series(1, 1001)"
    log.conn.execute(statement)
    assert len(page(alice.get(PATH))[0]) == 50
    for limit in (1, 1000):
        ids, total = page(alice.get(PATH, query_string={"limit": limit}))
        assert (len(ids), total) == (limit, 1001)
    for offset in (1001, 1002, 10**6, 2**63 - 1):
        assert page(alice.get(PATH, query_string={"offset": offset, "limit": 1000})) == ([], 1001)


@pytest.mark.parametrize(("name", "text"), [("limit", "0"), ("limit", "1001"), ("offset", "-1"), ("offset", 2**63)])
def test_limit_and_offset_are_whole_numbers(alice: Caller, name: str, text: str) -> None:
    message = refused(alice.get(PATH, query_string={name: text}))
    assert message.startswith(f"{name}: must be ")
    assert name == "offset" or "from 1 to 1000" in message


def test_every_wrong_parameter_is_named_in_one_message(alice: Caller) -> None:
    wrong = dict.fromkeys(("limit", "from", "to", "offset", "type", "createdBy", "createdByToken", "project"), "x")
    message = refused(alice.get(PATH, query_string=wrong))
    assert sorted(part.split(": ", 1)[0] for part in message.split("; ")) == sorted(wrong)


def test_parameters_are_given_once_and_others_are_ignored_like_a_body(alice: Caller, log: Log) -> None:
    event = log.add()
    for name in ("query", "feature", "createdBy", "from", "limit"):
        assert name in refused(alice.get(f"{PATH}?{name}=&x=1&{name}="))
    assert found(alice.get(f"{PATH}?Limit=0&x=1&x=2&=&__proto__=1&features=IS:a&from_=x&sort=asc", data=b"{")) == [
        event
    ]


def test_record_has_all_fields_of_an_event(alice: Caller, log: Log) -> None:
    at = datetime(2024, 12, 31, 23, 59, 59, 999999, tzinfo=UTC)
    tags = [{"type": "simple", "value": "größe"}, {"type": "team", "value": "b2"}]
    given = {"environment": "production", "project": "default", "data": {"on": False}, "pre_data": {"on": True}}
    full = log.add("feature-updated", by=Actor("ada", 7), at=at, feature="checkout", tags=tags, **given)
    bare = log.add("tag-created", by=Actor("a key"), at=NOON)
    empty = ("createdByUserId", "environment", "project", "featureName", "data", "preData")
    newest_by_id = alice.post("/api/admin/events/search", json={}).json["events"]
    assert newest_by_id[::-1] == alice.get(PATH).json["events"]
    assert alice.get(PATH).json == {
        "events": [
            {
                "id": full,
                "createdAt": "2024-12-31T23:59:59.999Z",
                "type": "feature-updated",
                "createdBy": "ada",
                "createdByUserId": 7,
                "environment": "production",
                "project": "default",
                "featureName": "checkout",
                "data": {"on": False},
                "preData": {"on": True},
                "tags": tags,
            },
            {
                "id": bare,
                "createdAt": "2024-05-31T12:00:00.000Z",
                "type": "tag-created",
                "createdBy": "a key",
                "tags": [],
            }
            | dict.fromkeys(empty),
        ],
        "total": 2,
    }


def test_payload_is_returned_as_written(alice: Caller, log: Log) -> None:
    data = {
        "zebra": None,
        "apple": [],
        "mango": {"z": 1, "a": {"null": None, "": False}},
        "B": 'é ü 漢字 🎉 Ж \u2028 " \\ \n </script>',
        "": 0,
    }
    # A number that binary floating point cannot hold, and nulls deep inside.
    exact = '{"z":1.10,"y":123456789012345678901234567890,"x":1E+2,"w":[null,{"v":null}]}'
    event = log.add(data=data)
    log.conn.execute("UPDATE events SET pre_data = %s WHERE id = %s", [exact, event])
    response = alice.get(PATH)
    read = json.loads(response.text, object_pairs_hook=list)
    [record] = dict(read)["events"]
    assert json.dumps(dict(record)["data"]) == json.dumps(json.loads(json.dumps(data), object_pairs_hook=list))
    assert f'"preData" : {exact},' in response.text
    # As itself, not as an escape sequence.
    assert "é ü 漢字 🎉 Ж" in response.text


def test_many_events_are_written_in_order_with_their_payloads(conn: Connection, log: Log) -> None:  # noqa: ARG001
    payload = {"zebra": None, "apple": [], "mango": {"z": 1.10, "": False}, "B": 'é 漢字 🎉 \u2028 " \\ \n </script>'}
    tags = ({"value": "t", "type": "simple"},)
    given: list[Event] = []
    for number in range(200):
        given.append(Event("flag-b", Actor("Ada", None), feature=f"f{number}", data=payload | {"n": number}, tags=tags))
        given.append(Event("flag-a", Actor("Bo", number), project="p", environment="e", pre_data={"data": payload}))
    events.record(conn, *given)
    statement = """
        SELECT type, created_by, created_by_user_id, project, environment, feature_name, data, pre_data, tags
          FROM events ORDER BY id
    """
    assert [tuple(row.values()) for row in rows(conn, statement)] == [
        (
            *(one.type, one.author.name, one.author.user_id, one.project, one.environment, one.feature),
            *(one.data, one.pre_data, list(one.tags)),
        )
        for one in given
    ]


# The filters


@pytest.mark.parametrize("field", FIELDS)
def test_is_finds_one_name_and_a_comma_list_any_of_them(alice: Caller, log: Log, field: str) -> None:
    a, b, c = (log.add(**{field: name}) for name in ("tag-created", "tag-deleted", "tag-import"))
    log.add(**({field: "drop-tags"}))
    assert search(alice, **{field: "IS:tag-created"}) == [a]
    assert search(alice, **{field: "IS_ANY_OF:tag-created"}) == [a]
    assert search(alice, **{field: "IS:tag-import,tag-created"}) == [c, a]
    for nothing in ("IS:", "IS_ANY_OF:", "IS:,", "IS_ANY_OF:,,", "IS:no-such-thing", "IS:null", "IS:None", "IS:*"):
        assert search(alice, **{field: nothing}) == []
    for other in ("Tag-created", "TAG-CREATED", "tag_created", "tag-create", "tag-created ", "tag%", "tag-create."):
        assert search(alice, **{field: f"IS:{other}"}) == search(alice, **{field: f"IS_ANY_OF:{other},x"}) == []
    assert search(alice, **{field: "IS_ANY_OF:tag-import,tag-created"}) == [c, a]
    assert search(alice, **{field: "IS_ANY_OF:tag-created,tag-deleted,tag-import,no-such-thing"}) == [c, b, a]
    assert search(alice, **{field: "IS_ANY_OF:tag-deleted,tag-deleted"}) == [b]


# Each is a name of its own, although it could match another one as a pattern, or in other letters.
NAMES = """
release Release RELEASE releases pre-release rele_se rele% r.* größe GRÖSSE 100% a_b it's "quoted" back\\slash a:b IS:a
a;b a&b=c a+b a#b a?b {1} [x] %(project)s {conditions} $1 __proto__ NULL 漢字 🎉
""".split()
NAMES += ["release ", " release", "two words", "'; DROP TABLE events; --", "\u202eabc", "a\u200bb", "\t"]


@pytest.mark.parametrize("field", ["feature", "project", "environment"])
def test_names_are_exact_and_have_any_character_but_a_comma(alice: Caller, log: Log, field: str) -> None:
    events = {name: log.add(**{field: name}) for name in NAMES}
    log.add(**{field: "a,b"})
    for name, event in events.items():
        for text in (f"IS:{name}", f"IS_ANY_OF:{name}", f"IS:x,{name},y"):
            assert search(alice, **{field: text}) == [event], text
    # A comma separates; it is never part of a name.
    assert search(alice, **{field: "IS:a,b"}) == []


def test_filter_looks_at_its_own_field_alone(alice: Caller, log: Log) -> None:
    of_project, of_feature = log.add(project="tag-created"), log.add(feature="tag-created")
    of_environment = log.add(environment="tag-created", data={"tag-created": 5})
    of_creator, of_type = log.add(by=Actor("tag-created", 5)), log.add("tag-created")
    assert search(alice, project="IS:tag-created") == [of_project]
    assert search(alice, feature="IS:tag-created") == [of_feature]
    assert search(alice, type="IS:tag-created") == [of_type]
    assert search(alice, createdBy="IS:5") == [of_creator]
    assert search(alice, environment="IS:tag-created") == [of_environment]


IDS = ["createdBy", "createdByToken", "id", "groupId"]


@pytest.mark.parametrize("parameter", [*FIELDS, *IDS, "query", "from", "to"])
def test_filter_has_its_form_and_no_nul(alice: Caller, parameter: str) -> None:
    for text in ("IS:a\0b", *(["1"] if parameter != "query" else [])):
        assert complaint(alice, **{parameter: text}).startswith(f"{parameter}: must "), text


def test_created_by_takes_the_ids_of_users(alice: Caller, log: Log) -> None:
    ada, ben = log.add(by=ADA), log.add(by=BEN)
    log.add(by=Actor("7"))
    log.add(by=Actor("70", 77))
    for text, expected in (
        ("IS:7", [ada]),
        ("IS_ANY_OF:70", [ben]),
        ("IS:7,70", [ben, ada]),
        ("IS_ANY_OF:70,7,8", [ben, ada]),
        ("IS:7,9223372036854775807,2147483648,-7", [ada]),
        *[(nothing, []) for nothing in ("IS:", "IS_ANY_OF:", "IS:8", "IS:0", "IS:-7", "IS:9223372036854775807")],
    ):
        assert search(alice, createdBy=text) == expected, text
    for text in ("IS:ada@example.org", "IS_ANY_OF:7,ada"):
        assert complaint(alice, createdBy=text) == "createdBy: must be user ids, which are integers"
    for text in ("IS:ci", "IS_ANY_OF:7,*:*.secret"):
        assert complaint(alice, createdByToken=text) == "createdByToken: must be token ids, which are integers"
        assert complaint(alice, id=text) == "id: must be event ids, which are integers"
        groups = "groupId: must be change-request-<id> or event ids, which are integers"
        assert complaint(alice, groupId=text) == groups


def test_id_takes_the_ids_of_events(alice: Caller, log: Log) -> None:
    a, b, c = (log.add(project=name) for name in "ppq")
    for text, expected in (
        (f"IS:{a}", [a]),
        (f"IS_ANY_OF:{c},{a},{a},9223372036854775807,-7", [c, a]),
        *[(nothing, []) for nothing in ("IS:", "IS_ANY_OF:", "IS:0", f"IS:-{a}", "IS:9223372036854775807")],
    ):
        assert search(alice, id=text) == expected, text
        assert search(alice, id=text, project="IS:q") == [event for event in expected if event == c], text
    streamed = alice.get(PATH, query_string={"id": f"IS:{b},{c}"}, headers={"Accept": "application/x-ndjson"})
    assert [json.loads(line)["id"] for line in streamed.get_data().splitlines()] == [b, c]


def test_created_by_token_finds_the_changes_of_an_api_token(alice: Caller, world: World, log: Log) -> None:
    # The name of a token is not unique.
    thief, other = world.api_key(name="ci"), world.api_key(name="ci")
    ids = [row["id"] for row in rows(log.conn, "SELECT id FROM api_keys ORDER BY id DESC LIMIT 2")]
    for caller, name in ((thief, "by-thief"), (other, "by-other"), (alice, "by-alice")):
        assert caller.post("/api/admin/tag-types", json={"name": name}).status_code == 201
    log.add()
    by_thief, by_other, _, _ = (row["id"] for row in rows(log.conn, "SELECT id FROM events ORDER BY id"))
    for _ in range(2):
        assert search(alice, createdByToken=f"IS:{ids[1]}") == [by_thief]
        assert search(alice, createdByToken=f"IS_ANY_OF:{ids[1]},{ids[0]},999") == [by_other, by_thief]
        assert search(alice, createdByToken=f"IS:{ids[1]}", type="IS:tag-type-deleted") == []
        assert search(alice, createdByToken="IS:999") == search(alice, createdByToken="IS:") == []
        # The token is deleted, its events are still found.
        log.conn.execute("DELETE FROM api_keys WHERE id = %s", [ids[1]])
    streamed = alice.get(
        PATH, query_string={"createdByToken": f"IS:{ids[1]}"}, headers={"Accept": "application/x-ndjson"}
    )
    assert [json.loads(line)["id"] for line in streamed.get_data().splitlines()] == [by_thief]


MIDNIGHT = datetime(2024, 2, 29, tzinfo=UTC)
DAY = timedelta(days=1)
TICK = timedelta(microseconds=1)


def test_days_are_whole_and_in_utc_and_both_included(alice: Caller, log: Log) -> None:
    instants = (MIDNIGHT - TICK, MIDNIGHT, MIDNIGHT + DAY - TICK, MIDNIGHT + DAY)
    before, first, last, after = (log.add(at=at) for at in instants)
    # The zone of the database does not matter.
    log.conn.execute("SET LOCAL TimeZone = 'Pacific/Auckland'")
    assert search(alice, from_="IS:2024-02-29", to="IS:2024-02-29") == [last, first]
    assert search(alice, from_="IS:2024-02-29") == [after, last, first]
    assert search(alice, to="IS:2024-02-29") == [last, first, before]
    assert search(alice, from_="IS:2024-02-28", to="IS:2024-03-01") == [after, last, first, before]
    assert search(alice, from_="IS:2024-03-01", to="IS:2024-03-01") == [after]
    assert search(alice, from_="IS:2024-03-01", to="IS:2024-02-29") == []
    assert alice.get(PATH).json["events"][0]["createdAt"] == "2024-03-01T00:00:00.000Z"


def test_first_and_the_last_day_of_all_are_days(alice: Caller, log: Log) -> None:
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


def test_filters_combine_with_and(alice: Caller, log: Log) -> None:
    wanted: dict[str, Any] = {"type": "tag-created", "by": ADA, "at": NOON, "project": "p", "feature": "f"}
    wanted |= {"data": {"word": "needle"}, "environment": "e"}
    asked = {"type": "IS:tag-created", "createdBy": "IS:7", "project": "IS:p", "feature": "IS:f", "query": "needle"}
    asked |= {"from_": "IS:2024-05-31", "to": "IS:2024-05-31", "environment": "IS:e"}
    # One event has it all; of the others, each lacks what one parameter asks for.
    lacks: dict[str, dict[str, Any]] = {
        "type": {"type": "tag-deleted"},
        "createdBy": {"by": BEN},
        "project": {"project": "q"},
        "feature": {"feature": "g"},
        "environment": {"environment": None},
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


def test_every_type_is_recorded_or_the_reason_documented() -> None:
    code = "".join(
        path.read_text(encoding="utf-8")
        for room in ("blueprints", "rules")
        for path in (ROOT / room).rglob("*.py")
        # Pages and texts only show events.
        if "pages" not in path.parts and path.name != "event_text.py"
    )
    assert len(unrecorded()) == len(set(unrecorded()))
    assert len(TYPES) == 150
    assert sorted(recorded()) == sorted(type for type in TYPES if f'"{type}"' in code)
    assert sorted(TYPES - recorded().keys()) == sorted(unrecorded())
