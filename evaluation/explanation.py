"""Why a flag is on or off for a context. The compiled parts of the flag that evaluate() uses answer here too."""

from collections.abc import Mapping
from dataclasses import dataclass

from evaluation.constraints import Constraint
from evaluation.context import Fields
from evaluation.flags import Flag, Parent
from evaluation.results import Result
from evaluation.strategies import Strategy
from evaluation.variants import Variants


@dataclass(frozen=True)
class ExplainedConstraint:
    """A constraint, and the value of the context that it was compared with: None if the context has none."""

    contextName: str
    operator: str
    values: tuple[str, ...]
    value: str
    inverted: bool
    caseInsensitive: bool
    found: str | None
    satisfied: bool


@dataclass(frozen=True)
class ExplainedSegment:
    """A segment of a strategy."""

    id: int
    name: str
    constraints: tuple[ExplainedConstraint, ...]
    satisfied: bool


@dataclass(frozen=True)
class ExplainedRollout:
    """A rollout, satisfied if the bucket (1 to 100) of the identity is at most the percentage.

    Without an identity there is no bucket.
    """

    percentage: int
    group: str
    stickiness: str
    identity: str | None
    bucket: int | None
    satisfied: bool


@dataclass(frozen=True)
class ExplainedVariant:
    """How the variant was chosen: by an override, or by the bucket of the identity.

    override is the name of the value of the context that the override compares. buckets is the sum of all weights.
    """

    group: str
    stickiness: str
    override: str | None
    identity: str | None
    bucket: int | None
    buckets: int


@dataclass(frozen=True)
class ExplainedStrategy:
    """A strategy. problem says why a malformed or unsupported strategy never matches."""

    name: str
    problem: str | None
    constraints: tuple[ExplainedConstraint, ...]
    segments: tuple[ExplainedSegment, ...]
    rollout: ExplainedRollout | None
    satisfied: bool


@dataclass(frozen=True)
class ExplainedParent:
    """A flag that this flag depends on: what it should be, and what it is for the context.

    variants are the names of which it must have one; empty if any variant will do. problem says why the parent cannot
    satisfy the dependency, whatever the context.
    """

    name: str
    enabled: bool
    variants: tuple[str, ...]
    foundEnabled: bool | None
    foundVariant: str | None
    problem: str | None
    satisfied: bool


@dataclass(frozen=True)
class Explanation:
    """Why a flag is on or off. decidedBy is the index of the strategy that switched the flag on.

    The strategies after it are explained too, although an evaluation does not look at them. Each random rollout is
    decided once per explanation.
    """

    name: str
    enabled: bool
    variant: str
    reason: str
    environmentEnabled: bool
    problem: str | None
    parents: tuple[ExplainedParent, ...]
    strategies: tuple[ExplainedStrategy, ...]
    decidedBy: int | None
    variants: ExplainedVariant | None


def explain(flag: Flag, fields: Fields, parents: Mapping[str, Result]) -> Explanation:
    """Return why a flag is on or off, if its parents have these results."""
    explained_parents = tuple(explained_parent(parent, parents.get(parent.name)) for parent in flag.parents)
    strategies = tuple(explained_strategy(strategy, fields) for strategy in flag.strategies)
    result, variants = flag.off, None
    matching = [index for index, strategy in enumerate(strategies) if strategy.satisfied]
    able = flag.facts.enabled and all(parent.satisfied for parent in explained_parents)
    decided_by = matching[0] if able and matching else None
    if decided_by is not None:
        strategy = flag.strategies[decided_by]
        result, variants = explained_variant(strategy, strategy.variants, fields)
    return Explanation(
        name=flag.name,
        enabled=result.enabled,
        variant=result.variant_name,
        reason=result.reason,
        environmentEnabled=flag.facts.enabled,
        problem=flag.problem,
        parents=explained_parents,
        strategies=strategies,
        decidedBy=decided_by,
        variants=variants,
    )


def explained_parent(parent: Parent, result: Result | None) -> ExplainedParent:
    """Return what a parent should be, and what it is."""
    problem = None if result else "The parent does not exist, is hidden from this token, or has parents itself."
    return ExplainedParent(
        name=parent.name,
        enabled=parent.enabled,
        variants=parent.variants,
        foundEnabled=result.enabled if result else None,
        foundVariant=result.variant_name if result else None,
        problem=problem,
        satisfied=result is not None and parent.accepts(result),
    )


def explained_strategy(strategy: Strategy, fields: Fields) -> ExplainedStrategy:
    """Return which parts of a strategy the context satisfies."""
    constraints = tuple(explained_constraint(one, fields) for one in strategy.constraints)
    segments: list[ExplainedSegment] = []
    for segment in strategy.segments:
        explained = tuple(explained_constraint(one, fields) for one in segment.constraints)
        segments.append(ExplainedSegment(segment.id, segment.name, explained, all(one.satisfied for one in explained)))
    rollout = explained_rollout(strategy, fields)
    rule_satisfied = rollout.satisfied if rollout else strategy.rule is None or strategy.rule(fields)
    return ExplainedStrategy(
        name=strategy.name,
        problem=strategy.problem,
        constraints=constraints,
        segments=tuple(segments),
        rollout=rollout,
        satisfied=strategy.problem is None
        and rule_satisfied
        and all(one.satisfied for one in (*constraints, *segments)),
    )


def explained_constraint(constraint: Constraint, fields: Fields) -> ExplainedConstraint:
    """Return a constraint with the value of the context."""
    return ExplainedConstraint(
        contextName=constraint.context_name,
        operator=constraint.operator,
        values=constraint.values,
        value=constraint.value,
        inverted=constraint.inverted,
        caseInsensitive=constraint.case_insensitive,
        found=fields.get(constraint.context_name),
        satisfied=constraint.satisfied(fields),
    )


def explained_rollout(strategy: Strategy, fields: Fields) -> ExplainedRollout | None:
    """Return the rollout of a strategy with the bucket of the context; None if it has no rollout."""
    rollout = strategy.rollout
    if rollout is None:
        return None
    identity = rollout.identity(fields)
    bucket = None if identity is None else rollout.bucket(identity)
    return ExplainedRollout(
        percentage=rollout.percentage,
        group=rollout.group,
        stickiness=rollout.stickiness,
        identity=identity,
        bucket=bucket,
        satisfied=bucket is not None and bucket <= rollout.percentage,
    )


def explained_variant(
    strategy: Strategy, variants: Variants | None, fields: Fields
) -> tuple[Result, ExplainedVariant | None]:
    """Return the result of a strategy that matches, and how its variant was chosen."""
    if variants is None:
        return strategy.plain, None
    override = variants.override(fields)
    identity = bucket = None
    index = override.position if override else None
    if override is None and variants.limits[-1]:
        identity = variants.identity(fields)
        bucket = variants.bucket(identity)
        index = variants.index_of_bucket(bucket)
    explained = ExplainedVariant(
        group=variants.group,
        stickiness=variants.stickiness,
        override=override.context_name if override else None,
        identity=identity,
        bucket=bucket,
        buckets=variants.limits[-1],
    )
    return strategy.plain if index is None else strategy.results[index], explained
