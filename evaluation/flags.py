"""One compiled flag."""

from typing import Any, NamedTuple

from evaluation.context import Fields
from evaluation.parsing import Malformed, boolean_at, list_at, object_of, text_at, texts_at
from evaluation.results import FlagFacts, Result
from evaluation.strategies import Segments, Strategy
from evaluation.variants import Variants, variants_at


class Parent(NamedTuple):
    """A flag that another flag depends on, and the results of it that let the other flag be on."""

    name: str
    enabled: bool
    variants: tuple[str, ...]

    def accepts(self, result: Result) -> bool:
        """Return whether the child can be on if the parent has this result."""
        if result.enabled is not self.enabled:
            return False
        return not (self.enabled and self.variants) or result.variant_name in self.variants


class Flag:
    """One flag, compiled. A malformed flag has a problem, and is off."""

    __slots__ = ("facts", "fingerprint", "off", "parents", "problem", "segment_ids", "strategies")

    def __init__(self, name: str, item: dict[str, Any], segments: Segments, fingerprint: int | None) -> None:
        self.facts = FlagFacts(name)
        self.parents: tuple[Parent, ...] = ()
        self.strategies: tuple[Strategy, ...] = ()
        self.problem: str | None = None
        self.fingerprint = fingerprint
        self.segment_ids = segment_ids_in(item)
        try:
            self.read(item, segments)
        except Malformed as error:
            self.facts = FlagFacts(name)
            self.problem = str(error)
        self.off = Result(self.facts, False, "TARGETING_MATCH" if self.facts.enabled else "DISABLED")

    def read(self, item: dict[str, Any], segments: Segments) -> None:
        """Compile the flag, or raise Malformed."""
        variants = variants_at(item, self.name)
        # A flag without strategies is on for everybody.
        given = list_at(item, "strategies") or [{"name": "default"}]
        strategies = tuple(Strategy(one, self.name, segments) for one in given)
        self.parents = tuple(map(parent_of, list_at(item, "dependencies")))
        self.facts = FlagFacts(
            name=self.name,
            project=text_at(item, "project", ""),
            type=text_at(item, "type", ""),
            stale=boolean_at(item, "stale"),
            impression_data=boolean_at(item, "impressionData"),
            enabled=boolean_at(item, "enabled"),
            has_payloads=any(map(has_payload, (variants, *(strategy.variants for strategy in strategies)))),
        )
        for index, strategy in enumerate(strategies):
            strategy.make_results(self.facts, variants, static=index == 0 and not self.parents)
        self.strategies = strategies

    @property
    def name(self) -> str:
        return self.facts.name

    def evaluate(self, fields: Fields) -> Result:
        """Return the result of the first strategy that matches. The parents are not considered."""
        if self.facts.enabled:
            for strategy in self.strategies:
                for condition in strategy.conditions:
                    if not condition(fields):
                        break
                else:
                    return strategy.result(fields)
        return self.off


def parent_of(given: Any) -> Parent:
    """Return a dependency of a flag, or raise Malformed."""
    item = object_of(given, "dependencies")
    return Parent(text_at(item, "feature"), boolean_at(item, "enabled", default=True), texts_at(item, "variants"))


def has_payload(variants: Variants | None) -> bool:
    """Return whether one of the variants has a payload."""
    return variants is not None and any(variant.payload for variant in variants.variants)


def segment_ids_in(item: dict[str, Any]) -> frozenset[int]:
    """Return the ids of all segments that the strategies of a flag name. Malformed parts are ignored."""
    strategies = item.get("strategies")
    lists = [one.get("segments") for one in strategies if isinstance(one, dict)] if isinstance(strategies, list) else []
    return frozenset(number for one in lists if isinstance(one, list) for number in one if isinstance(number, int))
