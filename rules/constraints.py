"""Check that context fields, segments and strategy types exist, and the limits of constraints."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from flask import current_app
from werkzeug.exceptions import BadRequest

from rules.refusals import Refuse, at_once
from sql.database import Connection
from sql.vocabulary.context_fields import legal_values
from sql.vocabulary.segments import usable_segments
from sql.vocabulary.strategy_types import share_types

Constraints = Sequence[Mapping[str, Any]]


def check_constraints(conn: Connection, constraints: Constraints, before: Constraints = ()) -> None:
    """Refuse with 400 constraints on unknown context fields, illegal values, and more than the settings allow.

    before: the constraints that these replace. As many as before are always allowed.
    """
    legal = legal_values(conn, [constraint["contextName"] for constraint in constraints])
    problems = [*too_many(constraints, before), *illegal(constraints, legal)]
    if problems:
        raise BadRequest("; ".join(problems))


def too_many(constraints: Constraints, before: Constraints) -> Iterator[str]:
    """Yield a message for each exceeded limit."""
    most = max(current_app.config["MAX_CONSTRAINTS"], len(before))
    if len(constraints) > most:
        yield f"constraints: must be at most {most}"
    most = max(
        current_app.config["MAX_CONSTRAINT_VALUES"], *(len(constraint.get("values", ())) for constraint in before), 0
    )
    for position, constraint in enumerate(constraints):
        if len(constraint["values"]) > most:
            yield f"constraints.{position}.values: must be at most {most}"


def illegal(constraints: Constraints, legal: Mapping[str, set[str]]) -> Iterator[str]:
    """Yield a message for each constraint on an unknown context field, or with a value that is not legal."""
    for position, constraint in enumerate(constraints):
        name = constraint["contextName"]
        if name not in legal:
            yield f"constraints.{position}.contextName: must be an existing context field, not {name}"
        elif legal[name]:
            given = [*constraint["values"], *([constraint["value"]] if "value" in constraint else ())]
            if not legal[name].issuperset(given):
                yield f"constraints.{position}: must have only legal values of the context field {name}"


def check_segments(
    conn: Connection, segments: Sequence[int], project: str, before: Sequence[int] = (), *, field: str = "segments"
) -> None:
    """Refuse with 400 unknown segments, segments of other projects, and more than the setting allows.

    before: the segments that these replace. As many as before are always allowed. field: their name in the body.
    """
    problems = list(bad_segments(segments, usable_segments(conn, segments, project), before, field=field))
    if problems:
        raise BadRequest("; ".join(problems))


def bad_segments(
    segments: Sequence[int], usable: Collection[int], before: Sequence[int], *, field: str = "segments"
) -> Iterator[str]:
    """Yield a message for each mistake in the segments of a strategy."""
    most = max(current_app.config["MAX_STRATEGY_SEGMENTS"], len(before))
    if len(segments) > most:
        yield f"{field}: must be at most {most}"
    if not set(segments) <= set(usable):
        yield f"{field}: must be ids of existing segments of this project or of all projects"


def check_strategy(
    conn: Connection, strategy: Mapping[str, Any], project: str, before: Mapping[str, Any] | None = None
) -> None:
    """Refuse with 400 a strategy of an unknown type, or with invalid constraints or segments.

    before: the strategy that it replaces.
    """
    check_strategies(conn, [("", strategy)], project, before)


def check_strategies(
    conn: Connection,
    strategies: Sequence[tuple[str, Mapping[str, Any]]],
    project: str,
    before: Mapping[str, Any] | None = None,
    refuse: Refuse = at_once,
) -> None:
    """Refuse flags with a strategy whose type is unknown, or whose constraints or segments are invalid.

    strategies: each with the name of its flag. before: the strategy that they replace; they can have as many of each as
    it has.
    """
    known = before or {"constraints": (), "segments": ()}
    types = share_types(conn, {strategy["name"] for _, strategy in strategies})
    legal = legal_values(
        conn, [constraint["contextName"] for _, strategy in strategies for constraint in strategy["constraints"]]
    )
    usable = usable_segments(
        conn, list({segment for _, strategy in strategies for segment in strategy["segments"]}), project
    )
    for flag, strategy in strategies:
        problems = [
            *(
                []
                if strategy["name"] in types
                else [f"name: must be an existing strategy type, not {strategy['name']}"]
            ),
            *too_many(strategy["constraints"], known["constraints"]),
            *illegal(strategy["constraints"], legal),
            *bad_segments(strategy["segments"], usable, known["segments"]),
        ]
        if problems:
            refuse(BadRequest("; ".join(problems)), [flag])
