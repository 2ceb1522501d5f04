"""transaction() on a connection of the pool: all or nothing, and what is prepared stays prepared."""

import os
import resource
from collections.abc import Callable, Iterator

import psycopg
import pytest
from flask import Flask

from operations.postgres import migrate
from sql.database import connect, connection, rolled_back_transaction, run, transaction, value
from sql.database.connections import discard_if_closed
from tests.support.instance import ADMIN_KEY
from tests.support.world import Caller

PREPARED = "SELECT count(*) FROM pg_prepared_statements"
COUNT = "SELECT count(*) FROM tag_types WHERE name LIKE 'whole-%%' AND %(yes)s"
INSERT = "INSERT INTO tag_types (name, description) VALUES (%(name)s, '')"


@pytest.fixture(scope="module")
def app(make_database: Callable[..., str], make_app: Callable[..., Flask]) -> Flask:
    """A service with one connection."""
    return make_app(make_database(), DATABASE_POOL_SIZE=1)


@pytest.fixture
def context(app: Flask) -> Iterator[None]:
    """The current app is that one."""
    with app.app_context():
        yield


def state() -> tuple[int, int]:
    """The process of the connection, and how many rows there are."""
    with connection() as conn:
        assert conn.info.transaction_status == psycopg.pq.TransactionStatus.IDLE
        return conn.info.backend_pid, value(conn, COUNT, {"yes": True})


@pytest.mark.usefixtures("context")
def test_a_transaction_is_all_or_nothing(app: Flask) -> None:
    pid, before = state()

    def insert(*names: str, error: Exception | None = None) -> None:
        with transaction() as conn:
            for name in names:
                run(conn, INSERT, {"name": name})
            if error:
                raise error

    insert("whole-1")
    assert state() == (pid, before + 1)
    with pytest.raises(KeyError):
        insert("whole-2", error=KeyError("x"))
    with pytest.raises(psycopg.errors.UniqueViolation):
        insert("whole-2", "whole-1")
    assert state() == (pid, before + 1)
    # A nested one is rolled back alone.
    with transaction() as conn:
        run(conn, INSERT, {"name": "whole-3"})
        with pytest.raises(psycopg.errors.UniqueViolation), conn.transaction():
            run(conn, INSERT, {"name": "whole-3"})
        run(conn, INSERT, {"name": "whole-4"})
    assert state() == (pid, before + 3)

    def break_it() -> None:
        with psycopg.connect(app.config["DATABASE_URL"], autocommit=True) as other, transaction() as conn:
            run(conn, INSERT, {"name": "whole-5"})
            other.execute("SELECT pg_terminate_backend(%s)", [pid])
            run(conn, INSERT, {"name": "whole-6"})

    # A connection that breaks is replaced.
    with pytest.raises(psycopg.OperationalError):
        break_it()
    new_pid, after = state()
    assert (new_pid != pid, after) == (True, before + 3)


def test_other_isolation_levels_of_the_database_are_not_ours(
    make_database: Callable[..., str], make_app: Callable[..., Flask]
) -> None:
    url = make_database()
    with connect(url) as conn:
        for setting in ("default_transaction_isolation = 'repeatable read'", "statement_timeout = '9s'", "jit = off"):
            conn.execute(f'ALTER DATABASE "{conn.info.dbname}" SET {setting}')  # pyright: ignore
    with connect(url) as conn:
        assert value(conn, "SHOW transaction_isolation") == "read committed"
    app = make_app(url)
    with app.app_context(), transaction() as conn:
        assert value(conn, "SHOW transaction_isolation") == "read committed"
    # Behind a pooler it cannot be set by us.
    with pytest.raises(migrate.DatabaseProblem, match=r"^The pooler does not set default_transaction_isolation\."):
        migrate.open_database(url, "transaction")


def test_a_refused_change_leaves_prepared_what_is_prepared(app: Flask) -> None:
    admin = Caller(app, ADMIN_KEY)
    for _ in range(12):
        assert admin.get("/api/admin/projects/default/overview").status_code == 200
    with app.app_context(), connection() as conn:
        before = value(conn, PREPARED)
    assert before > 1
    assert admin.delete("/api/admin/projects/default/features/none").status_code == 404
    assert Caller(app).delete("/api/admin/projects/default/features/none").status_code == 401
    with app.app_context(), connection() as conn:
        assert value(conn, PREPARED) >= before


@pytest.mark.usefixtures("context")
def test_a_transaction_that_is_always_rolled_back_leaves_what_is_prepared_and_no_row() -> None:
    pid, before = state()
    with connection() as conn:
        for number in range(12):
            with rolled_back_transaction(conn):
                run(conn, INSERT, {"name": f"whole-back-{number}"})
        assert value(conn, f"{PREPARED} WHERE statement LIKE 'INSERT INTO tag_types%%'") == 1
    assert state() == (pid, before)
    with transaction() as conn:
        run(conn, INSERT, {"name": "whole-7"})
        with rolled_back_transaction(conn):
            run(conn, INSERT, {"name": "whole-8"})
        run(conn, INSERT, {"name": "whole-9"})
    assert state() == (pid, before + 2)
    with pytest.raises(KeyError), connection() as conn, rolled_back_transaction(conn):
        raise KeyError
    assert state() == (pid, before + 2)


def test_a_process_with_many_files_reuses_connections(make_database: Callable[..., str]) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, 2048), hard))
    held = [os.open(os.devnull, os.O_RDONLY) for _ in range(1024)]
    try:
        with connect(make_database()) as conn:
            assert conn.fileno() >= 1024
            discard_if_closed(conn)
            assert value(conn, "SELECT 1") == 1
    finally:
        for file in held:
            os.close(file)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
