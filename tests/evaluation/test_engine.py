"""Our evaluation and the engine of the SDKs agree: on whole flags with variants, and on single constraints.

A failure shows the seed.
"""

import json
from random import Random
from typing import Any

import pytest

from evaluation.document import Document
from tests.support import random_flags

pytestmark = pytest.mark.slow


def engine_with(document: dict[str, Any]) -> Any:
    """The engine with a document, all of whose flags it knows."""
    from yggdrasil_engine.engine import UnleashEngine

    engine = UnleashEngine()
    engine.take_state(json.dumps(document))
    assert {flag.name for flag in engine.list_known_toggles()} == {flag["name"] for flag in document["features"]}
    return engine


def theirs(engine: Any, name: str, context: dict[str, Any]) -> tuple[Any, ...]:
    """The result of the engine: whether the flag is on, its variant and the payload."""
    variant = engine.get_variant(name, context).variant
    return variant.feature_enabled, variant.name, variant.payload


def ours(document: Document, name: str, context: dict[str, Any]) -> tuple[Any, ...]:
    """Our result, from the text that browsers get."""
    variant = json.loads(document.evaluate(name, context).text)["variant"]
    return variant["featureEnabled"], variant["name"], variant.get("payload")


@pytest.mark.parametrize(("seed", "flags"), [(14, 200), (0, 1000), (1, 1000), (2, 1000)])
def test_whole_flags(seed: int, flags: int) -> None:
    random = Random(seed)
    parsed = random_flags.document(random, flags)
    engine, document = engine_with(parsed), Document(parsed)
    on = 0
    for _ in range(50):
        context = random_flags.context(random)
        together = {flag.name: result.text for flag, result in document.evaluate_all(context)}
        on += len(together)
        for flag in parsed["features"]:
            mine = ours(document, flag["name"], context)
            assert mine == theirs(engine, flag["name"], context), (seed, flag, context)
            assert (flag["name"] in together) is mine[0], (seed, flag, context)
    assert 0.2 < on / (flags * 50) < 0.7


@pytest.mark.parametrize("seed", range(3))
def test_single_constraints_and_hostile_contexts(seed: int) -> None:
    random = Random(seed)
    strategies = [
        {"name": "default", "parameters": {}, "constraints": [random_flags.constraint(random)]} for _ in range(4000)
    ]
    flags = [{"name": str(number), "enabled": True, "strategies": [one]} for number, one in enumerate(strategies)]
    parsed = {"version": 2, "features": flags, "segments": []}
    engine, document = engine_with(parsed), Document(parsed)
    for _ in range(20):
        context = random_flags.hostile_context(random)
        for flag in flags:
            mine = document.evaluate(flag["name"], context).enabled
            assert mine is theirs(engine, flag["name"], context)[0], (seed, flag["strategies"], context)
