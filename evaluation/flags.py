"""One compiled flag."""

from typing import Any, NamedTuple

from evaluation.context import Fields
from evaluation.parsing import Malformed, boolean_at, list_at, object_of, text_at, texts_at
from evaluation.results import FlagFacts, Result
from evaluation.strategies import Segments, Strategy
from evaluation.variants import Variants


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

    __slots__ = ("facts", "fingerprint", "off", "parents", "problem", "strategies")

    def __init__(self, name: str, item: dict[str, Any], segments: Segments, fingerprint: int | None) -> None:
        self.facts = FlagFacts(name)
        self.parents: tuple[Parent, ...] = ()
        self.strategies: tuple[Strategy, ...] = ()
        self.problem: str | None = None
        self.fingerprint = fingerprint
        try:
            self.read(item, segments)
        except Malformed as error:
            self.problem = str(error)
        self.off = Result(self.facts, False, "TARGETING_MATCH" if self.facts.enabled else "DISABLED")

    def read(self, item: dict[str, Any], segments: Segments) -> None:
        """Compile the flag, or raise Malformed."""
        given_variants = list_at(item, "variants")
        variants = Variants(given_variants, self.name) if given_variants else None
        # A flag without strategies is on for everybody.
        given = list_at(item, "strategies") or [{"name": "default"}]
        strategies = tuple([Strategy(one, self.name, segments) for one in given])
        self.parents = tuple([parent_of(one) for one in list_at(item, "dependencies")])
        self.facts = FlagFacts(
            self.name,
            project=text_at(item, "project", ""),
            type=text_at(item, "type", ""),
            stale=boolean_at(item, "stale"),
            impression_data=boolean_at(item, "impressionData"),
            enabled=boolean_at(item, "enabled"),
            has_payloads=any([one.has_payloads for one in (variants, *[one.variants for one in strategies]) if one]),
        )
        static = not self.parents
        for strategy in strategies:
            strategy.make_results(self.facts, variants, static=static)
            static = False
        self.strategies = strategies

    @property
    def name(self) -> str:
        return self.facts.name

    def still_valid(self, segments: Segments) -> bool:
        """Return whether the compiled flag fits these segments. A missing segment is a problem that can go away."""
        return all(
            [
                strategy.problem is None and all(segments.get(one.id) is one for one in strategy.segments)
                for strategy in self.strategies
            ]
        )

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
