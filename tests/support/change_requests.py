"""Change requests: stores changes and applies them as the service does, without its routes."""

from typing import Any

from psycopg.rows import DictRow
from werkzeug.exceptions import HTTPException

from rules import change_request_actions as actions
from rules.access import Actor
from sql import access
from sql.database import as_json, connection, rows
from tests.support import fixtures
from tests.support.world import Caller, World

PLACE = ("default", "production")
Answer = tuple[int, str]


def actor_of(world: World, caller: Caller) -> Actor:
    """The caller as the author of events."""
    assert caller.email
    is_admin = bool(access.projects_permitting(world.conn, caller.id, "ADMIN"))
    return Actor(caller.email, caller.id, is_admin, sees_all=is_admin)


def change(action: str, payload: Any = None, feature: str | None = "f") -> dict[str, Any]:
    """A change of the flag f, or of a segment."""
    return {"action": action, "payload": payload} | ({} if action.endswith("Segment") else {"feature": feature})


def propose(world: World, caller: Caller, *changes: dict[str, Any], place: tuple[str, str] = PLACE) -> int:
    """Store a change request with these changes, and return its id."""
    project, environment = place
    named = {"project_id": project, "environment": environment, "title": "Please", "created_by_user_id": caller.id}
    with world.app.app_context(), connection() as conn, conn.transaction():
        request = fixtures.insert(conn, "change_requests", state="Approved", min_approvals=0, **named)["id"]
        for one in changes:
            row = actions.new_change(conn, actor_of(world, caller), project, environment, one)
            texts = {name: None if row[name] is None else as_json(row[name]) for name in ("payload", "base")}
            fixtures.insert(conn, "change_request_changes", change_request_id=request, **row | texts)
    return request


def changes_of(world: World, request: int) -> list[DictRow]:
    """The rows of the changes of a change request."""
    statement = "SELECT * FROM change_request_changes WHERE change_request_id = %(id)s ORDER BY id"
    return rows(world.conn, statement, {"id": request})


def conflicts(world: World, request: int, place: tuple[str, str] = PLACE) -> list[str | None]:
    """The conflict of each change."""
    with world.app.app_context(), connection() as conn:
        return actions.conflicts(conn, *place, changes_of(world, request))


def defaults(world: World, request: int) -> dict[str, Any]:
    """The default change of each flag."""
    with world.app.app_context(), connection() as conn:
        return actions.compare(conn, *PLACE, changes_of(world, request))[1]


def apply(world: World, caller: Caller, request: int, place: tuple[str, str] = PLACE) -> None:
    """Apply a change request."""
    with world.app.app_context(), connection() as conn, conn.transaction():
        actions.apply_changes(conn, actor_of(world, caller), *place, changes_of(world, request))


def refusal(error: HTTPException) -> Answer:
    """The status and message of an error."""
    return error.code or 0, error.description or ""
