"""API tokens for tests: callers with permissions for them, their rows, and their form in events and responses."""

from typing import Any

from sql.database import Connection, rows, value
from sql.people import roles
from tests.support import fixtures
from tests.support.world import Caller, World

PATH = "/api/admin/api-tokens"
EXPIRY = "2099-12-31T23:59:59.999Z"


def holder(world: World, *permissions: str) -> Caller:
    """Return a user whose only root role is a custom one with these permissions."""
    name = "-".join(permissions) or "nothing"
    role = roles.insert(world.conn, f"May {name}", type="root-custom")
    for permission in permissions:
        fixtures.allow(world.conn, role, permission)
    return world.user(f"x{role}", root_role=role)


def stored(conn: Connection) -> list[dict[str, Any]]:
    """Return the rows of all API tokens with their projects, except the token of the first start."""
    statement = """
        SELECT *, ARRAY(SELECT project_id FROM api_key_projects WHERE api_key_id = id ORDER BY 1) AS projects
          FROM api_keys WHERE name <> 'init-1' ORDER BY id
    """
    return rows(conn, statement)


def described(conn: Connection, name: str, kind: str, environment: str, *projects: str, **more: Any) -> dict[str, Any]:
    """Return a new token in the form of events and responses, without its secret."""
    of_token = {"tokenName": name, "username": name, "type": kind, "environment": environment}
    of_token |= {
        "project": ",".join(projects),
        "projects": list(projects),
        "createdAt": value(conn, "SELECT iso(now())"),
    }
    return of_token | {"expiresAt": None, "seenAt": None, "alias": None} | more


CLIENT = {"type": "client", "tokenName": "sdk", "environment": "development"}
