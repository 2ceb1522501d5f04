"""Identify the application that sends a request, by its client or frontend token."""

from dataclasses import dataclass
from typing import Any

from flask import g, request
from werkzeug.exceptions import Forbidden, Unauthorized

from rules.access import credentials
from sql import access
from sql.client import tokens
from sql.database import connection

# The kinds of tokens for server SDKs and for browser SDKs. Admin tokens can do both.
SERVER_KINDS = ("client", "backend", "admin")
FRONTEND_KINDS = ("frontend", "admin")


@dataclass(frozen=True)
class ClientToken:
    """The token of an application.

    environment, projects: None for all. origins: of a frontend token, None for those of the setting FRONTEND_ORIGINS.
    revision: grows with every change that can alter the flags of the token. default_environment: the one that a token
    for all environments gets if the request names none.
    """

    id: int
    name: str
    kind: str
    environment: str | None
    projects: tuple[str, ...] | None
    origins: tuple[str, ...] | None
    revision: int
    default_environment: str | None


def require_client(*kinds: str) -> ClientToken:
    """Return the token of the request. Raise 401 if it is missing or invalid, and 403 if it is of another kind."""
    # Our choice: sessions are not for applications, so a cookie is ignored.
    digest, _ = credentials(request)
    # Requests of many instances of an application have the same token, so they are not limited as one caller.
    g.is_client = True
    g.caller = None
    with connection() as conn:
        found = None if digest is None else tokens.find(conn, digest)
        if found is None:
            raise Unauthorized("A valid client or frontend token is required in the header Authorization.")
        if found["kind"] not in kinds:
            raise Forbidden(f"A {found['kind']} token cannot do this. Use a {' or '.join(kinds[:-1])} token.")
        if not found["is_marked_seen"]:
            access.mark_seen(conn, {"user_id": None, "key_id": found["id"]})
    g.caller = f"api-token:{found['id']}"
    return as_token(found)


def as_token(row: dict[str, Any]) -> ClientToken:
    """Return the token of a row of tokens.find()."""
    return ClientToken(
        id=row["id"],
        name=row["name"],
        kind=row["kind"],
        environment=row["environment"],
        projects=None if row["projects"] is None else tuple(row["projects"]),
        origins=None if row["origins"] is None else tuple(row["origins"]),
        revision=row["revision"],
        default_environment=row["default_environment"],
    )


def environment_of(token: ClientToken, requested: str | None) -> str:
    """Return the environment of the token. If it is for all: the requested one, else default or development."""
    return token.environment or requested or token.default_environment or "development"
