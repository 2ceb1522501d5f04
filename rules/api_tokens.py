"""Create, change and delete API tokens, for views and commands."""

import secrets
from collections.abc import Mapping, Sequence
from typing import Any

from flask import abort

from rules.access import Actor
from rules.instance_limits import refuse_excess, unique_or_409
from sql import events
from sql.database import Connection
from sql.events import Event
from sql.tokens import api_tokens
from validators.returned import without_read_only
from validators.tokens.api_tokens import KINDS, ONLY_FRONTEND

# A token that is created without an environment gets the first of these that exists.
DEFAULT_ENVIRONMENTS = ("default", "development")
TAKEN = {"api_keys_digest_key": "secret: an API token with this secret already exists"}


def new_secret(project: str = "*", environment: str = "*") -> str:
    """Return a new token: project:environment.secret, with a secret of 64 hexadecimal characters."""
    return f"{project}:{environment}.{secrets.token_hex(32)}"


def project_part(projects: Sequence[str]) -> str:
    """Return the first part of a token: * for all projects, [] for several, or the id of its only project."""
    if len(projects) > 1:
        return "[]"
    return projects[0] if projects else "*"


def create(conn: Connection, actor: Actor, payload: Mapping[str, Any]) -> str:
    """Create a token, record the event, and return the token as JSON text with its secret.

    payload: CreateApiToken, or NewApiToken, which can have a secret. Raise 409 if another token has it.
    """
    refuse_excess(conn, "MAX_API_TOKENS", "API token")
    environment, projects = scope_of(conn, payload)
    secret = payload.get("secret") or new_secret(project_part(projects), environment or "*")
    columns = {"name": payload["name"], "kind": payload["type"], "environment": environment, "projects": projects}
    limits = {"expires_at": payload["expiresAt"], "origins": payload.get("origins")}
    with unique_or_409(TAKEN):
        token_id = api_tokens.insert(conn, secret, **columns, **limits)
    events.record(conn, token_event("api-token-created", actor, data=api_tokens.lock(conn, token_id)))
    return api_tokens.get(conn, token_id, secret)


def update(conn: Connection, actor: Actor, token_id: int, change: Mapping[str, Any]) -> None:
    """Change the expiry or the origins of a token and record the event. change: UpdateApiToken."""
    before = api_tokens.lock(conn, token_id) or {}
    change = without_read_only(change, lambda: before)
    if before.get("type") != "frontend" and change.get("origins") is not None:
        abort(400, f"origins: {ONLY_FRONTEND}")
    after = api_tokens.update(conn, token_id, before | change)
    events.record_change(conn, token_event("api-token-updated", actor, data=after, pre_data=before))


def delete(conn: Connection, actor: Actor, token_id: int) -> None:
    """Delete a token and record the event."""
    events.record(conn, token_event("api-token-deleted", actor, pre_data=api_tokens.lock(conn, token_id)))
    api_tokens.delete(conn, token_id)


def scope_of(conn: Connection, payload: Mapping[str, Any]) -> tuple[str | None, list[str]]:
    """Return the environment (None: all) and projects ([]: all) of a new token. Raise 400 for unknown ones."""
    if payload["type"] == "admin":
        return None, []
    environments = [payload["environment"]] if "environment" in payload else list(DEFAULT_ENVIRONMENTS)
    scope = api_tokens.hold_scope(conn, environments, payload["projects"])
    if scope["environment"] is None:
        abort(400, "environment: must be an existing environment")
    if scope["unknown_projects"]:
        unknown = ", ".join(project[:100] for project in scope["unknown_projects"][:20])
        abort(400, f"projects: unknown projects: {unknown}")
    return scope["environment"], payload["projects"]


def token_event(
    type: str, actor: Actor, *, data: dict[str, Any] | None = None, pre_data: dict[str, Any] | None = None
) -> Event:
    """Return an event with the projects and the environment of a token."""
    token = data or pre_data or {}
    return Event(type, actor, project=token["project"], environment=token["environment"], data=data, pre_data=pre_data)


def permission(verb: str, kind: str) -> str:
    """Return the permission to READ, CREATE, UPDATE or DELETE tokens of a kind."""
    return "ADMIN" if kind == "admin" else f"{verb}_{'FRONTEND' if kind == 'frontend' else 'CLIENT'}_API_TOKEN"


def permissions(verb: str) -> list[str]:
    """Return the permissions of this verb for all kinds of tokens. Callers need at least one of them."""
    return sorted({permission(verb, kind) for kind in KINDS})


def readable_kinds(actor: Actor) -> list[str]:
    """Return the kinds of tokens that a caller can read."""
    return [kind for kind in KINDS if permission("READ", kind) in actor.held]
