"""OFREP, the OpenFeature Remote Evaluation Protocol: evaluate flags for OpenFeature clients of any language."""

from flask import Blueprint, Response, request

from rules.client_access import FRONTEND_KINDS, SERVER_KINDS
from rules.client_features import document
from rules.ofrep import evaluation_or_failure, fields_for
from rules.ofrep_usage import counted_evaluation, ofrep_usage
from serving.cross_origin import require_page
from serving.evaluation import completed, hashed_response
from serving.operation import operation
from serving.request_data import load
from serving.responses import json_response
from validators.client.contexts import OfrepContext

bp = Blueprint("ofrep", __name__)

KINDS = tuple(dict.fromkeys((*SERVER_KINDS, *FRONTEND_KINDS)))


@bp.before_request
def accept_api_key() -> None:
    """Accept the token in the header X-API-Key too."""
    key = request.headers.get("X-API-Key")
    if key is not None:
        request.environ.setdefault("HTTP_AUTHORIZATION", key)


@bp.post("/ofrep/v1/evaluate/flags/<feature_name>")
@operation(record="ofrepEvaluation", body=OfrepContext, refuses=(401, 403, 404, 415))
def evaluate_flag_by_ofrep(feature_name: str) -> Response:
    """Evaluate a flag for a user.

    `targetingKey` of the context is the user id. It is required if the result depends on a rollout or on variants.
    Without `value` in the response, the application uses its own default.
    The token can be in the header Authorization or X-API-Key. Each evaluation counts as one use of the flag, by the
    application `appName` of the context, or else `ofrep`.
    """
    token = require_page(*KINDS)
    context = completed(token, load(OfrepContext())["context"])
    found, age = document(token, context["environment"])
    response = json_response(counted_evaluation(token, found.flags, feature_name, context))
    if age is not None:
        response.age = age
    return response


@bp.post("/ofrep/v1/evaluate/flags")
@operation(record="ofrepEvaluations", body=OfrepContext, refuses=(401, 403, 415), etag=True)
def evaluate_flags_by_ofrep() -> Response:
    """Evaluate all flags for a user.

    A flag that needs a missing `targetingKey` has an `errorCode` instead of a value. The response has an ETag. With the
    same ETag in If-None-Match, an unchanged response is 304. It does not count as usage. Only the day is kept.
    """
    token = require_page(*KINDS)
    context = completed(token, load(OfrepContext())["context"])
    found, age = document(token, context["environment"])
    flags = found.flags
    fields = fields_for(context)
    ofrep_usage().count(token, None)
    texts = [evaluation_or_failure(flags, name, fields) for name in flags.flags]
    return hashed_response('{"flags":[' + ",".join(texts) + "]}", age)
