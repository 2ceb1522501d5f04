"""The rules of who gives which roles in a project to whom, and what the log says of it (neighbours.md 3.10)."""

from collections.abc import Collection, Iterable
from typing import Any, Literal

from werkzeug.exceptions import BadRequest, Conflict, Forbidden, NotFound

from rules.access import Actor
from sql.database import Connection
from sql.people.users import hold as hold_users
from sql.projects import access as project_access
from sql.projects.access import OWNER, Assignment


def lock(conn: Connection, project_id: str) -> set[Assignment]:
    """Who has which role in the project, which stays so until the transaction ends; 404 if it has gone since the caller was let in."""
    found = project_access.lock(conn, project_id)
    if found is None:
        raise NotFound("No project has that id.")
    return found


def named(roles: Collection[int], assignments: Collection[Assignment]) -> dict[str, set[int]]:
    """What check_known() is to look at: these roles, and everybody who is to have them."""
    users = {it.id for it in assignments if it.holder == "user"}
    return {"roles": set(roles), "users": users, "groups": {it.id for it in assignments if it.holder == "group"}}


def check_known(conn: Connection, *, roles: Collection[int], users: Collection[int] = (), groups: Collection[int] = ()) -> None:
    """400 unless these are there, and the roles can be given in projects."""
    problems = []
    if set(roles) - project_access.hold_roles(conn, set(roles)):
        problems.append("roles: must be ids of roles that can be given in a project")
    if set(users) - hold_users(conn, set(users)):
        problems.append("users: must be ids of users that exist")
    if set(groups) - project_access.hold_groups(conn, set(groups)):
        problems.append("groups: must be ids of groups that exist")
    if problems:
        raise BadRequest("; ".join(problems))


def check_holder(conn: Connection, holder: Literal["user", "group"], holder_id: int) -> None:
    """404 unless there is such a user or group."""
    hold = hold_users if holder == "user" else project_access.hold_groups
    if not hold(conn, [holder_id]):
        raise NotFound(f"No {holder} has that id.")


def replace(
    conn: Connection, actor: Actor, project_id: str, before: set[Assignment], after: set[Assignment], *, keep_owner: bool = False
) -> bool:
    """Let what was become what is to be; whether that is another thing. keep_owner: 409 when a project that has an owner would lose it."""
    if not actor.is_admin and project_access.beyond(conn, project_id, actor.user_id, {it.role for it in after - before}):
        raise Forbidden("You may give only roles whose permissions you hold in this project.")
    if keep_owner and has_owner(before) and not has_owner(after):
        raise Conflict("This is the last owner of the project.")
    project_access.replace(conn, project_id, before, after)
    return before != after


def has_owner(assignments: Iterable[Assignment]) -> bool:
    """Whether somebody, or a group, owns the project."""
    return any(it.role == OWNER for it in assignments)


def of_holder(assignments: Iterable[Assignment], holder: Literal["user", "group"], holder_id: int) -> set[Assignment]:
    """Those of one user or group."""
    return {it for it in assignments if (it.holder, it.id) == (holder, holder_id)}


def roles_of(assignments: Iterable[Assignment]) -> list[int]:
    """The ids of their roles, in order."""
    return sorted({it.role for it in assignments})


def by_role(assignments: Collection[Assignment], role: str, users: str, groups: str) -> dict[str, Any]:
    """What the log says of them: {"roles": [{role, users, groups}]} under these names, roles and ids in order."""
    return {
        "roles": [
            {role: role_id, users: holders_of(assignments, role_id, "user"), groups: holders_of(assignments, role_id, "group")}
            for role_id in roles_of(assignments)
        ]
    }


def holders_of(assignments: Iterable[Assignment], role_id: int, holder: Literal["user", "group"]) -> list[int]:
    """The ids of the users or of the groups that have a role, in order."""
    return sorted(it.id for it in assignments if (it.role, it.holder) == (role_id, holder))
