"""Settings of single sign-on. The login itself is a page (blueprints/pages/sign_in.py)."""

from flask import Blueprint, Response, current_app
from werkzeug.exceptions import Conflict

from rules.access import require
from rules.refusals import Refusal
from serving.identity_provider import DISCOVERY
from serving.operation import operation
from serving.responses import json_response, json_text
from sql.database import connection
from sql.people import root_roles

bp = Blueprint("sign_in", __name__)
READ_ONLY = "Single sign-on is set by environment variables: OIDC_ISSUER and others."


@bp.get("/api/admin/auth/oidc/settings")
@operation(record="oidcSettings", refuses=(401, 403))
def get_oidc_settings() -> Response:
    """Get the settings of OpenID Connect.

    They are environment variables, so they cannot be changed here. The secret of the client is not returned.
    """
    config = current_app.config
    with connection() as conn:
        require(conn, "ADMIN")
        role_id = root_roles.find_id(conn, config["SSO_ROLE"])
    document = {
        "enabled": config["OIDC_ISSUER"] is not None,
        "discoverUrl": config["OIDC_ISSUER"] and config["OIDC_ISSUER"].rstrip("/") + DISCOVERY,
        "clientId": config["OIDC_CLIENT_ID"],
        "autoCreate": config["OIDC_CREATE_USERS"],
        "defaultRootRole": config["SSO_ROLE"],
        "defaultRootRoleId": role_id,
        "emailDomains": ", ".join(config["OIDC_EMAIL_DOMAINS"]),
        "enableGroupSyncing": config["OIDC_GROUPS_CLAIM"] is not None,
        "groupJsonPath": config["OIDC_GROUPS_CLAIM"],
        "addGroupsScope": False,
        "enableSingleSignOut": False,
        "enablePkce": True,
    }
    return json_response(json_text(document))


@bp.post("/api/admin/auth/oidc/settings", endpoint="update_oidc_settings")
@bp.post("/api/admin/auth/simple/settings", endpoint="update_password_settings")
@operation(refuses=(401, 403, 409), errors={409: Refusal("Always, whatever the body is.", READ_ONLY)})
def refuse_change() -> Response:
    """Refuse to change the settings of this login.

    They are environment variables. Always returns 409.
    """
    with connection() as conn:
        require(conn, "ADMIN")
    raise Conflict(READ_ONLY)
