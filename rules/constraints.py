"""Check strategies: type, parameters, constraints, segments and variants, and the limits of constraints."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from flask import current_app
from werkzeug.exceptions import BadRequest

from evaluation.constraints import Constraint
from evaluation.parsing import Malformed
from rules.refusals import Refuse, quantity, raise_error
from rules.stickiness import list_allowed, stickiness_of, variant_problems
from rules.strategy_parameters import is_network, parameter_problems
from sql.catalog.context_fields import list_legal_values
from sql.catalog.segments import hold_usable_segments
from sql.catalog.strategy_types import hold_strategy_types
from sql.database import Connection
from validators.catalog.constraints import DATE_OPERATORS, with_utc_date

# Our choice: their operands are no values of the context field, so its legal values do not apply.
PATTERNS = ("REGEX", "IN_CIDR")
# The greatest whole number that JavaScript has. The SDK for Node.js refuses versions with greater numbers.
VERSION_MAX = 2**53 - 1
Constraints = Sequence[Mapping[str, Any]]
# What a new strategy replaces.
NOTHING: dict[str, Any] = {"name": None, "parameters": {}, "constraints": (), "segments": (), "variants": ()}


def check_constraints(conn: Connection, constraints: Constraints, before: Constraints = ()) -> None:
    """Raise 400 for unknown context fields, illegal values, and more constraints or values than the settings allow.

    before: the constraints that these replace. They may exceed a limit that was lowered; as many as before are allowed.
    """
    legal = list_legal_values(conn, [constraint["contextName"] for constraint in constraints], hold=True)
    # Too many patterns would take minutes to compile.
    problems = list(count_problems(constraints, before)) or list(value_problems(constraints, legal, before))
    if problems:
        raise BadRequest("; ".join(problems))


def count_problems(constraints: Constraints, before: Constraints) -> Iterator[str]:
    """Yield a message for each exceeded limit of constraints and of values."""
    limit = max(current_app.config["MAX_CONSTRAINTS"], len(before))
    if len(constraints) > limit:
        yield f"constraints: must have at most {quantity(limit, 'constraint')} (setting MAX_CONSTRAINTS)"
    limit = max(
        current_app.config["MAX_CONSTRAINT_VALUES"], *(len(constraint.get("values", ())) for constraint in before), 0
    )
    for position, constraint in enumerate(constraints):
        if len(constraint["values"]) > limit:
            most = f"must have at most {quantity(limit, 'value')} (setting MAX_CONSTRAINT_VALUES)"
            yield f"constraints.{position}.values: {most}"


def value_problems(
    constraints: Constraints, legal: Mapping[str, set[str]], before: Constraints = (), *, imported: bool = False
) -> Iterator[str]:
    """Yield a message for each constraint on an unknown context field, or with an illegal value.

    legal: the legal values by context field, as list_legal_values() returns them. before: the constraints that these
    replace. Those that stay are not checked. With the same field and operator, their values are allowed. imported: as
    in operand_problem().
    """
    for position, constraint in enumerate(constraints):
        name, operator = constraint["contextName"], constraint["operator"]
        old = [other for other in before if (other["contextName"], other["operator"]) == (name, operator)]
        if constraint in old:
            continue
        if name not in legal and not old:
            yield f"constraints.{position}.contextName: must be an existing context field, not {name}"
        elif problem := operand_problem(constraint, imported=imported):
            yield f"constraints.{position}.{problem}"
        elif (
            operator not in PATTERNS
            and legal.get(name)
            and not legal[name].issuperset(values_of(constraint).difference(*map(values_of, old)))
        ):
            # Dates are legal in any form.
            dates = legal[name].union(*map(values_of, old)) if operator in DATE_OPERATORS else ()
            if constraint.get("value") not in {with_utc_date({**constraint, "value": date})["value"] for date in dates}:
                yield f"constraints.{position}: must have only legal values of the context field {name}"


def values_of(constraint: Mapping[str, Any]) -> set[str]:
    """Return the values of a constraint."""
    return {*constraint.get("values", ()), *([constraint["value"]] if "value" in constraint else ())}


def operand_problem(constraint: Mapping[str, Any], *, imported: bool = False) -> str | None:
    """Return a message about missing values, or about an operand that some SDKs cannot compare, otherwise None.

    imported: allow a constraint without values that matches no user. Unleash accepts it, and it does no harm.
    """
    operator = constraint.get("operator", "")
    if operator in ("IN", "NOT_IN") and not constraint["values"]:
        matches_no_user = constraint["inverted"] is (operator == "NOT_IN")
        return None if imported and matches_no_user else "values: must have at least one value"
    if operator.startswith("SEMVER"):
        release, _, more = constraint["value"].partition("+")[0].partition("-")
        if any(part.isdigit() and int(part) > VERSION_MAX for part in f"{release}.{more}".split(".")):
            return f"value: must be a version with numbers of at most {VERSION_MAX}, which all SDKs can compare"
    if operator == "REGEX":
        try:
            Constraint(constraint)
        except Malformed as error:
            return str(error)
    wrong = [value for value in constraint["values"] if operator == "IN_CIDR" and not is_network(value)]
    return f"values: must be IP addresses or networks such as 10.0.0.0/8, not {wrong[0]!r}" if wrong else None


def check_segments(
    conn: Connection, segments: Sequence[int], project: str, before: Sequence[int] = (), *, field: str = "segments"
) -> None:
    """Raise 400 for unusable or too many segments. before: those that it has. field: the list in the body."""
    problems = list(segment_problems(segments, hold_usable_segments(conn, segments, project), before, field=field))
    if problems:
        raise BadRequest("; ".join(problems))


def segment_problems(
    segments: Sequence[int], usable: Collection[int], before: Sequence[int], *, field: str = "segments"
) -> Iterator[str]:
    """Yield a message for each mistake in the segments of a strategy. before: those that it has already."""
    limit = max(current_app.config["MAX_STRATEGY_SEGMENTS"], len(before))
    if len(segments) > limit:
        yield f"{field}: must have at most {quantity(limit, 'segment')} (setting MAX_STRATEGY_SEGMENTS)"
    if not set(segments) <= {*usable, *before}:
        yield f"{field}: must be ids of existing segments of this project or of all projects"


def check_strategy(
    conn: Connection, strategy: Mapping[str, Any], project: str, before: Mapping[str, Any] | None = None
) -> None:
    """Raise 400 if the strategy is invalid or has an unknown type. before: the strategy that it replaces."""
    check_strategies(conn, [("", strategy, before)], project)


def check_strategies(
    conn: Connection,
    strategies: Sequence[tuple[str, Mapping[str, Any], Mapping[str, Any] | None]],
    project: str,
    refuse: Refuse = raise_error,
    *,
    imported: bool = False,
) -> None:
    """Refuse flags with a strategy whose type is unknown, or that is invalid in another way.

    strategies: tuples of a flag name, a strategy, and the strategy that it replaces or None. What a strategy has in
    common with the replaced one is not checked, and it can have as many constraints, values and segments.
    """
    if not strategies:
        return
    types = hold_strategy_types(conn, {strategy["name"] for _, strategy, _ in strategies})
    constraints = [constraint for _, strategy, _ in strategies for constraint in strategy["constraints"]]
    legal = list_legal_values(conn, [constraint["contextName"] for constraint in constraints], hold=True)
    usable = hold_usable_segments(
        conn, list({segment for _, strategy, _ in strategies for segment in strategy["segments"]}), project
    )
    stickiness = list_allowed(
        conn,
        [
            value
            for _, strategy, _ in strategies
            for value in (strategy["parameters"].get("stickiness", ""), *stickiness_of(strategy["variants"]))
            if value
        ],
    )
    for flag, strategy, before in strategies:
        replaced = NOTHING | dict(before or {})
        kept = replaced["parameters"] if strategy["name"] == replaced["name"] else None
        problems = [
            *(
                parameter_problems(types[strategy["name"]], strategy["parameters"], kept, stickiness)
                if strategy["name"] in types
                else [f"name: must be an existing strategy type, not {strategy['name']}"]
            ),
            *variant_problems(strategy["variants"], replaced["variants"], stickiness),
            *(
                list(count_problems(strategy["constraints"], replaced["constraints"]))
                or value_problems(strategy["constraints"], legal, replaced["constraints"], imported=imported)
            ),
            *segment_problems(strategy["segments"], usable, replaced["segments"]),
        ]
        if problems:
            refuse(BadRequest("; ".join(problems)), [flag])
