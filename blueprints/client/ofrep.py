"""OFREP, the OpenFeature Remote Evaluation Protocol: evaluate flags for OpenFeature clients of any language."""

import time

from flask import Blueprint, Response, current_app, g, request
from werkzeug.exceptions import Unauthorized

from rules.access import Caller
from rules.client_access import FRONTEND_KINDS, SERVER_KINDS, ClientToken, client_access, environment_of
from rules.client_deltas import snapshot
from rules.client_features import document
from rules.ofrep import evaluation_or_failure, fields_for
from rules.ofrep_usage import counted_evaluation, ofrep_usage
from rules.stream_tickets import ticket, token_of
from serving.client_streams import page_event, stream_response
from serving.cross_origin import allow_page, require_page
from serving.evaluation import completed, hashed_response
from serving.operation import operation
from serving.request_data import load, load_query
from serving.responses import json_response
from sql.database import as_json
from validators.client.contexts import OfrepContext, OfrepRead, OfrepStream

bp = Blueprint("ofrep", __name__)

# Seconds. A page opens its stream soon after it has read its flags.
JUST_NOW = 30.0
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
@operation(record="ofrepEvaluations", body=OfrepContext, query=OfrepRead, refuses=(401, 403, 415), etag=True)
def evaluate_flags_by_ofrep() -> Response:
    """Evaluate all flags for a user.

    A flag that needs a missing `targetingKey` has an `errorCode` instead of a value. The response has an ETag. With the
    same ETag in If-None-Match, an unchanged response is 304. It does not count as usage. Only the day is kept. For
    frontend tokens, `eventStreams` has the address of a stream that tells the page when to read again.
    """
    token = require_page(*KINDS)
    context = completed(token, load(OfrepContext())["context"])
    found, age = document(token, context["environment"])
    announced = load_query(OfrepRead).get("flagConfigEtag")
    if announced and announced != found.etag.strip('"'):
        # Another worker has announced flags that this one may not know yet.
        token = client_access().find(token.digest, is_now=True) or token
        found, age = document(token, context["environment"])
    flags = found.flags
    fields = fields_for(context)
    ofrep_usage().count(token, None)
    texts = [evaluation_or_failure(flags, name, fields) for name in flags.flags]
    return hashed_response("{" + streams_of(token) + '"flags":[' + ",".join(texts) + "]}", age)


def streams_of(token: ClientToken) -> str:
    """Return the member eventStreams of a bulk response, or nothing for tokens of servers."""
    if token.kind != "frontend":
        return ""
    # The ticket is part of the ETag: a 304 has no eventStreams, and the page would keep an expired one.
    uri = f"{current_app.config['BASE_PATH']}/ofrep/v1/stream?key={ticket(token)}"
    return f'"eventStreams":[{{"type":"sse","endpoint":{{"requestUri":{as_json(uri)}}},"inactivityDelaySec":120}}],'


@bp.get("/ofrep/v1/stream")
@operation(content="text/event-stream", query=OfrepStream, public=True, refuses=(401, 403))
def stream_ofrep_changes() -> Response:
    """Stream to a web page when to read its flags again.

    The address is in `eventStreams` of a bulk evaluation, with a ticket that is valid for 12 to 24 hours. If the server
    has no place for the stream, it ends, and the page connects again after 20 seconds.
    """
    token = token_of(load_query(OfrepStream)["key"])
    if token is None:
        raise Unauthorized("The ticket in key is invalid or has expired. Read the flags again to get a new one.")
    g.caller = Caller("api-token", token.id)
    allow_page(token)
    new, _ = snapshot(token, environment_of(token, None))
    last = request.headers.get("Last-Event-ID")
    # Without an id, a change may lie between the evaluation and this stream.
    has_missed = last != new.etag if last else time.monotonic() - token.changed_at < JUST_NOW
    first = page_event(new) if has_missed else f"id: {new.etag}\n\n".encode()
    # Our choice: 200 instead of 429, after which pages connect again each second.
    return stream_response(token, new, first, b"retry: 20000\n" + page_event(new), is_page=True)
