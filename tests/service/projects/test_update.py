"""PUT /api/admin/projects/{p} and /settings: what changes, what stays, and the event."""

from typing import Any

import pytest

from sql.database import value
from sql.people import roles
from sql.projects import core as projects
from tests.support import fixtures
from tests.support.event_log import event, events
from tests.support.fingerprint import fingerprint
from tests.support.world import World, refused

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
OTHER_NAMING = {"pattern": "^[a-z]+$", "example": "abc", "description": "Ä"}


@pytest.fixture(autouse=True)
def _mobile(world: World) -> None:
    """A project with something in every field."""
    fields = {"description": "An app", "mode": "protected", "default_stickiness": "userId", "feature_limit": 7}
    world.project("mobile", name="Mobile", naming_pattern="m-.+", **fields)


# The changed fields are those of the body, unless they are given.
CHANGES: list[tuple[str, dict[str, Any], dict[str, Any] | None]] = [
    (PATH, {"name": "M"}, None),
    (PATH, {"name": "Mobile", "description": None}, None),
    (PATH, {"name": "Mobile", "description": ""}, None),
    (PATH, {"name": "Mobile", "mode": "private", "id": "other"}, {"mode": "private"}),
    (PATH, {"name": "Mobile", "featureLimit": None, "defaultStickiness": "random"}, None),
    (SETTINGS, {"mode": "open"}, None),
    (SETTINGS, {"featureLimit": 0, "linkTemplates": [{"urlTemplate": "x"}]}, {"featureLimit": 0}),
    (SETTINGS, {"featureLimit": None}, None),
    (SETTINGS, {"defaultStickiness": "sessionId"}, None),
    (SETTINGS, {"featureNaming": {}}, {"featureNaming": None}),
    (SETTINGS, {"featureNaming": {"pattern": None}}, {"featureNaming": None}),
    (SETTINGS, {"featureNaming": {"pattern": "", "example": "", "description": None}}, {"featureNaming": None}),
    (SETTINGS, {"featureNaming": OTHER_NAMING}, None),
    (
        SETTINGS,
        {"featureNaming": {"pattern": "[a-z]+", "example": ""}},
        {"featureNaming": {"pattern": "[a-z]+", "example": None, "description": None}},
    ),
]


@pytest.mark.parametrize(("path", "body", "changed"), CHANGES, ids=str)
def test_fields_of_the_body_change_and_the_others_stay(conn, world, eve, alice, path, body, changed):
    world.member("mobile", eve, role=4)
    since = world.last_event_id()
    answer = eve.put(path, json=body)
    assert (answer.status_code, answer.data) == (200, b"")
    after = WHOLE | (body if changed is None else changed)
    assert (projects.lock(conn, "mobile") or {})["logged"] == after
    assert value(conn, "SELECT updated_at = now() FROM projects WHERE id = 'mobile'")
    assert events(world, since) == [event("project-updated", eve, project="mobile", data=after, pre_data=WHOLE)]
    shown = alice.get(f"{PATH}/overview").json
    naming = after["featureNaming"] or dict.fromkeys(("pattern", "example", "description"))
    expected = {key: word for key, word in after.items() if key != "id"} | {"featureNaming": naming}
    assert {key: shown[key] for key in expected} == expected


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
def test_an_update_without_a_difference_changes_nothing(conn, alice, path, body):
    before = fingerprint(conn)
    assert alice.put(path, json=body).status_code == 200
    assert fingerprint(conn) == before


NAMED: list[dict[str, Any]] = [
    *({"mode": "closed"}, {"featureLimit": -1}, {"featureLimit": 1.0}, {"defaultStickiness": ""}, {"unknown": 1}),
]
NAMINGS: list[tuple[Any, str]] = [
    ("[a-z]+", ": "),
    *(({"pattern": pattern}, ".pattern: ") for pattern in ("a b", "a\\s", "a\u00a0b", "(a", "a(?=b)", "(a)\\1", 1)),
    *(({"pattern": "[a-z]+", "example": word}, ".example: must match the pattern") for word in ("ab1", "1ab", "ab\n")),
    ({"pattern": "a|b", "example": "ab"}, ".example: must match the pattern"),
    *(({"pattern": pattern, "example": "a"}, ".example: requires a pattern") for pattern in (None, "")),
    ({"description": "a"}, ".description: requires a pattern"),
    ({"pattern": "a", "other": 1}, ".other: unknown property"),
]
BAD: list[tuple[str, Any, str]] = [
    *((PATH, {"name": name}, "name: ") for name in (None, "", " ", 1)),
    (PATH, {}, "name: "),
    (PATH, {"name": "a", "featureNaming": {"pattern": "a"}}, "featureNaming: must be omitted or unchanged"),
    (PATH, {"name": "a", "environments": []}, "environments: must be omitted or unchanged"),
    *((PATH, {"name": "a"} | body, next(iter(body))) for body in NAMED),
    *((SETTINGS, body, next(iter(body))) for body in NAMED),
    (SETTINGS, {"name": "a"}, "name: must be omitted or unchanged"),
    *((SETTINGS, {"featureNaming": naming}, f"featureNaming{message}") for naming, message in NAMINGS),
]


@pytest.mark.parametrize(("path", "body", "message"), BAD, ids=str)
def test_an_invalid_body_is_refused(conn, alice, path, body, message):
    before = fingerprint(conn)
    assert refused(alice.put(path, json=body)).startswith(message)
    assert fingerprint(conn) == before


@pytest.mark.parametrize(("path", "body"), [(PATH, {"name": "M", "mode": "open"}), (SETTINGS, {"mode": "open"})])
def test_the_permission_for_settings_is_enough(conn, world, victor, path, body):
    role = roles.insert(conn, "Settler", type="custom")
    world.member("mobile", victor, role=role)
    refused(victor.put(path, json=body), 403, "NoAccessError")
    fixtures.allow(conn, role, "PROJECT_SETTINGS_WRITE")
    assert victor.put(path, json=body).status_code == 200


def test_an_archived_project_can_be_changed(conn, world, alice):
    world.project("old", archived_at="2026-01-01T00:00:00Z")
    assert alice.put("/api/admin/projects/old", json={"name": "Older"}).status_code == 200
    assert value(conn, "SELECT archived_at FROM projects WHERE name = 'Older'") is not None


def test_permission_and_project_are_checked_before_the_body(alice, victor):
    plain = {"data": "{", "content_type": "text/plain"}
    for path in (PATH, SETTINGS):
        refused(victor.put(path, **plain), 403, "NoAccessError")
        refused(alice.put(path.replace("mobile", "nowhere"), **plain), 404, "NotFoundError")
        refused(alice.put(path, **plain), 415, "ContentTypeError")
        refused(alice.put(path), 400)
    refused(victor.post("/api/admin/projects", **plain), 403, "NoAccessError")
    refused(alice.post("/api/admin/projects", **plain), 415, "ContentTypeError")
