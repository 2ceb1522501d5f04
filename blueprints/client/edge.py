"""For proxies between applications and the server."""

from flask import Blueprint, Response

from rules.access import digest
from serving.operation import operation
from serving.request_data import load
from serving.responses import json_response, json_text
from sql.client import tokens
from sql.database import connection
from validators.client.tokens import ValidateTokens

bp = Blueprint("edge", __name__)


@bp.post("/edge/validate")
@operation(record="validTokens", body=ValidateTokens, refuses=(400, 415), public=True)
def validate_tokens() -> Response:
    """Check API tokens.

    Returns the valid ones of these tokens, with their types, projects and environments. Needs no token itself.
    """
    secrets = {digest(secret): secret for secret in load(ValidateTokens())["tokens"]}
    with connection() as conn:
        found = {row.pop("digest"): row for row in tokens.list_valid(conn, list(secrets))}
    # The secrets are added here, so that they are not parameters of a statement.
    valid = [{"token": secret} | found[key] for key, secret in secrets.items() if key in found]
    return json_response(json_text({"tokens": valid}))
