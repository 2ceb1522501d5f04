"""Random strategies and contexts that the API accepts, for the comparison of the service with SDKs.

What decisions.md (Evaluation of flags) lists as a difference between SDKs does not occur.
"""

from random import Random
from typing import Any

Json = dict[str, Any]

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
OPERATORS = {
    **dict.fromkeys(("IN", "NOT_IN", "STR_CONTAINS", "STR_STARTS_WITH", "STR_ENDS_WITH"), ()),
    **dict.fromkeys(("NUM_EQ", "NUM_GT", "NUM_GTE", "NUM_LT", "NUM_LTE"), NUMBERS),
    **dict.fromkeys(("DATE_AFTER", "DATE_BEFORE"), DATES),
    **dict.fromkeys(("SEMVER_EQ", "SEMVER_GT", "SEMVER_LT"), VERSIONS),
}


def constraint(random: Random) -> Json:
    """A constraint."""
    operator = random.choice(list(OPERATORS))
    operand: Json = {"values": random.sample(TEXTS, random.randint(1, 3))}
    if OPERATORS[operator]:
        operand = {"value": random.choice(OPERATORS[operator])}
    field = "currentTime" if operator.startswith("DATE") else random.choice(FIELDS)
    switches = {name: random.random() < 0.3 for name in ("inverted", "caseInsensitive")}
    return {"contextName": field, "operator": operator, **operand, **switches}


def variants(random: Random, stickiness: str) -> list[Json]:
    """Up to three variants."""
    return [
        {"name": name, "weight": 1, "weightType": "variable", "stickiness": stickiness}
        for name in "abc"[: random.choice((0, 0, 0, 2, 3))]
    ]


def strategy(random: Random, flag: str) -> Json:
    """A strategy."""
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
        made["variants"] = variants(random, stickiness)
    return made


def document(random: Random, count: int) -> Json:
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
