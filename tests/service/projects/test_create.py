"""POST /api/admin/projects and /validate: the id, environments and owner of a new project, and the event."""

from typing import Any

import pytest

from operations.postgres import migrate
from rules.access import digest
from sql import sessions
from sql.catalog import environments
from sql.database import Connection, connect, rows, value
from tests.support.event_log import event, events
from tests.support.fingerprint import fingerprint
from tests.support.schema_versions import FIRST_SCHEMA
from tests.support.world import Caller, refused
from validators.projects.core import slug

PATH = "/api/admin/projects"
VALIDATE = f"{PATH}/validate"
TAKEN = "id: already used by a project, which may be archived or deleted; choose another id"
LONG_AGO = "2026-01-01T00:00:00Z"


def make(caller: Caller, **body: Any) -> Any:
    """Create a project."""
    return caller.post(PATH, json=body)


def linked(conn: Connection, project_id: str) -> list[str]:
    """The environments of a project."""
    statement = "SELECT array_agg(environment ORDER BY environment) FROM project_environments WHERE project_id = %(id)s"
    return value(conn, statement, {"id": project_id}) or []


def test_a_name_is_enough(conn, world, eve):
    since = world.last_event_id()
    answer = make(eve, name="Mobile app")
    created = {
        "id": "mobile-app",
        "name": "Mobile app",
        "mode": "open",
        "defaultStickiness": "default",
        "featureLimit": None,
        "environments": ["development", "production"],
        "changeRequestEnvironments": [],
    }
    assert (answer.status_code, answer.json, answer.headers["Location"]) == (201, created, "projects/mobile-app")
    [row] = rows(conn, "SELECT *, created_at = now() AS is_new FROM projects WHERE id = 'mobile-app'")
    del row["created_at"], row["version"]
    assert {key: word for key, word in row.items() if word is not None} == {
        "id": "mobile-app",
        "name": "Mobile app",
        "mode": "open",
        "default_stickiness": "default",
        "is_new": True,
    }
    assert linked(conn, "mobile-app") == ["development", "production"]
    owners = rows(conn, "SELECT user_id, role_id, role_scope FROM project_user_roles WHERE project_id = 'mobile-app'")
    assert owners == [{"user_id": eve.id, "role_id": 4, "role_scope": "project"}]
    assert events(world, since) == [event("project-created", eve, project="mobile-app", data=created)]


def test_all_fields_are_stored(conn, world, alice):
    since = world.last_event_id()
    body = {
        "description": "Ünlü 'app'",
        "mode": "private",
        "defaultStickiness": "userId",
        "featureLimit": 0,
        "environments": ["production"],
    }
    answer = make(alice, name="  Mobile  ", id="My.Mobile_~1", **body)
    created = {"id": "My.Mobile_~1", "name": "  Mobile  ", "changeRequestEnvironments": []} | body
    assert (answer.status_code, answer.json, answer.headers["Location"]) == (201, created, "projects/My.Mobile_~1")
    statement = "SELECT name, description, mode, default_stickiness, feature_limit FROM projects WHERE id LIKE 'My%%'"
    assert [tuple(row.values()) for row in rows(conn, statement)] == [
        ("  Mobile  ", "Ünlü 'app'", "private", "userId", 0)
    ]
    assert linked(conn, "My.Mobile_~1") == ["production"]
    assert [(event["project"], event["data"]) for event in world.events(since)] == [("My.Mobile_~1", created)]


def test_an_unset_description_is_omitted(alice):
    for body in ({}, {"description": None}):
        assert "description" not in make(alice, name="Mobile", **body).json
    assert make(alice, name="Mobile", description="").json["description"] == ""


def test_a_session_makes_its_user_the_owner_and_an_api_token_nobody(conn, app, world, eve):
    sessions.insert(conn, digest("a session"), eve.id or 0, 48)
    session = {"Cookie": 'session="a session"'}
    assert Caller(app).post(PATH, json={"name": "Web"}, headers=session).status_code == 201
    since = world.last_event_id()
    assert make(world.api_key(name="the key"), name="Mobile").status_code == 201
    owners = "SELECT project_id, user_id FROM project_user_roles"
    assert rows(conn, owners) == [{"project_id": "web", "user_id": eve.id}]
    [event] = world.events(since)
    assert (event["created_by"], event["created_by_user_id"]) == ("the key", None)


# --- Ids --------------------------------------------------------------------------------------------------------------

SLUGS = [
    ("Mobile app", "mobile-app"),
    ("  Größe ÜBER alles!  ", "grosse-uber-alles"),
    ("Élan vital & Łódź", "elan-vital-lodz"),
    ("Ærø Þing, cœur", "aero-thing-coeur"),
    ("e\u0301a", "ea"),
    ("v1.2_beta~3", "v1-2-beta-3"),
    ("日本語", "project"),
    ("---", "project"),
    ("A" * 255, "a" * 90),
    ("a" * 89 + " b", "a" * 89),
    ("İstanbul", "istanbul"),
    ("²", "2"),
]


@pytest.mark.parametrize(("name", "project_id"), SLUGS)
def test_an_id_is_made_of_the_name(alice, name, project_id):
    assert slug(name) == project_id
    assert make(alice, name=name).json["id"] == project_id
    assert make(alice, name=name, id="").json["id"] == f"{project_id}-1"
    assert make(alice, name=name).json["id"] == f"{project_id}-2"


def test_a_generated_id_is_not_taken(world, alice):
    world.project("mobile", archived_at=LONG_AGO)
    world.project("mobile-2")
    assert [make(alice, name="Mobile").json["id"] for _ in range(3)] == ["mobile-1", "mobile-3", "mobile-4"]


@pytest.mark.parametrize("word", ["archive", "revive", "validate", "roles"])
def test_an_id_cannot_be_a_word_of_another_path(conn, alice, word):
    before = fingerprint(conn)
    message = "id: must not be archive, revive, roles, validate, *: these words are reserved"
    assert refused(make(alice, name="A", id=word)) == refused(alice.post(VALIDATE, json={"id": word})) == message
    assert fingerprint(conn) == before
    assert make(alice, name=word.upper()).json["id"] == f"{word}-1"
    assert make(alice, name=word, id=f"{word}s").status_code == 201
    assert make(alice, name=word, id=word.title()).status_code == 201


def test_an_id_is_taken_once(conn, world, alice, eve):
    world.project("mobile")
    world.project("old", archived_at=LONG_AGO)
    world.project("hidden", mode="private")
    before = fingerprint(conn)
    for id in ("default", "mobile", "old", "hidden"):
        assert refused(make(eve, name="Mobile", id=id), 409, "NameExistsError") == TAKEN
        assert refused(eve.post(VALIDATE, json={"id": id}), 409, "NameExistsError") == TAKEN
    answer = eve.post(VALIDATE, json={"id": "Mobile"})
    assert (answer.status_code, answer.text) == (200, "")
    assert fingerprint(conn) == before
    assert make(alice, name="Mobile", id="Mobile").status_code == 201


def was_deleted(alice: Caller, *modes: str) -> None:
    """Alice creates a project, gives it these modes one after the other, and deletes it."""
    first, *others = modes
    assert make(alice, name="Secret", mode=first).status_code == 201
    for mode in others:
        assert alice.put(f"{PATH}/secret", json={"name": "Secret", "mode": mode}).status_code == 200
    assert alice.delete(f"{PATH}/secret").status_code == 200


PRIVATE = [("private",), ("open", "private"), ("private", "open"), ("open", "private", "protected")]


@pytest.mark.parametrize("modes", PRIVATE, ids=" then ".join)
def test_only_administrators_reuse_the_id_of_a_deleted_private_project(conn, world, alice, eve, victor, modes):
    was_deleted(alice, *modes)
    before = fingerprint(conn)
    assert refused(make(eve, name="Secret", id="secret"), 409, "NameExistsError") == TAKEN
    assert refused(eve.post(VALIDATE, json={"id": "secret"}), 409, "NameExistsError") == TAKEN
    assert alice.post(VALIDATE, json={"id": "secret"}).status_code == 200
    assert fingerprint(conn) == before
    found = victor.get("/api/admin/search/events", query_string={"project": "IS:secret"})
    assert found.json == {"events": [], "total": 0}
    # Generated ids avoid it, also those of administrators.
    assert [make(caller, name="Secret").json["id"] for caller in (eve, alice)] == ["secret-1", "secret-2"]
    assert make(world.api_key(), name="Secret", id="secret").status_code == 201
    # The message is the same for a project that exists.
    for caller in (eve, alice):
        assert refused(make(caller, name="Secret", id="secret"), 409, "NameExistsError") == TAKEN


@pytest.mark.parametrize("modes", [("open",), ("protected", "open")], ids=" then ".join)
def test_the_id_of_a_project_that_was_never_private_is_free(alice, eve, modes):
    was_deleted(alice, *modes)
    assert make(eve, name="Secret", id="secret", mode="private").status_code == 201


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


def test_an_upgrade_finds_past_private_projects_in_the_events(make_database):
    with connect(make_database(empty=True)) as conn:
        conn.execute(FIRST_SCHEMA.read_bytes())
        conn.execute(EVENTS)
        with conn.transaction():
            assert migrate.migrate(conn) == 1
        found = rows(conn, "SELECT project_id FROM past_private_projects ORDER BY 1")
        assert [row["project_id"] for row in found] == ["became-private", "made-private", "opened"]


# --- Environments and refusals ----------------------------------------------------------------------------------------


def test_environments_are_all_enabled_ones_or_those_of_the_body(conn, alice):
    environments.insert(conn, "staging", "preproduction", sort_order=0)
    environments.insert(conn, "retired", "test", enabled=False)
    for id, body, expected in (
        ("a", {}, ["staging", "development", "production"]),
        ("b", {"environments": []}, []),
        ("c", {"environments": ["retired", "staging", "retired"]}, ["staging", "retired"]),
    ):
        assert make(alice, name=id, **body).json["environments"] == expected
        assert linked(conn, id) == sorted(expected)


BAD: list[tuple[str, dict[str, Any]]] = [
    *(("name", {"name": name}) for name in (None, "", " ", "a" * 256)),
    ("name", {"id": "mobile"}),
    *(("id", {"name": "a", "id": word}) for word in ("..", "a b", "a" * 101)),
    *(("mode", {"name": "a", "mode": word}) for word in ("Open", "hidden")),
    *(("featureLimit", {"name": "a", "featureLimit": limit}) for limit in (-1, 2**31, "1")),
    ("defaultStickiness", {"name": "a", "defaultStickiness": ""}),
    *(("environments", {"name": "a", "environments": found}) for found in ("development", ["a b"], [{"name": "b"}])),
    *(("description", {"name": "a", "description": word}) for word in (1, "a" * 5001)),
    ("other", {"name": "a", "other": 1}),
    ("environments: unknown environments: Production, nowhere", {
        "name": "a", "environments": ["development", "Production", "nowhere"]
    }),
]  # fmt: skip


@pytest.mark.parametrize(("message", "body"), BAD, ids=str)
def test_an_invalid_body_is_refused(conn, alice, message, body):
    before = fingerprint(conn)
    assert refused(make(alice, **body)).startswith(message)
    assert fingerprint(conn) == before


@pytest.mark.parametrize("body", [{}, {"id": ""}, {"id": "a b"}, {"id": "x" * 101}, {"id": "x", "y": 1}])
def test_validate_refuses_an_invalid_id(eve, body):
    refused(eve.post(VALIDATE, json=body))


def test_the_number_of_live_projects_is_limited(conn, app, world, alice, monkeypatch):
    monkeypatch.setitem(app.config, "MAX_PROJECTS", value(conn, "SELECT count(*) FROM projects") + 1)
    world.project("old", archived_at=LONG_AGO)
    assert make(alice, name="The last").status_code == 201
    before = fingerprint(conn)
    assert "at most" in refused(make(alice, name="One too many"))
    assert fingerprint(conn) == before
