"""The service accounts and their tokens, for administrators."""

import json
from datetime import UTC, datetime

from flask import Blueprint, Response

from blueprints.pages.lists import ListQuery, slice_of
from blueprints.pages.page import page, require_reader
from serving.request_data import load_query
from sql.database import connection
from sql.people import service_accounts

bp = Blueprint("service_accounts", __name__)


@bp.get("/admin/service-accounts")
def show_service_accounts() -> Response:
    """Show the service accounts with their tokens."""
    with connection() as conn:
        require_reader(conn, "ADMIN")
        query = load_query(ListQuery)
        body = json.loads(service_accounts.list_all(conn))
    found = [
        account
        for account in body["serviceAccounts"]
        if query["query"].lower() in f"{account['name']} {account['username']}".lower()
    ]
    return page(
        "admin/service_accounts.html",
        query=query["query"],
        roles=body["rootRoles"],
        now=datetime.now(UTC).isoformat(),
        role_names={role["id"]: role["name"] for role in body["rootRoles"]},
        **slice_of(found, query["offset"]),
    )
