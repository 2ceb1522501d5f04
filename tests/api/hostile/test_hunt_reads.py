"""Random requests to the operations that read or delete, as admin, viewer and stranger: all answers are documented."""

from collections import Counter

import pytest
from flask import Response
from schemathesis.core.failures import FailureGroup

from serving.contract import CONTRACTS
from tests.access import ROUTES, Family, Stage
from tests.support import hunt

pytestmark = pytest.mark.slow
METHODS = ("GET", "DELETE")


@pytest.fixture(scope="module")
def tally() -> hunt.Tally:
    """What has been answered here."""
    return Counter()


def test_every_operation_of_the_document_is_hunted_in() -> None:
    # What the page of the documentation is made of is a file.
    documented = {(method, path) for method, path in hunt.operations() if not path.startswith("/docs/")}
    assert {hunt.key_of(route) for route in ROUTES} == documented


def test_the_hunt_sends_enough_requests() -> None:
    assert len(hunt.ASKING) * sum(map(hunt.examples, ROUTES)) >= hunt.AT_LEAST


def fails() -> Response:
    """A bug."""
    raise ValueError


WRONG = {
    "500": fails,
    "418": lambda: Response('{"id": "1", "name": "Teapot", "message": "No."}', 418, mimetype="application/json"),
    "of another type": lambda: Response('{"health": 1}', mimetype="application/json"),
    "no record": lambda: Response('{"health": "GOOD", "other": 1}', mimetype="application/json"),
    "no JSON": lambda: Response("GOOD", mimetype="text/plain"),
}


@pytest.mark.parametrize("wrong", WRONG)
def test_the_hunt_finds_a_wrong_response(stage: Stage, monkeypatch: pytest.MonkeyPatch, wrong: str) -> None:
    stage.furnish(ROUTES["GET /health"])
    assert hunt.hunt(stage, "GET /health").keys() == {(name, 200) for name in hunt.ASKING}
    views = stage.world.app.view_functions
    monkeypatch.setitem(CONTRACTS, WRONG[wrong], CONTRACTS[views["health.get_health"]])
    monkeypatch.setitem(views, "health.get_health", WRONG[wrong])
    with pytest.raises(FailureGroup):
        hunt.hunt(stage, "GET /health")


@pytest.mark.parametrize("family", hunt.families(METHODS), ids=lambda family: family.name)
def test_every_answer_is_documented(stage: Stage, family: Family, tally: hunt.Tally) -> None:
    hunt.hunt_family(stage, family, METHODS, tally)


def test_the_requests_get_far_enough(tally: hunt.Tally) -> None:
    hunt.judge(tally, METHODS)
