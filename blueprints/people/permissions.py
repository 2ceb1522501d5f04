"""Permissions: what roles can allow (neighbours.md 3.6)."""

from flask import Blueprint, Response

from rules.access import require
from serving.contract import operation
from serving.responses import json_response
from sql.database import connection
from sql.people import permissions

bp = Blueprint("permissions", __name__)


@bp.get("/api/admin/permissions")
@operation(record="permissionTree", refuses=(401, 403))
def list_permissions() -> Response:
    """List permissions.

    Those of the whole instance, those of projects, and for each environment those of environments.
    """
    with connection() as conn:
        require(conn)
        body = permissions.tree(conn)
    return json_response(body)
