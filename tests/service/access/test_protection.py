"""Where change requests are on, direct changes of flags need SKIP_CHANGE_REQUEST: every route of the access table."""

from dataclasses import dataclass, field
from typing import Any

import pytest
from werkzeug.test import TestResponse

from sql.database import Connection, connection, rows, value
from sql.people import roles
from tests.access import Family, RouteWorld
from tests.support import fixtures
from tests.support.verdicts import CLOSED, verdict
from tests.support.world import Caller, World, refused

MESSAGE = (
    "Change requests are on in environment {} of this project. "
    "Propose the change, or ask for the permission SKIP_CHANGE_REQUEST."
)
PROJECT = "/api/admin/projects/<project_id>"
FLAG = f"{PROJECT}/features/<feature_name>"
# Routes below this change a flag in an environment. Any new one must be protected.
IN_ENVIRONMENT = (f"{FLAG}/environments/<environment>", f"{PROJECT}/bulk_features/environments/<environment>")
# What can alter the flags of clients, and is free.
FREE = {
    f"POST {IN_ENVIRONMENT[0]}/evaluate",
    # A new flag and a copy are off, and so is a flag that returns. A deleted one was archived before.
    *(f"POST {path}" for path in (f"{PROJECT}/features", f"{FLAG}/clone", f"{PROJECT}/delete")),
    "POST /api/admin/archive/revive/<feature_name>",
    "DELETE /api/admin/archive/<feature_name>",
    # What describes a flag. The event to undo is about the stale mark.
    *(f"{method} {FLAG}" for method in ("PUT", "PATCH")),
    f"POST {FLAG}/lifecycle/complete",
    f"POST {PROJECT}/stale",
    f"PUT {PROJECT}/tags",
    *(f"{method} /api/admin/features/<feature_name>/tags" for method in ("POST", "PUT")),
    "DELETE /api/admin/tag-types/<name>",
    "POST /api/admin/events/<event_id>/undo",
    # Settings of the project and the instance.
    f"POST {PROJECT}/environments",
    f"DELETE {PROJECT}/environments/<environment>",
    "POST /api/admin/segments",
}
PROTECT = "UPDATE project_environments SET required_approvals = 1"


@dataclass
class Watched(Caller):
    """A user, with the types of the events that their last request recorded and that can alter clients' flags."""

    altering: list[str] = field(default_factory=list)

    def request(self, method: str, path: str, **kwargs: Any) -> TestResponse:
        with self.app.app_context(), connection() as conn:
            since = value(conn, "SELECT coalesce(max(id), 0) FROM events")
        response = super().request(method, path, **kwargs)
        found = "SELECT type FROM events WHERE id > %(since)s AND alters_client_flags(type)"
        with self.app.app_context(), connection() as conn:
            self.altering = [row["type"] for row in rows(conn, found, {"since": since})]
        return response


@pytest.fixture
def role(conn: Connection) -> int:
    """A role with all permissions but ADMIN and SKIP_CHANGE_REQUEST."""
    role = roles.insert(conn, "Everything", type="root-custom")
    names = "SELECT name FROM permissions WHERE name NOT IN ('ADMIN', 'SKIP_CHANGE_REQUEST')"
    for row in conn.execute(names).fetchall():
        fixtures.allow(conn, role, row["name"])
    return role


@pytest.fixture
def ada(world: World, role: int) -> Watched:
    """Ada, who has that role."""
    ada = world.user("Ada", root_role=role)
    return Watched(world.app, ada.key, ada.id, ada.email)


@pytest.mark.parametrize("family", CLOSED)
def test_every_direct_change_of_a_flag_is_refused_without_skip(
    route_world: RouteWorld, role: int, ada: Watched, family: Family
) -> None:
    route_world.prepare(family)
    conn, complaints = route_world.conn, []
    conn.execute("""
        INSERT INTO strategy_segments
        SELECT strategies.id, segments.id FROM segments, strategies JOIN flags ON flags.id = flag_id
         WHERE segments.name = 'of default' AND flags.name = 'flag-of-default' AND environment = 'development'
    """)
    writes = [row for row in family.rows if row.project in ("-", "default") and row.method != "GET"]
    for route in dict.fromkeys(row.route for row in writes if not row.client_side):
        expected = route_world.ask(ada, route).status_code
        in_environment = route.split(" ")[1].startswith(IN_ENVIRONMENT)
        must = (in_environment or ada.altering) and route not in FREE
        conn.execute(PROTECT)
        response = route_world.ask(ada, route)
        is_refused = response.status_code == 403 and "SKIP_CHANGE_REQUEST" in response.json["message"]
        if must and not is_refused:
            complaints.append(f"{route} is not protected ({ada.altering}): {response.status_code} {response.text:.200}")
        if route in FREE and is_refused:
            complaints.append(f"{route} is protected")
        with conn.transaction(force_rollback=True):
            fixtures.allow(conn, role, "SKIP_CHANGE_REQUEST")
            again = route_world.ask(ada, route).status_code
            if is_refused and again != expected:
                complaints.append(f"{route} with the permission: {again}, not {expected}")
        conn.execute("UPDATE project_environments SET required_approvals = NULL")
    verdict(complaints)


# What the arguments of the table do not reach. Ada has the role everywhere, also in project hermes.


@pytest.fixture
def protected(world: World, conn: Connection) -> None:
    """A flag f in default, where production has change requests, and the project hermes."""
    world.project("hermes")
    world.strategy(world.flag("f"), "production")
    conn.execute(PROTECT + " WHERE project_id = 'default' AND environment = 'production'")


ADMIN = "/api/admin"
DEFAULT = f"{ADMIN}/projects/default"
ON = f"{DEFAULT}/features/f/environments/production/on"
MISSING = "in project default and environment production: SKIP_CHANGE_REQUEST"


def refuses(response: TestResponse, environment: str = "production") -> bool:
    """Return whether this is the refusal of a direct change, with its whole message."""
    return refused(response, 403, "NoAccessError") == MESSAGE.format(environment)


@pytest.mark.usefixtures("protected")
def test_refusal_comes_after_permission_and_project_and_before_body_and_flag(ada, victor, world):
    bulk = f"{DEFAULT}/bulk_features/environments/production/on"
    assert "lack the permission" in refused(victor.post(ON), 403, "NoAccessError")
    refused(ada.post(ON.replace("default", "nowhere")), 404, "NotFoundError")
    assert refuses(ada.post(bulk, data=b"{", content_type="text/plain"))
    assert refuses(ada.post(ON.replace("/f/", "/unknown/")))
    assert ada.post(ON.replace("production", "development")).status_code == 200
    assert world.api_key("admin").post(ON).status_code == 200


@pytest.mark.usefixtures("protected")
def test_skip_counts_in_its_project_and_environment_by_group_too(ada, conn, role):
    skipper = roles.insert(conn, "Skipper", type="custom")
    group = fixtures.insert(conn, "groups", name="skippers")["id"]
    fixtures.insert(conn, "group_users", group_id=group, user_id=ada.id)
    fixtures.allow(conn, skipper, "SKIP_CHANGE_REQUEST", environment="development")
    fixtures.insert(conn, "project_group_roles", project_id="default", group_id=group, role_id=skipper)
    assert refuses(ada.post(ON))
    fixtures.allow(conn, skipper, "SKIP_CHANGE_REQUEST", environment="production")
    assert ada.post(ON).status_code == 200
    conn.execute("UPDATE project_group_roles SET project_id = 'hermes'")
    assert refuses(ada.post(ON))
    fixtures.allow(conn, role, "SKIP_CHANGE_REQUEST", project="hermes")
    assert refuses(ada.post(ON))


@pytest.mark.usefixtures("protected")
def test_move_and_archive_need_skip_in_all_environments_and_both_projects(ada, conn):
    move = {"json": {"newProjectId": "hermes"}}
    assert refuses(ada.post(f"{DEFAULT}/features/f/changeProject", **move))
    assert refuses(ada.delete(f"{DEFAULT}/features/f"))
    conn.execute("UPDATE project_environments SET required_approvals = NULL")
    conn.execute(PROTECT + " WHERE project_id = 'hermes' AND environment = 'development'")
    assert refuses(ada.post(f"{DEFAULT}/features/f/changeProject", **move), "development")
    assert ada.delete(f"{DEFAULT}/features/f").status_code == 202


@pytest.mark.usefixtures("protected")
def test_copy_needs_skip_in_its_target_only(ada):
    path = f"{DEFAULT}/features/f/environments"
    assert refuses(ada.post(f"{path}/production/copy", json={"from": "development"}))
    assert ada.post(f"{path}/development/copy", json={"from": "production"}).status_code == 200


@pytest.mark.usefixtures("protected")
def test_variants_of_several_environments_need_skip_in_those_that_change(ada):
    path, body = f"{DEFAULT}/features/f/variants-batch", {"variants": [{"name": "a", "weight": 1000}]}
    assert refuses(ada.put(path, json=body | {"environments": ["development", "production"]}))
    assert ada.put(path, json=body | {"environments": ["development"]}).status_code == 200


@pytest.mark.usefixtures("protected")
def test_segment_needs_skip_where_strategies_use_it(ada, alice, conn):
    segment = fixtures.insert(conn, "segments", name="beta", constraints="[]")["id"]
    path, body = f"{ADMIN}/segments/{segment}", {"name": "beta", "constraints": [], "description": "new"}
    assert ada.put(path, json=body).status_code == 204
    conn.execute("INSERT INTO strategy_segments SELECT id, %s FROM strategies", [segment])
    assert refuses(ada.put(path, json=body))
    assert refuses(ada.delete(path))
    assert alice.put(path, json=body).status_code == 204
    conn.execute("UPDATE strategies SET environment = 'development'")
    assert ada.put(path, json=body).status_code == 204


@pytest.mark.usefixtures("protected")
def test_import_needs_skip_and_validation_says_so(ada):
    body: dict[str, Any] = {"project": "default", "environment": "production", "data": {"features": [{"name": "g"}]}}
    body["data"] |= {"featureStrategies": [], "tagTypes": []}
    assert refuses(ada.post(f"{ADMIN}/features-batch/import", json=body))
    [missing] = ada.post(f"{ADMIN}/features-batch/validate", json=body).json["permissions"]
    assert missing["affectedItems"] == ["SKIP_CHANGE_REQUEST"]
    body["environment"] = "development"
    assert ada.post(f"{ADMIN}/features-batch/validate", json=body).json["permissions"] == []
    assert ada.post(f"{ADMIN}/features-batch/import", json=body).status_code == 200


@pytest.mark.usefixtures("protected")
def test_import_that_changes_dependencies_needs_skip_in_all_environments(ada, alice, conn, role, world):
    def answers() -> tuple[int, list[str]]:
        lacking = ada.post(f"{ADMIN}/features-batch/validate", json=body).json["permissions"]
        response = ada.post(f"{ADMIN}/features-batch/import", json=body)
        assert response.status_code == 200 or MISSING in response.json["message"]
        return response.status_code, [name for one in lacking for name in one["affectedItems"]]

    world.flag("parent")
    refusal = (403, ["SKIP_CHANGE_REQUEST"])
    link = {"feature": "parent", "enabled": False}
    data = {"features": [{"name": "f"}], "dependencies": [{"feature": "f", "dependencies": [link]}]}
    data |= {"featureStrategies": [], "tagTypes": []}
    body = {"project": "default", "environment": "development", "data": data}
    fixtures.allow(conn, role, "SKIP_CHANGE_REQUEST", environment="development")
    assert answers() == refusal
    assert alice.post(f"{DEFAULT}/features/f/dependencies", json=link).status_code == 200
    # The same dependency changes nothing.
    assert answers() == (200, [])
    link["enabled"] = True
    assert answers() == refusal
    # A document that is validated in parts by name: its first flag depends on its last one.
    names = [{"name": f"new-{number}"} for number in range(501)]
    large = {"features": names, "dependencies": [{"feature": "new-0", "dependencies": [link | {"feature": "new-99"}]}]}
    validated = ada.post(f"{ADMIN}/features-batch/validate", json=body | {"data": data | large}).json
    assert [one["affectedItems"] for one in validated["permissions"]] == [["SKIP_CHANGE_REQUEST"]]
    fixtures.allow(conn, role, "SKIP_CHANGE_REQUEST", environment="production")
    assert answers() == (200, [])


@pytest.mark.usefixtures("protected")
def test_undo_needs_skip_as_the_direct_operation_does(ada, alice, world):
    def undo_last() -> TestResponse:
        return ada.post(f"{ADMIN}/events/{world.last_event_id()}/undo")

    assert alice.post(ON).status_code == 200
    assert refuses(undo_last())
    assert alice.delete(f"{DEFAULT}/features/f").status_code == 202
    # The inverse of archiving is reviving, which is free, and the other way round.
    assert undo_last().status_code == 200
    assert refuses(undo_last())
