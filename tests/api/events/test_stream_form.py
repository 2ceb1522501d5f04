"""The form of an event search: the header Accept chooses a page or a stream, and each has its own parameters."""

import pytest
from werkzeug.test import TestResponse

from sql.database import Connection
from tests.support.event_lines import LINES
from tests.support.event_search import PATH, Log
from tests.support.world import Caller, World, refused


@pytest.fixture
def log(conn: Connection) -> Log:
    """The event log, empty."""
    return Log(conn)


def answered_by_lines(response: TestResponse) -> bool:
    """Whether an answer has lines; AssertionError when it has neither form."""
    assert response.status_code == 200
    assert "Accept" in response.vary
    assert response.mimetype in ("application/json", "application/x-ndjson")
    return response.mimetype == "application/x-ndjson"


@pytest.mark.parametrize(
    ("accept", "lines"),
    [
        (None, False),
        ("", False),
        ("*/*", False),
        ("application/*", False),
        ("application/json", False),
        ("text/html,application/xhtml+xml,*/*;q=0.8", False),
        ("text/html", False),
        ("application/ndjson", False),
        ("application/x-ndjson;q=0", False),
        ("application/json, application/x-ndjson", False),
        ("application/json, application/x-ndjson;q=0.9", False),
        (";;;=,q", False),
        ("application/x-ndjson", True),
        ("Application/X-NDJSON", True),
        ("application/x-ndjson, */*;q=0.1", True),
        ("application/json;q=0.9, application/x-ndjson", True),
    ],
)
def test_the_accept_header_chooses_lines(alice: Caller, log: Log, accept: str | None, lines: bool) -> None:
    log.add()
    assert answered_by_lines(alice.get(PATH, headers={} if accept is None else {"Accept": accept})) is lines


def test_a_refusal_depends_on_the_form_too_and_is_json_in_both(world: World, alice: Caller, stranger: Caller) -> None:
    refusals = [(stranger, 401, "AuthenticationRequired"), (alice, 400, "ValidationError")]
    refusals += [(world.api_key(kind), 403, "NoAccessError") for kind in ("client", "frontend")]
    for caller, status, name in refusals:
        for headers in ({}, LINES):
            response = caller.get(PATH, query_string={"limit": "x"}, headers=headers)
            refused(response, status, name)
            assert "Accept" in response.vary


def test_the_deprecated_search_has_no_lines(alice: Caller, log: Log) -> None:
    log.add()
    response = alice.post("/api/admin/events/search", json={}, headers=LINES)
    assert (response.status_code, response.mimetype) == (200, "application/json")


def test_a_head_request_gets_the_head_alone(alice: Caller, log: Log) -> None:
    log.add()
    response = alice.request("HEAD", PATH, headers=LINES)
    assert (response.status_code, response.mimetype, response.get_data()) == (200, "application/x-ndjson", b"")
    refused_head = alice.request("HEAD", PATH, query_string={"offset": 0}, headers=LINES)
    assert refused_head.status_code == 400


def test_each_form_refuses_the_parameters_of_the_other(alice: Caller) -> None:
    assert (
        refused(alice.get(f"{PATH}?offset=0", headers=LINES))
        == "offset: cannot be used with Accept: application/x-ndjson; use after"
    )
    assert refused(alice.get(f"{PATH}?after=0")) == "after: can only be used with Accept: application/x-ndjson"
    for twice in ("after=1&after=1", "limit=1&limit=1"):
        assert "more than once" in refused(alice.get(f"{PATH}?{twice}", headers=LINES))
