"""Streams of events: GET /api/admin/search/events with Accept: application/x-ndjson."""

import json
from typing import Any

from tests.support.event_search import PATH
from tests.support.world import Caller

LINES = {"Accept": "application/x-ndjson"}


def stream(caller: Caller, **query: Any) -> list[dict[str, Any]]:
    """The events of a stream that came to its end."""
    response = caller.get(PATH, query_string=query, headers=LINES)
    assert (response.status_code, response.mimetype) == (200, "application/x-ndjson"), response.text
    return [json.loads(line) for line in response.get_data().split(b"\n")[:-1]]


def ids(caller: Caller, **query: Any) -> list[int]:
    """Their ids."""
    return [event["id"] for event in stream(caller, **query)]
