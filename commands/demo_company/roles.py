"""The custom roles of the company."""

from typing import NamedTuple

from commands.demo_company.cast import ADMIN, AUDITOR, EDITOR, RELEASE_MANAGER, VIEWER, People
from commands.demo_company.dates import Dates
from commands.demo_company.log import Log
from commands.demo_company.portfolio import MEMBER, OWNER, PROJECT_AUDITOR, RESPONDER, TESTER
from sql import Connection, roles

BUILT_IN = {ADMIN: 1, EDITOR: 2, VIEWER: 3, OWNER: 4, MEMBER: 5}
STRATEGIES = ("CREATE_FEATURE_STRATEGY", "UPDATE_FEATURE_STRATEGY", "DELETE_FEATURE_STRATEGY", "UPDATE_FEATURE_ENVIRONMENT")


class Role(NamedTuple):
    """A custom role; an empty environment means all."""

    name: str
    type: str
    description: str
    permissions: tuple[str, ...]
    environments: tuple[str, ...] = ("",)


ROLES = (
    Role(
        RELEASE_MANAGER,
        "root-custom",
        "Switches and rolls out in every project, and keeps the segments.",
        ("CREATE_SEGMENT", "UPDATE_SEGMENT", "READ_ROLE", "UPDATE_FEATURE", "UPDATE_FEATURE_STRATEGY", "UPDATE_FEATURE_ENVIRONMENT"),
    ),
    Role(
        AUDITOR,
        "root-custom",
        "Reads who may do what.",
        ("READ_ROLE", "READ_CLIENT_API_TOKEN", "READ_FRONTEND_API_TOKEN", "PROJECT_USER_ACCESS_READ", "PROJECT_SETTINGS_READ"),
    ),
    Role(TESTER, "custom", "Works with strategies everywhere but in production.", STRATEGIES, ("development", "qa", "staging")),
    Role(RESPONDER, "custom", "Turns flags on and off in production.", ("UPDATE_FEATURE_ENVIRONMENT",), ("production",)),
    Role(
        PROJECT_AUDITOR,
        "custom",
        "Reads access and settings of the project.",
        ("PROJECT_USER_ACCESS_READ", "PROJECT_SETTINGS_READ", "PROJECT_DEFAULT_STRATEGY_READ"),
    ),
)


def make_roles(conn: Connection, dates: Dates, people: People, log: Log) -> dict[str, int]:
    """The ids of all roles by name, the custom ones new."""
    ids = dict(BUILT_IN)
    for minute, role in enumerate(ROLES):
        at = dates.ago(713, f"09:{minute + 10}")
        ids[role.name] = roles.insert(conn, role.name, type=role.type, description=role.description, created_at=at)
        told = []
        for permission in role.permissions:
            for environment in role.environments:
                roles.allow(conn, ids[role.name], permission, environment=environment or None)
                told.append({"name": permission} | ({"environment": environment} if environment else {}))
        record = {"id": ids[role.name], "type": role.type, "name": role.name, "description": role.description, "project": None}
        log.add(at, "role-created", people["nora.lindqvist"], data=record | {"permissions": told})
    return ids
