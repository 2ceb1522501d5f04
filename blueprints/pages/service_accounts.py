"""The service accounts and their tokens, for administrators."""

import json

from flask import Blueprint, Response

from blueprints.pages.lists import list_page
from blueprints.pages.page import page, require_reader
from sql.database import connection
from sql.people import service_accounts

bp = Blueprint("service_accounts", __name__)


@bp.get("/admin/service-accounts")
def show_service_accounts() -> Response:
    """Show the service accounts with their tokens."""
    with connection() as conn:
        require_reader(conn, "ADMIN")
        body = json.loads(service_accounts.list_all(conn))
    return page(
        "admin/service_accounts.html",
        roles=body["rootRoles"],
        role_names={role["id"]: role["name"] for role in body["rootRoles"]},
        **list_page(body["serviceAccounts"], "name", "username"),
    )
