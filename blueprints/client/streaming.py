"""The flags of server SDKs in delta mode, which poll for what has changed, and in streaming mode."""

from flask import Blueprint, Response, request

from rules.client_access import SERVER_KINDS, environment_of, require_client
from rules.client_deltas import snapshot, snapshots
from serving.client_streams import sdk_event, stream_response
from serving.operation import operation
from serving.request_data import load_query
from serving.responses import etag_response
from validators.client.features import ClientFeatures

bp = Blueprint("client_streaming", __name__)


@bp.get("/api/client/delta")
@operation(record="clientDelta", query=ClientFeatures, refuses=(400, 401, 403), etag=True)
def get_client_delta() -> Response:
    """Get what has changed in the flags of an application.

    The ETag is that of GET /api/client/features. With a former one in If-None-Match, the response has the events since,
    if this server still knows them. Otherwise, it has an event `hydration` with all flags.
    """
    token = require_client(*SERVER_KINDS)
    payload = load_query(ClientFeatures)
    new, age = snapshot(token, environment_of(token, payload["environment"]), payload)
    old = snapshots().before(new, request.if_none_match.as_set(include_weak=True))
    gzipped = (lambda: new.gzipped) if old is None else None
    return etag_response(f'"{new.etag}"', lambda: new.changes_since(old).encode(), gzipped, age=age, replaces=True)


@bp.get("/api/client/streaming")
@operation(content="text/event-stream", refuses=(401, 403))
def stream_client_flags() -> Response:
    """Stream the changes of the flags of an application.

    The first event is `unleash-connected`, with all flags, or with those that have changed since the event that
    Last-Event-ID names. Each further event `unleash-updated` has what has changed, as GET /api/client/delta. If the
    server has no place for the stream, it ends after the first event, and SDKs poll.
    """
    token = require_client(*SERVER_KINDS)
    new, _ = snapshot(token, environment_of(token, None))
    old = snapshots().before(new, [request.headers.get("Last-Event-ID", "")])
    first = sdk_event("unleash-connected", new, old)
    # Our choice: 200 instead of 429, after which some SDKs never get flags again.
    if_full = b"retry: 15000\n" + first + b"event: fetch-mode\ndata: polling\n\n"
    return stream_response(token, new, first, if_full, is_page=False)
