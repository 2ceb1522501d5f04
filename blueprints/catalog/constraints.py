"""Check a constraint before you use it in a strategy or segment."""

from collections.abc import Mapping
from typing import Any

from flask import Blueprint, Response, abort

from rules.access import require
from rules.constraints import count_problems, value_problems
from rules.refusals import Refusal
from serving.operation import operation
from serving.request_data import load
from serving.responses import empty_response
from sql.catalog.context_fields import list_legal_values
from sql.database import Connection, connection
from validators.catalog.constraints import Constraint

bp = Blueprint("constraints", __name__)

# The name of the first constraint in messages about a list of constraints.
FIRST_IN_LIST = "constraints.0"


@bp.post("/api/admin/constraints/validate")
@operation(
    body=Constraint,
    status=204,
    refuses=(400, 401, 403, 415),
    errors={400: Refusal(message="value: must be a version such as 1.2.3, without a v")},
)
def validate_constraint() -> Response:
    """Check a constraint.

    204 if the constraint is valid in a strategy or segment. The message of a 400 says what is wrong.
    """
    with connection() as conn:
        require(conn)
        check(conn, load(Constraint()))
    return empty_response(204)


def check(conn: Connection, constraint: Mapping[str, Any]) -> None:
    """Raise 400 unless the context field exists, the values are legal, and there are not too many of them."""
    legal = list_legal_values(conn, [constraint["contextName"]])
    problems = [*count_problems([constraint], ()), *value_problems([constraint], legal)]
    if problems:
        abort(400, "; ".join(map(without_position, problems)))


def without_position(problem: str) -> str:
    """Return a message about the first constraint of a list as a message about the body."""
    return (
        f"body{problem.removeprefix(FIRST_IN_LIST)}"
        if problem.startswith(f"{FIRST_IN_LIST}:")
        else problem.removeprefix(f"{FIRST_IN_LIST}.")
    )
