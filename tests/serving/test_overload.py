"""The real service under more than it can do: waits are bounded, and long statements end."""

import json
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
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


@pytest.fixture(scope="module")
def url(make_database: Callable[..., str]) -> str:
    """A database of its own."""
    return make_database()


def refused(answer: Answer) -> str:
    """The message of a 503, which must be the one error body and say when to come back."""
    assert (answer.status, answer.headers["Retry-After"], answer.headers["Content-Type"]) == (
        503,
        "1",
        "application/json",
    )
    error = answer.json
    assert set(error) == {"id", "name", "message"}
    assert error["name"] == "UnavailableError"
    assert UUID(error["id"])
    return error["message"]


def line_of(service: Service, answer: Answer) -> dict:
    """The log line that an error's id leads to."""
    (line,) = (line for line in service.out.splitlines() if answer.json["id"] in line)
    return json.loads(line)


@pytest.fixture(scope="module")
def hurried(url: str) -> Iterator[Service]:
    """A service with two connections that waits for nothing longer than a second."""
    limits = {"WAIT_SECONDS": 1, "STATEMENT_TIMEOUT_SECONDS": 2, "LOCK_TIMEOUT_SECONDS": 1}
    with Service(url, DATABASE_POOL_SIZE=2, **limits) as service:
        yield service


def create(service: Service, name: str, key: str = ADMIN_KEY) -> tuple[float, Answer]:
    """How long it took to make a type of tags, and the answer."""
    began = time.monotonic()
    answer = service.request("POST", TAG_TYPES, json={"name": name}, headers={"Authorization": key})
    return time.monotonic() - began, answer


def test_slow_statements_end_and_waiting_requests_get_503(hurried: Service, url: str) -> None:
    # One caller would have one of the two connections.
    keys = [f"*:*.a-key-among-many-{number}" for number in range(12)]
    with connect(url) as conn:
        for key in keys:
            api_tokens.insert(conn, key, name="one of many")
            assert hurried.get(TAG_TYPES, headers={"Authorization": key}).status == 200
        before = value(conn, "SELECT count(*) FROM tag_types")
        conn.execute(SLOW_INSERT)
        try:
            with ThreadPoolExecutor(12) as pool:
                asked = [pool.submit(create, hurried, f"slow-{number}", key) for number, key in enumerate(keys)]
                health = [hurried.get("/health", timeout=QUICK).status for _ in range(5)]
                ended = [one.result() for one in asked]
        finally:
            conn.execute("DROP TRIGGER slow ON tag_types")
        assert health == [200] * 5
        # Two were at the database; the others waited for a connection.
        assert {refused(answer) for _, answer in ended} == {
            "The database is unavailable or too slow.",
            "Too many requests. Try again later.",
        }
        # A second for the connection, two for the statement, and a busy machine.
        assert max(seconds for seconds, _ in ended) < 3 + QUICK
        lines = [line_of(hurried, answer) for _, answer in ended]
        assert {(line["method"], line["route"], line["status"]) for line in lines} == {("POST", TAG_TYPES, 503)}
        kinds = Counter(line["error"].partition("\n")[0] for line in lines)
        # Two at first; others get their connections if those end in the very moment in which they would give up.
        canceled = kinds.pop("psycopg.errors.QueryCanceled (SQLSTATE 57014)")
        assert 2 <= canceled <= 4
        assert set(kinds) == {"psycopg_pool.PoolTimeout"}
        statements = [line["slow"]["statements"][0]["statement"] for line in lines if "QueryCanceled" in line["error"]]
        assert statements == ["vocabulary.tag_types.INSERT"] * canceled
        # Nothing was changed, and the same connections work.
        assert value(conn, "SELECT count(*) FROM tag_types") == before
        pids = pids_of(url)
        assert [create(hurried, f"quick-{number}")[1].status for number in range(4)] == [201] * 4
        assert pids_of(url) == pids


def pids_of(url: str) -> set[int]:
    """Return the PIDs of the other client sessions of a database that have run a statement."""
    with connect(url) as conn:
        found = conn.execute(
            "SELECT pid FROM pg_stat_activity WHERE datname = current_database() "
            "AND pid <> pg_backend_pid() AND backend_type = 'client backend' AND query <> ''"
        )
        return {row["pid"] for row in found}


@pytest.mark.timing
def test_waiting_too_long_for_a_lock_is_503(hurried: Service, url: str) -> None:
    assert create(hurried, "held")[1].status == 201
    with connect(url) as conn, conn.transaction():
        conn.execute("SELECT FROM tag_types WHERE name = 'held' FOR UPDATE")
        began = time.monotonic()
        answer = hurried.request("PUT", f"{TAG_TYPES}/held", json={"description": "new"}, headers=KEY)
        assert time.monotonic() - began < 1 + QUICK
        refused(answer)
        assert line_of(hurried, answer)["error"].startswith("psycopg.errors.LockNotAvailable (SQLSTATE 55P03)\n")
    assert hurried.request("PUT", f"{TAG_TYPES}/held", json={"description": "new"}, headers=KEY).status == 200
