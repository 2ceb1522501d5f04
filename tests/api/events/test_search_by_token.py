"""The filter createdByToken of the event search: what an API token has changed, also a deleted one."""

import json

import pytest

from sql.database import Connection, rows
from tests.support.event_search import PATH, Log, found
from tests.support.world import Caller, World, refused


@pytest.fixture
def log(conn: Connection) -> Log:
    """The event log, empty."""
    return Log(conn)


def search(caller: Caller, **parameters: str) -> list[int]:
    """The ids that these parameters find."""
    return found(caller.get(PATH, query_string=parameters))


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


def test_equal_events_of_two_tokens_are_both_recorded(world: World, log: Log) -> None:
    export = {"environment": "development", "features": []}
    for caller in (world.api_key(name="ci"), world.api_key(name="ci")):
        assert caller.post("/api/admin/features-batch/export", json=export).status_code == 200
    assert len(rows(log.conn, "SELECT DISTINCT created_by_token_id FROM events WHERE type = 'features-exported'")) == 2


@pytest.mark.parametrize("text", ["IS:ci", "IS_ANY_OF:7,*:*.secret"])
def test_created_by_token_takes_nothing_but_ids(alice: Caller, text: str) -> None:
    assert (
        refused(alice.get(PATH, query_string={"createdByToken": text}))
        == "createdByToken: must be token ids, which are integers"
    )
