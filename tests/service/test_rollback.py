"""A change is rolled back as a whole if one of its events cannot be stored."""

from dataclasses import dataclass, field
from typing import Any

import pytest
from werkzeug.test import TestResponse

from sql.database import Connection, value
from sql.flags import favorites as flag_favorites
from tests.access import FAMILIES, Family, RouteWorld
from tests.support import fixtures
from tests.support.fingerprint import fingerprint
from tests.support.flags import ARCHIVE, BETA, FLAGS, PROJECT, depend
from tests.support.strategies import VARIANTS
from tests.support.verdicts import verdict
from tests.support.world import Caller, refused

FLAG, TAGS = f"{FLAGS}/f", "/api/admin/features/f/tags"
STRATEGIES = f"{FLAG}/environments/development/strategies"
ID = "b4ad7b8a-3f5d-4a0c-9d6e-1c2b3a4d5e6f"
NEW, CHANGE = {"name": "g", "tags": [BETA]}, {"description": "d", "stale": True}
CLEARED = {"variants": [], "environments": ["development", "production"]}
CASES: list[tuple[str, str, str, Any]] = [
    ("feature-created", "POST", FLAGS, NEW),
    ("feature-tagged", "POST", FLAGS, NEW),
    ("feature-metadata-updated", "PUT", FLAG, CHANGE),
    ("feature-stale-on", "PUT", FLAG, CHANGE),
    ("feature-stale-on", "POST", f"{PROJECT}/stale", {"features": ["f"], "stale": True}),
    ("feature-favorited", "POST", f"{FLAG}/favorites", None),
    ("feature-unfavorited", "DELETE", f"{FLAGS}/child/favorites", None),
    ("tag-created", "POST", TAGS, BETA | {"value": "new"}),
    ("feature-tagged", "POST", TAGS, BETA | {"value": "new"}),
    ("feature-untagged", "DELETE", f"{TAGS}/simple/beta", None),
    ("feature-strategy-add", "POST", STRATEGIES, {"name": "default", "variants": VARIANTS}),
    ("feature-environment-disabled", "PUT", f"{STRATEGIES}/{ID}", {"disabled": True}),
    ("feature-strategy-update", "PUT", f"{STRATEGIES}/{ID}", {"disabled": True}),
    ("feature-environment-disabled", "DELETE", f"{STRATEGIES}/{ID}", None),
    ("feature-strategy-remove", "DELETE", f"{STRATEGIES}/{ID}", None),
    ("feature-strategy-add", "POST", f"{FLAG}/environments/production/on", None),
    ("feature-environment-enabled", "POST", f"{FLAG}/environments/production/on", None),
    ("feature-environment-variants-updated production", "PUT", f"{FLAG}/variants-batch", CLEARED),
    ("feature-dependency-added", "POST", f"{FLAGS}/child/dependencies", {"feature": "other"}),
    ("feature-dependency-removed", "DELETE", f"{FLAGS}/child/dependencies/parent", None),
    ("feature-dependencies-removed", "DELETE", f"{FLAGS}/child/dependencies", None),
    ("feature-archived", "DELETE", FLAG, None),
    ("feature-dependencies-removed", "POST", f"{PROJECT}/archive", {"features": ["f", "child"]}),
    ("feature-revived", "POST", f"{PROJECT}/revive", {"features": ["gone"]}),
    ("feature-deleted", "DELETE", f"{ARCHIVE}/gone", None),
    ("feature-created", "POST", f"{FLAGS}/child/clone", {"name": "copy"}),
    ("feature-strategy-add", "POST", f"{FLAG}/clone", {"name": "copy"}),
    ("feature-dependency-added", "POST", f"{FLAGS}/child/clone", {"name": "copy"}),
    ("feature-project-change", "POST", f"{FLAG}/changeProject", {"newProjectId": "target"}),
]


@pytest.mark.parametrize(("unwritable", "method", "path", "body"), CASES)
def test_a_change_of_a_flag_is_rolled_back_if_one_of_its_events_fails(
    world, alice, conn, unwritable, method, path, body
):
    world.project("target")
    flag = world.flag("f", enabled_in=("development",))
    fixtures.insert_variant(conn, flag, "development", world.strategy(flag, strategy_id=ID), name="a", weight=1000)
    for environment in ("development", "production"):
        fixtures.insert_variant(conn, flag, environment, None, name="b", weight=1000)
    others = {name: world.flag(name) for name in ("child", "parent", "other")}
    depend(conn, others["child"], others["parent"])
    flag_favorites.add(conn, alice.id, others["child"])
    for tagged in (flag, world.flag("gone", archived_at=value(conn, "SELECT now()"))):
        fixtures.tag(conn, tagged, "simple", "beta")
    conn.execute("SET CONSTRAINTS ALL IMMEDIATE")
    check = f"position('{unwritable}' in concat_ws(' ', type, environment)) = 0"
    conn.execute(f"ALTER TABLE events ADD CONSTRAINT refuse CHECK ({check}) NOT VALID")
    before = fingerprint(conn)
    refused(alice.request(method, path, **({} if body is None else {"json": body})), 500, "InternalError")
    assert fingerprint(conn) == before


@dataclass
class Observer(Caller):
    """A caller, and what is in the database after the latest request."""

    conn: Connection | None = None
    left: dict[str, str] = field(default_factory=dict)

    def request(self, method: str, path: str, **kwargs: Any) -> TestResponse:
        """Send one request, and look at what it has left."""
        assert self.conn is not None
        response = super().request(method, path, **kwargs)
        self.left = fingerprint(self.conn)
        return response


@pytest.mark.parametrize("family", [pytest.param(family, id=family.name) for family in FAMILIES])
def test_every_change_is_rolled_back_if_its_event_fails(route_world: RouteWorld, family: Family) -> None:
    route_world.prepare(family)
    route_world.conn.execute("SET CONSTRAINTS ALL IMMEDIATE")
    route_world.conn.execute("ALTER TABLE events ADD CONSTRAINT refuse CHECK (false) NOT VALID")
    before, complaints, seen = fingerprint(route_world.conn), [], set()
    for row in family.table:
        name = next((name for name, status in row.statuses.items() if status < 400), None)
        if row.method == "GET" or name is None or row.route in seen:
            continue
        seen.add(row.route)
        caller = Observer(route_world.world.app, route_world.cast[name].key, conn=route_world.conn)
        status = route_world.ask(caller, row.route, row.project).status_code
        # Some record no event.
        if status == 500:
            complaints += [
                f"{row.route} has changed {table}" for table in before if caller.left[table] != before[table]
            ]
        elif status != row.statuses[name]:
            complaints.append(f"{row.route}: {status}")
    verdict(complaints)
