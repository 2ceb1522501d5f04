"""API tokens, for SDKs and scripts. Each is a client, frontend or admin token."""

from flask import Blueprint, Response, abort

from rules.access import require
from rules.api_tokens import create, delete, permission, permissions, readable_kinds, update
from rules.refusals import Refusal
from serving.etags import IF_SHOWN, content_version, refuse_changed
from serving.operation import operation
from serving.request_data import load
from serving.responses import created, empty_response, json_response
from sql.database import connection, transaction
from sql.tokens import api_tokens
from validators.tokens.api_tokens import CreateApiToken, UpdateApiToken

bp = Blueprint("api_tokens", __name__)

UNKNOWN = "No API token has that secret."


@bp.get("/api/admin/api-tokens")
@operation(
    record="apiTokens",
    refuses=(401, 403),
    errors={
        403: Refusal(
            "The caller can read no type of token.",
            "You lack the permission ADMIN or READ_CLIENT_API_TOKEN or READ_FRONTEND_API_TOKEN.",
        )
    },
)
def list_api_tokens() -> Response:
    """List API tokens.

    Returns tokens of the types that the caller can read, with the secrets of client and frontend tokens. The secrets of
    admin tokens are masked.
    """
    with connection() as conn:
        actor = require(conn, *permissions("READ"))
        body = api_tokens.list_all(conn, readable_kinds(actor))
    return json_response(body)


@bp.get("/api/admin/api-tokens/<slashed:api_token>")
@operation(record="apiTokens", refuses=(401, 403))
def list_api_tokens_by_name(api_token: str) -> Response:
    """List the API tokens with a name.

    Names need not be unique, so there can be several or none.
    """
    with connection() as conn:
        actor = require(conn, *permissions("READ"))
        body = api_tokens.list_all(conn, readable_kinds(actor), api_token)
    return json_response(body)


@bp.post("/api/admin/api-tokens")
@operation(
    record="apiToken",
    body=CreateApiToken,
    status=201,
    refuses=(400, 401, 403, 415),
    errors={
        403: Refusal(
            "The caller lacks the permission for this type of token.",
            "You lack the permission CREATE_FRONTEND_API_TOKEN.",
        )
    },
)
def create_api_token() -> Response:
    """Create an API token.

    Only this response contains the secret of an admin token. An admin token is valid for all projects and environments.
    Other tokens are valid for one environment, and for all projects unless you name some. If you omit the environment,
    it is default, or development if default does not exist.
    """
    with transaction() as conn:
        require(conn, *permissions("CREATE"))
        payload = load(CreateApiToken())
        actor = require(conn, permission("CREATE", payload["type"]))
        body = create(conn, actor, payload)
    return created(body, "api-tokens/{}", payload["name"])


@bp.put("/api/admin/api-tokens/<slashed:api_token>")
@operation(
    record=None,
    body=UpdateApiToken,
    refuses=(400, 401, 403, 404, 415),
    errors={404: Refusal("No token has that secret.", UNKNOWN)} | IF_SHOWN,
)
def update_api_token(api_token: str) -> Response:
    """Change the expiry or the origins of an API token.

    The path contains the secret of the token. The expiry can be in the past. Only frontend tokens have origins.
    """
    with transaction() as conn:
        # Our choice: callers who can update no type of token get 403 before the token is looked up, so that they learn
        # nothing about it.
        require(conn, *permissions("UPDATE"))
        known = api_tokens.lock_by_secret(conn, api_token)
        refuse_changed(
            lambda: known and content_version(api_tokens.lock(conn, known["id"]), "tokenName", "origins"), UNKNOWN
        )
        change = load(UpdateApiToken())
        token = known or abort(404, UNKNOWN)
        actor = require(conn, permission("UPDATE", token["kind"]))
        update(conn, actor, token["id"], change)
    return empty_response()


@bp.delete("/api/admin/api-tokens/<slashed:api_token>")
@operation(record=None, refuses=(401, 403))
def delete_api_token(api_token: str) -> Response:
    """Delete an API token.

    The path contains the secret of the token. The token stops working at once. 200 even if no token has that secret.
    """
    with transaction() as conn:
        require(conn, *permissions("DELETE"))
        token = api_tokens.lock_by_secret(conn, api_token)
        if token is not None:
            actor = require(conn, permission("DELETE", token["kind"]))
            delete(conn, actor, token["id"])
    return empty_response()
