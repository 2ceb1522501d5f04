"""GET /api/admin/search/events with Accept: application/x-ndjson: which lines, in which order, and how they are gone on
with.
"""

import json
from contextlib import closing
from datetime import timedelta
from typing import Any

import pytest
from werkzeug.test import TestResponse

from rules.access import Actor
from sql import event_stream
from sql.database import Connection
from tests.support.event_search import NOON, PATH, Log
from tests.support.world import Caller, World, refused

LINES = {"Accept": "application/x-ndjson"}


def stream(caller: Caller, **query: Any) -> list[dict[str, Any]]:
    """The events of a stream that came to its end."""
    response = caller.get(PATH, query_string=query, headers=LINES)
    assert (response.status_code, response.mimetype) == (200, "application/x-ndjson"), response.text
    return [json.loads(line) for line in response.get_data().split(b"\n")[:-1]]


def ids(caller: Caller, **query: Any) -> list[int]:
    """Their ids."""
    return [event["id"] for event in stream(caller, **query)]


def opened(caller: Caller, **query: Any) -> TestResponse:
    """A stream whose lines are still to be read."""
    headers = LINES | {"Authorization": caller.key or ""}
    return caller.app.test_client().get(PATH, query_string=query, headers=headers)


@pytest.fixture
def small_batches(conn: Connection, monkeypatch: pytest.MonkeyPatch) -> None:
    """Batches of three lines or seven ids, from id 1: other tests have used thousands of ids, which would all be
    batches.
    """
    conn.execute("ALTER TABLE events ALTER COLUMN id RESTART")
    monkeypatch.setattr(event_stream, "MAX_LINES", 3)
    monkeypatch.setattr(event_stream, "MAX_IDS", 7)


def test_line_is_the_record_of_the_other_form(alice: Caller, log: Log) -> None:
    tags = [{"type": "simple", "value": "größe"}]
    data = {"é": '漢字 🎉 \u2028 " \\ \n'}
    log.add("feature-updated", by=Actor("ada", 7), at=NOON, project="default", feature="f", data=data, tags=tags)
    log.add("tag-created", at=NOON + timedelta(days=1))
    assert stream(alice) == alice.get(PATH).json["events"][::-1]
    assert "漢字 🎉" in alice.get(PATH, headers=LINES).get_data().decode()


def test_payload_with_line_breaks_breaks_no_line(alice: Caller, log: Log) -> None:
    event = log.add(data={"a": 1})
    log.conn.execute("UPDATE events SET data = %s, tags = %s", ['{\n\t"a":\r\n [1,\n\n2]\n}', "[\n]"])
    text = alice.get(PATH, headers=LINES).get_data()
    assert text.count(b"\n") == 1
    assert b"\r" not in text
    assert [(line["id"], line["data"], line["tags"]) for line in stream(alice)] == [(event, {"a": [1, 2]}, [])]


def test_empty_log_has_no_line(alice: Caller, log: Log) -> None:
    assert stream(alice) == []
    assert ids(alice, after=5) == []
    event = log.add()
    for after in (event, event + 1, 2**63 - 1):
        assert ids(alice, after=after) == []


def test_oldest_is_the_one_with_the_least_id_whatever_its_instant(alice: Caller, log: Log) -> None:
    added = [log.add(at=NOON - timedelta(days=number)) for number in range(5)]
    assert ids(alice) == added


@pytest.mark.usefixtures("small_batches")
def test_every_event_is_sent_once_in_any_number_of_batches(alice: Caller, log: Log) -> None:
    added = [log.add(project="default" if number % 10 == 3 else "other") for number in range(50)]
    # As after a change that did not happen, or a prune.
    for gone in (*added[:9], *added[20:30], added[40]):
        log.conn.execute("DELETE FROM events WHERE id = %s", [gone])
    kept = ids(alice)
    assert kept == [*added[9:20], *added[30:40], *added[41:]]
    for number, event in enumerate(kept):
        assert ids(alice, after=event) == kept[number + 1 :]
    rare = [added[13], added[33], added[43]]
    assert ids(alice, project="IS:default") == rare
    assert [ids(alice, project="IS:default", after=event - 1) for event in rare] == [rare, rare[1:], rare[2:]]
    for limit in range(1, len(kept) + 2):
        assert ids(alice, limit=limit) == kept[:limit]
    assert [ids(alice, project="IS:default", limit=limit) for limit in (1, 2, 3, 4)] == [rare[:1], rare[:2], rare, rare]


def test_limit_can_be_larger_than_that_of_a_page_and_none_is_none(alice: Caller, log: Log) -> None:
    statement = "INSERT INTO events (type, created_by) SELECT 'tag-created', 'system' FROM generate_series(1, 2500)"
    log.conn.execute(statement)
    assert len(ids(alice)) == 2500
    assert len(ids(alice, limit=1001)) == 1001
    assert len(ids(alice, limit=10**18)) == 2500


def test_filters_are_those_of_the_other_form(alice: Caller, world: World, log: Log) -> None:
    world.project("hermes")
    for number in range(36):
        log.add(
            ("feature-created", "feature-updated", "tag-created")[number % 3],
            by=Actor("ada", number % 4),
            at=NOON + timedelta(days=number),
            project=("default", "hermes")[number % 2],
            feature=f"flag-{number % 5}",
            data={"word": "Needle" if number % 7 == 0 else "hay"},
        )
    for query in (
        {"project": "IS:hermes"},
        {"project": "IS_ANY_OF:hermes,default", "type": "IS_ANY_OF:tag-created,feature-created"},
        {"feature": "IS_ANY_OF:flag-1,flag-2", "project": "IS:default"},
        {"createdBy": "IS_ANY_OF:1,2", "type": "IS:tag-created"},
        {"createdBy": "IS:"},
        {"from": "IS:2024-06-10", "to": "IS:2024-06-20", "project": "IS:default"},
        {"query": "nEEDLE"},
        {"query": "needle", "project": "IS:hermes", "type": "IS:feature-created"},
    ):
        page = alice.get(PATH, query_string=query).json
        assert page["total"] == len(page["events"])
        assert stream(alice, **query) == page["events"][::-1], query


@pytest.mark.usefixtures("small_batches")
def test_each_batch_has_the_events_that_the_caller_may_see_by_then(log: Log, max: Caller, apollo: str) -> None:
    added = [log.add(project=project) for project in (apollo, "default", apollo, apollo, "default", apollo)]
    with closing(opened(max, after=added[0] - 1)) as found:
        batches = iter(found.response)
        first = next(batches)
        log.conn.execute("DELETE FROM project_user_roles WHERE user_id = %s", [max.id])
        lines = (first + b"".join(batches)).splitlines()
    assert [json.loads(line)["id"] for line in lines] == [*added[:3], added[4]]


@pytest.mark.usefixtures("small_batches")
def test_stream_ends_when_its_credential_ends(log: Log, max: Caller, capsys: pytest.CaptureFixture[str]) -> None:
    added = [log.add(project="default") for _ in range(9)]
    with closing(opened(max, after=added[0] - 1)) as found:
        batches = iter(found.response)
        assert [next(batches).count(b"\n") for _ in range(2)] == [3, 3]
        log.conn.execute("DELETE FROM personal_tokens WHERE user_id = %s", [max.id])
        with pytest.raises(ConnectionResetError):
            next(batches)
    line = json.loads(capsys.readouterr().out)
    assert (line["status"], line["events"], line["cut"]) == (200, 6, "refused")
    assert "error" not in line


def test_log_line_of_a_stream_is_written_at_its_end_and_counts_its_events(
    log: Log, alice: Caller, capsys: pytest.CaptureFixture[str]
) -> None:
    log.add()
    log.add()
    with closing(opened(alice)) as response:
        assert capsys.readouterr().out == ""
        assert response.get_data().count(b"\n") == 2
    line = json.loads(capsys.readouterr().out)
    expected = (PATH, 200, f"personal-token:{alice.id}", 2)
    assert (line["route"], line["status"], line["caller"], line["events"]) == expected
    assert line["requestId"] == response.headers["X-Request-ID"]
    assert line["ms"] > 0
    assert "cut" not in line


def test_head_request_gets_the_head_alone_and_a_log_line(
    log: Log, alice: Caller, capsys: pytest.CaptureFixture[str]
) -> None:
    log.add()
    response = alice.request("HEAD", PATH, headers=LINES)
    assert (response.status_code, response.mimetype, response.get_data()) == (200, "application/x-ndjson", b"")
    assert json.loads(capsys.readouterr().out)["status"] == 200
    assert alice.request("HEAD", PATH, query_string={"offset": 0}, headers=LINES).status_code == 400


# The form


@pytest.mark.parametrize(
    ("accept", "lines"),
    [
        (None, False),
        ("", False),
        ("*/*", False),
        ("application/*", False),
        ("application/json", False),
        ("text/html,application/xhtml+xml,*/*;q=0.8", False),
        ("text/html", False),
        ("application/ndjson", False),
        ("application/x-ndjson;q=0", False),
        ("application/json, application/x-ndjson", False),
        ("application/json, application/x-ndjson;q=0.9", False),
        (";;;=,q", False),
        ("application/x-ndjson", True),
        ("Application/X-NDJSON", True),
        ("application/x-ndjson, */*;q=0.1", True),
        ("application/json;q=0.9, application/x-ndjson", True),
    ],
)
def test_accept_header_chooses_lines(alice: Caller, log: Log, accept: str | None, lines: bool) -> None:
    log.add()
    response = alice.get(PATH, headers={} if accept is None else {"Accept": accept})
    assert response.mimetype == ("application/x-ndjson" if lines else "application/json")
    assert "Accept" in response.vary


@pytest.mark.parametrize("headers", [{}, LINES])
def test_refusal_depends_on_the_form_too_and_is_json_in_both(
    alice: Caller, stranger: Caller, headers: dict[str, str]
) -> None:
    for caller, status, name in ((stranger, 401, "AuthenticationRequired"), (alice, 400, "ValidationError")):
        response = caller.get(PATH, query_string={"limit": "x"}, headers=headers)
        refused(response, status, name)
        assert "Accept" in response.vary


def test_each_form_has_its_own_parameters(alice: Caller) -> None:
    for query, message in (
        ("offset=0", "offset: cannot be used with Accept: application/x-ndjson; use after"),
        ("limit=x", "limit: must be "),
        ("limit=0", "limit: must be from 1 to"),
        ("after=x", "after: must be "),
        ("after=1&after=1", "after: must not be given more than once"),
    ):
        assert refused(alice.get(f"{PATH}?{query}", headers=LINES)).startswith(message)
    assert refused(alice.get(f"{PATH}?after=0")) == "after: can only be used with Accept: application/x-ndjson"
