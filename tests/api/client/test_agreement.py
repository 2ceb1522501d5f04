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

from sql.vocabulary import context_fields
from tests.support import accepted_flags, sdk
from tests.support.documents import bring_in
from tests.support.world import Caller, World

pytestmark = pytest.mark.slow

SEED = int(os.environ.get("AGREEMENT_SEED", "29"))
Results = list[dict[str, str]]


def by_engine(document: str, contexts: list[dict[str, Any]]) -> Results:
    """The variants of the flags that are on in the engine of the SDKs, for each context."""
    from yggdrasil_engine.engine import UnleashEngine

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


@pytest.mark.parametrize(("flags", "contexts", "with_node"), [(150, 30, False), (1000, 200, True)])
def test_service_and_sdks_agree(
    world: World, alice: Caller, tmp_path: Path, flags: int, contexts: int, with_node: bool
) -> None:
    random = Random(SEED)
    document = served(world, alice, random, flags)
    given = [accepted_flags.context(random) for _ in range(contexts)]
    ours = by_service(world.api_key("frontend"), given)
    assert 0.2 < sum(map(len, ours)) / (flags * contexts) < 0.8
    for_sdks = [accepted_flags.as_sdks_get_it(context) for context in given]
    theirs = [by_engine(document, for_sdks)]
    if with_node:
        theirs.append(by_node(document, for_sdks, tmp_path))
    for results in theirs:
        found = differences(given, ours, results)
        assert not found, (SEED, len(found), found[:3])
