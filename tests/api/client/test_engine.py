"""The engine of SDKs reads every flag that the admin API stores. One wrong value would make it drop all flags."""

from itertools import product
from typing import Any

import pytest
from yggdrasil_engine.engine import UnleashEngine

from tests.support.world import Caller, World
from validators.flags.variants import PAYLOAD_TYPES
from validators.vocabulary.constraints import OPERATORS

FLAGS = "/api/admin/projects/default/features"
FEATURES = "/api/client/features"
ODD = 'ä"\\\n\u2028</script>'
VALUE = {"NUM": "-1.5e3", "DATE": "2026-01-01T00:00:00+02:00", "SEMVER": "1.2.3-beta.1+x"}
PARAMETERS: dict[str, list[dict[str, Any]]] = {
    "default": [{}],
    "flexibleRollout": [
        {},
        {"rollout": "50", "stickiness": "default", "groupId": ODD},
        {"rollout": 50, "stickiness": "random", "groupId": ""},
        {"rollout": None, "stickiness": "userId", "groupId": "x"},
    ],
    "userWithId": [{"userIds": f"1,2,{ODD.replace(chr(10), ' ')}"}, {}],
    "remoteAddress": [{"IPs": "10.0.0.0/8,::1,\n::ffff:10.0.0.1"}],
    "applicationHostname": [{"hostNames": "a,b"}],
    "custom": [{"number": 1.5, "switch": True, "list": "a,b", "text": ODD, "none": None}],
}
PAYLOADS = {"json": '{"a": [1, null]}', "csv": "a,b", "string": ODD, "number": "-1.5e3"}


def constraint(operator: str, **fields: Any) -> dict[str, Any]:
    """A constraint with values that suit its operator."""
    kind = operator.partition("_")[0]
    given = {"value": VALUE[kind]} if kind in VALUE else {"values": ["1", ODD]}
    return {"contextName": "userId", "operator": operator} | given | fields


def constraints() -> list[list[dict[str, Any]]]:
    """Lists of constraints with every operator."""
    switches = [dict(zip(("inverted", "caseInsensitive"), on, strict=True)) for on in product((False, True), repeat=2)]
    every = [constraint(operator, **switch) for operator in sorted(OPERATORS) for switch in [*switches, {}]]
    both = [constraint("IN", value="x"), constraint("NUM_EQ", values=["x"])]
    return [[], *([each] for each in every), both]


def variants(stickiness: str) -> list[dict[str, Any]]:
    """One variant of each type of payload, and one without."""
    assert PAYLOADS.keys() == PAYLOAD_TYPES
    common = {"weight": 200, "weightType": "variable", "stickiness": stickiness}
    with_payload = [
        common | {"name": type, "payload": {"type": type, "value": text}} for type, text in PAYLOADS.items()
    ]
    return [common | {"name": ODD[:2]}, *with_payload]


@pytest.fixture
def flags(alice: Caller) -> list[str]:
    """The names of flags of every kind, made with the admin API."""
    made: list[str] = []

    def post(path: str, body: Any, method: str = "POST") -> Any:
        response = alice.request(method, path, json=body)
        assert response.status_code < 300, (body, response.text)
        return response.json if response.data else None

    def add(*strategies: dict[str, Any], **fields: Any) -> str:
        name = f"flag-{len(made)}"
        post(FLAGS, {"name": name} | fields)
        for strategy in strategies:
            post(f"{FLAGS}/{name}/environments/development/strategies", strategy)
        post(f"{FLAGS}/{name}/environments/development/on", None)
        made.append(name)
        return name

    parameters = [{"name": name, "type": "string"} for name in PARAMETERS["custom"][0]]
    types = {"number": "number", "switch": "boolean", "list": "list"}
    post(
        "/api/admin/strategies",
        {
            "name": "custom",
            "parameters": [
                each | {"type": types.get(each["name"], "string"), "description": "", "required": False}
                for each in parameters
            ],
        },
    )
    segments = [
        post("/api/admin/segments", {"name": f"{ODD[:3]}{number}", "constraints": each})["id"]
        for number, each in enumerate(constraints()[:3])
    ]
    for type, sets in PARAMETERS.items():
        for given in sets:
            add({"name": type, "parameters": given, "title": ODD[:3]})
    for each in constraints():
        add({"name": "flexibleRollout", "constraints": each})
    for type in ("release", "experiment", "operational", "kill-switch", "permission"):
        add(type=type, impressionData=True, description=ODD)
    add({"name": "default", "segments": segments})
    add({"name": "default", "disabled": True})
    add({"name": "flexibleRollout", "variants": variants("random")}, {"name": "default"})
    parent = add()
    overrides = [{"contextName": "userId", "values": ["1", ODD]}]
    post(
        f"{FLAGS}/{parent}/environments/development/variants",
        [each | {"overrides": overrides} for each in variants("default")],
        "PUT",
    )
    for depends in ({}, {"enabled": False}, {"variants": ["json"]}):
        post(f"{FLAGS}/{add()}/dependencies", {"feature": parent} | depends)
    stale = add()
    post("/api/admin/projects/default/stale", {"features": [stale], "stale": True})
    add()
    assert alice.delete(f"{FLAGS}/{made.pop()}").status_code == 202
    return sorted(made)


@pytest.mark.parametrize("spec", ["5.2.0", None])
def test_the_engine_knows_every_flag(world: World, flags: list[str], spec: str | None) -> None:
    response = world.api_key("client").get(FEATURES, headers={"Unleash-Client-Spec": spec} if spec else {})
    assert response.status_code == 200
    assert [flag["name"] for flag in response.json["features"]] == flags
    assert all(flag["enabled"] for flag in response.json["features"])
    engine = UnleashEngine()
    engine.take_state(response.text)
    assert sorted(toggle.name for toggle in engine.list_known_toggles()) == flags
