"""Requests that nobody thought of, of every operation that reads or deletes, as admin, viewer and stranger: every answer is documented."""

from collections import Counter

import pytest

from tests import hunt
from tests.access import ROUTES, Family, Stage

METHODS = ("GET", "DELETE")


@pytest.fixture(scope="module")
def tally() -> hunt.Tally:
    """What has been answered here."""
    return Counter()


def test_every_operation_of_the_document_is_hunted_in() -> None:
    # What the page of the documentation is made of is a file.
    documented = {(method, path) for method, path in hunt.operations() if not path.startswith("/docs/")}
    assert {hunt.key_of(route) for route in ROUTES} == documented


def test_so_many_requests_are_sent() -> None:
    assert len(hunt.ASKING) * sum(map(hunt.examples, ROUTES)) >= hunt.AT_LEAST


@pytest.mark.slow
@pytest.mark.parametrize("family", hunt.families(METHODS), ids=lambda family: family.name)
def test_every_answer_is_documented(stage: Stage, family: Family, tally: hunt.Tally) -> None:
    hunt.hunt_family(stage, family, METHODS, tally)


@pytest.mark.slow
def test_the_requests_get_far_enough(tally: hunt.Tally) -> None:
    hunt.judge(tally, METHODS)
