"""Build pages: who reads one, what they are permitted to do, and the response with its headers."""

import json
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo
from functools import partial
from typing import Any
from urllib.parse import quote
from zoneinfo import ZoneInfo

from flask import Response, current_app, g, render_template, request
from werkzeug.exceptions import Forbidden, HTTPException, NotFound

from blueprints.pages.assets import asset
from rules import undo
from rules.access import Actor, Caller, require
from rules.refusals import quantity
from serving.etags import content_version
from serving.version import COMMIT, VERSION
from sql import account, banners
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
THEMES = ("light", "dark")
# The icons of parts.icon(), as paths in a square of 16 × 16.
ICONS = {
    "search": "M7 12A5 5 0 1 0 7 2a5 5 0 0 0 0 10zm3.6-1.4L14 14",
    "star": "M8 2l1.8 3.8 4.2.5-3.1 2.9.8 4.1L8 11.2l-3.7 2.1.8-4.1L2 6.3l4.2-.5z",
    "more": "M3.5 8h.01M8 8h.01M12.5 8h.01",
    "down": "M4 6l4 4 4-4",
    "x": "M4 4l8 8m0-8l-8 8",
    "plus": "M8 3v10M3 8h10",
    "check": "M3 8.5L6.5 12 13 4.5",
    "warn": "M8 2.5L14.5 13.5h-13zM8 6.5v3M8 11.6v.01",
    "info": "M8 14A6 6 0 1 0 8 2a6 6 0 0 0 0 12zM8 7.5V11M8 5v.01",
    "copy": "M6 6h7v7H6zM10 6V3H3v7h3",
    "undo": "M6 4L3 7l3 3M3 7h6a4 4 0 0 1 0 8H8",
}
# Events whose undo can change flags in all environments of the project.
IN_ALL_ENVIRONMENTS = ("feature-revived", "segment-created", "segment-updated")
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
    # All banners, newest first.
    banners: list[dict[str, Any]]
    # The projects of the page and environments in which the reader needs change requests.
    protected: set[tuple[str | None, str]]

    @property
    def user_id(self) -> int:
        """Return the id of the user."""
        return self.user["id"]

    @property
    def name(self) -> str:
        """Return what the user is called: their name, user name or e-mail address."""
        return user_name(self.user)

    @property
    def is_in_admin(self) -> bool:
        """Return whether the user can do something on a page of Admin."""
        return any("project" not in held or held["permission"] == "UPDATE_PROJECT_SEGMENT" for held in self.permissions)

    def may(self, *permissions: str, project: str | None = None, environment: str | None = None) -> bool:
        """Return whether the user has at least one of these permissions, for controls that others do not see.

        With an environment: to change flags there, which can need a change request.
        """
        return (project, environment) not in self.protected and any(
            held["permission"] == "ADMIN"
            or (
                held["permission"] in permissions
                and held.get("project") in (None, project)
                and held.get("environment") in (None, environment)
            )
            for held in self.permissions
        )

    def may_undo(self, event: Mapping[str, Any]) -> bool:
        """Return whether the user may undo an event, if nothing has changed since."""
        permissions, environment = undo.needed(event)
        free = event["type"] not in IN_ALL_ENVIRONMENTS or event["project"] not in dict(self.protected)
        return free and bool(permissions) and self.may(*permissions, project=event["project"], environment=environment)


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
            direct=False if project and not environment else None,
        )
    except (Forbidden, NotFound):
        # The page of the error has the menu too, if a user reads it.
        with suppress(HTTPException):
            set_reader(conn, require(conn, credential="user"))
        raise
    return set_reader(conn, actor, project)


def set_reader(conn: Connection, actor: Actor, project: str | None = None) -> Reader:
    """Return the user who reads the page. page() shows their name and the menu."""
    record = json.loads(account.get(conn, actor.user_id) or "{}")
    shown = json.loads(banners.list_all(conn))["banners"]
    protected = {(project, environment) for environment in actor.protected}
    who = {"via": g.caller.via, "id": g.caller.id, "actor": actor, "protected": protected}
    g.caller = Reader(**who, banners=shown, user=record["user"], permissions=record["permissions"])
    return g.caller


def page(template: str, status: int = 200, **context: Any) -> Response:
    """Return a page.

    Templates also get reader (or None), base (the path of BASE_URL), base_url, version, most_projects, now, theme,
    keys_off, icons, and the functions asset(), segment(), json_text(), fit_lines(), user_name(), initials() and
    time_text().
    """
    caller = g.get("caller")
    now = datetime.now(UTC)
    text = render_template(
        template,
        **context,
        reader=caller if isinstance(caller, Reader) else None,
        base=current_app.config["BASE_PATH"],
        base_url=current_app.config["BASE_URL"],
        asset=asset,
        now=now.isoformat(),
        theme=request.cookies.get("theme") if request.cookies.get("theme") in THEMES else "",
        keys_off=request.cookies.get("keys") == "off",
        icons=ICONS,
        initials=initials,
        time_text=partial(time_text, now=now.astimezone(zone_of_reader())),
        segment=segment,
        quantity=quantity,
        content_version=content_version,
        json_text=json.dumps,
        fit_lines=fit_lines,
        user_name=user_name,
        version=f"{VERSION} ({COMMIT})" if COMMIT else VERSION,
        most_projects=MOST_PROJECTS,
    )
    response = Response(text, status, mimetype="text/html")
    response.headers["Content-Security-Policy"] = POLICY
    # With no-referrer, browsers send "Origin: null" with forms, and forms of other sites would look the same.
    response.headers["Referrer-Policy"] = "same-origin"
    return response


def zone_of_reader() -> tzinfo:
    """Return the time zone of the reader, which the script of the pages keeps in a cookie, or UTC."""
    try:
        return ZoneInfo(request.cookies["zone"])
    except (KeyError, OSError, ValueError):
        return UTC


def segment(value: str | int) -> str:
    """Return a value as one segment of a path, percent-encoded."""
    return quote(str(value), safe="")


def fit_lines(values: Iterable[str]) -> bool:
    """Return whether a field with one value on each line sends these values back as they are."""
    return all(value and value == value.strip().strip("\ufeff") and not set(value) & {"\r", "\n"} for value in values)


def user_name(user: Mapping[str, Any]) -> str:
    """Return what a user is called: their name, user name or e-mail address."""
    return user.get("name") or user.get("username") or user.get("email") or f"user {user['id']}"


def user_hint(user: Mapping[str, Any]) -> str:
    """Return what tells users with the same name apart."""
    if user.get("accountType") == "Service Account":
        return f"service account {user.get('username', '')}"
    return next((text for text in (user.get("email"), user.get("username")) if text and text != user_name(user)), "")


def initials(name: str) -> str:
    """Return the first letters of the first two words of a name, as capitals."""
    return "".join(word[0] for word in name.split()[:2]).upper()


def time_text(iso: str, now: datetime, *, of_event: bool = False) -> str:
    """Return how long ago a time was, such as "8 min ago". More than 30 days ago or in the future, return its date.

    of_event: after a day, return the day and the time of day in the zone of now, such as "yesterday 21:45".
    """
    time = datetime.fromisoformat(iso)
    passed = now - time
    if timedelta(0) <= passed <= timedelta(days=30):
        minutes = int(passed.total_seconds()) // 60
        if minutes < 1:
            return "just now"
        if minutes < 60:
            return f"{minutes} min ago"
        if of_event and minutes >= 24 * 60:
            time = time.astimezone(now.tzinfo)
            is_yesterday = time.date() == now.date() - timedelta(days=1)
            return f"{'yesterday' if is_yesterday else f'{time.day} {time:%b}'} {time:%H:%M}"
        return f"{minutes // 60} h ago" if minutes < 24 * 60 else f"{minutes // (24 * 60)} d ago"
    return f"{time.day} {time:%b %Y}" + (f" {time:%H:%M} UTC" if passed < timedelta(0) else "")
