"""What most requests ask of PostgreSQL is planned once a connection, and not at each request."""

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from psycopg._queries import MAX_CACHED_STATEMENT_LENGTH

from sql import access, event_search, insights
from sql.database import Connection, connect, rows, unindented, value
from sql.projects import access as project_access
from sql.projects import overview as project_overview


def asking(**caller: Any) -> Callable[[Connection, str | None], object]:
    """Authenticate a caller who needs a permission in a project, or lists all that they may see."""
    anonymous: dict[str, Any] = {"key": None, "session": None, "environment": None}

    def ask(conn: Connection, project: str | None) -> object:
        return access.authenticate(conn, **anonymous | {"permissions": ["UPDATE_PROJECT"], "project": project} | caller)

    return ask


ASK: dict[str, Callable[[Connection, str], object]] = {
    "overview": lambda conn, project: project_overview.get(conn, project, None),
    "access": lambda conn, project: project_access.get(conn, project),
    "whose key": asking(key=b"unknown"),
    "whose session": asking(session=b"unknown"),
    "whose key, in an environment": asking(key=b"unknown", environment="development"),
    "whose key, anywhere": asking(key=b"unknown", project=None, permissions=[]),
    "whose session, anywhere": asking(session=b"unknown", project=None, permissions=[]),
    "whose key, listing": asking(key=b"unknown", project=None, permissions=[], list_projects=True),
    "whose session, listing": asking(session=b"unknown", project=None, permissions=[], list_projects=True),
}


UNEVEN = """
    INSERT INTO projects (id, name) SELECT 'small' || number, 'Small' FROM generate_series(1, 30) AS number;
    INSERT INTO flags (name, project_id) SELECT 'flag' || number, 'default' FROM generate_series(1, 500) AS number;
    INSERT INTO events (type, created_by, project)
    SELECT 'feature-created', 'system', 'default' FROM generate_series(1, 10000);
    INSERT INTO users (username, root_role_id) SELECT 'user' || number, 3 FROM generate_series(1, 500) AS number;
    INSERT INTO project_user_roles (project_id, user_id, role_id) SELECT 'default', id, 5 FROM users;
    ANALYZE
"""

LATEST = "SELECT generic_plans FROM pg_prepared_statements ORDER BY prepare_time DESC LIMIT 1"


@pytest.fixture
def conn(shared_url: str) -> Iterator[Connection]:
    """A connection that has prepared nothing, and prepares all that it is asked; rolled back."""
    with connect(shared_url) as conn, conn.transaction(force_rollback=True):
        conn.prepare_threshold = 0
        yield conn


@pytest.mark.parametrize("known", ["analyzed", "grown since", "new"])
@pytest.mark.parametrize("name", ASK)
def test_a_generic_plan_is_kept(conn: Connection, name: str, known: str) -> None:
    if known != "new":
        conn.execute(UNEVEN.replace("ANALYZE", "ANALYZE" if known == "analyzed" else ""), prepare=False)
    # PostgreSQL makes five plans for the very values, and then compares what they cost with what one for all values
    # does.
    for _ in range(7):
        ASK[name](conn, "small2")
    conn.prepare_threshold = None
    assert value(conn, LATEST) == 2


def test_a_listing_by_id_is_planned_for_its_very_values(conn: Connection) -> None:
    event_search.search_from_id(conn, {"type": "feature-created"}, None, limit=50, first_id=None)
    assert not [
        row for row in rows(conn, "SELECT statement FROM pg_prepared_statements") if "totalEvents" in row["statement"]
    ]


def test_psycopg_caches_the_frequent_statements() -> None:
    for statement in access.STATEMENTS.values():
        assert len(unindented(statement)) <= MAX_CACHED_STATEMENT_LENGTH


def test_insights_never_read_the_whole_log(conn: Connection) -> None:
    conn.execute(UNEVEN, prepare=False)
    conn.execute("INSERT INTO past_environment_types VALUES ('production', 'development', now() - interval '10 days')")
    today = datetime.now(UTC).date()
    days = {"first_day": today - timedelta(days=90), "last_day": today, "viewer": None, "projects": None}
    plan = "\n".join(row["QUERY PLAN"] for row in rows(conn, "EXPLAIN " + insights.INSIGHTS, days))
    assert "on events" in plan
    assert "Seq Scan on events" not in plan
