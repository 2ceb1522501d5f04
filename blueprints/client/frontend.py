"""The flags of one user, evaluated for browsers and mobile apps."""

from secrets import token_hex

from flask import Blueprint, Response

from rules.client_access import FRONTEND_KINDS, ClientToken
from rules.client_features import document
from serving.cross_origin import require_page
from serving.evaluation import completed, hashed_response
from serving.operation import operation
from serving.request_data import load, query_pairs
from validators import or_400
from validators.client.contexts import Context, FrontendContext, FrontendQuery, read_query_context

bp = Blueprint("frontend", __name__)


@bp.get("/api/frontend")
@operation(record="frontendFlags", query=FrontendQuery, refuses=(401, 403), etag=True)
def list_frontend_flags() -> Response:
    """List the flags that are on for a user.

    The query parameters are the context: what the application knows about the user. `properties[plan]=gold` and
    `plan=gold` both set the property plan. Without remoteAddress, it is the address of the client. Without sessionId,
    it is random in each request. The environment is always that of the token.
    """
    token = require_page(*FRONTEND_KINDS)
    return flags_response(token, or_400(read_query_context, query_pairs()))


@bp.post("/api/frontend")
@operation(record="frontendFlags", body=FrontendContext, refuses=(401, 403, 415), etag=True)
def evaluate_frontend_flags() -> Response:
    """List the flags that are on for a user, with the context in the body.

    It is the same as the GET. The context is not in the address, so that logs of proxies do not contain it.
    """
    token = require_page(*FRONTEND_KINDS)
    return flags_response(token, load(FrontendContext())["context"])


def flags_response(token: ClientToken, context: Context) -> Response:
    """Return the flags that are on for a context, each with its variant."""
    context = {"sessionId": token_hex(8)} | completed(token, context)
    found, age = document(token, context["environment"])
    flags = found.flags.evaluate_all(context)
    return hashed_response('{"toggles":[' + ",".join(result.text for _, result in flags) + "]}", age)
