"""The real service under more than it can do: waits are bounded, and long statements end."""

import json
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from uuid import UUID

import pytest

from sql.database import connect, value
from sql.tokens import api_tokens
from tests.support.instance import ADMIN_KEY
from tests.support.service import Answer, Service

pytestmark = pytest.mark.slow

KEY = {"Authorization": ADMIN_KEY}
TAG_TYPES = "/api/admin/tag-types"
# An ordinary answer takes milliseconds, and what hung here took 20 seconds and more; on a busy machine, it may take a
# while.
QUICK = 2.0
SLOW_INSERT = """
    CREATE OR REPLACE FUNCTION be_slow() RETURNS trigger LANGUAGE plpgsql
        AS 'BEGIN PERFORM pg_sleep(60); RETURN new; END';
    CREATE TRIGGER slow BEFORE INSERT ON tag_types FOR EACH ROW EXECUTE FUNCTION be_slow()
"""
PIDS = """
    SELECT array_agg(pid ORDER BY pid) FROM pg_stat_activity WHERE datname = current_database()
       AND pid <> pg_backend_pid() AND backend_type = 'client backend' AND query <> ''
"""


@pytest.fixture(scope="module")
def hurried(url: str) -> Iterator[Service]:
    """A service with two connections that waits for nothing longer than a second."""
    limits = {"WAIT_SECONDS": 1, "STATEMENT_TIMEOUT_SECONDS": 2, "LOCK_TIMEOUT_SECONDS": 1}
    with Service(url, DATABASE_POOL_SIZE=2, **limits) as service:
        yield service


def refused(service: Service, answer: Answer) -> dict[str, Any]:
    """Assert that it is a 503. Return the line of the log to which its id leads."""
    assert (answer.status, answer.headers["Retry-After"]) == (503, "1")
    assert (set(answer.json), answer.json["name"]) == ({"id", "name", "message"}, "UnavailableError")
    assert UUID(answer.json["id"])
    (line,) = (line for line in service.out.splitlines() if answer.json["id"] in line)
    return json.loads(line)


@pytest.mark.timing
def test_slow_statements_end_and_waiting_requests_get_503(hurried: Service, url: str) -> None:
    # One caller would have one of the two connections.
    keys = [f"*:*.a-key-among-many-{number}" for number in range(12)]

    def create(key: str) -> tuple[float, Answer]:
        """Create a tag type. Return how long it took, and the response."""
        began = time.monotonic()
        answer = hurried.request("POST", TAG_TYPES, {"name": f"type-{began}"}, {"Authorization": key})
        return time.monotonic() - began, answer

    with connect(url) as conn:
        for key in keys:
            api_tokens.insert(conn, key, name="one of many")
            assert hurried.get(TAG_TYPES, headers={"Authorization": key}).status == 200
        before = value(conn, "SELECT count(*) FROM tag_types")
        conn.execute(SLOW_INSERT)
        try:
            with ThreadPoolExecutor(12) as pool:
                asked = [pool.submit(create, key) for key in keys]
                assert [hurried.get("/health", timeout=QUICK).status for _ in range(5)] == [200] * 5
                ended = [one.result() for one in asked]
        finally:
            conn.execute("DROP TRIGGER slow ON tag_types")
        # Two were at the database; the others waited for a connection.
        messages = {"The database is unavailable or too slow.", "Too many requests. Try again later."}
        assert {answer.json["message"] for _, answer in ended} == messages
        # A second for the connection, two for the statement, and a busy machine.
        assert max(seconds for seconds, _ in ended) < 3 + QUICK
        lines = [refused(hurried, answer) for _, answer in ended]
        assert {(line["method"], line["route"], line["status"]) for line in lines} == {("POST", TAG_TYPES, 503)}
        kinds = Counter(line["error"].partition("\n")[0] for line in lines)
        # Two at first; others get their connections if those end in the very moment in which they would give up.
        canceled = kinds.pop("psycopg.errors.QueryCanceled (SQLSTATE 57014)")
        assert 2 <= canceled <= 4
        assert set(kinds) == {"psycopg_pool.PoolTimeout"}
        statements = [line["slow"]["statements"][0]["statement"] for line in lines if "QueryCanceled" in line["error"]]
        assert statements == ["catalog.tag_types.INSERT"] * canceled
        # Nothing was changed, the same connections work, and the database counts as available.
        assert value(conn, "SELECT count(*) FROM tag_types") == before
        pids = value(conn, PIDS)
        assert [create(ADMIN_KEY)[1].status for _ in range(4)] == [201] * 4
        assert value(conn, PIDS) == pids
        assert "unavailable" not in hurried.err


@pytest.mark.timing
def test_waiting_too_long_for_a_lock_is_503(hurried: Service, url: str) -> None:
    assert hurried.request("POST", TAG_TYPES, {"name": "held"}, KEY).status == 201
    with connect(url) as conn, conn.transaction():
        conn.execute("SELECT FROM tag_types WHERE name = 'held' FOR UPDATE")
        began = time.monotonic()
        answer = hurried.request("PUT", f"{TAG_TYPES}/held", {"description": "new"}, KEY)
        assert time.monotonic() - began < 1 + QUICK
        assert refused(hurried, answer)["error"].startswith("psycopg.errors.LockNotAvailable (SQLSTATE 55P03)\n")
    assert hurried.request("PUT", f"{TAG_TYPES}/held", {"description": "new"}, KEY).status == 200
