"""The 279 cases of the client specification (tests/evaluation/specification/README.md)."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from evaluation.document import Document
from tests.support.client_specification import FILES, FOLDER, without_events


def cases(kind: str) -> Iterator[Any]:
    """Yield (document, case) for each case of this kind: tests or variantTests."""
    for file in FILES:
        content = json.loads((FOLDER / file).read_text(encoding="utf-8"))
        document = Document(without_events(content["state"]))
        for case in content.get(kind, ()):
            yield pytest.param(document, case, id=f"{file[:2]}: {case['description']}")


FLAGS, VARIANTS = [*cases("tests")], [*cases("variantTests")]


def test_there_are_279_cases():
    assert (len(FILES), len(FLAGS), len(VARIANTS)) == (22, 227, 52)


@pytest.mark.parametrize(("document", "case"), FLAGS)
def test_flag(document, case):
    assert document.evaluate(case["toggleName"], case["context"]).enabled is case["expectedResult"]


@pytest.mark.parametrize(("document", "case"), VARIANTS)
def test_variant(document, case):
    variant = json.loads(document.evaluate(case["toggleName"], case["context"]).text)["variant"]
    assert variant.pop("featureEnabled") is variant["feature_enabled"]
    assert variant == case["expectedResult"]
