"""Strategies and segments: conditions that switch a flag on."""

from collections.abc import Callable, Mapping
from typing import Any

from evaluation.addresses import Networks, unmapped
from evaluation.constraints import Constraint, constraints_at
from evaluation.context import Fields
from evaluation.parsing import Malformed, list_at, object_of, text_at
from evaluation.results import FlagFacts, Reason, Result
from evaluation.rollout import DEFAULT_FIELDS, Rollout
from evaluation.variants import Variants

Condition = Callable[[Fields], bool]


class Segment:
    """Named constraints that strategies share. A malformed segment has a problem, and its strategies never match."""

    __slots__ = ("constraints", "fingerprint", "id", "name", "problem")

    def __init__(self, number: int, item: dict[str, Any], fingerprint: int | None) -> None:
        self.id = number
        self.name = ""
        self.constraints: tuple[Constraint, ...] = ()
        self.problem: str | None = None
        self.fingerprint = fingerprint
        try:
            self.name = text_at(item, "name", "")
            self.constraints = constraints_at(item)
        except Malformed as error:
            self.problem = f"segment {number}: {error}"


Segments = Mapping[int, Segment]


class Strategy:
    """A way to switch a flag on. A malformed strategy has a problem, and never matches."""

    __slots__ = (
        "conditions", "constraints", "name", "plain", "problem", "results", "rollout", "rule", "segments", "variants",
    )  # fmt: skip

    def __init__(self, given: Any, flag: str, segments: Segments) -> None:
        self.plain: Result
        self.results: tuple[Result, ...] = ()
        try:
            self.read(given, flag, segments)
            self.problem: str | None = None
        except Malformed as error:
            name = given.get("name") if isinstance(given, dict) else None
            self.read({"name": "default"}, flag, segments)
            self.name = name if isinstance(name, str) else ""
            self.conditions = (never,)
            self.problem = str(error)

    def read(self, given: Any, flag: str, segments: Segments) -> None:
        """Compile the strategy, or raise Malformed."""
        item = object_of(given, "strategies")
        self.name = text_at(item, "name")
        given_parameters = item.get("parameters")
        parameters = {} if given_parameters is None else object_of(given_parameters, "parameters")
        group = text_at(parameters, "groupId", flag)
        self.constraints = constraints_at(item)
        ids = list_at(item, "segments")
        self.segments = tuple([segment_of(number, segments) for number in ids]) if ids else ()
        self.rollout = rollout_of(self.name, parameters, group)
        self.rule = self.rollout.satisfied if self.rollout else rule_of(self.name, parameters)
        variants = list_at(item, "variants")
        self.variants = Variants(variants, group, text_at(parameters, "stickiness", "")) if variants else None
        conditions: list[Condition] = [one.satisfied for one in self.constraints]
        for segment in self.segments:
            conditions += [one.satisfied for one in segment.constraints]
        if self.rule and (self.rollout is None or self.rollout.depends_on_context):
            conditions.append(self.rule)
        self.conditions = tuple(conditions)

    def make_results(self, facts: FlagFacts, variants: Variants | None, *, static: bool) -> None:
        """Make all results of this strategy. The variants of the flag apply if the strategy has none of its own."""
        self.variants = self.variants or variants
        reason: Reason = "TARGETING_MATCH"
        if self.rollout and self.rollout.percentage < 100:
            reason = "SPLIT"
        elif static and not self.conditions:
            reason = "STATIC"
        self.plain = Result(facts, enabled=True, reason=reason)
        if self.variants:
            reason = "SPLIT" if self.variants.split else reason
            self.results = tuple([Result(facts, True, reason, variant) for variant in self.variants.variants])

    def satisfied(self, fields: Fields) -> bool:
        """Return whether the context satisfies all conditions."""
        return all(condition(fields) for condition in self.conditions)

    def result(self, fields: Fields) -> Result:
        """Return the result for a context that satisfies all conditions."""
        index = self.variants.index(fields) if self.variants else None
        return self.plain if index is None else self.results[index]


def never(_: Fields) -> bool:
    """Return False: the condition of a malformed strategy."""
    return False


def segment_of(number: Any, segments: Segments) -> Segment:
    """Return the segment with this id, or raise Malformed."""
    if not isinstance(number, int) or isinstance(number, bool):
        raise Malformed("segments: must be a list of ids")
    segment = segments.get(number)
    if segment is None:
        raise Malformed(f"segments: segment {number} does not exist")
    if segment.problem:
        raise Malformed(segment.problem)
    return segment


def rollout_of(name: str, parameters: dict[str, Any], group: str) -> Rollout | None:
    """Return the rollout of the strategies that have one."""
    if name == "flexibleRollout":
        return Rollout(group, percentage_at(parameters, "rollout"), text_at(parameters, "stickiness", "") or "default")
    stickiness = GRADUAL_ROLLOUTS.get(name)
    # As in the engine: the two that are sticky need a groupId.
    group = text_at(parameters, "groupId") if stickiness in DEFAULT_FIELDS else group
    return Rollout(group, percentage_at(parameters, "percentage"), stickiness) if stickiness else None


# The strategies that flexibleRollout has replaced, and what they are sticky to.
GRADUAL_ROLLOUTS = {
    "gradualRolloutUserId": "userId",
    "gradualRolloutSessionId": "sessionId",
    "gradualRolloutRandom": "random",
}


def percentage_at(parameters: dict[str, Any], key: str) -> int:
    """Return the percentage at a key: a whole number, written as text."""
    text = text_at(parameters, key, "")
    if not (text.isascii() and text.isdigit() and len(text) < 10 and int(text) <= 100):
        raise Malformed(f"{key}: must be a whole number from 0 to 100")
    return int(text)


def rule_of(name: str, parameters: dict[str, Any]) -> Condition | None:
    """Return the condition of the strategies without a rollout; None if the strategy has none."""
    if name == "default":
        return None
    if name == "userWithId":
        ids = frozenset(words_at(parameters, "userIds"))
        return lambda fields: fields.get("userId") in ids
    if name == "remoteAddress":
        # Our choice: servers for IPv4 and IPv6 know IPv4 clients as ::ffff:10.1.2.3. The engine compares these texts.
        networks = Networks([form for word in words_at(parameters, "IPs") for form in (word, unmapped(word))])
        return lambda fields: any(map(networks.contain, {found := fields.get("remoteAddress", ""), unmapped(found)}))
    if name == "applicationHostname":
        # As the engine of the SDKs decides. This server does not know the hosts of applications.
        raise Malformed("applicationHostname: matches only in the SDKs that support it")
    raise Malformed(f"{name}: matches only in applications that implement this custom strategy")


def words_at(parameters: dict[str, Any], key: str) -> list[str]:
    """Return the words between commas."""
    return [word for word in map(str.strip, text_at(parameters, key, "").split(",")) if word]
