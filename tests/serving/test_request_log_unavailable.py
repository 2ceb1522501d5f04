"""The line of a request while the database is unavailable: short, because the line of code does not matter."""

import json

import psycopg
import pytest
from psycopg_pool import PoolTimeout

from sql.database.connections import DatabaseUnavailable
from tests.support.request_log import broken_app, line_of
from tests.support.world import Caller

UNAVAILABLE = (
    psycopg.OperationalError("the connection is lost"),
    DatabaseUnavailable("a reason"),
    PoolTimeout("couldn't get a connection"),
    psycopg.errors.AdminShutdown(),
    psycopg.errors.CannotConnectNow(),
    psycopg.errors.TooManyConnections(),
    psycopg.errors.DiskFull(),
    psycopg.errors.ReadOnlySqlTransaction(),
)


@pytest.mark.parametrize("error", UNAVAILABLE, ids=lambda error: type(error).__name__)
def test_the_line_of_an_unavailable_database_has_no_traceback(make_app, shared_url, capsys, error):
    assert Caller(broken_app(make_app, shared_url, error)).get("/broken/x").status_code == 503
    line = line_of(capsys)
    state = f" (SQLSTATE {error.sqlstate})" if error.sqlstate else ""
    assert line["error"] == f"{type(error).__module__}.{type(error).__qualname__}{state}"
    assert len(json.dumps(line)) < 400


# psycopg raises the last one itself, if a statement and its parameters do not fit.
@pytest.mark.parametrize(
    ("error", "status"),
    [
        (psycopg.errors.QueryCanceled(), 503),
        (psycopg.errors.LockNotAvailable(), 503),
        (psycopg.errors.UniqueViolation(), 500),
        (psycopg.ProgrammingError("the query has 2 placeholders"), 500),
    ],
)
def test_the_line_of_another_error_has_its_place_in_the_code(make_app, shared_url, capsys, error, status):
    assert Caller(broken_app(make_app, shared_url, error)).get("/broken/x").status_code == status
    assert "raise error" in line_of(capsys)["error"]
