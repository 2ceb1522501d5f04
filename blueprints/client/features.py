"""The flags that applications get, with all that SDKs need to evaluate them (neighbours.md 3.18)."""

from flask import Blueprint, Response, request

from rules.client_access import SERVER_KINDS, environment_of, require_client
from serving.contract import operation
from serving.request_data import load_query
from serving.responses import json_response
from sql.client import features
from sql.database import connection
from validators.client.features import ClientFeatures, reads_segments

bp = Blueprint("client_features", __name__)


@bp.get("/api/client/features")
@operation(record="clientFeatures", query=ClientFeatures, refuses=(400, 401, 403))
def list_client_features() -> Response:
    """List the flags of an application.

    Returns the live flags of the projects of the token in its environment, with their enabled strategies. For SDKs that
    do not send the header Unleash-Client-Spec, or a version below 4.2.0, the constraints of segments are among those of
    the strategies. A token for all environments gets the requested one, else default or development.
    """
    token = require_client(*SERVER_KINDS)
    query = load_query(ClientFeatures)
    inline = not reads_segments(request.headers.get("Unleash-Client-Spec"))
    environment = environment_of(token, query["environment"])
    projects = (
        token.projects if token.projects is not None else [project for project in query["project"] if project] or None
    )
    with connection() as conn:
        flags, segments = features.read(
            conn, environment, projects, prefix=query.get("namePrefix", ""), tags=query["tag"], inline=inline
        )
    body = f'{{"version":2,"features":{flags}' + ("" if inline else f',"segments":{segments}') + "}"
    return json_response(body)
