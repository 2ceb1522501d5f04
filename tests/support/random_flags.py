"""Random flags, constraints and contexts for the comparison of evaluation/ with the engine of the SDKs.

They are valid: the engine drops a whole document with one malformed flag. Where chance decides (a random stickiness, or
a context without the value that something is sticky to), both answers would differ, so that does not occur. Neither
does what decisions.md (Evaluation of flags) lists as a difference between the two.
"""

from random import Random
from typing import Any

VALUES = (
    "1", "2.0", "2", "1e3", "-5", " 1 ", "abc", "ABC", "ab", "", "1.2.3", "1.2.3+b", "1.2.4-rc.1", "1.2.4-rc.10",
    "v1.2.3", "1.2", "1.2.3 ", "99999999999999999999.0.0", "2024-05-31T00:00:00.000Z", "2024-05-31T02:00:00+02:00",
    "2024-05-31", "2024-05-31T00:00:00", "x", "æøå", "ÆØÅ", "10.0.0.1", "10.0.0.1/32", "010.0.0.1", "::1",
    "::ffff:10.0.0.1", "fe80::1%eth0", "a+", "NaN", "inf", "0x10", "1_000", "١", "ı", "İ", "ß", "Σας", "true", "a\nb",
    "🙂", "NO", "SE",
)  # fmt: skip
NUMBERS = ("1", "2.0", "2", "1e3", "-5", "0", "1000000000000", "0.1")
DATES = ("2024-05-31T00:00:00.000Z", "2024-05-31T02:00:00+02:00", "2030-01-01T00:00:00Z")
VERSIONS = ("1.2.3", "1.2.4-rc.1", "1.2.4-rc.2", "0.0.1", "1.2.3+b", "1.2.3-99999999999999999999")
PATTERNS = ("a+", "^abc$", "[0-9]+", "", "(?i)AB", "a.b", "x|1")
NETWORKS = ("10.0.0.0/8", "10.0.0.1", "10.0.0.7/8", "::1/128", "::ffff:0:0/96", "192.168.1.0/24", "not a network")
TEXTS = ("IN", "NOT_IN", "STR_CONTAINS", "STR_STARTS_WITH", "STR_ENDS_WITH")
SINGLE = {
    **dict.fromkeys(("NUM_EQ", "NUM_GT", "NUM_GTE", "NUM_LT", "NUM_LTE"), NUMBERS),
    **dict.fromkeys(("DATE_AFTER", "DATE_BEFORE"), DATES),
    **dict.fromkeys(("SEMVER_EQ", "SEMVER_GT", "SEMVER_GTE", "SEMVER_LT", "SEMVER_LTE"), VERSIONS),
    "REGEX": PATTERNS,
}
OPERATORS = (*TEXTS, *SINGLE, "IN_CIDR")
FIELDS = ("userId", "appName", "remoteAddress", "currentTime", "country", "score")


def constraint(random: Random) -> dict[str, Any]:
    """A constraint with any of the 19 operators."""
    operator = random.choice(OPERATORS)
    field = random.choice(FIELDS)
    if field == "currentTime" and not operator.startswith("DATE"):
        # Without a value it is the present time, which has other digits a moment later.
        field = "userId"
    made: dict[str, Any] = {
        "contextName": field,
        "operator": operator,
        "values": random.sample(VALUES, random.randint(1, 3)) if operator in TEXTS else [],
        "inverted": random.random() < 0.3,
        "caseInsensitive": random.random() < 0.3,
    }
    if operator == "IN_CIDR":
        made["values"] = ["10.0.0.0/8", *random.sample(NETWORKS, random.randint(0, 3))]
    if operator in SINGLE:
        made["value"] = random.choice(SINGLE[operator])
    return made


def hostile_context(random: Random) -> dict[str, Any]:
    """A context in which each value can be missing, nonsense, or no text."""
    made: dict[str, Any] = {"properties": {}}
    for field in ("userId", "appName", "remoteAddress", "unknown"):
        if random.random() < 0.7:
            made[field] = random.choice(VALUES)
    for field in ("country", "score"):
        if random.random() < 0.8:
            made["properties"][field] = random.choice(
                (*VALUES, 1, -5, 2.0, 1e21, 1e-7, True, False, None, [1], {"a": 1})
            )
    if random.random() < 0.5:
        made["currentTime"] = random.choice((*DATES, "2024-05-30T23:59:59Z"))
    return made


def context(random: Random) -> dict[str, Any]:
    """A usual context. It always has a session and a plan, which variants can be sticky to."""
    made: dict[str, Any] = {
        "sessionId": str(random.random()),
        "appName": random.choice(("web", "app")),
        "properties": {"plan": random.choice(("gold", "silver", "5")), "country": random.choice(("NO", "SE", "US"))},
    }
    if random.random() < 0.8:
        made["userId"] = random.choice((str(random.randrange(10**6)), str(random.randrange(10**6)), ""))
    if random.random() < 0.5:
        made["remoteAddress"] = random.choice(("10.0.0.1", "192.168.1.7", "::1", "x"))
    if random.random() < 0.5:
        made["properties"]["score"] = random.choice(VALUES)
    return made


def variants(random: Random, *, overrides: bool) -> list[dict[str, Any]]:
    """Between 1 and 3 variants, of which at least one has a weight."""
    made: list[dict[str, Any]] = []
    for name in ("a", "b", "c")[: random.randint(1, 3)]:
        variant: dict[str, Any] = {"name": name, "weight": random.choice((0, 1, 333, 500)), "weightType": "variable"}
        if random.random() < 0.8:
            variant["stickiness"] = random.choice(("default", "sessionId", "plan"))
        if overrides and random.random() < 0.2:
            variant["overrides"] = [{"contextName": random.choice(("plan", "appName")), "values": ["gold", "web"]}]
        if random.random() < 0.5:
            variant["payload"] = {"type": random.choice(("string", "json")), "value": '{"a": "ø"}'}
        made.append(variant)
    made[0]["weight"] = made[0]["weight"] or 1
    return made


def strategy(random: Random, flag: str) -> dict[str, Any]:
    """A strategy of any type."""
    group = random.choice((flag, "group", ""))
    percentage = str(random.choice((0, 1, 10, 25, 50, 75, 99, 100)))
    stickiness = random.choice(("default", "userId", "sessionId", "plan", "score"))
    name, parameters = random.choice(
        (
            ("default", {}),
            *[("flexibleRollout", {"rollout": percentage, "stickiness": stickiness, "groupId": group})] * 5,
            ("flexibleRollout", {"rollout": random.choice(("0", "100")), "stickiness": "random", "groupId": group}),
            ("userWithId", {"userIds": "1, 2,3," + ",".join(map(str, range(10**6)[:: random.randint(2, 9)][:50]))}),
            ("gradualRolloutUserId", {"percentage": percentage, "groupId": group}),
            ("gradualRolloutSessionId", {"percentage": percentage, "groupId": group}),
            ("gradualRolloutRandom", {"percentage": random.choice(("0", "100")), "groupId": group}),
            ("remoteAddress", {"IPs": "10.0.0.0/8, 127.0.0.1,nonsense, ::1"}),
            ("applicationHostname", {"hostNames": "a,b"}),
            ("custom", {"x": "y"}),
        )
    )
    made: dict[str, Any] = {"name": name, "parameters": parameters}
    made["constraints"] = [constraint(random) for _ in range(random.choice((0, 0, 0, 1, 2)))]
    if random.random() < 0.25:
        made["segments"] = [random.randint(1, 5) for _ in range(random.randint(1, 2))]
    if random.random() < 0.3 and parameters.get("stickiness") != "random":
        made["variants"] = variants(random, overrides=False)
    return made


def dependency(random: Random, flags: list[dict[str, Any]]) -> dict[str, Any]:
    """A dependency on one of the flags, or on one that does not exist. It may have dependencies itself."""
    parent = random.choice([*flags, {"name": "missing"}])
    made: dict[str, Any] = {"feature": parent["name"]}
    if random.random() < 0.2:
        made["enabled"] = False
    elif parent.get("variants") and random.random() < 0.5:
        made["variants"] = random.choice((["a"], ["a", "b"]))
    return made


def document(random: Random, count: int) -> dict[str, Any]:
    """A document as the server sends it, with this number of flags."""
    flags: list[dict[str, Any]] = []
    for number in range(count):
        name = f"flag-{number}-ø"
        flag: dict[str, Any] = {
            "name": name,
            "type": "release",
            "project": "default",
            "description": None,
            "enabled": random.random() < 0.9,
            "stale": False,
            "impressionData": random.random() < 0.5,
            "strategies": [strategy(random, name) for _ in range(random.randrange(4))],
            "variants": variants(random, overrides=True) if random.random() < 0.4 else [],
        }
        if random.random() < 0.2:
            flag["dependencies"] = [dependency(random, flags) for _ in range(random.choice((1, 1, 2)))]
        flags.append(flag)
    segments = [
        {"id": number, "name": f"segment {number}", "constraints": [constraint(random) for _ in range(number % 3)]}
        for number in (1, 2, 3, 4, 5)
    ]
    return {"version": 2, "features": flags, "segments": segments, "query": {"environment": "production"}}
