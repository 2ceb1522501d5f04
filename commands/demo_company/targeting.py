"""Whom flags are for: constraints of every operator, variants, strategies."""

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime, timedelta
from random import Random
from typing import Any
from uuid import UUID

from commands.demo_company.dates import iso

Document = dict[str, Any]

# Context fields of the company besides those built in, with what they tell.
CONTEXT_FIELDS = {
    "country": "Where the customer's parcels go, as ISO 3166-1 alpha-2.",
    "appVersion": "The version of the application, as the store shows it.",
    "email": "The customer's e-mail address.",
    "basketValue": "What is in the basket, in euros.",
    "accountAgeDays": "Days since the customer's first order.",
    "plan": "What a partner pays for: free, pro or enterprise.",
}

COUNTRIES = ("SE", "NO", "DK", "FI", "DE", "AT", "CH", "NL", "PT", "ES", "PL", "CZ", "IE")
# What each operator can be asked: pairs of context field and value, or values.
SEVERAL: dict[str, Sequence[tuple[str, Sequence[str]]]] = {
    "IN": (("country", COUNTRIES), ("plan", ("pro", "enterprise")), ("userId", ("10417", "20881", "31337", "44102", "58008"))),
    "NOT_IN": (("country", COUNTRIES), ("appName", ("price-scraper", "load-test", "uptime-probe"))),
    "STR_ENDS_WITH": (("email", ("@brightcart.example", "@kontur.example", "@parcelwise.example")),),
    "STR_STARTS_WITH": (("email", ("test+", "qa+", "press+")), ("appName", ("mobile-", "web-", "kiosk-"))),
    "STR_CONTAINS": (("email", ("+beta", ".staff", "süd")), ("sessionId", ("-canary-", "-preview-"))),
}
ONE: dict[str, Sequence[tuple[str, Sequence[str]]]] = {
    "NUM_EQ": (("accountAgeDays", ("0", "365")),),
    "NUM_GT": (("basketValue", ("20", "50", "99.9", "250")),),
    "NUM_GTE": (("accountAgeDays", ("7", "30", "90")), ("basketValue", ("100", "500"))),
    "NUM_LT": (("basketValue", ("1000", "2500")), ("accountAgeDays", ("14", "60"))),
    "NUM_LTE": (("basketValue", ("75", "149.5")),),
    "SEMVER_EQ": (("appVersion", ("5.2.0", "5.9.1-beta.2")),),
    "SEMVER_GT": (("appVersion", ("4.8.0", "5.0.0", "5.11.3")),),
    "SEMVER_LT": (("appVersion", ("6.0.0", "7.1.0")),),
}
MOMENTS = ("DATE_AFTER", "DATE_BEFORE")
OPERATORS = (*SEVERAL, *ONE, *MOMENTS)
CASE_MATTERS = ("STR_ENDS_WITH", "STR_STARTS_WITH", "STR_CONTAINS")


def constraint(rng: Random, operator: str, at: datetime) -> Document:
    """A constraint as it might have been written then: valid by neighbours.md 1.5."""
    document: Document = {"contextName": "currentTime", "operator": operator, "values": []}
    if operator in MOMENTS:
        days = rng.randrange(5, 60) * (-1 if operator == "DATE_AFTER" else 4)
        document["value"] = iso((at + timedelta(days=days)).replace(hour=6, minute=0, second=0, microsecond=0))
    elif operator in ONE:
        document["contextName"], choices = rng.choice(ONE[operator])
        document["value"] = rng.choice(choices)
    else:
        document["contextName"], choices = rng.choice(SEVERAL[operator])
        document["values"] = sorted(rng.sample(choices, rng.randint(1, min(5, len(choices)))))
    document["inverted"] = rng.random() < 0.08
    document["caseInsensitive"] = operator in CASE_MATTERS and rng.random() < 0.5
    return document


def audience(rng: Random, operators: Iterator[str], at: datetime) -> list[Document]:
    """The constraints that a flag begins with, none to three, with the next operators."""
    return [constraint(rng, next(operators), at) for _ in range(rng.choice((0, 0, 1, 2, 3)))]


def weighed(variants: Iterable[Document]) -> list[Document]:
    """Variants by name, those of weight type variable sharing what the fixed ones leave of 1000; the first get what is left over."""
    variants = sorted((dict(variant) for variant in variants), key=lambda variant: variant["name"])
    sharing = [variant for variant in variants if variant["weightType"] == "variable"]
    share, rest = divmod(1000 - sum(variant["weight"] for variant in variants if variant["weightType"] == "fix"), len(sharing))
    for place, variant in enumerate(sharing):
        variant["weight"] = share + (place < rest)
    return variants


PAYLOADS = (
    ("string", ("green", "calm", "Jetzt kaufen", "Köp nu", "short")),
    ("number", ("3", "12", "0.75")),
    ("csv", ("card,wallet,invoice", "a,b,c")),
    ("json", ('{"columns":2,"sticky":true}', '{"title":"Schnäppchen","limit":5}')),
)
VARIANT_NAMES = (("control", "treatment"), ("a", "b", "c"), ("control", "bold", "plain", "quiet"), ("old", "new"))


def variants(rng: Random, stickiness: str) -> list[Document]:
    """Some variants, now and then one of fixed weight."""
    kind, values = rng.choice(PAYLOADS)
    made: list[Document] = []
    for name in rng.choice(VARIANT_NAMES):
        is_fixed = not made and rng.random() < 0.3
        weight = rng.choice((50, 100, 200)) if is_fixed else 0
        made.append({"name": name, "weight": weight, "weightType": "fix" if is_fixed else "variable", "stickiness": stickiness})
        if rng.random() < 0.7:
            made[-1]["payload"] = {"type": kind, "value": rng.choice(values)}
    return weighed(made)


def strategy(rng: Random, flag: str, stickiness: str, **fields: Any) -> Document:
    """A strategy as the records show it, gradual rollout to everybody unless fields say otherwise."""
    document: Document = {
        "id": str(UUID(int=rng.getrandbits(128), version=4)),
        "name": "flexibleRollout",
        "title": None,
        "disabled": False,
        "featureName": flag,
        "sortOrder": 0,
        "constraints": [],
        "variants": [],
        "parameters": {"rollout": "100", "stickiness": stickiness, "groupId": flag},
        "segments": [],
    }
    return document | fields


OTHER_STRATEGIES: tuple[tuple[str, dict[str, str], str], ...] = (
    ("default", {}, "Everybody"),
    ("userWithId", {"userIds": "10417,20881,31337"}, "The team itself"),
    ("remoteAddress", {"IPs": "192.0.2.0/24,198.51.100.17"}, "The office"),
    ("flexibleRollout", {"rollout": "10"}, "A first tenth"),
)


def second_strategy(rng: Random, flag: str, stickiness: str) -> Document:
    """A strategy beside the first one."""
    name, parameters, title = rng.choice(OTHER_STRATEGIES)
    if name == "flexibleRollout":
        parameters = {**parameters, "stickiness": stickiness, "groupId": flag}
    return strategy(rng, flag, stickiness, name=name, parameters=dict(parameters), title=title)


def share_of_yes(strategies: Iterable[Document]) -> float:
    """Roughly for what share of requests a flag with these strategies is on."""
    off = 1.0
    for document in strategies:
        if not document["disabled"]:
            reach = {"flexibleRollout": float(document["parameters"].get("rollout", 100)) / 100, "default": 1.0}.get(document["name"], 0.02)
            off *= 1 - reach * 0.6 ** (len(document["constraints"]) + len(document["segments"]))
    return 1 - off
