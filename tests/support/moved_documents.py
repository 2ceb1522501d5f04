"""Compare what SDKs get from two servers: the documents, and the evaluation of each flag."""

import json
from datetime import datetime
from random import Random
from typing import Any

from tests.support.unleash import Api
from tests.support.unleash_contents import COUNTRIES, DATES, NUMBERS, VERSIONS

Json = dict[str, Any]
# What does not decide the evaluation of a flag.
TEXTS = ("description", "title", "id", "lastSeenAt", "createdAt")
# Properties that servers can omit.
DEFAULTS: Json = {
    "variants": [], "overrides": [], "segments": [], "constraints": [], "values": [], "inverted": False,
    "caseInsensitive": False, "dependencies": [], "impressionData": False, "strategies": [], "value": None,
}  # fmt: skip
SPECS = ({}, {"Unleash-Client-Spec": "5.2.0"})


def normalised(document: Json) -> Json:
    """Return a document in a form that is equal for two servers whose flags are equal."""
    segments = {segment["id"]: segment for segment in document.get("segments", ())}
    flags: Json = {}
    for flag in document["features"]:
        for strategy in flag.get("strategies", ()):
            used = [segments[number] for number in strategy.get("segments") or ()]
            strategy["segments"] = sorted(map(plain, used), key=as_text)
            if strategy["name"] == "flexibleRollout":
                strategy["parameters"].setdefault("groupId", flag["name"])
        flags[flag["name"]] = plain(flag)
        if flags[flag["name"]]["type"] == "sunset":
            flags[flag["name"]]["type"] = "release"
    found = sorted(map(plain, segments.values()), key=as_text)
    return {"version": document["version"], "features": flags, "segments": found}


def plain(value: Any) -> Any:
    """Return a value without texts and defaults, with sorted constraints and dates in one form."""
    if isinstance(value, list):
        return [plain(item) for item in value]
    if not isinstance(value, dict):
        return value
    found = {key: plain(item) for key, item in value.items() if key not in TEXTS}
    found = {key: item for key, item in found.items() if key not in DEFAULTS or item != DEFAULTS[key]}
    # Unleash repeats a dependency for each strategy of the flag.
    if "dependencies" in found:
        found["dependencies"] = [json.loads(text) for text in sorted(set(map(as_text, found["dependencies"])))]
    if "constraints" in found:
        found["constraints"] = sorted(found["constraints"], key=as_text)
    if str(found.get("operator", "")).startswith("DATE_") and isinstance(found["value"], str):
        found["value"] = round(datetime.fromisoformat(found["value"]).timestamp() * 1000)
    return found


def as_text(value: Any) -> str:
    return json.dumps(value, sort_keys=True)


def context(random: Random) -> Json:
    """Return a context for which about half of the constraints hold."""
    possible: Json = {
        "userId": ("7", "8", "anna", *map(str, range(90))),
        "sessionId": tuple(map(str, range(1000))),
        "remoteAddress": ("10.1.2.3", "192.168.1.9", "172.16.0.1"),
        "currentTime": (*DATES, "2025-01-01T00:00:00.000Z"),
        "appName": ("web", "shop"),
    }
    properties: Json = {
        "country": COUNTRIES,
        "email": ("anna@example.com", "a12@EXAMPLE.COM", "bob@example.org"),
        "age": NUMBERS,
        "version": (*VERSIONS, "1.10.0"),
        "tenantId": tuple(map(str, range(20))),
        "ip": ("10.1.2.3", "192.168.2.1"),
        "tenants": ("a",),
    }
    # Without the value that a rollout depends on, chance decides.
    sticky = ("userId", "sessionId", "tenantId")
    given, more = (
        {name: random.choice(values) for name, values in fields.items() if name in sticky or random.random() < 0.8}
        for fields in (possible, properties)
    )
    return {**given, "properties": more}


def evaluate(document: Json, contexts: list[Json]) -> list[dict[str, str]]:
    """Return what the engine of the SDKs finds for each context: by flag, its variant and whether it is on."""
    from yggdrasil_engine.engine import UnleashEngine

    engine = UnleashEngine()
    # Chance would decide differently each time.
    engine.take_state(json.dumps(document).replace('"stickiness": "random"', '"stickiness": "sessionId"'))
    names = sorted(flag.name for flag in engine.list_known_toggles())
    return [
        {
            name: (engine.is_enabled(name, context).is_enabled, engine.get_variant(name, context).variant)
            for name in names
        }
        for context in contexts
    ]


def differences(old: Api, new: Api, secret: str, contexts: list[Json]) -> list[Any]:
    """Return where the flags of a token differ between two servers: in documents, and in the evaluation."""
    found: list[Any] = []
    for spec, part in zip(SPECS, (contexts[:100], contexts), strict=True):
        ours, theirs = (Api(server.url, secret).get("/api/client/features", **spec) for server in (new, old))
        mine, others = evaluate(ours, part), evaluate(theirs, part)
        found += [
            (name, context, one.get(name), other.get(name))
            for context, one, other in zip(part, mine, others, strict=True)
            for name in one.keys() | other.keys()
            if one.get(name) != other.get(name)
        ]
        ours, theirs = normalised(ours), normalised(theirs)
        for name in sorted(ours["features"].keys() | theirs["features"].keys()):
            pair = ours["features"].get(name), theirs["features"].get(name)
            found += [(name, *pair)] if pair[0] != pair[1] else []
        found += [("segments", ours["segments"], theirs["segments"])] if ours["segments"] != theirs["segments"] else []
    return found
