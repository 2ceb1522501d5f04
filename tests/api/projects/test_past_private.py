"""The id of a deleted project that was ever private: only administrators can reuse it, so its events stay hidden."""

import pytest
from werkzeug.test import TestResponse

from sql.database import Connection, connect, migrate, rows
from tests.support.schema_versions import FIRST_SCHEMA
from tests.support.world import Caller, World, refused

PATH = "/api/admin/projects"
TAKEN = "id: already used by a project, which may be archived or deleted; choose another id"


def make(caller: Caller, project_id: str = "secret") -> TestResponse:
    """Create an open project."""
    return caller.post(PATH, json={"name": "Secret", "id": project_id})


def was_deleted(alice: Caller, *modes: str) -> None:
    """Alice creates a project, gives it these modes one after the other, and deletes it."""
    first, *others = modes
    assert alice.post(PATH, json={"name": "Secret", "mode": first}).status_code == 201
    for mode in others:
        assert alice.put(f"{PATH}/secret", json={"name": "Secret", "mode": mode}).status_code == 200
    assert alice.delete(f"{PATH}/secret").status_code == 200


PRIVATE = [("private",), ("open", "private"), ("private", "open"), ("open", "private", "protected")]


@pytest.mark.parametrize("modes", PRIVATE, ids=" then ".join)
def test_only_administrators_can_reuse_the_id(
    conn: Connection, alice: Caller, eve: Caller, victor: Caller, modes: tuple[str, ...]
) -> None:
    was_deleted(alice, *modes)
    before = rows(conn, "SELECT max(id) FROM events")
    assert refused(make(eve), 409, "NameExistsError") == TAKEN
    assert rows(conn, "SELECT max(id) FROM events") == before
    assert victor.get("/api/admin/search/events", query_string={"project": "IS:secret"}).json == {
        "events": [],
        "total": 0,
    }
    assert make(alice).status_code == 201
    # The message is the same for a project that exists.
    assert refused(make(eve), 409, "NameExistsError") == TAKEN
    assert refused(make(alice), 409, "NameExistsError") == TAKEN


def test_an_admin_key_can_reuse_the_id(world: World, alice: Caller) -> None:
    was_deleted(alice, "private")
    assert make(world.api_key()).status_code == 201


@pytest.mark.parametrize("modes", [("open",), ("protected", "open")], ids=" then ".join)
def test_the_id_of_a_project_that_was_never_private_is_free(alice: Caller, eve: Caller, modes: tuple[str, ...]) -> None:
    was_deleted(alice, *modes)
    assert make(eve).status_code == 201


def test_a_new_private_project_has_no_past(eve: Caller) -> None:
    assert eve.post(PATH, json={"name": "Secret", "mode": "private"}).status_code == 201


def test_generated_ids_avoid_such_an_id(alice: Caller, eve: Caller) -> None:
    was_deleted(alice, "private")
    created = [caller.post(PATH, json={"name": "Secret"}).json["id"] for caller in (eve, alice)]
    assert created == ["secret-1", "secret-2"]


EVENTS = """
    INSERT INTO projects (id, name, mode) VALUES ('opened', 'Opened', 'open'), ('private-still', 'Private', 'private');
    INSERT INTO events (type, created_by, project, data, pre_data) VALUES
        ('project-created', 'a', 'made-private', '{"mode": "private"}', NULL),
        ('project-updated', 'a', 'became-private', '{"mode": "private"}', '{"mode": "open"}'),
        ('project-updated', 'a', 'opened', '{"mode": "open"}', '{"mode": "private"}'),
        ('project-updated', 'a', 'opened', '{"mode": "open", "name": "x"}', '{"mode": "open"}'),
        ('project-created', 'a', 'private-still', '{"mode": "private"}', NULL),
        ('project-created', 'a', 'always-open', '{"mode": "open"}', NULL),
        ('feature-created', 'a', 'another', '{"mode": "private"}', NULL);
"""


def test_an_upgrade_learns_from_the_log_what_was_private(make_database) -> None:
    with connect(make_database(empty=True)) as conn:
        conn.execute(FIRST_SCHEMA.read_bytes())
        conn.execute(EVENTS)
        with conn.transaction():
            assert migrate.migrate(conn) == 1
        found = rows(conn, "SELECT project_id FROM past_private_projects ORDER BY 1")
        assert [row["project_id"] for row in found] == ["became-private", "made-private", "opened"]
