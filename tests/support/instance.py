"""Instances under test: their settings, their admin token, and what connects them to a database."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from urllib.parse import urlsplit, urlunsplit

from flask import Flask, current_app

from app import create_app
from rules import client_features
from sql.database import Connection, database
from tests.support.secrecy import Watched

ADMIN_KEY = "*:*.test-admin-key-of-the-template"


# Cheap passwords: bcrypt's cost is tested where it matters.
SETTINGS = {
    "BCRYPT_ROUNDS": 4,
    "BASE_URL": "http://localhost",
    "BASE_PATH": "",
    "DATABASE_POOLER": "none",
    # Each request asks the database, so that it sees the changes of the request before.
    "CLIENT_KEEP_MS": 0,
    # Races hold up to eight requests of one caller, who may hold half of these connections.
    "DATABASE_POOL_SIZE": 16,
    "INIT_ADMIN_PASSWORD": "the administrator's password",
    "INIT_ADMIN_API_TOKENS": (ADMIN_KEY,),
    **dict.fromkeys((*(f"INIT_{kind}_API_TOKENS" for kind in ("CLIENT", "BACKEND", "FRONTEND")), "IMPORT_FILE")),
}


def address_of(server: str, name: str) -> str:
    """The address of another database on the same server."""
    parts = urlsplit(server)
    return urlunsplit(parts._replace(path=f"/{name}"))


@contextmanager
def apps() -> Iterator[Callable[..., Flask]]:
    """Makes services, and closes their connections at the end."""
    apps: list[Flask] = []

    def make(url: str, **settings: object) -> Flask:
        app = create_app(SETTINGS | {"DATABASE_URL": url} | settings)
        app.testing = False
        app.test_client_class = Watched
        app.before_request(forget_documents)
        apps.append(app)
        return app

    yield make
    for app in apps:
        with app.app_context():
            database().close()


def forget_documents() -> None:
    """Drop the flags that the app keeps for applications, if the test rolls back.

    Without a commit, changes do not raise the revision, so the app would not notice them.
    """
    if database()._pinned is not None:
        client_features.init_app(current_app)


@contextmanager
def pinned_to(app: Flask, conn: Connection) -> Iterator[None]:
    """Let the app use this connection alone."""
    with app.app_context():
        pool = database()
    with pool.pinned(conn):
        yield
