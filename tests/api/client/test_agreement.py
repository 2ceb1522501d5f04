"""The service and the SDKs decide the same for everything that the API accepts.

A failure shows the seed. The environment variable AGREEMENT_SEED sets another one.
"""

import json
import os
import subprocess
from pathlib import Path
from random import Random
from typing import Any

import pytest
from yggdrasil_engine.engine import UnleashEngine

from sql.vocabulary import context_fields
from tests.support import accepted_flags, sdk
from tests.support.documents import bring_in
from tests.support.world import Caller, World

SEED = int(os.environ.get("AGREEMENT_SEED", "29"))
Results = list[dict[str, str]]


def by_engine(document: str, contexts: list[dict[str, Any]]) -> Results:
    """The variants of the flags that are on in the engine of the SDKs, for each context."""
    engine = UnleashEngine()
    engine.take_state(document)
    names = [flag.name for flag in engine.list_known_toggles()]
    found = [{name: engine.get_variant(name, context).variant for name in names} for context in contexts]
    return [{name: one.name for name, one in variants.items() if one.feature_enabled} for variants in found]


def by_node(document: str, contexts: list[dict[str, Any]], folder: Path) -> Results:
    """The same in the SDK for Node.js."""
    sdk.require(".mjs")
    (folder / "given.json").write_text(json.dumps({"document": json.loads(document), "contexts": contexts}))
    driver = sdk.DRIVERS / "unleash_evaluation.mjs"
    environment = os.environ | {"NODE_MODULES": str(sdk.NODE_MODULES)}
    subprocess.run(["node", driver, folder], check=True, env=environment, timeout=300)
    return json.loads((folder / "found.json").read_text())


def by_service(caller: Caller, contexts: list[dict[str, Any]]) -> Results:
    """The same in the service."""
    found: Results = []
    for context in contexts:
        response = caller.post("/api/frontend", json={"context": context})
        assert response.status_code == 200, response.text
        found.append({flag["name"]: flag["variant"]["name"] for flag in response.json["toggles"]})
    return found


def served(world: World, alice: Caller, random: Random, flags: int) -> str:
    """Import flags, and return the document that applications get, with mapped addresses as IPv4."""
    for field in ("country", "score", "version", "plan"):
        context_fields.insert(world.conn, field, stickiness=field == "plan")
    bring_in(alice, accepted_flags.document(random, flags))
    response = world.api_key("client").get("/api/client/features", headers={"Unleash-Client-Spec": "5.2.0"})
    assert response.status_code == 200, response.text
    return response.text.replace(accepted_flags.MAPPED, "")


def differences(contexts: list[dict[str, Any]], ours: Results, theirs: Results) -> list[Any]:
    """The flags on which the two disagree, with the context."""
    return [
        (name, context, mine.get(name), other.get(name))
        for context, mine, other in zip(contexts, ours, theirs, strict=True)
        for name in sorted(mine.keys() | other.keys())
        if mine.get(name) != other.get(name)
    ]


def compare(world: World, alice: Caller, flags: int, contexts: int, folder: Path | None = None) -> None:
    """Compare this number of flags for this number of contexts. folder: with the SDK for Node.js too."""
    random = Random(SEED)
    document = served(world, alice, random, flags)
    given = [accepted_flags.context(random) for _ in range(contexts)]
    ours = by_service(world.api_key("frontend"), given)
    assert 0.2 < sum(map(len, ours)) / (flags * contexts) < 0.8
    for_sdks = [accepted_flags.as_sdks_get_it(context) for context in given]
    found = differences(given, ours, by_engine(document, for_sdks))
    assert not found, (SEED, len(found), found[:3])
    if folder:
        found = differences(given, ours, by_node(document, for_sdks, folder))
        assert not found, (SEED, len(found), found[:3])


def test_the_service_and_the_engine_agree(world: World, alice: Caller) -> None:
    compare(world, alice, flags=150, contexts=30)


@pytest.mark.slow
def test_the_service_the_engine_and_the_sdk_for_node_agree_200_000_times(
    world: World, alice: Caller, tmp_path: Path
) -> None:
    compare(world, alice, flags=1000, contexts=200, folder=tmp_path)
