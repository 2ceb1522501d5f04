"""Random requests to every operation that writes, as admin, viewer and stranger: every answer is documented."""

from collections import Counter

import pytest

from tests.access import Family, Stage
from tests.support import hunt

METHODS = ("POST", "PUT", "PATCH")


@pytest.fixture(scope="module")
def tally() -> hunt.Tally:
    """What has been answered here."""
    return Counter()


@pytest.mark.slow
@pytest.mark.parametrize("family", hunt.families(METHODS), ids=lambda family: family.name)
def test_every_answer_is_documented(stage: Stage, family: Family, tally: hunt.Tally) -> None:
    hunt.hunt_family(stage, family, METHODS, tally)


@pytest.mark.slow
def test_the_requests_get_far_enough(tally: hunt.Tally) -> None:
    hunt.judge(tally, METHODS)
