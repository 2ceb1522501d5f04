"""require(): the caller of the current request, or 401, 403, 404. Every view that is not open to the world begins with it."""

import re
from dataclasses import dataclass
from datetime import datetime
from typing import Literal
from urllib.parse import urlsplit

from flask import Request, current_app, g, request
from werkzeug.exceptions import BadRequest, Forbidden, NotFound, Unauthorized

from sql import access
from sql.access import digest
from sql.database import Connection
from sql.events import Visible

# Our choice: the transport of a session is this cookie, an opaque random value whose SHA-256 is kept.
SESSION_COOKIE = "session"
SAFE_METHODS = {"GET", "HEAD"}
# Ids are of type integer in the database.
ID_MAX = 2**31 - 1
DEFAULT_PORTS = {"http": ":80", "https": ":443"}


@dataclass(frozen=True)
class Actor:
    """Who does something: what the log calls him, and what he may see."""

    name: str
    user_id: int | None = None
    is_admin: bool = False
    sees_all: bool = False
    # Of the permissions that require() named, those that he holds.
    held: frozenset[str] = frozenset()
    # What the caller may see of the log, where require() was asked to list it; None: an administrator, who sees all of it.
    visible: Visible | None = None
    # When the personal token of the request expires; None: the request has none.
    token_expires_at: datetime | None = None

    @property
    def viewer(self) -> int | None:
        """The user whose memberships decide which private projects can be seen; None: all can."""
        return None if self.sees_all else self.user_id


def require(
    conn: Connection,
    *permissions: str,
    project: str | None = None,
    environment: str | None = None,
    credential: Literal["any", "user", "session"] = "any",
    listing: bool = False,
) -> Actor:
    """The caller, if he holds one of the permissions (none named: whoever he is) and may see the project.

    credential: with user, an API key is refused; with session, a personal token too. listing: list the projects that the caller may see.
    In this order: 401 missing or wrong key, 403 wrong kind of key or forged cross-site, 403 no permission, 404 project unknown or hidden.
    """
    # Our choice: the order of refusals. A stranger learns nothing of a body or of what exists, and who lacks a permission not whether the
    # project does.
    key, session = credentials(request)
    caller = None
    if key is not None or session is not None:
        caller = access.authenticate(
            conn, key=key, session=session, permissions=permissions, project=project, environment=environment, listing=listing
        )
    if caller is None:
        g.caller = None
        raise Unauthorized("A valid API key in the header Authorization, or a session, is required.")
    g.caller = f"{caller['via']}:{caller['user_id'] or caller['key_id']}"
    # Our choice: such keys are for SDKs alone.
    if caller["key_kind"] not in (None, "admin"):
        raise Forbidden(f"A {caller['key_kind']} key may not use the admin API.")
    if credential != "any" and caller["user_id"] is None:
        raise Forbidden("This is for users; an API key cannot do it.")
    # What needs a session changes something even when it is a GET: /logout.
    if session is not None and (credential == "session" or request.method not in SAFE_METHODS):
        refuse_cross_site(request)
    elif credential == "session":
        raise Forbidden("This needs a session; a personal token cannot do it.")
    if permissions and not caller["is_permitted"]:
        raise Forbidden(f"You lack the permission {' or '.join(permissions)}{where(project, environment)}.")
    if project is not None and not caller["sees_project"]:
        raise NotFound("No project has that id.")
    if not caller["is_marked_seen"]:
        access.mark_seen(conn, caller)
    held = frozenset(permissions if caller["is_admin"] else caller["held"])
    visible = None if caller["is_admin"] or not listing else Visible(tuple(caller["visible"]), tuple(caller["readable"]))
    return Actor(caller["name"], caller["user_id"], caller["is_admin"], caller["sees_all"], held, visible, caller["token_expires_at"])


def require_user(conn: Connection, *, project: str | None = None, credential: Literal["user", "session"] = "user") -> tuple[Actor, int]:
    """The caller and his id, for what belongs to a user alone: favourites, personal tokens, his password."""
    actor = require(conn, project=project, credential=credential)
    assert actor.user_id is not None
    return actor, actor.user_id


def id_in_path(text: str) -> int:
    """An id of a path as a number; 400 for what is none, 404 for one that is larger than any."""
    if not re.fullmatch(r"[1-9]\d*", text, re.ASCII):
        raise BadRequest("An id in the address must be a whole number from 1.")
    if len(text) > len(str(ID_MAX)) or int(text) > ID_MAX:
        raise NotFound("There is nothing with that id.")
    return int(text)


def credentials(request: Request) -> tuple[bytes | None, bytes | None]:
    """The digests of the API key and of the session that a request carries. The header wins: with it, the cookie is not looked at."""
    # Our choice: "Authorization: <key>" and "Authorization: Bearer <key>" mean the same.
    header = request.headers.get("Authorization")
    if header is not None:
        scheme, _, rest = header.partition(" ")
        # Only these two: read as Latin-1, other bytes of a key can look like spaces.
        secret = (rest if scheme.lower() == "bearer" else header).strip(" \t")
        # Header bytes arrive as Latin-1; a key of other characters was hashed as UTF-8, which is what those bytes are.
        return digest(secret.encode("latin-1", "replace")), None
    cookie = request.cookies.get(SESSION_COOKIE)
    return None, None if cookie is None else digest(cookie)


def refuse_cross_site(request: Request) -> None:
    """403 for a change that a page of somebody else's had the browser send along with our cookie."""
    origin = request.headers.get("Origin")
    # Our choice: ours is the origin of BASE_URL and, where that is http, the one under which the request itself was addressed. Where users
    # come by https, no page that came without it is ours: anybody on the way could have written it. (Behind a proxy, requests lack it too.)
    own = origin_of(current_app.config["BASE_URL"])
    ours = {own} if own.startswith("https:") else {own, origin_of(request.host_url)}
    if (origin is not None and origin not in ours) or request.headers.get("Sec-Fetch-Site", "none") not in ("same-origin", "none"):
        raise Forbidden("A change made with a session must come from this service's own pages.")


def origin_of(url: str) -> str:
    """scheme://host[:port] of a URL, as a browser writes it: in lower case, without the port that its scheme implies."""
    parts = urlsplit(url.lower())
    return f"{parts.scheme}://{parts.netloc.removesuffix(DEFAULT_PORTS.get(parts.scheme, '/'))}"


def where(project: str | None, environment: str | None) -> str:
    """The end of a sentence about a permission. It repeats nothing that the caller did not send."""
    if environment is not None:
        return " in this project and environment"
    return "" if project is None else " in this project"
