"""Identify the caller of the request and check permissions. Every view that is not public calls require() first."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Literal

from flask import Request, Response, after_this_request, g, request
from psycopg.rows import DictRow
from werkzeug.exceptions import BadRequest, Forbidden, NotFound, Unauthorized

from rules import proxy_header
from rules.cross_site import refuse_cross_site
from sql import access, sessions
from sql.access import digest
from sql.database import Connection, connection
from sql.events import VisibleEvents
from sql.people.personal_tokens import PREFIX

# Our choice: a session is a cookie with a random value. The database keeps its SHA-256.
SESSION_COOKIE = "session"
SAFE_METHODS = {"GET", "HEAD"}
PROTECTED = (
    "Change requests are on in environment {} of this project. Propose the change, or ask for the permission"
    " SKIP_CHANGE_REQUEST."
)
# The maximum of the PostgreSQL type integer.
ID_MAX = 2**31 - 1


@dataclass(frozen=True)
class Caller:
    """The sender of a request, as g.caller: who is limited and logged.

    via: session, personal-token or api-token. id: of the user or the API token; for applications, of the token.
    origins: those whose pages can read the response. None for all.
    """

    via: str
    id: int
    origins: tuple[str, ...] | None = None

    def __str__(self) -> str:
        return f"{self.via}:{self.id}"

    @property
    def account(self) -> str:
        """Return the user or the API token. All sessions and personal tokens of a user are one account."""
        return f"{'api-token' if self.via == 'api-token' else 'user'}:{self.id}"


def as_caller(found: DictRow) -> Caller:
    """Return the caller of a row of sql.access.authenticate()."""
    return Caller(found["via"], found["user_id"] or found["key_id"])


@dataclass(frozen=True)
class Actor:
    """The caller of a request, or the service itself: the author of events."""

    name: str
    user_id: int | None = None
    is_admin: bool = False
    sees_all: bool = False
    # The permissions that were passed to require() and that the caller holds.
    held: frozenset[str] = frozenset()
    # The environments of require(), or all of its project, in which changes of the caller need a change request.
    protected: tuple[str, ...] = ()
    # Set by require(list_projects=True): the events that the caller may see. None for administrators, who see all.
    visible: VisibleEvents | None = None
    # The expiry of the personal token of the request. None without a personal token.
    token_expires_at: datetime | None = None
    # The id of the API token of the request. None without an API token.
    token_id: int | None = None
    # The Me record of the API token of the request, as JSON text. None without an API token.
    account: str | None = None
    # The event that the request undoes, for its own events.
    undoes: int | None = None
    # The change request that is applied, for the events of its changes.
    change_request_id: int | None = None

    @property
    def viewer(self) -> int | None:
        """Return the viewer for sql/: the id of the user, or None if the caller sees all private projects."""
        return None if self.sees_all else self.user_id


# The service itself, as the author of what commands change.
SYSTEM = Actor("system", is_admin=True, sees_all=True)


def require(
    conn: Connection,
    *permissions: str,
    project: str | None = None,
    environment: str | None = None,
    credential: Literal["any", "user", "session"] = "any",
    list_projects: bool = False,
    direct: bool | None = None,
) -> Actor:
    """Return the caller. Raise unless they hold at least one of the permissions (if any) and may see the project.

    credential: "user" refuses API tokens; "session" refuses personal tokens too. list_projects: set Actor.visible.
    direct: whether the request changes flags in the environment without a change request, or without an environment in
    all of the project. By default, it does if there is an environment. None without one leaves Actor.protected empty.
    Raises, in this order: 401 missing or invalid credential, 403 wrong kind of credential or cross-site request,
    403 missing permission, 404 unknown or hidden project, 403 direct change where change requests are on.
    """
    # Our choice: this order. Callers without a credential learn nothing about the body or about what exists. Callers
    # without the permission do not learn whether the project exists.
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
            protects=environment is not None or direct is not None,
            list_projects=list_projects,
            is_personal=(secret_of(request) or b"").startswith(PREFIX.encode()),
        )
    if caller and caller["session_via"] == "proxy" and session:
        name = proxy_header.person_name()
        # The proxy names another person than the user of the session that it began.
        if name and name not in (caller["email"], caller["username"]):
            # After the response, because the error rolls the transaction back.
            after_this_request(partial(end_session, session))
            caller = None
    if caller is None:
        g.caller = None
        raise Unauthorized("A valid API token in the header Authorization, or a session, is required.")
    g.caller = as_caller(caller)
    # Our choice: client and frontend tokens are for SDKs only.
    if caller["key_kind"] not in (None, "admin"):
        raise Forbidden(f"A {caller['key_kind']} token cannot use the admin API.")
    if credential != "any" and caller["user_id"] is None:
        raise Forbidden("API tokens cannot do this. Use a session or a personal access token.")
    # /logout is a GET that changes something, so views that need a session refuse cross-site requests of all methods.
    if session is not None and (credential == "session" or request.method not in SAFE_METHODS):
        refuse_cross_site(request)
    elif credential == "session":
        raise Forbidden("Personal access tokens cannot do this. Use a session.")
    if permissions and not caller["is_permitted"]:
        raise Forbidden(f"You lack the permission {' or '.join(permissions)}{scope_text(project, environment)}.")
    if project is not None and not caller["sees_project"]:
        raise NotFound("No project has that id.")
    if caller["protected"] and (environment is not None if direct is None else direct):
        raise Forbidden(PROTECTED.format(caller["protected"][0]))
    if not caller["is_marked_seen"]:
        access.mark_seen(conn, caller)
    held = frozenset(permissions if caller["is_admin"] else caller["held"])
    visible = (
        None
        if caller["is_admin"] or not list_projects
        else VisibleEvents(tuple(caller["visible"]), tuple(caller["readable"]))
    )
    return Actor(
        caller["name"],
        caller["user_id"],
        caller["is_admin"],
        caller["sees_all"],
        held,
        tuple(caller["protected"]),
        visible,
        caller["token_expires_at"],
        caller["key_id"],
        caller.get("account"),
    )


def end_session(session: bytes, response: Response) -> Response:
    """Delete a session, and return the response."""
    with connection() as conn:
        sessions.delete(conn, session)
    return response


def held_permissions(
    conn: Connection, permissions: Iterable[str], project: str, environment: str | None = None
) -> frozenset[str]:
    """Return those of the permissions that the caller of the request has in the project and environment."""
    try:
        return require(conn, *sorted(permissions), project=project, environment=environment, direct=False).held
    except Forbidden:
        return frozenset()


def require_parts(conn: Connection, actor: Actor, project: str, parts: Iterable[tuple[str, str | None]]) -> None:
    """Raise 403 unless the actor has the permission of each part of a composed operation, in its environment."""
    missing = [
        f"{permission} in project {project}" + (f" and environment {environment}" if environment else "")
        for permission, environment in ([] if actor.is_admin else parts)
        if not held_permissions(conn, [permission], project, environment)
    ]
    if missing:
        raise Forbidden(f"You lack the permission {', '.join(missing)}.")


def require_user(
    conn: Connection, *, project: str | None = None, credential: Literal["user", "session"] = "user"
) -> tuple[Actor, int]:
    """Return the caller and their user id, or raise as require() does. API tokens are refused."""
    actor = require(conn, project=project, credential=credential)
    assert actor.user_id is not None
    return actor, actor.user_id


def id_in_path(text: str) -> int:
    """Return an id of the path as a number. 404 for a word or a number above all ids, 400 for other texts."""
    # Our choice: a word is an operation that this server does not have, such as user-admin/inactive.
    if re.match(r"[A-Za-z]{2}", text):
        raise NotFound("Not found.")
    if not re.fullmatch(r"[1-9]\d*", text, re.ASCII):
        raise BadRequest("An id in the path must be a whole number of at least 1.")
    if len(text) > len(str(ID_MAX)) or int(text) > ID_MAX:
        raise NotFound("Not found.")
    return int(text)


def credentials(request: Request) -> tuple[bytes | None, bytes | None]:
    """Return the digests of the token in the header and of the session cookie. A header hides the cookie."""
    secret = secret_of(request)
    if secret is not None:
        return digest(secret), None
    cookie = request.cookies.get(SESSION_COOKIE)
    return None, None if cookie is None else digest(cookie)


def secret_of(request: Request) -> bytes | None:
    """Return the token in the header."""
    # Our choice: "Authorization: <token>" and "Authorization: Bearer <token>" are equal.
    header = request.headers.get("Authorization")
    if header is None:
        return None
    scheme, _, rest = header.partition(" ")
    # Strip only spaces and tabs. The header is decoded as Latin-1, where bytes of a token can look like other white
    # space. Encoding as Latin-1 restores the bytes of the header, which are UTF-8 like the stored digests.
    return (rest if scheme.lower() == "bearer" else header).strip(" \t").encode("latin-1", "replace")


def scope_text(project: str | None, environment: str | None) -> str:
    """Return the end of a message about a missing permission: the scope in which it is missing."""
    if environment is not None:
        return " in this project and environment"
    return "" if project is None else " in this project"
