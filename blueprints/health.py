"""Check whether the process runs, and whether it can answer requests."""

from flask import Blueprint, Response

from serving.operation import operation
from serving.responses import json_response
from sql.database import connection, schema_version
from validators.errors import Unavailable

bp = Blueprint("health", __name__)

GOOD = '{"health":"GOOD"}'


@bp.get("/health")
@operation(record="health", public=True)
def get_health() -> Response:
    """Check that the process runs.

    Does not use the database. Use it as a liveness probe.
    """
    return json_response(GOOD)


@bp.get("/ready")
@operation(record="health", public=True)
def get_readiness() -> Response:
    """Check that the service can answer requests.

    The database must respond and have the schema of this version. Use it as a readiness probe.
    """
    with connection(limited=False) as conn:
        version = schema_version.version(conn)
    if version != schema_version.VERSION:
        raise Unavailable(f"The database has schema version {version}; this service needs {schema_version.VERSION}.")
    return json_response(GOOD)
