"""The service, the engine of the SDKs and the SDK for Node.js decide the same for what the API accepts.

What docs/development/decisions.md lists as a difference between SDKs does not occur. A failure shows the seed. The
environment variable AGREEMENT_SEED sets another one.
"""

import json
import os
import subprocess
from pathlib import Path
from random import Random
from typing import Any

import pytest

from sql.catalog import context_fields
from tests.support import sdk
from tests.support.documents import bring_in
from tests.support.evaluation import Json
from tests.support.world import Caller, World

SEED = int(os.environ.get("AGREEMENT_SEED", "29"))
Results = list[dict[str, str]]
# One moment in each form that RFC 3339 has, and other moments.
DATES = (
    "2024-05-31T12:00:00.123Z", "2024-05-31t12:00:00.123z", "2024-05-31T14:00:00.123+02:00",
    "2024-05-31T12:00:00.123456789-00:00", "2024-05-30T12:01:00.1239-23:59", "2024-05-31T12:00:00Z",
    "2024-05-31T12:00:00.1Z", "2024-05-31T12:00:00.12Z", "2024-05-31T12:00:00.000000Z", "0001-01-01T00:00:00Z",
    "9999-12-31T23:59:59.999Z", "2024-02-29T00:00:00+05:45",
)  # fmt: skip
MOMENTS = (*DATES[:3], *DATES[5:], "2024-05-31T12:00:00.122Z", "2024-05-31T12:00:00.124Z", "2024-05-31T12:00:00.999Z")
NUMBERS = ("0", "-0", "007", "5", "5.0", "5e0", "-5.25", "1e3", "1E-2", "0.1", "9007199254740993", "1e99")
VERSIONS = (
    "0.0.0", "1.2.3", "1.2.3+b.001", "1.2.4-rc.1", "1.2.4-rc.10", "1.2.4-0a", "1.2.4--", "9007199254740991.0.0",
)  # fmt: skip
TEXTS = ("a", "A", "ab", "b", "æøå", "ÆØÅ", "7", "5", "1.2.3", "NO", "🙂", "a b", "x,y")
FIELDS = ("userId", "appName", "country", "score", "version")
ADDRESSES = ("10.1.2.3", "10.2.0.1", "192.168.1.7", "::1", "2001:db8::1")
MAPPED = "::ffff:"
IPS = ("10.1.0.0/16", "10.1.2.3", "192.168.1.0/24", "::1", "0.0.0.0/0", f"{MAPPED}10.2.0.1", f"{MAPPED}192.168.1.7")
PATTERNS = (
    "^a", "B$", "^[[:alpha:]]+$", r"^\d+(\.\d+)*$", r"^a\sb$", "a|æ", "(?i)^no$", "^.{2,3}$", r"\.", "^(a|ab|7)$", ".",
    "x,y|^$",
)  # fmt: skip
# The service reads mapped addresses as IPv4 only in the strategy remoteAddress.
NETWORKS = ("10.1.0.0/16", "10.1.2.3", "192.168.1.7/24", "::1", "0.0.0.0/0", "::/0", "2001:db8::/32", "10.2.0.1/32")
OPERATORS = {
    **dict.fromkeys(("IN", "NOT_IN", "STR_CONTAINS", "STR_STARTS_WITH", "STR_ENDS_WITH"), ()),
    **dict.fromkeys(("NUM_EQ", "NUM_GT", "NUM_GTE", "NUM_LT", "NUM_LTE"), NUMBERS),
    **dict.fromkeys(("DATE_AFTER", "DATE_BEFORE"), DATES),
    **dict.fromkeys(("SEMVER_EQ", "SEMVER_GT", "SEMVER_GTE", "SEMVER_LT", "SEMVER_LTE"), VERSIONS),
    "REGEX": PATTERNS,
    "IN_CIDR": (),
}


def constraint(random: Random) -> Json:
    """A constraint."""
    operator = random.choice(list(OPERATORS))
    operand: Json = {"values": random.sample(TEXTS, random.randint(1, 3))}
    if operator == "IN_CIDR":
        operand = {"values": random.sample(NETWORKS, 2)}
    if OPERATORS[operator]:
        operand = {"value": random.choice(OPERATORS[operator])}
    field = "currentTime" if operator.startswith("DATE") else random.choice(FIELDS)
    field = "address" if operator == "IN_CIDR" else field
    switches = {name: random.random() < 0.3 for name in ("inverted", "caseInsensitive")}
    return {"contextName": field, "operator": operator, **operand, **switches}


def strategy(random: Random, flag: str) -> Json:
    """A strategy, with up to three variants."""
    stickiness = random.choice(("default", "userId", "sessionId", "plan"))
    rollout = {"rollout": random.choice(("0", "1", "25", "50", "99", "100")), "stickiness": stickiness}
    group = random.choice(({}, {"groupId": ""}, {"groupId": flag}, {"groupId": "group"}))
    name, parameters = random.choice(
        (
            ("default", {}),
            *[("flexibleRollout", {**rollout, **group})] * 5,
            ("userWithId", {"userIds": ",".join(map(str, random.sample(range(50), 20)))}),
            ("remoteAddress", {"IPs": ", ".join(random.sample(IPS[:4], 2) + random.sample(IPS, 1))}),
        )
    )
    made: Json = {"featureName": flag, "name": name, "parameters": parameters}
    made["constraints"] = [constraint(random) for _ in range(random.choice((0, 0, 0, 1, 1, 2)))]
    if name == "flexibleRollout":
        common = {"weight": 1, "weightType": "variable", "stickiness": stickiness}
        made["variants"] = [common | {"name": name} for name in "abc"[: random.choice((0, 0, 0, 2, 3))]]
    return made


def accepted(random: Random, count: int) -> Json:
    """A document to import, with this number of flags that are on."""
    names = [f"flag-{number}" for number in range(count)]
    return {
        "features": [{"name": name} for name in names],
        "featureStrategies": [strategy(random, name) for name in names for _ in range(random.randint(1, 2))],
        "featureEnvironments": [{"name": name, "featureName": name, "enabled": True} for name in names],
        "tagTypes": [],
    }


def context(random: Random) -> Json:
    """The context of a user, as a client sends it. Each value but the session and the plan can be missing or empty."""
    possible: Json = {
        # The SDK for Node.js hashes other characters than those of ASCII in its own way.
        "userId": ("", *map(str, range(50)), *filter(str.isascii, TEXTS)),
        "appName": ("", *TEXTS),
        "remoteAddress": (*ADDRESSES, *[MAPPED + address for address in ADDRESSES[:3]]),
        "currentTime": ("", *MOMENTS),
    }
    properties: Json = {
        "country": ("", *TEXTS),
        "score": ("", "x", "NaN", *NUMBERS),
        "version": ("", "1.2", "v1.2.3", *VERSIONS),
        "address": ("", "x", "10.1.2", "10.1.2.3 ", "010.1.2.3", *ADDRESSES),
    }
    # Without an address, the service takes that of the connection.
    given = {name: random.choice(values) for name, values in possible.items() if random.random() < 0.9}
    given.setdefault("remoteAddress", "10.1.2.3")
    more = {name: random.choice(values) for name, values in properties.items() if random.random() < 0.8}
    return {"sessionId": str(random.random()), **given, "properties": {"plan": str(random.randrange(99)), **more}}


def as_sdks_get_it(given: Json) -> Json:
    """Return a context without what the service understands and SDKs do not: empty values and mapped addresses."""
    own = {name: value for name, value in given.items() if value != ""}
    own["remoteAddress"] = own["remoteAddress"].removeprefix(MAPPED)
    own["properties"] = {name: value for name, value in given["properties"].items() if value != ""}
    return {"environment": "development", **own}


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
    for field in ("country", "score", "version", "address", "plan"):
        context_fields.insert(world.conn, field, stickiness=field == "plan")
    bring_in(alice, accepted(random, flags))
    response = world.api_key("client").get("/api/client/features", headers={"Unleash-Client-Spec": "5.2.0"})
    assert response.status_code == 200, response.text
    return response.text.replace(MAPPED, "")


def differences(contexts: list[dict[str, Any]], ours: Results, theirs: Results) -> list[Any]:
    """The flags on which the two disagree, with the context."""
    return [
        (name, context, mine.get(name), other.get(name))
        for context, mine, other in zip(contexts, ours, theirs, strict=True)
        for name in sorted(mine.keys() | other.keys())
        if mine.get(name) != other.get(name)
    ]


@pytest.mark.slow
def test_service_engine_and_node_agree_200_000_times(world: World, alice: Caller, tmp_path: Path) -> None:
    random = Random(SEED)
    document = served(world, alice, random, 1000)
    given = [context(random) for _ in range(200)]
    ours = by_service(world.api_key("frontend"), given)
    assert 0.2 < sum(map(len, ours)) / 200_000 < 0.8
    for_sdks = [as_sdks_get_it(each) for each in given]
    for theirs in (by_engine(document, for_sdks), by_node(document, for_sdks, tmp_path)):
        found = differences(given, ours, theirs)
        assert not found, (SEED, len(found), found[:3])


def test_empty_group_is_hashed_as_in_the_engine(world: World, alice: Caller) -> None:
    rollout = {"name": "flexibleRollout", "parameters": {"rollout": "50", "stickiness": "userId", "groupId": ""}}
    world.strategy(world.flag("checkout", enabled_in=("development",)), **rollout)
    users = list(map(str, range(60)))
    document = world.api_key("client").get("/api/client/features").text
    expected = [bool(flags) for flags in by_engine(document, [{"userId": user} for user in users])]
    assert 20 < sum(expected) < 40
    web = world.api_key("frontend")
    assert [bool(web.get(f"/api/frontend?userId={user}").json["toggles"]) for user in users] == expected
    ofrep, playground = "/ofrep/v1/evaluate/flags/checkout", "/api/admin/playground"
    keyed = [{"context": {"targetingKey": user}} for user in users]
    assert [web.post(ofrep, json=body).json["value"] for body in keyed] == expected
    asked = {"environment": "development", "projects": ["default"]}
    found = [
        alice.post(playground, json=asked | {"context": {"appName": "a", "userId": user}}).json["features"]
        for user in users
    ]
    assert [flags[0]["isEnabled"] for flags in found] == expected
