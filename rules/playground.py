"""Evaluate flags for the playground, and say why each is on or off. The record has the form that Unleash documents."""

import json
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, islice, product
from typing import Any

from flask import abort

from evaluation.document import Document
from evaluation.explanation import (
    ExplainedConstraint,
    ExplainedParent,
    ExplainedRollout,
    ExplainedStrategy,
    Explanation,
)
from sql import playground
from sql.catalog import environments
from sql.database import Connection
from sql.limits import PAGE_BYTES
from validators.client.contexts import Context

Record = dict[str, Any]


# Our choice: flags times environments times contexts. This many take 1.1 s and 200 MB of memory, if they are short.
MAX_RESULTS = 10_000


def evaluate(
    conn: Connection,
    viewer: int | None,
    environment: str,
    projects: list[str] | None,
    context: Mapping[str, Any],
    flag_name: str | None = None,
) -> list[Record]:
    """Return a record for each flag, or only flag_name, of these projects (None: all) that the viewer sees."""
    flags, document = load_flags(conn, viewer, environment, projects, flag_name)
    context = {**context, "environment": environment}
    return [playground_record(flag, document, context) for flag in flags if flag_name in (None, flag["name"])]


def evaluate_contexts(
    conn: Connection, viewer: int | None, environments: list[str], projects: list[str] | None, context: Context
) -> list[Record]:
    """Return a record for each flag: by environment, a result for each context that this context stands for."""
    values = {name: parts(value) for name, value in (context["properties"] | context).items() if name != "properties"}
    # One more than allowed, because 100 properties can make more contexts than fit into memory.
    combinations = islice(product(*values.values()), MAX_RESULTS + 1)
    contexts = [dict(zip(values, chosen, strict=True)) for chosen in combinations]
    found: dict[str, Record] = {}
    number = characters = 0
    for environment in dict.fromkeys(environments):
        flags, document = load_flags(conn, viewer, environment, projects)
        number += len(flags) * len(contexts)
        if number > MAX_RESULTS:
            abort(400, f"context: makes more than {MAX_RESULTS} results of all flags and environments")
        for flag in flags:
            record = {"name": flag["name"], "projectId": flag["project"]}
            record = found.setdefault(flag["name"], record | {"environments": {one: [] for one in environments}})
            first = result_record(flag, document, environment, contexts[0])
            # The results of a flag have about the same size.
            characters += len(json.dumps(first)) * len(contexts)
            if characters > PAGE_BYTES:
                abort(400, f"context: makes results of more than {PAGE_BYTES} bytes")
            others = [result_record(flag, document, environment, each) for each in contexts[1:]]
            record["environments"][environment] = [first, *others]
    return [found[name] for name in sorted(found)]


def parts(value: Any) -> list[Any]:
    """Return the different texts between the commas of a text, without spaces at their ends and without empty ones."""
    texts = value.split(",") if isinstance(value, str) else ()
    return [part for part in dict.fromkeys(map(str.strip, texts)) if part] or [value]


def load_flags(
    conn: Connection, viewer: int | None, environment: str, projects: list[str] | None, flag_name: str | None = None
) -> tuple[list[Record], Document]:
    """Return the flags that evaluate() needs, and the document that evaluates them."""
    flags = playground.list_flags(conn, environment, projects, viewer, flag_name)
    segment_ids = {number for flag in flags for strategy in flag["strategies"] for number in strategy["segments"]}
    segments = playground.list_segments(conn, sorted(segment_ids)) if segment_ids else []
    return flags, Document(
        {"features": [flag | {"strategies": enabled_in(flag)} for flag in flags], "segments": segments}
    )


def enabled_in(flag: Record) -> list[Record]:
    """Return the strategies that are evaluated. Disabled ones are in the records only."""
    return [strategy for strategy in flag["strategies"] if not strategy["disabled"]]


def refuse_unknown(conn: Connection, viewer: int | None, names: list[str], projects: list[str] | None) -> None:
    """Raise 400 if an environment of these names or a project does not exist, or is hidden from the viewer."""
    for name in names:
        if environments.get(conn, name) is None:
            abort(400, f"environment: must be an existing environment, not {name[:100]}")
    unknown = playground.unknown_projects(conn, projects or [], viewer)
    if unknown:
        abort(400, f"projects: unknown projects: {', '.join(project[:100] for project in unknown[:20])}")


def result_record(flag: Record, document: Document, environment: str, context: Context) -> Record:
    """Return the record of a flag in an environment and a context, with the links that the UI of Unleash needs."""
    record = playground_record(flag, document, context | {"environment": environment})
    edit = (
        f"/projects/{flag['project']}/features/{flag['name']}/strategies/edit?environmentId={environment}&strategyId="
    )
    for strategy in record["strategies"]["data"]:
        strategy["links"] = {"edit": edit + strategy["id"]}
    return record | {"environment": environment, "context": context}


def playground_record(flag: Record, document: Document, context: Mapping[str, Any]) -> Record:
    """Return the record of a flag for a context."""
    enabled, explained = enabled_in(flag), document.explain(flag["name"], context)
    by_id = dict(zip([strategy["id"] for strategy in enabled], explained.strategies, strict=False))
    strategies = [strategy_record(strategy, by_id.get(strategy["id"])) for strategy in flag["strategies"]]
    # Readers count the disabled strategies too. Without strategies, one that matches everybody is evaluated.
    numbers = [flag["strategies"].index(strategy) + 1 for strategy in enabled] or [1]
    decided_by = None if explained.decidedBy is None or not enabled else enabled[explained.decidedBy]
    variants = (decided_by or {}).get("variants") or flag["variants"]
    return {
        "name": flag["name"],
        "projectId": flag["project"],
        "isEnabled": explained.enabled,
        "isEnabledInCurrentEnvironment": flag["enabled"],
        "reason": reason(explained, numbers),
        "hasUnsatisfiedDependency": not all(parent.satisfied for parent in explained.parents),
        "strategies": {"result": cumulative(flag, strategies), "data": strategies},
        "variant": variant_record(variants, explained),
        "variants": variants,
    }


def cumulative(flag: Record, strategies: list[Record]) -> bool | str:
    """Return the result of all strategies together, as if the flag were on in the environment."""
    results = [strategy["result"]["enabled"] for strategy in strategies if not strategy["disabled"]]
    if not results:
        return bool(flag["enabled"])
    return True if True in results else "unknown" if "unknown" in results else False


def strategy_record(strategy: Record, explained: ExplainedStrategy | None) -> Record:
    """Return the record of a strategy. explained: None if it is disabled, or if the flag is malformed."""
    record = {name: strategy[name] for name in ("id", "name", "title", "disabled", "parameters")}
    if explained is None:
        result = {"evaluationStatus": "unevaluated", "enabled": "unknown"}
        return record | {"result": result, "constraints": [], "segments": [], "rollout": None}
    known = explained.problem is None
    result = {
        "evaluationStatus": "complete" if known else "incomplete",
        "enabled": explained.satisfied if known else "unknown",
    }
    segments = [
        {
            "id": segment.id,
            "name": segment.name,
            "result": segment.satisfied,
            "constraints": [constraint_record(one) for one in segment.constraints],
        }
        for segment in explained.segments
    ]
    return record | {
        "result": result,
        "constraints": [constraint_record(one) for one in explained.constraints],
        "segments": segments,
        "rollout": None if explained.rollout is None else rollout_record(explained.rollout),
    }


def constraint_record(constraint: ExplainedConstraint) -> Record:
    """Return the record of a constraint. contextValue: what the context has, or None."""
    return {
        "contextName": constraint.contextName,
        "operator": constraint.operator,
        "values": list(constraint.values),
        "value": constraint.value,
        "inverted": constraint.inverted,
        "caseInsensitive": constraint.caseInsensitive,
        "contextValue": constraint.found,
        "result": constraint.satisfied,
    }


def rollout_record(rollout: ExplainedRollout) -> Record:
    """Return the record of a rollout. It is on if the bucket of the identity is at most the percentage."""
    return {
        "percentage": rollout.percentage,
        "groupId": rollout.group,
        "stickiness": rollout.stickiness,
        "identity": rollout.identity,
        "bucket": rollout.bucket,
        "result": rollout.satisfied,
    }


def variant_record(variants: list[Record], explained: Explanation) -> Record:
    """Return the variant that the context gets, with its payload."""
    chosen = next((one for one in variants if explained.variants and one["name"] == explained.variant), None)
    record: Record = {"name": explained.variant, "enabled": chosen is not None, "feature_enabled": explained.enabled}
    return record | ({"payload": chosen["payload"]} if chosen and "payload" in chosen else {})


def reason(explained: Explanation, numbers: Sequence[int]) -> str:
    """Return why a flag is on or off. numbers: the places of the evaluated strategies among all of the flag."""
    if explained.problem is not None:
        return f"The flag is malformed: {explained.problem}."
    if not explained.environmentEnabled:
        return "The flag is off in this environment."
    unsatisfied = [parent for parent in explained.parents if not parent.satisfied]
    if unsatisfied:
        return parent_reason(unsatisfied[0])
    if explained.decidedBy is not None:
        strategy = explained.strategies[explained.decidedBy]
        rollout = f" {bucket_text(strategy.rollout)}" if strategy.rollout and strategy.rollout.percentage < 100 else ""
        return f"Strategy {numbers[explained.decidedBy]} ({strategy.name}) matches.{rollout}"
    return " ".join(mismatches(explained, numbers))


def parent_reason(parent: ExplainedParent) -> str:
    """Return why a parent switches the flag off."""
    if parent.problem is not None:
        return f"The parent flag {parent.name} cannot be evaluated: {parent.problem}"
    variants = f" with the variant {' or '.join(parent.variants)}" if parent.variants else ""
    required = f"on{variants}" if parent.enabled else "off"
    found = f"on with the variant {parent.foundVariant}" if parent.foundEnabled else "off"
    return f"The parent flag {parent.name} must be {required}. It is {found}."


def mismatches(explained: Explanation, numbers: Sequence[int]) -> Iterator[str]:
    """Yield a sentence for each strategy: the first thing in it that does not match."""
    for number, strategy in zip(numbers, explained.strategies, strict=False):
        constraints = chain(strategy.constraints, *(segment.constraints for segment in strategy.segments))
        failed = next((one for one in constraints if not one.satisfied), None)
        if strategy.problem is not None:
            why = strategy.problem
        elif failed is not None:
            why = constraint_text(failed)
        elif strategy.rollout is not None:
            why = bucket_text(strategy.rollout)
        else:
            why = "Its parameters do not match the context."
        yield f"Strategy {number} ({strategy.name}) does not match. {why}"


def constraint_text(constraint: ExplainedConstraint) -> str:
    """Return what a constraint requires, and what the context has."""
    found = "missing" if constraint.found is None else f"“{constraint.found}”"
    inverted = "not " if constraint.inverted else ""
    operands = ", ".join(constraint.values) or constraint.value
    return f"{constraint.contextName} is {found}. It must be: {inverted}{constraint.operator} {operands}."


def bucket_text(rollout: ExplainedRollout) -> str:
    """Return the bucket of a rollout and its percentage."""
    if rollout.bucket is None:
        return f"The context has no {rollout.stickiness}, which the rollout needs."
    return (
        f"{rollout.identity} is in bucket {rollout.bucket} of 100 in the group {rollout.group}. "
        f"The rollout is {rollout.percentage} %."
    )
