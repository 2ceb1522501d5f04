"""What is not in this project, on this flag and in this environment is 404 for every operation there, and stays as it
is.
"""

from datetime import UTC, datetime
from typing import Any

import pytest

from sql.database import rows, value
from tests.support import fixtures
from tests.support.flag_environments import path
from tests.support.world import refused

# Of every operation on a flag in an environment: method, path below it, body.
OPERATIONS: list[tuple[str, str, Any]] = [
    ("GET", "", None),
    ("POST", "/on", None),
    ("POST", "/off", None),
    ("GET", "/strategies", None),
    ("POST", "/strategies", {"name": "default"}),
    ("GET", "/strategies/{id}", None),
    ("PUT", "/strategies/{id}", {"title": "new"}),
    ("DELETE", "/strategies/{id}", None),
    ("POST", "/strategies/set-sort-order", [{"id": "{id}", "sortOrder": 9}]),
    ("GET", "/variants", None),
    ("PUT", "/variants", []),
    ("PATCH", "/variants", [{"op": "replace", "path": "", "value": []}]),
]
ELSEWHERE = [
    {"project": "hermes"},
    {"flag": "unknown"},
    {"flag": "of-hermes"},
    {"flag": "archived"},
    {"flag": "F"},
    {"environment": "unlinked"},
    {"environment": "unknown"},
    {"environment": "Development"},
]


@pytest.mark.parametrize("place", ELSEWHERE, ids=str)
@pytest.mark.parametrize(("method", "what", "body"), OPERATIONS, ids=lambda part: part if isinstance(part, str) else "")
def test_records_of_another_project_flag_or_environment_are_404_and_stay(world, alice, conn, method, what, body, place):
    world.project("hermes")
    conn.execute("INSERT INTO environments (name, type, sort_order) VALUES ('unlinked', 'test', 9)")
    strategy = ""
    for name, project, more in (
        ("f", "default", {}),
        ("of-hermes", "hermes", {}),
        ("archived", "default", {"archived_at": datetime.now(UTC)}),
    ):
        flag = world.flag(name, project, enabled_in=("development",), **more)
        fixtures.add_flag_environment(conn, flag, "unlinked")
        for environment in ("development", "unlinked"):
            created = world.strategy(flag, environment)
            fixtures.insert_variant(conn, flag, environment, None, name="blue", weight=1000)
            # Of the flag that is asked about, so that it is nothing but the place that is refused.
            if name == place.get("flag", "f") and environment == place.get("environment", "development"):
                strategy = created
    strategy = strategy or value(conn, "SELECT id FROM strategies LIMIT 1")
    tables = ("flag_environments", "strategies", "variants")
    before, since = [rows(conn, f"SELECT * FROM {name} ORDER BY 1, 2") for name in tables], world.last_event_id()
    sent = {} if body is None else {"json": [{"id": strategy, "sortOrder": 9}] if what.endswith("order") else body}
    refused(alice.request(method, path(what.format(id=strategy), **place), **sent), 404, "NotFoundError")
    assert [rows(conn, f"SELECT * FROM {name} ORDER BY 1, 2") for name in tables] == before
    assert world.events(since) == []
