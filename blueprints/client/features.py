"""The flags that applications get, with all that SDKs need to evaluate them."""

from flask import Blueprint, Response, request

from rules import client_features
from rules.client_access import SERVER_KINDS, environment_of, require_client
from serving.operation import operation
from serving.request_data import load_query
from serving.responses import etag_response, json_response
from validators.client.features import ClientFeature, ClientFeatures, reads_segments

bp = Blueprint("client_features", __name__)


@bp.get("/api/client/features")
@operation(record="clientFeatures", query=ClientFeatures, refuses=(400, 401, 403), etag=True)
def list_client_features() -> Response:
    """List the flags of an application.

    Returns the live flags of the projects of the token in its environment, with their enabled strategies. For SDKs that
    do not send the header Unleash-Client-Spec, or a version below 4.2.0, the constraints of segments are among those of
    the strategies. A token for all environments gets the requested one, else default or development. While the database
    is unavailable, known tokens get the last flags that the server has, with the header Age. With an If-None-Match that
    does not match these flags, the response is 503, because the client may have newer ones.
    """
    token = require_client(*SERVER_KINDS)
    # SDKs poll without a query. Parsing one takes a tenth of the time of a 304.
    payload = load_query(ClientFeatures) if request.query_string else {}
    inline = not reads_segments(request.headers.get("Unleash-Client-Spec"))
    environment = environment_of(token, payload.get("environment"))
    document, age = client_features.document(token, environment, payload, inline=inline)
    response = etag_response(document.etag, lambda: document.text, lambda: document.gzipped, age=age, replaces=True)
    response.headers["Vary"] = "Accept-Encoding, Unleash-Client-Spec"
    return response


@bp.get("/api/client/features/<feature_name>")
@operation(record="clientFeature", query=ClientFeature, refuses=(400, 401, 403, 404))
def get_client_feature(feature_name: str) -> Response:
    """Get a flag of an application.

    Returns a flag as GET /api/client/features does. SDKs do not use this operation.
    """
    token = require_client(*SERVER_KINDS)
    inline = not reads_segments(request.headers.get("Unleash-Client-Spec"))
    environment = environment_of(token, load_query(ClientFeature)["environment"])
    return json_response(client_features.feature(token, environment, feature_name, inline=inline))
