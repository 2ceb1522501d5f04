"""No statement depends on statistics: right after an import PostgreSQL has none, and it never collects any of tables
with less than 50 rows.
"""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Self

import psycopg
import pytest
from flask import Flask
from psycopg.rows import DictRow

from app import create_app
from operations import bootstrap
from sql import search
from sql.database import Connection, connect, connection, rows, value
from sql.flags import cleanup
from tests.support.instance import ADMIN_KEY, SETTINGS, pinned_to
from tests.support.service import ROOT
from tests.support.world import Caller

# Enough for tables of several pages: PostgreSQL reads smaller ones as a whole for each row, with statistics too.
FLAGS = 1000
# Rows that a statement can visit for each flag. Documents visit 42, searches 25. A loop over all flags for each flag
# visits FLAGS and more.
ROWS_FOR_EACH_FLAG = 100
TOKEN = "of-the-test"
CLIENT, FRONTEND = f"all-client{TOKEN}", f"all-frontend{TOKEN}"
USERS = """
    INSERT INTO users (username, root_role_id) SELECT 'user' || number, 3 FROM generate_series(1, 300) AS number;
    INSERT INTO tags SELECT 'simple', 'tag' || number FROM generate_series(1, 20) AS number;
    INSERT INTO flag_tags (flag_id, type, value) SELECT id, 'simple', 'tag' || 1 + id % 20 FROM flags;
    INSERT INTO project_user_roles (project_id, user_id, role_id)
    SELECT 'p' || 1 + id % 20, id, 5 FROM users WHERE username LIKE 'user%';
    INSERT INTO applications (name) SELECT 'app' || number FROM generate_series(0, 99) AS number;
    INSERT INTO flag_sightings (flag_id, environment, app_name, first_at, last_at)
    SELECT flags.id, 'production', applications.name, now(), now()
      FROM flags CROSS JOIN applications WHERE applications.name LIKE 'app' || flags.id % 10 || '%';
    UPDATE flags SET archived_at = now() WHERE id % 10 = 7;
    UPDATE flag_environments SET enabled = false WHERE flag_id % 10 = 7
"""
TABLES = "SELECT relname AS name FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind = 'r'"


class ExplainingCursor(psycopg.Cursor[DictRow]):
    """A cursor that first notes how many rows PostgreSQL visits for a statement."""

    visited: dict[str, int]

    def execute(self, query: Any, params: Any = None, **options: Any) -> Self:
        if isinstance(query, str) and query.lstrip().startswith(("SELECT", "WITH")):
            super().execute("SAVEPOINT explained", prepare=False)
            super().execute(f"EXPLAIN (ANALYZE, TIMING OFF, FORMAT JSON) {query}".encode(), params, prepare=False)
            plan = self.fetchall()[0]["QUERY PLAN"][0]["Plan"]
            super().execute("ROLLBACK TO SAVEPOINT explained", prepare=False)
            self.visited[" ".join(query.split())[:80]] = visited_rows(plan)
        return super().execute(query, params, **options)  # pyright: ignore


def visited_rows(plan: dict[str, Any]) -> int:
    """The rows that each node of a plan returns or removes, in all loops."""
    counts = (plan.get(key, 0) for key in ("Actual Rows", "Rows Removed by Filter", "Rows Removed by Join Filter"))
    return round(plan["Actual Loops"] * sum(counts)) + sum(visited_rows(each) for each in plan.get("Plans", ()))


@pytest.fixture(scope="module", params=["no statistics", "statistics of large tables"])
def new_url(request: pytest.FixtureRequest, make_database: Callable[..., str]) -> str:
    """A database as an import leaves it, or as autovacuum leaves it afterwards."""
    url = make_database(empty=True)
    bootstrap.prepare_database(url, create_app(SETTINGS).config)
    with connect(url) as conn, conn.transaction():
        tables = [row["name"] for row in rows(conn, TABLES)]
        for table in tables:
            conn.execute(f"ALTER TABLE {table} SET (autovacuum_enabled = off)")  # pyright: ignore
        conn.execute(
            "SELECT set_config('bench.size', %s, true), set_config('bench.token', %s, true)", [str(FLAGS), TOKEN]
        )
        conn.execute((Path(ROOT) / "bench" / "applications.sql").read_bytes())
        conn.execute(USERS)
        if request.param == "statistics of large tables":
            for table in tables:
                if value(conn, f"SELECT count(*) >= 50 FROM {table}"):  # pyright: ignore
                    conn.execute(f"ANALYZE {table}")  # pyright: ignore
    return url


@pytest.fixture(scope="module")
def new_app(make_app: Callable[..., Flask], new_url: str) -> Flask:
    """The service on that database."""
    return make_app(new_url)


@pytest.fixture
def visited(new_app: Flask, new_url: str) -> Iterator[tuple[Flask, dict[str, int]]]:
    """The service, and the rows that each of its statements visits."""
    app, visited = new_app, dict[str, int]()
    with connect(new_url) as conn, conn.transaction(force_rollback=True), pinned_to(app, conn):
        conn.cursor_factory = type("Cursor", (ExplainingCursor,), {"visited": visited})
        yield app, visited


ADMIN = "/api/admin"
READS: list[tuple[str, str, Any]] = [
    (CLIENT, "/api/client/features", None),
    (CLIENT, "/api/client/features?inlineSegmentConstraints=true", None),
    (CLIENT, "/api/client/features?namePrefix=flag-", None),
    (CLIENT, "/api/client/features?tag=simple:tag1", None),
    (FRONTEND, "/api/frontend?userId=1", None),
    (ADMIN_KEY, f"{ADMIN}/search/features?limit=100", None),
    (ADMIN_KEY, f"{ADMIN}/search/features?segment=INCLUDE:segment-1", None),
    (ADMIN_KEY, f"{ADMIN}/search/features?tag=INCLUDE:simple:tag1", None),
    (ADMIN_KEY, f"{ADMIN}/search/features?status=production:enabled&sortBy=lastSeenAt", None),
    (ADMIN_KEY, f"{ADMIN}/search/features?archived=IS:true", None),
    (ADMIN_KEY, f"{ADMIN}/projects", None),
    (ADMIN_KEY, f"{ADMIN}/projects/p1", None),
    (ADMIN_KEY, f"{ADMIN}/projects/p1/overview", None),
    (ADMIN_KEY, f"{ADMIN}/projects/p1/features", None),
    (ADMIN_KEY, f"{ADMIN}/projects/p1/access", None),
    (ADMIN_KEY, f"{ADMIN}/archive/features", None),
    (ADMIN_KEY, f"{ADMIN}/insights", None),
    (ADMIN_KEY, f"{ADMIN}/segments", None),
    (ADMIN_KEY, f"{ADMIN}/segments/1/strategies", None),
    (ADMIN_KEY, f"{ADMIN}/context", None),
    (ADMIN_KEY, f"{ADMIN}/strategies", None),
    (ADMIN_KEY, f"{ADMIN}/user-admin", None),
    (ADMIN_KEY, f"{ADMIN}/user-admin/access", None),
    (ADMIN_KEY, f"{ADMIN}/metrics/applications", None),
    (ADMIN_KEY, f"{ADMIN}/metrics/applications/app1/overview", None),
    (ADMIN_KEY, f"{ADMIN}/events", None),
    (ADMIN_KEY, f"{ADMIN}/features-batch/export", {"environment": "production", "project": "p1"}),
    (
        ADMIN_KEY,
        f"{ADMIN}/playground",
        {"environment": "production", "projects": "*", "context": {"appName": "test", "userId": "1"}},
    ),
]


def search_for(*words: str) -> Callable[[Connection], object]:
    return lambda conn: search.search(conn, list(words), {}, viewer=9, user_id=9, limit=50, offset=0, others=4)


@pytest.mark.parametrize(
    "read",
    [
        search_for(),
        search_for("tag7"),
        search_for("flag", "1"),
        lambda conn: cleanup.count(conn, [f"p{number}" for number in range(1, 21)]),
        lambda conn: cleanup.list_flags(conn, "p1", 9, 50, 0),
    ],
)
def test_the_rows_visited_by_pages_grow_with_the_flags(
    visited: tuple[Flask, dict[str, int]], read: Callable[[Connection], object]
) -> None:
    app, found = visited
    with app.app_context(), connection() as conn:
        read(conn)
    assert 0 < max(found.values()) < ROWS_FOR_EACH_FLAG * FLAGS


@pytest.mark.parametrize(("key", "path", "body"), READS, ids=[path for _, path, _ in READS])
def test_the_rows_visited_grow_with_the_flags(
    visited: tuple[Flask, dict[str, int]], key: str, path: str, body: object
) -> None:
    app, found = visited
    caller = Caller(app, key)
    response = caller.get(path) if body is None else caller.post(path, json=body)
    assert response.status_code == 200
    assert found
    assert {statement: number for statement, number in found.items() if number > ROWS_FOR_EACH_FLAG * FLAGS} == {}
