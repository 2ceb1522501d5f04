"""GET /api/admin/search/events: the order, the pages and the record."""

import json
from datetime import UTC, datetime, timedelta

import pytest

from rules.access import Actor
from sql.database import Connection
from tests.support.event_search import NOON, PATH, Log, found, page
from tests.support.world import Caller, refused


@pytest.fixture
def log(conn: Connection) -> Log:
    """The event log, empty."""
    return Log(conn)


# The order and the pages


def test_events_are_listed_newest_first_and_by_id_among_equals(alice: Caller, log: Log) -> None:
    middle = log.add(at=NOON)
    newest = log.add(at=NOON + timedelta(microseconds=1))
    oldest = log.add(at=NOON - timedelta(days=400))
    other_middle = log.add(at=NOON)
    assert found(alice.get(PATH)) == [newest, other_middle, middle, oldest]


def test_the_pages_together_hold_every_event_once(alice: Caller, log: Log) -> None:
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


def test_a_page_without_limit_holds_fifty_events(alice: Caller, log: Log) -> None:
    added = [log.add() for _ in range(51)]
    assert page(alice.get(PATH)) == (added[:0:-1], 51)


def test_a_page_holds_at_most_a_thousand(alice: Caller, log: Log) -> None:
    log.conn.execute(
        "INSERT INTO events (type, created_by) SELECT 'tag-created', 'system' FROM generate_series(1, 1001)"
    )
    for limit in (1, 999, 1000):
        ids, total = page(alice.get(PATH, query_string={"limit": limit}))
        assert (len(ids), total) == (limit, 1001)


@pytest.mark.parametrize("offset", [3, 4, 10**6, 2**31, 2**63 - 1])
def test_a_page_beyond_the_end_is_empty_and_the_total_exact(alice: Caller, log: Log, offset: int) -> None:
    for _ in range(3):
        log.add()
    assert page(alice.get(PATH, query_string={"offset": offset, "limit": 1000})) == ([], 3)


@pytest.mark.parametrize("text", ["x", "0", "1001"])
def test_a_limit_is_a_whole_number_from_1_to_1000(alice: Caller, text: str) -> None:
    message = refused(alice.get(PATH, query_string={"limit": text}))
    assert message.startswith("limit: must be ")
    assert "from 1 to 1000" in message


@pytest.mark.parametrize("text", ["-1", str(2**63)])
def test_an_offset_is_a_whole_number(alice: Caller, text: str) -> None:
    assert refused(alice.get(PATH, query_string={"offset": text})).startswith("offset: must be ")


# What belongs to the request, and what does not


def test_every_wrong_parameter_is_named_in_one_message(alice: Caller) -> None:
    wrong = {
        "limit": "0",
        "from": "2024-05-31",
        "to": "IS:2024-02-30",
        "offset": "x",
        "type": "x",
        "createdBy": "IS:x",
        "project": "",
        "feature": "=x",
    }
    message = refused(alice.get(PATH, query_string=wrong))
    named = [part.split(": ", 1)[0] for part in message.split("; ")]
    assert sorted(named) == sorted(wrong)
    assert all(part.split(": ", 1)[1] for part in message.split("; "))


@pytest.mark.parametrize("name", ["query", "feature", "project", "type", "createdBy", "from", "to", "offset", "limit"])
def test_a_parameter_given_twice_is_refused(alice: Caller, name: str) -> None:
    right = {"from": "IS:2024-05-31", "to": "IS:2024-05-31", "offset": "0", "limit": "5", "createdBy": "IS:1"}.get(
        name, "IS:x"
    )
    for query in (f"{name}={right}&{name}={right}", f"{name}={right}&{name}=", f"{name}=&x=1&{name}={right}"):
        assert name in refused(alice.get(f"{PATH}?{query}"))


def test_an_unknown_parameter_is_ignored_even_twice(alice: Caller, log: Log) -> None:
    event = log.add()
    assert found(alice.get(f"{PATH}?Limit=0&LIMIT=0&x=1&x=2&=&__proto__=1&features=IS:a&from_=x&from_=y&sort=asc")) == [
        event
    ]


@pytest.mark.parametrize("content_type", ["application/json", "text/plain", "", "multipart/form-data; boundary=x"])
@pytest.mark.parametrize("body", [b'{"limit": 0, "type": 5}', b"{", b"\xff\x00", b"[[[["])
def test_a_body_is_ignored(alice: Caller, log: Log, body: bytes, content_type: str) -> None:
    newer = [log.add(), log.add()][1]
    assert page(alice.get(f"{PATH}?limit=1", data=body, content_type=content_type)) == ([newer], 2)


# The record


def test_the_record_has_all_fields_of_an_event(alice: Caller, log: Log) -> None:
    at = datetime(2024, 12, 31, 23, 59, 59, 999999, tzinfo=UTC)
    tags = [{"type": "simple", "value": "größe"}, {"type": "team", "value": "b2"}]
    event = log.add(
        "feature-strategy-remove",
        by=Actor("ada@example.org", 7),
        at=at,
        project="default",
        environment="production",
        feature="checkout",
        data={"enabled": False},
        pre_data={"enabled": True},
        tags=tags,
    )
    assert alice.get(PATH).json == {
        "events": [
            {
                "id": event,
                "createdAt": "2024-12-31T23:59:59.999Z",
                "type": "feature-strategy-remove",
                "createdBy": "ada@example.org",
                "createdByUserId": 7,
                "environment": "production",
                "project": "default",
                "featureName": "checkout",
                "data": {"enabled": False},
                "preData": {"enabled": True},
                "tags": tags,
            }
        ],
        "total": 1,
    }


def test_missing_fields_of_an_event_are_null_and_missing_tags_an_empty_list(alice: Caller, log: Log) -> None:
    event = log.add("tag-created", by=Actor("a key"), at=NOON)
    assert alice.get(PATH).json["events"] == [
        {
            "id": event,
            "createdAt": "2024-05-31T12:00:00.000Z",
            "type": "tag-created",
            "createdBy": "a key",
            "createdByUserId": None,
            "environment": None,
            "project": None,
            "featureName": None,
            "data": None,
            "preData": None,
            "tags": [],
        }
    ]


def test_a_payload_is_returned_as_written(alice: Caller, log: Log) -> None:
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


def test_a_search_changes_nothing_in_the_log(alice: Caller, log: Log) -> None:
    log.add(data={"n": 1})
    before = log.conn.execute("SELECT * FROM events").fetchall()
    alice.get(PATH)
    alice.get(PATH, query_string={"limit": "0"})
    assert log.conn.execute("SELECT * FROM events").fetchall() == before
