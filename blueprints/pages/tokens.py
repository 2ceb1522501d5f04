"""The API tokens of the instance, and the public signup tokens."""

import json
from datetime import UTC, datetime

from flask import Blueprint, Response, current_app

from blueprints.pages.lists import list_page
from blueprints.pages.page import Reader, page, require_reader, user_name
from rules.api_tokens import permission, permissions, readable_kinds
from sql.catalog import environments
from sql.database import Connection, connection
from sql.people import user_records
from sql.projects import list as project_list
from sql.tokens import api_tokens, signup_tokens
from validators.tokens.api_tokens import KINDS
from validators.tokens.signup_tokens import DEFAULT_LIFETIME

bp = Blueprint("tokens", __name__)


@bp.get("/admin/api-tokens")
def show_api_tokens() -> Response:
    """Show the tokens of the types that the reader may read, without their secrets."""
    with connection() as conn:
        reader = require_reader(conn, *permissions("READ"))
        tokens = json.loads(api_tokens.list_all(conn, readable_kinds(reader.actor)))["tokens"]
        admins = [one for one in api_tokens.list_rows(conn) if one["type"] == "admin"] if reader.actor.is_admin else []
        names = project_list.names_by_id(conn, reader.actor.viewer)
        known = json.loads(environments.list_all(conn))["environments"]
    # The first one is chosen at the beginning. backend is another word for client.
    creatable = [kind for kind in ("client", "frontend", "admin") if reader.may(permission("CREATE", kind))]
    deletable = [kind for kind in KINDS if kind != "admin" and reader.may(permission("DELETE", kind))]
    return page(
        "admin/api_tokens.html",
        admins=admins,
        creatable=creatable,
        deletable=deletable,
        editable=[kind for kind in KINDS if kind != "admin" and reader.may(permission("UPDATE", kind))],
        names=names,
        projects=[("projects", id_, name, id_) for id_, name in names.items()],
        env_types={environment["name"]: environment["type"] for environment in known},
        **list_page(tokens, "tokenName"),
    )


@bp.get("/admin/signup-tokens")
def show_signup_tokens() -> Response:
    """Show the signup tokens with their links and the users who signed up, newest first."""
    with connection() as conn:
        require_reader(conn, "ADMIN")
        users = json.loads(user_records.list_users_and_groups(conn))["users"]
        body = json.loads(signup_tokens.list_all(conn, current_app.config["BASE_URL"]))
    return page(
        "admin/signup_tokens.html",
        default_expiry=(datetime.now(UTC) + DEFAULT_LIFETIME).replace(second=0, microsecond=0).isoformat(),
        names={user.get(key): user_name(user) for user in users for key in ("username", "email")},
        **list_page(body["tokens"], "name"),
    )


def expiring_tokens(conn: Connection, reader: Reader) -> list[str]:
    """Return the names of the API tokens that the reader may read and that expire within 7 days."""
    return api_tokens.list_expiring(conn, [kind for kind in KINDS if reader.may(permission("READ", kind))])
