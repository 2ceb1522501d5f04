"""POST /api/admin/events/search, the deprecated form of the event search."""

from datetime import timedelta
from typing import Any

import pytest

from rules.access import Actor
from sql.database import Connection
from tests.support.deprecated_event_search import PATH, found, page
from tests.support.event_search import NOON, Log
from tests.support.event_search import PATH as SUCCESSOR
from tests.support.world import Caller, refused


@pytest.fixture
def log(conn: Connection) -> Log:
    """The event log, empty."""
    return Log(conn)


def search(caller: Caller, **body: Any) -> list[int]:
    """The ids that these fields find."""
    return found(caller.post(PATH, json=body))


# Order and pages


def test_an_empty_object_lists_the_newest_hundred(alice: Caller, log: Log) -> None:
    added = [log.add() for _ in range(101)]
    assert page(alice.post(PATH, json={})) == (added[:0:-1], 101)


def test_offset_is_the_id_of_the_event_to_start_from(alice: Caller, log: Log) -> None:
    a, b, c, d = (log.add() for _ in range(4))
    for offset, listed in (
        (0, [d, c, b, a]),
        (d + 100, [d, c, b, a]),
        (2**63 - 1, [d, c, b, a]),
        (d, [d, c, b, a]),
        (c, [c, b, a]),
        (a, [a]),
    ):
        assert page(alice.post(PATH, json={"offset": offset})) == (listed, 4), offset
    assert page(alice.post(PATH, json={"offset": a - 1 or -1})) == ([], 4)


def test_an_offset_without_an_event_starts_at_the_next_older(alice: Caller, log: Log) -> None:
    a, b, c, d = (log.add(project=project) for project in ("p", "q", "p", "p"))
    log.conn.execute("DELETE FROM events WHERE id = %s", [c])
    assert page(alice.post(PATH, json={"project": "p", "offset": b})) == ([a], 2)
    assert page(alice.post(PATH, json={"project": "p", "offset": c})) == ([a], 2)
    assert page(alice.post(PATH, json={"project": "p", "offset": d})) == ([d, a], 2)


def test_paging_by_id_returns_each_event_once(alice: Caller, log: Log) -> None:
    # Written in another order than they are dated: an import, or clocks that differ.
    added = [log.add(at=NOON + timedelta(days=number * 5 % 7)) for number in range(23)]
    listed: list[int] = []
    body = {"limit": 4}
    while (ids := page(alice.post(PATH, json=body))[0]) and len(listed) <= len(added):
        assert len(ids) == min(4, 23 - len(listed))
        listed += ids
        if ids[-1] == added[0]:
            break
        body = {"limit": 4, "offset": ids[-1] - 1}
    assert listed == added[::-1]


@pytest.mark.parametrize("limit", [1, 2, 99, 100])
def test_limit_is_the_size_of_a_page_and_the_total_counts_all(alice: Caller, log: Log, limit: int) -> None:
    added = [log.add(project="p") for _ in range(101)]
    log.add(project="q")
    assert page(alice.post(PATH, json={"project": "p", "limit": limit})) == (added[: -limit - 1 : -1], 101)
    assert page(alice.post(PATH, json={"project": "p", "limit": limit, "offset": added[0]})) == ([added[0]], 101)


# Filters


def test_type_project_and_feature_are_exact_and_case_sensitive(alice: Caller, log: Log) -> None:
    wanted = log.add("tag-created", project="p", feature="f")
    others = [
        log.add(),
        log.add("tag-deleted", project="P", feature="F"),
        log.add("tag-import", project="p ", feature="ff"),
    ]
    for field, word in (("type", "tag-created"), ("project", "p"), ("feature", "f")):
        assert search(alice, **{field: word}) == [wanted], field
    assert search(alice, project="P") == search(alice, feature="F") == [others[1]]
    for word in ("%", "_", "P,p", "IS:p", "IS_ANY_OF:p", "*", "p\n", "'p'", "null", "🎉", "p" * 5000):
        assert search(alice, project=word) == search(alice, feature=word) == [], word


def test_filters_combine_with_and(alice: Caller, log: Log) -> None:
    wanted = log.add("tag-created", project="p", feature="f", data={"word": "needle"})
    log.add("tag-deleted", project="p", feature="f", data={"word": "needle"})
    log.add("tag-created", project="q", feature="f", data={"word": "needle"})
    log.add("tag-created", project="p", feature="g", data={"word": "needle"})
    log.add("tag-created", project="p", feature="f", data={"word": "hay"})
    assert search(alice, type="tag-created", project="p", feature="f", query="needle") == [wanted]


# The body

WRONG: list[tuple[str, Any]] = [("limit", wrong) for wrong in (0, 101, "5", None)]
WRONG += [("offset", wrong) for wrong in (-1, 2**63, "5")]
WRONG += [(field, 5) for field in ("type", "project", "feature", "query")]
WRONG += [("type", wrong) for wrong in ("", "no-such-type", "Tag-Created", "IS:tag-created", "__proto__")]


@pytest.mark.parametrize(("field", "wrong"), WRONG)
def test_an_invalid_body_is_refused(alice: Caller, log: Log, field: str, wrong: Any) -> None:
    log.add("tag-created", project="p", feature="f")
    assert refused(alice.post(PATH, json={field: wrong})).startswith(f"{field}: must ")


def test_every_wrong_field_is_named_in_one_message(alice: Caller) -> None:
    message = refused(
        alice.post(PATH, json={"type": "x", "project": 1, "feature": None, "query": [], "limit": "5", "offset": -1})
    )
    assert sorted(part.split(": ", 1)[0] for part in message.split("; ")) == [
        "feature",
        "limit",
        "offset",
        "project",
        "query",
        "type",
    ]


def test_unknown_properties_are_accepted(alice: Caller, log: Log) -> None:
    event = log.add()
    assert search(
        alice,
        createdBy="IS:1",
        Limit=0,
        types=["x"],
        nested={"limit": {"a": [None]}},
        __proto__=None,
        **{"": 1, "é\0": "\ud800"},
    ) == [event]


@pytest.mark.parametrize(
    "content_type",
    ["application/json", "application/json; charset=utf-8", "Application/JSON", 'application/json;charset="UTF-8"'],
)
def test_json_is_taken_with_and_without_a_charset(alice: Caller, log: Log, content_type: str) -> None:
    event = log.add()
    assert found(alice.post(PATH, data=b'{"limit": 1}', content_type=content_type)) == [event]


@pytest.mark.parametrize(
    "content_type",
    ["text/plain", "text/json", "application/x-www-form-urlencoded", "application/jsonx", "application/*", "json"],
)
def test_any_other_content_type_is_refused(alice: Caller, content_type: str) -> None:
    for body in (b"{}", b"{", b"limit=1", b""):
        refused(alice.post(PATH, data=body, content_type=content_type), 415, "ContentTypeError")


def test_a_body_without_a_content_type_is_refused(alice: Caller) -> None:
    refused(alice.post(PATH, data=b"{}"), 415, "ContentTypeError")


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"[]",
        b"[{}]",
        b'"x"',
        b"5",
        b"null",
        b"true",
        b"{",
        b"{}{}",
        b"{} x",
        b"{'a': 1}",
        b'{"limit": 1,}',
        b"\xff",
    ],
)
def test_a_body_that_is_no_json_object_is_refused(alice: Caller, body: bytes) -> None:
    refused(alice.post(PATH, data=body, content_type="application/json"))


def test_a_missing_body_is_refused(alice: Caller) -> None:
    refused(alice.post(PATH))


# The answer


def test_the_response_has_the_headers_of_a_deprecated_operation(alice: Caller) -> None:
    response = alice.post(PATH, json={})
    assert response.headers["Deprecation"] == "true"
    assert response.headers["Link"] == f'<http://localhost{SUCCESSOR}>; rel="successor-version"'


def test_both_searches_return_the_same_fields_of_an_event(alice: Caller, log: Log) -> None:
    log.add("tag-created", at=NOON, tags=[{"type": "simple", "value": "xx"}])
    log.add(
        by=Actor("a", 7),
        project="p",
        environment="e",
        feature="f",
        data={"z": 1, "a": {"y": None, "b": []}},
        pre_data={"z": "é"},
    )
    old, new = alice.post(PATH, json={}).json["events"], alice.get(SUCCESSOR).json["events"]
    assert old == new
    assert str(old) == str(new)
    assert len(old) == 2


def test_refusals_point_to_the_successor_too(alice: Caller, stranger: Caller) -> None:
    for response in (
        alice.post("/api/admin/events/search", json={"limit": 0}),
        stranger.post("/api/admin/events/search", json={}),
    ):
        assert response.status_code in (400, 401)
        assert response.headers["Deprecation"] == "true"
        assert response.headers["Link"].endswith('/api/admin/search/events>; rel="successor-version"')
    assert "Deprecation" not in alice.get("/api/admin/search/events").headers
