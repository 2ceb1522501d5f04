"""Roles in a project: sets them, and reads their rows, their past and their events."""

from typing import Any

from werkzeug.test import TestResponse

from sql.database import Connection, rows
from tests.support.world import Caller, World

DAY = "2026-01-0{}T00:00:00Z"


def url(project: str = "gemini") -> str:
    return f"/api/admin/projects/{project}/access"


def roles_url(holder: str, holder_id: int | str, project: str = "gemini") -> str:
    """Where the roles of a "user" or "group" in a project are set."""
    return f"/api/admin/projects/{project}/{holder}s/{holder_id}/roles"


def held(conn: Connection, project: str = "gemini") -> set[tuple[str, int, int]]:
    """The roles in a project: ("user" or "group", id, role)."""
    statement = """
        SELECT 'user' AS holder, user_id AS id, role_id FROM project_user_roles WHERE project_id = %(id)s
     UNION ALL
        SELECT 'group', group_id, role_id FROM project_group_roles WHERE project_id = %(id)s
    """
    return {tuple(row.values()) for row in rows(conn, statement, {"id": project})}


def past(conn: Connection) -> list[tuple[Any, ...]]:
    statement = """
        SELECT 'user' AS holder, user_id AS id, role_id FROM past_project_user_roles
     UNION ALL
        SELECT 'group', group_id, role_id FROM past_project_group_roles
    """
    return sorted(tuple(row.values()) for row in rows(conn, statement))


def logged(world: World, since: int, caller: Caller, project: str = "gemini") -> list[tuple[Any, ...]]:
    """type, data and pre_data of the events after one; all by the caller, and about that project."""
    found = world.events(since)
    for event in found:
        about = [event[name] for name in ("created_by", "created_by_user_id", "project", "environment", "feature_name")]
        assert (about, event["tags"]) == ([caller.email, caller.id, project, None, None], [])
    return [(event["type"], event["data"], event["pre_data"]) for event in found]


def put(caller: Caller, *entries: tuple[int, list[int], list[int]], project: str = "gemini") -> TestResponse:
    """Replace all access: role, users, groups."""
    asked = [{"id": role, "users": users, "groups": of_groups} for role, users, of_groups in entries]
    return caller.put(url(project), json={"roles": asked})
