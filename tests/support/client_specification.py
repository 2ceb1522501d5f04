"""The files of the client specification (tests/evaluation/specification/README.md)."""

import json
from typing import Any

from tests.support.service import ROOT

FOLDER = ROOT / "tests" / "evaluation" / "specification"
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
