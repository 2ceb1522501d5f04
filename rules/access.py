"""Identify the caller of the request and check permissions. Every view that is not public begins with require()."""

import re
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from flask import Request, g, request
from werkzeug.exceptions import BadRequest, Forbidden, NotFound, Unauthorized

from rules.cross_site import refuse_cross_site
from sql import access
from sql.access import digest
from sql.database import Connection
from sql.events import Visible

# Our choice: a session is a cookie with a random value. The database keeps its SHA-256.
SESSION_COOKIE = "session"
SAFE_METHODS = {"GET", "HEAD"}
# The largest integer of PostgreSQL.
ID_MAX = 2**31 - 1


@dataclass(frozen=True)
class Actor:
    """The caller of a request, or the service itself: the author of events."""

    name: str
    user_id: int | None = None
    is_admin: bool = False
    sees_all: bool = False
    # Those of the permissions passed to require() that the caller holds.
    held: frozenset[str] = frozenset()
    # The events that the caller may see, if require() had listing=True. None: all, for administrators.
    visible: Visible | None = None
    # None: the request has no personal token.
    token_expires_at: datetime | None = None

    @property
    def viewer(self) -> int | None:
        """Return the id of the user whose private projects are visible, or None if all projects are."""
        return None if self.sees_all else self.user_id


def require(
    conn: Connection,
    *permissions: str,
    project: str | None = None,
    environment: str | None = None,
    credential: Literal["any", "user", "session"] = "any",
    listing: bool = False,
) -> Actor:
    """Return the caller, who holds at least one of the permissions, if any are named, and may see the project.

    credential: "user" refuses API tokens, "session" also personal tokens. listing: also list the projects that the
    caller may see. Refuses in this order: 401 missing or invalid credential, 403 wrong kind of credential or
    cross-site request, 403 missing permission, 404 unknown or hidden project.
    """
    # Our choice: the order of refusals. Strangers learn nothing about the body or about what exists. Callers without
    # the permission do not learn whether the project exists.
    token, session = credentials(request)
    caller = None
    if token is not None or session is not None:
        caller = access.authenticate(
            conn,
            key=token,
            session=session,
            permissions=permissions,
            project=project,
            environment=environment,
            listing=listing,
        )
    if caller is None:
        g.caller = None
        raise Unauthorized("A valid API token in the header Authorization, or a session, is required.")
    g.caller = f"{caller['via']}:{caller['user_id'] or caller['key_id']}"
    # Our choice: client and frontend tokens are for SDKs only.
    if caller["key_kind"] not in (None, "admin"):
        raise Forbidden(f"A {caller['key_kind']} token cannot use the admin API.")
    if credential != "any" and caller["user_id"] is None:
        raise Forbidden("API tokens cannot do this. Use a session or a personal access token.")
    # /logout is a GET that changes something: views that need a session are protected for every method.
    if session is not None and (credential == "session" or request.method not in SAFE_METHODS):
        refuse_cross_site(request)
    elif credential == "session":
        raise Forbidden("Personal access tokens cannot do this. Use a session.")
    if permissions and not caller["is_permitted"]:
        raise Forbidden(f"You lack the permission {' or '.join(permissions)}{where(project, environment)}.")
    if project is not None and not caller["sees_project"]:
        raise NotFound("No project has that id.")
    if not caller["is_marked_seen"]:
        access.mark_seen(conn, caller)
    held = frozenset(permissions if caller["is_admin"] else caller["held"])
    visible = (
        None if caller["is_admin"] or not listing else Visible(tuple(caller["visible"]), tuple(caller["readable"]))
    )
    return Actor(
        caller["name"],
        caller["user_id"],
        caller["is_admin"],
        caller["sees_all"],
        held,
        visible,
        caller["token_expires_at"],
    )


def require_user(
    conn: Connection, *, project: str | None = None, credential: Literal["user", "session"] = "user"
) -> tuple[Actor, int]:
    """Return the caller and their user id, for favorites, personal tokens and passwords.

    API tokens have none of these.
    """
    actor = require(conn, project=project, credential=credential)
    assert actor.user_id is not None
    return actor, actor.user_id


def id_in_path(text: str) -> int:
    """Return an id of the path as a number. 400 if it is not a positive number, 404 if it is larger than any id."""
    if not re.fullmatch(r"[1-9]\d*", text, re.ASCII):
        raise BadRequest("An id in the path must be a whole number of at least 1.")
    if len(text) > len(str(ID_MAX)) or int(text) > ID_MAX:
        raise NotFound("Not found.")
    return int(text)


def credentials(request: Request) -> tuple[bytes | None, bytes | None]:
    """Return the digests of the token in the header and of the session cookie.

    The cookie is ignored if there is a header.
    """
    # Our choice: "Authorization: <token>" and "Authorization: Bearer <token>" are equal.
    header = request.headers.get("Authorization")
    if header is not None:
        scheme, _, rest = header.partition(" ")
        # Only these two: the header is read as Latin-1, where other bytes of a token can look like spaces.
        secret = (rest if scheme.lower() == "bearer" else header).strip(" \t")
        # This gives back the bytes of the header. Tokens are hashed as UTF-8.
        return digest(secret.encode("latin-1", "replace")), None
    cookie = request.cookies.get(SESSION_COOKIE)
    return None, None if cookie is None else digest(cookie)


def where(project: str | None, environment: str | None) -> str:
    """Return the end of a message about a permission. It names nothing that the caller did not send."""
    if environment is not None:
        return " in this project and environment"
    return "" if project is None else " in this project"
