"""Permissions that roles can contain."""

from flask import Blueprint, Response

from rules.access import require
from serving.operation import operation
from serving.responses import json_response
from sql.database import connection
from sql.people import permissions

bp = Blueprint("permissions", __name__)


@bp.get("/api/admin/permissions")
@operation(record="permissionTree", refuses=(401, 403))
def list_permissions() -> Response:
    """List permissions.

    Returns the permissions of the whole instance, of projects, and of each environment. Permissions of Unleash without
    an effect here are not listed, but roles can contain them.
    """
    with connection() as conn:
        require(conn)
        body = permissions.tree(conn)
    return json_response(body)
