"""Variants of flags and strategies: which one a context gets."""

from bisect import bisect_left
from itertools import accumulate
from typing import Any, NamedTuple

from evaluation.context import Fields
from evaluation.parsing import Malformed, list_at, object_of, text_at, texts_at
from evaluation.rollout import DEFAULT_FIELDS, bucket_of, first_of, random_identity

# The hash of variants has a seed of its own, so that it does not depend on the hash of the rollout.
SEED = 86028157


class Payload(NamedTuple):
    """What a variant carries. The type is string, csv, number or json; the value is text as it was written."""

    type: str
    value: str


class Variant(NamedTuple):
    """One variant of a flag."""

    name: str
    payload: Payload | None


class Override(NamedTuple):
    """Values of the context that get one variant, whatever the weights. position is the index of the variant."""

    context_name: str
    values: frozenset[str]
    position: int


class Variants:
    """The variants of a flag or of a strategy.

    Variants of a strategy have the stickiness of the strategy, as in the engine of the SDKs, which ignores their own.
    Variants of a flag have the stickiness of the first one.
    """

    __slots__ = ("group", "has_payloads", "limits", "overrides", "split", "stickiness", "variants")

    def __init__(self, given: list[Any], group: str, stickiness: str | None = None) -> None:
        items = [object_of(item, "variants") for item in given]
        self.variants = tuple([Variant(text_at(item, "name"), payload_of(item)) for item in items])
        self.has_payloads = any([variant.payload for variant in self.variants])
        # The greatest bucket of each variant; the last one is the sum of all weights.
        self.limits = tuple(accumulate([weight_of(item) for item in items]))
        # Whether there are at least two variants that contexts can get by their weights.
        self.split = len({0, *self.limits}) > 2
        self.overrides = tuple(
            [override_of(one, index) for index, item in enumerate(items) for one in list_at(item, "overrides")]
        )
        self.group = group
        self.stickiness = text_at(items[0], "stickiness", "") if stickiness is None else stickiness
        self.stickiness = self.stickiness or "default"

    def index(self, fields: Fields) -> int | None:
        """Return the index of the variant that the context gets, or None if no variant has a weight."""
        override = self.override(fields)
        if override is not None:
            return override.position
        if not self.split:
            return self.index_of_bucket(1) if self.limits[-1] else None
        return self.index_of_bucket(self.bucket(self.identity(fields)))

    def override(self, fields: Fields) -> Override | None:
        """Return the first override that the context satisfies."""
        for override in self.overrides:
            if fields.get(override.context_name) in override.values:
                return override
        return None

    def identity(self, fields: Fields) -> str:
        """Return what the bucket is computed from: random if the context does not have it."""
        if self.stickiness == "default":
            return first_of(fields, (*DEFAULT_FIELDS, "remoteAddress") if fields.identity is None else DEFAULT_FIELDS)
        if self.stickiness == "random":
            return random_identity(fields)
        return first_of(fields, (self.stickiness,))

    def bucket(self, identity: str) -> int:
        """Return a number from 1 to the sum of all weights."""
        return bucket_of(self.group, identity, self.limits[-1], SEED)

    def index_of_bucket(self, bucket: int) -> int:
        return bisect_left(self.limits, bucket)


def override_of(given: Any, position: int) -> Override:
    """Return an override of the variant at this position."""
    item = object_of(given, "overrides")
    return Override(text_at(item, "contextName"), frozenset(texts_at(item, "values")), position)


def weight_of(item: dict[str, Any]) -> int:
    """Return the weight of a variant: a share of the sum of all weights."""
    weight = item.get("weight")
    if not isinstance(weight, int) or isinstance(weight, bool) or weight < 0:
        raise Malformed("weight: must be a whole number from 0")
    return weight


def payload_of(item: dict[str, Any]) -> Payload | None:
    """Return the payload of a variant, if it has one."""
    if item.get("payload") is None:
        return None
    payload = object_of(item["payload"], "payload")
    return Payload(text_at(payload, "type"), text_at(payload, "value"))
