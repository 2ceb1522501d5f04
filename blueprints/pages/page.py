"""Build pages: who reads one, what they are permitted to do, and the response with its headers."""

import json
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from urllib.parse import quote

from flask import Response, current_app, g, render_template
from werkzeug.exceptions import Forbidden, HTTPException, NotFound

from blueprints.pages.assets import asset
from rules.access import Actor, Caller, require
from serving.version import VERSION
from sql import account
from sql.database import Connection

# Pages load and send nothing from or to other sites. Inline scripts and styles are not allowed.
POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self'",
        "connect-src 'self'",
        "form-action 'self'",
        "frame-ancestors 'none'",
        "base-uri 'none'",
    )
)
# Our choice: with 495 projects, the page of insights had 14 MB. An instance can have MAX_PROJECTS.
MOST_PROJECTS = 100


@dataclass(frozen=True, kw_only=True)
class Reader(Caller):
    """The user who reads a page, as g.caller."""

    actor: Actor
    # The record of the user, as GET /api/admin/user returns it.
    user: dict[str, Any]
    # {"permission", "project"?, "environment"?}: without a project in all projects, likewise for the environment.
    permissions: list[dict[str, str]]

    @property
    def user_id(self) -> int:
        """Return the id of the user."""
        return self.user["id"]

    @property
    def name(self) -> str:
        """Return what the user is called: their name, user name or e-mail address."""
        return user_name(self.user)

    def may(self, *permissions: str, project: str | None = None, environment: str | None = None) -> bool:
        """Return whether the user has at least one of these permissions, for controls that others do not see."""
        return any(
            held["permission"] == "ADMIN"
            or (
                held["permission"] in permissions
                and held.get("project") in (None, project)
                and held.get("environment") in (None, environment)
            )
            for held in self.permissions
        )


def require_reader(
    conn: Connection,
    *permissions: str,
    project: str | None = None,
    environment: str | None = None,
    list_projects: bool = False,
) -> Reader:
    """Return the user who reads the page. Raises as rules.access.require() does. Visitors are sent to /login by 401."""
    try:
        actor = require(
            conn,
            *permissions,
            project=project,
            environment=environment,
            credential="user",
            list_projects=list_projects,
        )
    except (Forbidden, NotFound):
        # The page of the error has the menu too, if a user reads it.
        with suppress(HTTPException):
            set_reader(conn, require(conn, credential="user"))
        raise
    return set_reader(conn, actor)


def set_reader(conn: Connection, actor: Actor) -> Reader:
    """Return the user who reads the page. page() shows their name and the menu."""
    record = json.loads(account.get(conn, actor.user_id, None) or "{}")
    g.caller = Reader(
        via=g.caller.via, id=g.caller.id, actor=actor, user=record["user"], permissions=record["permissions"]
    )
    return g.caller


def page(template: str, status: int = 200, **context: Any) -> Response:
    """Return a page.

    Templates also get reader (or None), base (the path of BASE_URL), base_url, version, most_projects, now, and the
    functions asset(), segment(), json_text(), fit_lines() and user_name().
    """
    caller = g.get("caller")
    text = render_template(
        template,
        **context,
        reader=caller if isinstance(caller, Reader) else None,
        base=current_app.config["BASE_PATH"],
        base_url=current_app.config["BASE_URL"],
        asset=asset,
        now=datetime.now(UTC).isoformat(),
        segment=segment,
        json_text=json.dumps,
        fit_lines=fit_lines,
        user_name=user_name,
        version=VERSION,
        most_projects=MOST_PROJECTS,
    )
    response = Response(text, status, mimetype="text/html")
    response.headers["Content-Security-Policy"] = POLICY
    # With no-referrer, browsers send "Origin: null" with forms, and forms of other sites would look the same.
    response.headers["Referrer-Policy"] = "same-origin"
    return response


def segment(value: str | int) -> str:
    """Return a value as one segment of a path, percent-encoded."""
    return quote(str(value), safe="")


def fit_lines(values: Iterable[str]) -> bool:
    """Return whether a field with one value on each line sends these values back as they are."""
    return all(value and value == value.strip().strip("\ufeff") and not set(value) & {"\r", "\n"} for value in values)


def user_name(user: Mapping[str, Any]) -> str:
    """Return what a user is called: their name, user name or e-mail address."""
    return user.get("name") or user.get("username") or user.get("email") or f"user {user['id']}"
