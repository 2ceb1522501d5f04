"""What moves into an instance, with every property that a reader gives."""

from typing import Any

from flask import Flask

from rules.access import SYSTEM
from rules.import_contents import Contents
from rules.import_report import Report
from rules.instance_import import import_contents
from sql.database import transaction

ROLLOUT = {"rollout": "50", "stickiness": "default", "groupId": ""}
SECRET = "shop:production.0123456789abcdef0123456789abcdef"


def contents(*flags: dict[str, Any], **lists: Any) -> Contents:
    """Return what a move brings: these flags, and other lists."""
    return Contents(
        "Unleash 8.2.0 at https://old.example (OSS)", "https://old.example", "8.2.0", flags=[*flags], **lists
    )


def project(project_id: str = "default", *places: str, **more: Any) -> dict[str, Any]:
    """A project with these environments, by default development and production."""
    named = [{"environment": place, "defaultStrategy": None} for place in places or ("development", "production")]
    description = "Default project" if project_id == "default" else None
    record = {"id": project_id, "name": project_id.title(), "description": description, "mode": "open"}
    record |= {"environments": named}
    return record | {"defaultStickiness": "default", "featureLimit": None, "featureNaming": None} | more


def strategy(name: str = "flexibleRollout", **more: Any) -> dict[str, Any]:
    lists: dict[str, Any] = {"constraints": [], "variants": [], "segments": []}
    record = {
        "name": name,
        "title": None,
        "disabled": False,
        "parameters": ROLLOUT if name == "flexibleRollout" else {},
    }
    return record | lists | more


def constraint(field: str = "userId", operator: str = "IN", *values: str, **more: Any) -> dict[str, Any]:
    record = {"contextName": field, "operator": operator, "values": [*values]}
    return record | {"inverted": False, "caseInsensitive": False} | more


def variant(name: str, weight: int = 1000, **more: Any) -> dict[str, Any]:
    return {"name": name, "weight": weight, "weightType": "variable", "stickiness": "default"} | more


def state(environment: str = "production", *strategies: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"environment": environment, "enabled": True, "variants": [], "strategies": [*strategies]} | more


def flag(name: str = "f", *states: dict[str, Any], **more: Any) -> dict[str, Any]:
    """A flag of project default, created in 2024."""
    record = {"name": name, "project": "default", "type": "release", "description": None, "stale": False}
    record |= {"impressionData": False, "createdAt": "2024-05-31T12:00:00.000Z", "archivedAt": None}
    return record | {"tags": [], "links": [], "dependencies": [], "environments": [*states]} | more


def segment(number: int, name: str, *constraints: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"id": number, "name": name, "description": None, "project": None, "constraints": [*constraints]} | more


def token(secret: str | None = SECRET, **more: Any) -> dict[str, Any]:
    """A client token for project default in production."""
    record = {"secret": secret, "tokenName": "web", "type": "client", "environment": "production"}
    dates = {"createdAt": "2024-05-31T12:00:00.000Z", "expiresAt": None, "seenAt": None}
    return record | {"projects": ["default"]} | dates | more


def move(app: Flask, brought: Contents) -> Report:
    """Move contents in, in a transaction."""
    with app.app_context(), transaction() as conn:
        return import_contents(conn, SYSTEM, brought)
