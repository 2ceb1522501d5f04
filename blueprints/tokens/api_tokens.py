"""API tokens: the keys of programs (neighbours.md 3.4)."""

from typing import Any

from flask import Blueprint, Response, abort

from rules.access import Actor, require
from rules.limits import refuse_excess
from serving.contract import operation
from serving.request_data import load
from serving.responses import created, empty_response, json_response
from sql import events
from sql.database import Connection, connection, transaction
from sql.events import Event
from sql.tokens import api_tokens
from validators.tokens.api_tokens import KINDS, CreateApiToken, UpdateApiToken

# The environment of a key whose maker names none: the first of these that exists.
USUAL_ENVIRONMENTS = ("default", "development")

bp = Blueprint("api_tokens", __name__)


@bp.get("/api/admin/api-tokens")
@operation(record="apiTokens", refuses=(401, 403))
def list_api_tokens() -> Response:
    """List API tokens.

    Those of the kinds that the caller may read. Client and frontend tokens come with their secrets, admin tokens with a mask.
    """
    with connection() as conn:
        actor = require(conn, *permissions("READ"))
        body = api_tokens.list_all(conn, readable(actor))
    return json_response(body)


@bp.get("/api/admin/api-tokens/<slashed:api_token>")
@operation(record="apiTokens", refuses=(401, 403))
def list_api_tokens_by_name(api_token: str) -> Response:
    """List the API tokens of one name.

    Names need not be unique, so there can be several, or none.
    """
    with connection() as conn:
        actor = require(conn, *permissions("READ"))
        body = api_tokens.list_all(conn, readable(actor), api_token)
    return json_response(body)


@bp.post("/api/admin/api-tokens")
@operation(record="apiToken", body=CreateApiToken, status=201, refuses=(400, 401, 403, 415))
def create_api_token() -> Response:
    """Create an API token.

    The secret of an admin token is shown in this answer alone. An admin token is for all projects and environments; any other for one
    environment, and for all projects unless it names some. Without an environment it is for default, or else development.
    """
    with transaction() as conn:
        require(conn, *permissions("CREATE"))
        asked = load(CreateApiToken())
        actor = require(conn, permission("CREATE", asked["type"]))
        refuse_excess(conn, "MAX_API_TOKENS", "API tokens")
        key_id, secret = make(conn, asked)
        events.record(conn, token_event("api-token-created", actor, data=api_tokens.lock(conn, key_id)))
        body = api_tokens.get(conn, key_id, secret)
    return created(body, "api-tokens/{}", asked["name"])


@bp.put("/api/admin/api-tokens/<slashed:api_token>")
@operation(record=None, body=UpdateApiToken, refuses=(400, 401, 403, 404, 415))
def update_api_token(api_token: str) -> Response:
    """Change when an API token expires.

    The address holds the secret of the token. It works until that instant, which may lie in the past.
    """
    with transaction() as conn:
        # Our choice: who may change no kind of token is refused before one is looked for, and learns nothing of any.
        require(conn, *permissions("UPDATE"))
        change = load(UpdateApiToken())
        found = api_tokens.lock_by_secret(conn, api_token) or abort(404, "No API token has that secret.")
        actor = require(conn, permission("UPDATE", found["kind"]))
        before = api_tokens.lock(conn, found["id"]) or {}
        after = api_tokens.update(conn, found["id"], before | change)
        events.record_change(conn, token_event("api-token-updated", actor, data=after, pre_data=before))
    return empty_response()


@bp.delete("/api/admin/api-tokens/<slashed:api_token>")
@operation(record=None, refuses=(401, 403))
def delete_api_token(api_token: str) -> Response:
    """Delete an API token.

    The address holds the secret of the token, which stops working at once. A token that is not there is no error.
    """
    with transaction() as conn:
        require(conn, *permissions("DELETE"))
        found = api_tokens.lock_by_secret(conn, api_token)
        if found is not None:
            actor = require(conn, permission("DELETE", found["kind"]))
            events.record(conn, token_event("api-token-deleted", actor, pre_data=api_tokens.lock(conn, found["id"])))
            api_tokens.delete(conn, found["id"])
    return empty_response()


def permission(verb: str, kind: str) -> str:
    """What it takes to READ, CREATE, UPDATE or DELETE tokens of a kind."""
    return "ADMIN" if kind == "admin" else f"{verb}_{'FRONTEND' if kind == 'frontend' else 'CLIENT'}_API_TOKEN"


def permissions(verb: str) -> list[str]:
    """What it takes to do so with tokens of some kind at least."""
    return sorted({permission(verb, kind) for kind in KINDS})


def readable(actor: Actor) -> list[str]:
    """The kinds of tokens that a caller may read."""
    return [kind for kind in KINDS if permission("READ", kind) in actor.held]


def make(conn: Connection, asked: dict) -> tuple[int, str]:
    """The id of a new token and its secret."""
    environment, projects = scope(conn, asked)
    secret = api_tokens.generate(api_tokens.project_part(projects), environment or "*")
    key = {"name": asked["name"], "kind": asked["type"], "environment": environment, "projects": projects}
    return api_tokens.insert(conn, secret, **key, expires_at=asked.get("expiresAt")), secret


def scope(conn: Connection, asked: dict) -> tuple[str | None, list[str]]:
    """The environment and the projects that a new token is for, all of which exist; None and []: all. 400 otherwise."""
    if asked["type"] == "admin":
        return None, []
    environments = [asked["environment"]] if "environment" in asked else list(USUAL_ENVIRONMENTS)
    found = api_tokens.share_scope(conn, environments, asked["projects"])
    if found["environment"] is None:
        abort(400, "environment: must be an environment that exists")
    if found["unknown_projects"]:
        some = ", ".join(project[:100] for project in found["unknown_projects"][:20])
        abort(400, f"projects: must be projects that exist, which these are not: {some}")
    return found["environment"], asked["projects"]


def token_event(type: str, actor: Actor, *, data: dict[str, Any] | None = None, pre_data: dict[str, Any] | None = None) -> Event:
    """Return an event of a token: with its projects and its environment."""
    token = data or pre_data or {}
    return Event(type, actor, project=token["project"], environment=token["environment"], data=data, pre_data=pre_data)
