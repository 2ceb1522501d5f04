"""Composed operations need the permissions of their parts, as the table in decisions.md (Permissions) lists them."""

from collections.abc import Callable
from typing import Any, NamedTuple

import pytest

from sql.database import Connection
from sql.people import roles
from tests.support import fixtures
from tests.support.fingerprint import fingerprint
from tests.support.world import Caller, World, refused

ADMIN = "/api/admin"
DEFAULT = f"{ADMIN}/projects/default"
FLAG = f"{DEFAULT}/features/f"
VARIANTS = [{"name": "a", "weight": 1000}]
CREATE, UPDATE, DELETE = (f"{word}_FEATURE_STRATEGY" for word in ("CREATE", "UPDATE", "DELETE"))
SWITCH, VARIANT = "UPDATE_FEATURE_ENVIRONMENT", "UPDATE_FEATURE_ENVIRONMENT_VARIANTS"


class Composed(NamedTuple):
    """An operation, and its permissions: name, project, and environment or None."""

    name: str
    method: str
    path: str
    body: Any
    status: int
    parts: list[tuple[str, str, str | None]]


def bulk(switch: str) -> str:
    """The path that switches several flags in production."""
    return f"{DEFAULT}/bulk_features/environments/production/{switch}"


ACTIVATING = "?shouldActivateDisabledStrategies=true"
DOCUMENT = {
    "features": [{"name": "new"}],
    "featureStrategies": [{"featureName": "new", "name": "default", "segments": [1]}],
    "segments": [{"id": 1, "name": "beta", "constraints": []}],
    "featureEnvironments": [{"featureName": "new", "enabled": True, "variants": VARIANTS}],
    "tagTypes": [{"name": "team"}],
    "contextFields": [{"name": "country"}],
    "dependencies": [{"feature": "new", "dependencies": [{"feature": "parent"}]}],
}
IMPORTED = ("CREATE_TAG_TYPE", "CREATE_CONTEXT_FIELD", "CREATE_SEGMENT")
IN_PRODUCTION = [(name, "default", "production") for name in (CREATE, SWITCH, VARIANT)]
IN_BOTH: list[tuple[str, str, str | None]] = [
    (VARIANT, "default", environment) for environment in ("development", "production")
]
COMPOSED = [
    Composed(
        "clone",
        *("POST", f"{FLAG}/clone", {"name": "copy"}, 201),
        [
            ("CREATE_FEATURE", "default", None),
            ("UPDATE_FEATURE_DEPENDENCY", "default", None),
            (CREATE, "default", "production"),
            (CREATE, "default", "development"),
            (VARIANT, "default", "production"),
        ],
    ),
    Composed(
        "move",
        *("POST", f"{DEFAULT}/features/mover/changeProject", {"newProjectId": "hermes"}, 200),
        [
            ("MOVE_FEATURE_TOGGLE", "default", None),
            ("MOVE_FEATURE_TOGGLE", "hermes", None),
            ("CREATE_FEATURE", "hermes", None),
            *((name, "hermes", "production") for name in (CREATE, SWITCH, VARIANT)),
        ],
    ),
    Composed(
        "variants of all environments",
        *("PUT", f"{FLAG}/variants", VARIANTS, 200),
        [("UPDATE_FEATURE_VARIANTS", "default", None), *IN_BOTH],
    ),
    Composed(
        "patched variants of all environments",
        *("PATCH", f"{FLAG}/variants", [{"op": "add", "path": "/-", "value": {"name": "z", "weight": 1}}], 200),
        [("UPDATE_FEATURE_VARIANTS", "default", None), *IN_BOTH],
    ),
    Composed(
        "variants of several environments",
        *("PUT", f"{FLAG}/variants-batch", {"environments": ["development", "production"], "variants": VARIANTS}, 200),
        IN_BOTH,
    ),
    Composed(
        "a switch that adds a strategy",
        *("POST", f"{DEFAULT}/features/bare/environments/production/on", None, 200),
        [(name, "default", "production") for name in (SWITCH, CREATE)],
    ),
    Composed(
        "a switch that enables strategies",
        *("POST", f"{DEFAULT}/features/resting/environments/production/on{ACTIVATING}", None, 200),
        [(name, "default", "production") for name in (SWITCH, UPDATE)],
    ),
    Composed(
        "a switch of several flags",
        *("POST", f"{bulk('on')}{ACTIVATING}", {"features": ["bare", "resting"]}, 200),
        [(name, "default", "production") for name in (SWITCH, CREATE, UPDATE)],
    ),
    Composed(
        "a copy to another environment",
        *("POST", f"{DEFAULT}/features/mover/environments/development/copy"),
        *({"from": "production", "enabled": True}, 200),
        [(name, "default", "development") for name in (CREATE, VARIANT, SWITCH)],
    ),
    Composed(
        "a copy that removes a strategy",
        *("POST", f"{DEFAULT}/features/resting/environments/production/copy", {"from": "development"}, 200),
        [(DELETE, "default", "production")],
    ),
    Composed(
        "a copy that changes the order of strategies",
        *("POST", f"{DEFAULT}/features/ordered/environments/production/copy", {"from": "development"}, 200),
        [(name, "default", "production") for name in (UPDATE, VARIANT)],
    ),
    Composed(
        "a plan in the place of a strategy",
        *("POST", f"{FLAG}/environments/production/plan"),
        *({"steps": [{"percent": 10}, {"percent": 20, "at": "2099-01-01T00:00:00Z"}], "replaces": "production"}, 200),
        [(name, "default", "production") for name in (CREATE, UPDATE)],
    ),
    Composed(
        "a shorter plan in the place of a plan",
        *("POST", f"{DEFAULT}/features/ramp/environments/production/plan"),
        *({"steps": [{"percent": 2, "at": "2030-01-01T00:00:00Z"}], "replaces": "step-0"}, 200),
        [(name, "default", "production") for name in (UPDATE, DELETE)],
    ),
    Composed(
        "import",
        *("POST", f"{ADMIN}/features-batch/import"),
        *({"project": "default", "environment": "production", "data": DOCUMENT}, 200),
        [
            *((name, "default", None) for name in ("UPDATE_FEATURE", "CREATE_FEATURE", "UPDATE_FEATURE_DEPENDENCY")),
            *((name, "default", None) for name in IMPORTED),
            *IN_PRODUCTION,
        ],
    ),
    # The permissions of these cover all their parts.
    Composed("archive", "DELETE", FLAG, None, 202, [("DELETE_FEATURE", "default", None)]),
    *(
        Composed(name, "POST", f"{DEFAULT}/{name}", body, status, [(permission, "default", None)])
        for name, body, status, permission in (
            ("archive", {"features": ["f"]}, 202, "DELETE_FEATURE"),
            ("delete", {"features": ["gone"]}, 200, "DELETE_FEATURE"),
            ("revive", {"features": ["gone"]}, 200, "UPDATE_FEATURE"),
            ("stale", {"features": ["f"], "stale": True}, 202, "UPDATE_FEATURE"),
        )
    ),
    Composed(
        "tags of several flags",
        *("PUT", f"{DEFAULT}/tags"),
        *({"features": ["f"], "tags": {"addedTags": [{"type": "simple", "value": "beta"}], "removedTags": []}}, 200),
        [("UPDATE_FEATURE", "default", None)],
    ),
    Composed("switch off", "POST", bulk("off"), {"features": ["f"]}, 200, [(SWITCH, "default", "production")]),
    Composed(
        "new project with environments",
        *("POST", f"{ADMIN}/projects", {"name": "Shop", "environments": ["production"]}, 201),
        [("CREATE_PROJECT", "default", None)],
    ),
    Composed(
        "copy of an environment",
        *("POST", f"{ADMIN}/environments/production/clone", {"name": "copy", "type": "test"}, 200),
        [("ADMIN", "default", None)],
    ),
]


@pytest.fixture
def stocked(world: World, conn: Connection) -> Callable[[Composed, int | None], Caller]:
    """Return a function that gives the permissions of an operation, without one of them, to a user."""
    world.project("hermes")
    flag = world.flag("f", enabled_in=("production",))
    for environment in ("development", "production"):
        world.strategy(flag, environment, strategy_id=environment, parameters={}, constraints=[])
    mover = world.flag("mover", enabled_in=("production",))
    world.strategy(mover, "production", parameters={}, constraints=[])
    ordered = world.flag("ordered")
    for environment, titles in (("development", "ab"), ("production", "ba")):
        for place, title in enumerate(titles):
            about = {"title": title, "sort_order": place, "name": "default"}
            world.strategy(ordered, environment, parameters={}, constraints=[], **about)
    fixtures.insert_variant(conn, ordered, "development", None, name="b", weight=1000, weight_type="variable")
    ramp = world.flag("ramp")
    for place in (0, 1):
        step = {"rollout": str(place + 1), "groupId": "ramp", "stickiness": "default"}
        start = {"contextName": "currentTime", "operator": "DATE_AFTER", "values": [], "inverted": False}
        start |= {"value": f"203{place}-01-01T00:00:00.000Z", "caseInsensitive": False}
        about = {"strategy_id": f"step-{place}", "sort_order": place}
        world.strategy(ramp, "production", parameters=step, constraints=[start], **about)
    for id in (flag, mover):
        fixtures.insert_variant(conn, id, "production", None, name="b", weight=1000, weight_type="variable")
    fixtures.insert(conn, "flag_dependencies", child_id=flag, parent_id=world.flag("parent"))
    world.flag("bare")
    world.strategy(world.flag("resting"), "production", disabled=True)
    world.flag("gone", archived_at="2026-01-01T00:00:00Z")
    ada = world.user("Ada")

    def give(operation: Composed, missing: int | None) -> Caller:
        conn.execute("DELETE FROM project_user_roles WHERE user_id = %s", [ada.id])
        root = roles.insert(conn, f"Root {missing}", type="root-custom")
        conn.execute("UPDATE users SET root_role_id = %s WHERE id = %s", [root, ada.id])
        for position, (permission, project, environment) in enumerate(operation.parts):
            if position != missing:
                is_root = permission in ("ADMIN", "CREATE_PROJECT", *IMPORTED)
                role = root if is_root else roles.insert(conn, f"{missing} {position}", type="custom")
                fixtures.allow(conn, role, permission, environment=environment)
                if not is_root:
                    world.member(project, ada, role)
        return ada

    return give


@pytest.mark.parametrize("operation", COMPOSED, ids=lambda operation: operation.name)
def test_each_part_of_a_composed_operation_needs_its_permission(
    conn: Connection, stocked: Callable[[Composed, int | None], Caller], operation: Composed
) -> None:
    for missing, (permission, *_) in enumerate(operation.parts):
        caller = stocked(operation, missing)
        before = fingerprint(conn)
        response = caller.request(operation.method, operation.path, json=operation.body)
        assert permission in refused(response, 403, "NoAccessError")
        assert fingerprint(conn) == before
    caller = stocked(operation, None)
    response = caller.request(operation.method, operation.path, json=operation.body)
    assert response.status_code == operation.status, response.text


@pytest.mark.parametrize("operation", COMPOSED, ids=lambda operation: operation.name)
def test_members_can_do_what_their_project_allows(
    world: World, stocked: Callable[[Composed, int | None], Caller], operation: Composed
) -> None:
    roots = [part for part in operation.parts if part[0] in ("ADMIN", "CREATE_PROJECT", *IMPORTED)]
    member = stocked(operation._replace(parts=roots), None)
    for project in ("default", "hermes"):
        world.member(project, member, 4 if operation.name == "move" else 5)
    response = member.request(operation.method, operation.path, json=operation.body)
    assert response.status_code == operation.status, response.text
