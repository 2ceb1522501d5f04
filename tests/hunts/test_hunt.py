"""Random requests from the OpenAPI document, as admin, viewer and stranger: each response is documented.

HUNT_SEED=7 hunts elsewhere, HUNT_EXAMPLES=300 for longer: so many requests of each operation are thought of, and each
is sent by everybody.
"""

import json
import os
import re
from collections import Counter
from collections.abc import Callable
from functools import cache
from typing import Any
from urllib.parse import parse_qs

import pytest
import schemathesis
from flask import Response
from flask.testing import FlaskClient
from hypothesis import HealthCheck, given, seed, settings
from hypothesis import strategies as st
from psycopg import Rollback
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.core.failures import FailureGroup
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)
from schemathesis.transport.wsgi import WSGI_TRANSPORT

from contract import document as openapi
from serving.operation import CONTRACTS
from tests.access import FAMILIES, PROJECTS, ROUTES, UNCHANGEABLE, Family, RouteWorld
from tests.support.openapi_document import DOCUMENT

pytestmark = pytest.mark.slow

SEED = int(os.environ.get("HUNT_SEED", "1"))
EXAMPLES = int(os.environ.get("HUNT_EXAMPLES", "12"))
# An operation without parameters and body has nothing to think of.
FEW = 4
AT_LEAST = 5_000
ASKING = ("alice", "victor", "stranger")
CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
]
# A busy machine is slow, and that is no failure.
PATIENT = settings(database=None, deadline=None, suppress_health_check=list(HealthCheck), print_blob=False)

# How often somebody got a status.
Tally = Counter[tuple[str, int]]


@cache
def operations() -> dict[tuple[str, str], schemathesis.APIOperation]:
    """Return the operations of the document, by method and path."""
    found = [result.ok() for result in schemathesis.openapi.from_dict(DOCUMENT).get_all_operations()]
    return {(operation.method.upper(), operation.path): operation for operation in found}


def key_of(route: str) -> tuple[str, str]:
    """Return the method of a route, and its path in the form of the document."""
    method, rule = route.split(" ")
    return method, openapi.path_of(rule)


def varies(route: str) -> bool:
    """Return whether requests of a route can differ: whether it has parameters or a body."""
    method, path = key_of(route)
    described = DOCUMENT["paths"][path][method.lower()]
    return bool(described["parameters"] or "requestBody" in described)


def examples(route: str) -> int:
    """Return how many requests of a route are generated."""
    return EXAMPLES if varies(route) else FEW


def known(route_world: RouteWorld, route: str, project: str) -> tuple[dict[str, Any], dict[str, list[str]], Any]:
    """What there is for a route in a project: the words of its path as the document names them, its query, and its body
    or None.
    """
    query = parse_qs(
        route_world.arguments[ROUTES[route].name].queries.get(route, "").removeprefix("?"), keep_blank_values=True
    )
    return (
        {openapi.camel(word): text for word, text in route_world.words(route, project).items()},
        query,
        route_world.body(route, project),
    )


def cases(route_world: RouteWorld, route: str) -> st.SearchStrategy[schemathesis.Case]:
    """Requests that the document allows, and some that it does not; mostly of what there is, and mostly with bodies
    that make sense.
    """
    operation = operations()[key_of(route)]
    modes = [GenerationMode.POSITIVE] * 2 + [GenerationMode.NEGATIVE] * varies(route)
    thought_of = [operation.as_strategy(generation_mode=mode) for mode in modes]
    known_in = {project: known(route_world, route, project) for project in PROJECTS}

    @st.composite
    def case(draw: Callable[..., Any]) -> schemathesis.Case:
        case = draw(st.sampled_from(thought_of).flatmap(lambda strategy: strategy))
        words, query, body = known_in[draw(st.sampled_from(PROJECTS))]
        spoiled = draw(st.sampled_from([None] * 4 + sorted(case.path_parameters or {})))
        for name in case.path_parameters or ():
            if name in words and name != spoiled:
                case.path_parameters[name] = words[name]
        case.query = (case.query or {}) if draw(st.booleans()) else query | (case.query or {})
        if body is not None and draw(st.booleans()):
            case.body = mixed(draw, body, case.body)
        return case

    return case()


def mixed(draw: Callable[..., Any], right: Any, generated: Any) -> Any:
    """Return a valid body in which up to two fields have their generated values."""
    right = json.loads(json.dumps(right))
    if isinstance(right, dict) and isinstance(generated, dict) and generated:
        names = draw(st.lists(st.sampled_from(sorted(generated)), max_size=2, unique=True))
        return right | {name: generated[name] for name in names}
    return right


def right(route_world: RouteWorld, route: str, project: str) -> schemathesis.Case:
    """Return the valid request for a route in a project."""
    words, query, body = known(route_world, route, project)
    sent = {} if body is None else {"body": body, "media_type": "application/json"}
    path = {name: str(words[name]) for name in re.findall(r"{(\w+)}", key_of(route)[1])}
    return operations()[key_of(route)].Case(path_parameters=path, query=query, **sent)


def credential(route_world: RouteWorld, name: str, route: str) -> dict[str, str]:
    """Return the headers of a caller: their token, or a session for routes that refuse tokens."""
    caller = route_world.cast[route_world.most_privileged(route) if name == "alice" else name]
    if caller.key is None:
        return {}
    return (
        {"Cookie": route_world.session_of(caller)} if ROUTES[route].name == "account" else {"Authorization": caller.key}
    )


def hunt(route_world: RouteWorld, route: str) -> Tally:
    """What requests of a route were answered; all that succeeded is undone. Raises what is wrong with an answer."""
    tally: Tally = Counter()
    # Not the one of tests/support/secrecy.py: a password made up at random can be any word.
    client = FlaskClient(route_world.world.app, route_world.world.app.response_class, use_cookies=False)

    def send(case: schemathesis.Case) -> None:
        for name in ASKING:
            with route_world.conn.transaction():
                # Else schemathesis accepts gzip, which it does not read from this client.
                headers = credential(route_world, name, route) | {"Accept-Encoding": "identity"}
                answer = client.open(**WSGI_TRANSPORT.serialize_case(case, headers=headers), buffered=True)
                raise Rollback
            tally[name, answer.status_code] += 1
            case.validate_response(answer, checks=CHECKS)

    for project in PROJECTS:
        send(right(route_world, route, project))
    assert route in UNCHANGEABLE or any(status < 400 for _, status in tally), f"{route}: no request succeeded"
    seed(SEED)(settings(PATIENT, max_examples=examples(route))(given(cases(route_world, route))(send)))()
    return tally


def test_every_operation_of_the_document_is_hunted_in() -> None:
    # What the page of the documentation is made of is a file.
    documented = {(method, path) for method, path in operations() if not path.startswith("/docs/")}
    assert {key_of(route) for route in ROUTES} == documented


def test_the_hunt_sends_enough_requests() -> None:
    assert len(ASKING) * sum(map(examples, ROUTES)) >= AT_LEAST


def test_undocumented_response_is_found(route_world: RouteWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    route_world.prepare(ROUTES["GET /health"])
    assert hunt(route_world, "GET /health").keys() == {(name, 200) for name in ASKING}
    views = route_world.world.app.view_functions

    def wrong() -> Response:
        return Response('{"health": "GOOD", "other": 1}', mimetype="application/json")

    monkeypatch.setitem(CONTRACTS, wrong, CONTRACTS[views["health.get_health"]])
    monkeypatch.setitem(views, "health.get_health", wrong)
    with pytest.raises(FailureGroup):
        hunt(route_world, "GET /health")


@pytest.fixture(scope="module")
def tally() -> Tally:
    """Count the responses of this module."""
    return Counter()


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name)
def test_every_response_is_documented(route_world: RouteWorld, family: Family, tally: Tally) -> None:
    route_world.prepare(family)
    for route in [route for route, home in ROUTES.items() if home is family]:
        answers = hunt(route_world, route)
        assert answers.total() >= len(ASKING) * examples(route), f"{route}: only {answers}"
        tally.update(answers)


def test_enough_requests_succeed(tally: Tally) -> None:
    if tally.total() < len(ASKING) * sum(map(examples, ROUTES)):
        pytest.skip("not all families were asked")
    print(f"{tally.total()} requests:", sorted(tally.items()))
    of_alice = {status: count for (name, status), count in tally.items() if name == "alice"}
    assert sum(count for status, count in of_alice.items() if status < 400) >= sum(of_alice.values()) / 2, of_alice
    assert of_alice[404] <= sum(of_alice.values()) / 4, of_alice
