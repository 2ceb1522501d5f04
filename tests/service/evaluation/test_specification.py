"""The 279 cases of the client specification (tests/service/evaluation/specification/README.md)."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from evaluation.document import Document

FOLDER = Path(__file__).with_name("specification")
FILES: list[str] = json.loads((FOLDER / "index.json").read_text(encoding="utf-8"))


def without_events(state: dict[str, Any]) -> dict[str, Any]:
    """Return the state that a list of events (the delta API) leads to."""
    if "events" not in state:
        return state
    flags: dict[str, Any] = {}
    segments: dict[int, Any] = {}
    for event in state["events"]:
        if event["type"] == "hydration":
            flags = {flag["name"]: flag for flag in event["features"]}
            segments = {segment["id"]: segment for segment in event.get("segments", ())}
        elif event["type"] == "feature-updated":
            flags[event["feature"]["name"]] = event["feature"]
        elif event["type"] == "feature-removed":
            flags.pop(event["featureName"], None)
        elif event["type"] == "segment-updated":
            segments[event["segment"]["id"]] = event["segment"]
        else:
            assert event["type"] == "segment-removed"
            segments.pop(event["segmentId"], None)
    return {"features": [*flags.values()], "segments": [*segments.values()]}


CONTENTS = {file: json.loads((FOLDER / file).read_text(encoding="utf-8")) for file in FILES}


def cases(kind: str) -> Iterator[Any]:
    """Yield (document, case) for each case of this kind: tests or variantTests."""
    for file, content in CONTENTS.items():
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


def test_explanations_agree_with_evaluations():
    for content in CONTENTS.values():
        state = without_events(content["state"])
        document = Document(state)
        # Without chance.
        names = [flag["name"] for flag in state["features"] if "random" not in json.dumps(flag).lower()]
        for case in (*content.get("tests", ()), *content.get("variantTests", ())):
            context = {"userId": "7", "sessionId": "7", "customField": "7"} | case["context"]
            for name in names:
                explanation, result = document.explain(name, context), document.evaluate(name, context)
                expected = (result.enabled, result.variant_name, result.reason)
                assert (explanation.enabled, explanation.variant, explanation.reason) == expected, (name, context)
