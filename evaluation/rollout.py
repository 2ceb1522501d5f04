"""Gradual rollouts: which of 100 buckets an identity is in."""

import random
from collections.abc import Iterable

from mmh3 import hash as murmur3

from evaluation.context import Fields, NoIdentity

# The fields that the stickiness "default" takes its identity from: the first that the context has.
DEFAULT_FIELDS = ("userId", "sessionId")
BUCKETS = 100


def bucket_of(group: str, identity: str, size: int, seed: int = 0) -> int:
    """Return a number from 1 to size: always the same for the same identity in the same group."""
    # As bytes: mmh3 5.3.1 ends the process if a text has a lone surrogate.
    return murmur3(f"{group}:{identity}".encode("utf-8", "replace"), seed, signed=False) % size + 1


def random_identity(fields: Fields) -> str:
    """Return one of 10,000 identities, by chance, or the identity that the fields have instead."""
    if fields.identity == "":
        raise NoIdentity
    return fields.identity or str(random.randrange(10_000))


def first_of(fields: Fields, names: Iterable[str]) -> str:
    """Return the first of these values that the context has, or a random identity."""
    for name in names:
        found = fields.get(name)
        if found is not None:
            return found
    return random_identity(fields)


class Rollout:
    """A share of all identities: those whose bucket (1 to 100) is at most the percentage."""

    __slots__ = ("group", "percentage", "stickiness")

    def __init__(self, group: str, percentage: int, stickiness: str) -> None:
        self.group = group
        self.percentage = percentage
        self.stickiness = stickiness

    def identity(self, fields: Fields) -> str | None:
        """Return what the bucket is computed from, or None if the context does not have it."""
        if self.stickiness == "default":
            return first_of(fields, DEFAULT_FIELDS)
        if self.stickiness == "random":
            return random_identity(fields)
        if fields.identity is not None and self.stickiness in DEFAULT_FIELDS:
            return first_of(fields, (self.stickiness,))
        return fields.get(self.stickiness)

    def bucket(self, identity: str) -> int:
        return bucket_of(self.group, identity, BUCKETS)

    def satisfied(self, fields: Fields) -> bool:
        """Return whether the identity of the context is in the rollout. Without an identity it is not."""
        identity = self.identity(fields) if self.percentage else None
        return identity is not None and self.bucket(identity) <= self.percentage

    @property
    def depends_on_context(self) -> bool:
        """Whether the result can depend on the context."""
        return self.percentage < BUCKETS or self.stickiness not in ("default", "random")
