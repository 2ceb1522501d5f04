"""The flags of one user, evaluated for browsers and mobile apps."""

from secrets import token_hex

from flask import Blueprint, Response, abort

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


# Our choice: Unleash Edge has these four operations, and applications that used it call them. Unleash has none of them.
@bp.get("/api/frontend/all")
@operation(record="frontendEvaluations", query=FrontendQuery, refuses=(401, 403), etag=True)
def list_all_frontend_flags() -> Response:
    """List all flags for a user, on or off.

    It is GET /api/frontend with the flags that are off. The users of the page can read the names of all flags.
    """
    token = require_page(*FRONTEND_KINDS)
    return flags_response(token, or_400(read_query_context, query_pairs()), with_disabled=True)


@bp.post("/api/frontend/all")
@operation(record="frontendEvaluations", body=FrontendContext, refuses=(401, 403, 415), etag=True)
def evaluate_all_frontend_flags() -> Response:
    """List all flags for a user, on or off, with the context in the body.

    It is POST /api/frontend with the flags that are off.
    """
    token = require_page(*FRONTEND_KINDS)
    return flags_response(token, load(FrontendContext())["context"], with_disabled=True)


@bp.get("/api/frontend/features/<feature_name>")
@operation(record="frontendEvaluation", query=FrontendQuery, refuses=(401, 403, 404), etag=True)
def get_frontend_flag(feature_name: str) -> Response:
    """Get one flag for a user, on or off.

    The query parameters are those of GET /api/frontend.
    """
    token = require_page(*FRONTEND_KINDS)
    return flag_response(token, feature_name, or_400(read_query_context, query_pairs()))


@bp.post("/api/frontend/features/<feature_name>")
@operation(record="frontendEvaluation", body=FrontendContext, refuses=(401, 403, 404, 415), etag=True)
def evaluate_frontend_flag(feature_name: str) -> Response:
    """Get one flag for a user, on or off, with the context in the body.

    The body is that of POST /api/frontend.
    """
    token = require_page(*FRONTEND_KINDS)
    return flag_response(token, feature_name, load(FrontendContext())["context"])


def flags_response(token: ClientToken, context: Context, *, with_disabled: bool = False) -> Response:
    """Return the flags that are on for a context, or with_disabled all flags, each with its variant."""
    context = {"sessionId": token_hex(8)} | completed(token, context)
    found, age = document(token, context["environment"])
    flags = found.flags.evaluate_all(context, with_disabled=with_disabled)
    return hashed_response('{"toggles":[' + ",".join(result.text for _, result in flags) + "]}", age)


def flag_response(token: ClientToken, name: str, context: Context) -> Response:
    """Return one flag with its variant, or raise 404."""
    context = {"sessionId": token_hex(8)} | completed(token, context)
    found, age = document(token, context["environment"])
    result = found.flags.evaluate(name, context)
    if result.facts is None:
        abort(404, "No flag has that name in the projects of the token.")
    return hashed_response(result.text, age)
