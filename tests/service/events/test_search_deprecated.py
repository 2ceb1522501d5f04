"""POST /api/admin/events/search and GET /api/admin/events, the deprecated forms of the event search."""

from datetime import timedelta
from typing import Any

import pytest

from tests.support.deprecated_event_search import PATH, found, page
from tests.support.event_search import NOON, Log
from tests.support.event_search import PATH as SUCCESSOR
from tests.support.world import Caller, refused


def search(caller: Caller, **body: Any) -> list[int]:
    """The ids that these fields find."""
    return found(caller.post(PATH, json=body))


def test_page_has_100_events_or_fewer_and_the_total_counts_all(alice: Caller, log: Log) -> None:
    added = [log.add(project="p") for _ in range(101)]
    assert page(alice.post(PATH, json={})) == (added[:0:-1], 101)
    newest = alice.get("/api/admin/events")
    assert newest.json == alice.post(PATH, json={}).json
    other = log.add(project="q")
    for limit in (1, 99, 100):
        assert page(alice.post(PATH, json={"project": "p", "limit": limit})) == (added[: -limit - 1 : -1], 101)
    assert page(alice.post(PATH, json={"project": "p", "offset": added[0]})) == ([added[0]], 101)
    assert page(alice.get("/api/admin/events", query_string={"project": "q"})) == ([other], 1)
    assert page(alice.get("/api/admin/events", query_string={"project": "nowhere"})) == ([], 0)


def test_offset_is_the_id_of_the_event_to_start_from(alice: Caller, log: Log) -> None:
    a, b, c, d = (log.add(project=project) for project in "pqpp")
    for offset, listed in (
        (0, [d, c, b, a]),
        (d + 100, [d, c, b, a]),
        (2**63 - 1, [d, c, b, a]),
        (d, [d, c, b, a]),
        (c, [c, b, a]),
        (a, [a]),
        (a - 1, []),
    ):
        assert page(alice.post(PATH, json={"offset": offset})) == (listed, 4), offset
    # Without an event, it starts at the next older one.
    log.conn.execute("DELETE FROM events WHERE id = %s", [c])
    for offset, listed in ((b, [a]), (c, [a]), (d, [d, a])):
        assert page(alice.post(PATH, json={"project": "p", "offset": offset})) == (listed, 2)


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


def test_type_project_and_feature_are_exact_and_case_sensitive(alice: Caller, log: Log) -> None:
    wanted = log.add("tag-created", project="p", feature="f", environment="e")
    log.add()
    upper = log.add("tag-deleted", project="P", feature="F")
    log.add("tag-import", project="p ", feature="ff")
    for field, word in (("type", "tag-created"), ("project", "p"), ("feature", "f"), ("environment", "e")):
        assert search(alice, **{field: word}) == [wanted], field
    assert search(alice, id=wanted) == [wanted]
    assert search(alice, id=upper, project="p") == search(alice, id=2**63 - 1) == []
    assert search(alice, project="P") == search(alice, feature="F") == [upper]
    for word in ("%", "_", "P,p", "IS:p", "IS_ANY_OF:p", "*", "p\n", "'p'", "null", "p" * 5000):
        assert search(alice, project=word) == search(alice, feature=word) == [], word


WRONG: list[tuple[str, Any]] = [("limit", wrong) for wrong in (0, 101, "5", None)]
WRONG += [("offset", wrong) for wrong in (-1, 2**63, "5")]
WRONG += [(field, 5) for field in ("type", "project", "feature", "query", "environment")]
WRONG += [(field, wrong) for field in ("id", "groupId") for wrong in ("5", 0, None, "IS:5")]
WRONG += [("type", wrong) for wrong in ("", "no-such-type", "Tag-Created", "IS:tag-created", "__proto__")]


@pytest.mark.parametrize(("field", "wrong"), WRONG)
def test_invalid_body_is_refused(alice: Caller, field: str, wrong: Any) -> None:
    assert refused(alice.post(PATH, json={field: wrong})).startswith(f"{field}: must ")


def test_unknown_properties_are_accepted(alice: Caller, log: Log) -> None:
    event = log.add()
    unknown: dict[str, Any] = {
        "createdBy": "IS:1",
        "Limit": 0,
        "types": ["x"],
        "nested": {"limit": 0},
        "": 1,
        "é\0": "\ud800",
    }
    assert search(alice, **unknown) == [event]


def test_json_can_have_a_charset(alice: Caller, log: Log) -> None:
    event = log.add()
    for content_type in ("application/json; charset=utf-8", "Application/JSON", 'application/json;charset="UTF-8"'):
        assert found(alice.post(PATH, data=b'{"limit": 1}', content_type=content_type)) == [event]
    for content_type in ("text/json", "application/jsonx", "application/*", "json", None):
        refused(alice.post(PATH, data=b"{}", content_type=content_type), 415, "ContentTypeError")


def test_responses_and_refusals_point_to_the_successor(alice: Caller, stranger: Caller) -> None:
    for response, status in (
        (alice.post(PATH, json={}), 200),
        (alice.post(PATH, json={"limit": 0}), 400),
        (stranger.post(PATH, json={}), 401),
        (alice.get("/api/admin/events"), 200),
    ):
        assert (response.status_code, response.headers["Deprecation"]) == (status, "true")
        assert response.headers["Link"] == f'<http://localhost{SUCCESSOR}>; rel="successor-version"'
    assert "Deprecation" not in alice.get(SUCCESSOR).headers
