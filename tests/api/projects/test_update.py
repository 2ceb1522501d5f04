"""PUT /api/admin/projects/{p} and /settings: what changes, what stays, and what the log says."""

from typing import Any

import pytest

from sql.database import Connection, value
from sql.people import roles
from sql.projects import core as projects
from tests.support import fixtures
from tests.support.fingerprint import fingerprint
from tests.support.projects import stored
from tests.support.world import Caller, World, refused

PATH = "/api/admin/projects/mobile"
SETTINGS = f"{PATH}/settings"
WHOLE = {
    "id": "mobile",
    "name": "Mobile",
    "description": "An app",
    "mode": "protected",
    "defaultStickiness": "userId",
    "featureLimit": 7,
    "featureNaming": {"pattern": "m-.+", "example": None, "description": None},
}


@pytest.fixture(autouse=True)
def _mobile(world: World) -> None:
    """A project with something in every field."""
    fields = {
        "description": "An app",
        "mode": "protected",
        "default_stickiness": "userId",
        "feature_limit": 7,
        "naming_pattern": "m-.+",
    }
    world.project("mobile", name="Mobile", **fields)


def whole(conn: Connection) -> dict[str, Any]:
    """The project as the log shows it."""
    found = projects.lock(conn, "mobile")
    assert found
    return found["logged"]


CHANGES: list[tuple[str, dict[str, Any], dict[str, Any]]] = [
    (PATH, {"name": "M"}, {"name": "M"}),
    (PATH, {"name": "Mobile", "description": None}, {"description": None}),
    (PATH, {"name": "Mobile", "description": ""}, {"description": ""}),
    (PATH, {"name": "Mobile", "mode": "private", "id": "other"}, {"mode": "private"}),
    (
        PATH,
        {"name": "Mobile", "featureLimit": None, "defaultStickiness": "random"},
        {"featureLimit": None, "defaultStickiness": "random"},
    ),
    (SETTINGS, {"mode": "open"}, {"mode": "open"}),
    (SETTINGS, {"featureLimit": 0, "linkTemplates": [{"urlTemplate": "x"}]}, {"featureLimit": 0}),
    (SETTINGS, {"featureLimit": None}, {"featureLimit": None}),
    (SETTINGS, {"defaultStickiness": "sessionId"}, {"defaultStickiness": "sessionId"}),
    (SETTINGS, {"featureNaming": {}}, {"featureNaming": None}),
    (SETTINGS, {"featureNaming": {"pattern": None}}, {"featureNaming": None}),
    (SETTINGS, {"featureNaming": {"pattern": "", "example": "", "description": None}}, {"featureNaming": None}),
    (
        SETTINGS,
        {"featureNaming": {"pattern": "^[a-z]+$", "example": "abc", "description": "Ä"}},
        {"featureNaming": {"pattern": "^[a-z]+$", "example": "abc", "description": "Ä"}},
    ),
    (
        SETTINGS,
        {"featureNaming": {"pattern": "[a-z]+", "example": ""}},
        {"featureNaming": {"pattern": "[a-z]+", "example": None, "description": None}},
    ),
]


@pytest.mark.parametrize(("path", "body", "changed"), CHANGES, ids=str)
def test_named_fields_change_and_the_rest_stays(
    conn: Connection, world: World, eve: Caller, alice: Caller, path: str, body: dict[str, Any], changed: dict[str, Any]
) -> None:
    world.member("mobile", eve, role=4)
    since = world.last_event_id()
    answer = eve.put(path, json=body)
    assert (answer.status_code, answer.data) == (200, b"")
    assert whole(conn) == WHOLE | changed
    assert stored(conn, "mobile")["updated_at"] == value(conn, "SELECT now()")
    [event] = world.events(since)
    assert event == {
        "id": event["id"],
        "created_at": event["created_at"],
        "type": "project-updated",
        "created_by": "eve@example.org",
        "created_by_user_id": eve.id,
        "environment": None,
        "project": "mobile",
        "feature_name": None,
        "data": WHOLE | changed,
        "pre_data": WHOLE,
        "tags": [],
    }
    shown = alice.get(f"{PATH}/overview").json
    assert {key: shown[key] for key in ("name", "description", "mode", "defaultStickiness", "featureLimit")} == {
        key: word for key, word in (WHOLE | changed).items() if key not in ("id", "featureNaming")
    }
    nothing = dict.fromkeys(("pattern", "example", "description"))
    assert shown["featureNaming"] == ((WHOLE | changed)["featureNaming"] or nothing)


SAME: list[tuple[str, dict[str, Any]]] = [
    (PATH, {"name": "Mobile"}),
    (PATH, {"name": "Mobile", "description": "An app", "mode": "protected", "id": 5}),
    # Environments as the response of POST has them.
    (PATH, {"name": "Mobile", "environments": ["development", "production"]}),
    (SETTINGS, {}),
    (SETTINGS, {"linkTemplates": None}),
    (SETTINGS, {"featureNaming": {"pattern": "m-.+", "example": ""}, "featureLimit": 7}),
]


@pytest.mark.parametrize(("path", "body"), SAME, ids=str)
def test_an_update_without_a_difference_changes_nothing(
    conn: Connection, alice: Caller, path: str, body: dict[str, Any]
) -> None:
    before = fingerprint(conn)
    assert alice.put(path, json=body).status_code == 200
    assert fingerprint(conn) == before


BAD: list[tuple[str, Any]] = [
    *((PATH, {"name": name}) for name in (None, "", " ", 1)),
    (PATH, {}),
    (PATH, {"mode": "open"}),
    (PATH, {"name": "a", "featureNaming": {"pattern": "a"}}),
    (PATH, {"name": "a", "environments": []}),
    *((path, {"name": "a"} | body if path == PATH else body) for path in (PATH, SETTINGS) for body in (
        {"mode": "closed"},
        {"featureLimit": -1},
        {"featureLimit": 1.0},
        {"defaultStickiness": ""},
        {"unknown": 1},
    )),
    (SETTINGS, {"name": "a"}),
    *((SETTINGS, {"featureNaming": naming}) for naming in (
        "[a-z]+",
        {"example": "a"},
        {"description": "a"},
        {"pattern": None, "example": "a"},
        {"pattern": "", "description": "a"},
        {"pattern": "a b"},
        {"pattern": "a\\s"},
        {"pattern": "a\u00a0b"},
        {"pattern": "(a"},
        {"pattern": "a(?=b)"},
        {"pattern": "(a)\\1"},
        {"pattern": "[a-z]+", "example": "ab1"},
        {"pattern": "[a-z]+", "example": "1ab"},
        {"pattern": "[a-z]+", "example": "ab\n"},
        {"pattern": "a|b", "example": "ab"},
        {"pattern": 1},
        {"pattern": "a", "other": 1},
    )),
]  # fmt: skip


@pytest.mark.parametrize(("path", "body"), BAD, ids=str)
def test_an_invalid_body_is_refused(conn: Connection, alice: Caller, path: str, body: dict[str, Any]) -> None:
    before = fingerprint(conn)
    refused(alice.put(path, json=body))
    assert fingerprint(conn) == before


def test_a_refusal_names_the_place_in_the_naming(alice: Caller) -> None:
    message = refused(alice.put(SETTINGS, json={"featureNaming": {"pattern": "[a-z]+", "example": "A"}}))
    assert message == "featureNaming.example: must match the pattern"
    assert (
        refused(alice.put(SETTINGS, json={"featureNaming": {"description": "A"}}))
        == "featureNaming.description: requires a pattern"
    )


@pytest.mark.parametrize("path", [PATH, SETTINGS])
def test_the_permission_for_settings_is_enough(conn: Connection, world: World, victor: Caller, path: str) -> None:
    role = roles.insert(conn, "Settler", type="custom")
    world.member("mobile", victor, role=role)
    body = {"name": "M", "mode": "open"} if path == PATH else {"mode": "open"}
    refused(victor.put(path, json=body), 403, "NoAccessError")
    fixtures.allow(conn, role, "PROJECT_SETTINGS_WRITE")
    assert victor.put(path, json=body).status_code == 200


def test_an_archived_project_can_be_changed(conn: Connection, world: World, alice: Caller) -> None:
    world.project("old", archived_at="2026-01-01T00:00:00Z")
    assert alice.put("/api/admin/projects/old", json={"name": "Older"}).status_code == 200
    assert stored(conn, "old")["archived_at"] is not None


@pytest.mark.parametrize("path", [PATH, SETTINGS])
def test_permission_and_project_are_checked_before_the_body(alice: Caller, victor: Caller, path: str) -> None:
    plain = {"data": "{", "content_type": "text/plain"}
    refused(victor.put(path, **plain), 403, "NoAccessError")
    refused(alice.put(path.replace("mobile", "nowhere"), **plain), 404, "NotFoundError")
    refused(alice.put(path, **plain), 415, "ContentTypeError")
    refused(alice.put(path), 400)


def test_the_permission_to_create_is_checked_before_the_body(victor: Caller, alice: Caller) -> None:
    refused(victor.post("/api/admin/projects", data="{", content_type="text/plain"), 403, "NoAccessError")
    refused(alice.post("/api/admin/projects", data="{", content_type="text/plain"), 415, "ContentTypeError")
