"""Whether the service is alive (/health) and can serve (/ready)."""

import pytest

from operations.postgres import migrate
from sql.database import connect, run
from tests.support.service import free_port
from tests.support.world import Caller, refused

GOOD = b'{"health":"GOOD"}'


@pytest.mark.parametrize("path", ["/health", "/ready"])
def test_good_is_the_same_for_every_caller(stranger, path):
    response = stranger.get(path)
    assert (response.status_code, response.data, response.content_type) == (200, GOOD, "application/json")
    response = stranger.request("HEAD", path)
    assert (response.status_code, response.data, response.content_length) == (200, b"", len(GOOD))


def not_ready(stranger: Caller, message: str) -> None:
    """Assert that the service is alive, and not ready for this reason."""
    assert stranger.get("/health").data == GOOD
    response = stranger.get("/ready")
    assert response.headers["Retry-After"] == "1"
    assert refused(response, 503, "UnavailableError") == message


def test_only_ready_needs_a_database(make_app):
    app = make_app(f"postgresql://127.0.0.1:{free_port()}/x", WAIT_SECONDS=0.2)
    not_ready(Caller(app), "The database is unavailable or too slow.")


@pytest.mark.parametrize(
    ("change", "found"),
    [
        ("UPDATE schema_version SET version = version + 1", migrate.VERSION + 1),
        ("UPDATE schema_version SET version = version - 1", migrate.VERSION - 1),
        ("DELETE FROM schema_version", 0),
        ("DROP TABLE schema_version", 0),
    ],
)
def test_a_database_with_another_schema_is_not_ready(world, stranger, change, found):
    assert stranger.get("/ready").status_code == 200
    run(world.conn, change)
    not_ready(stranger, f"The database has schema version {found}; this service needs {migrate.VERSION}.")


def test_the_service_is_not_ready_before_the_database_has_a_schema(make_database, make_app):
    url = make_database(empty=True)
    stranger = Caller(make_app(url))
    not_ready(stranger, f"The database has schema version 0; this service needs {migrate.VERSION}.")
    with connect(url) as conn, conn.transaction():
        migrate.migrate(conn)
    assert stranger.get("/ready").data == GOOD
