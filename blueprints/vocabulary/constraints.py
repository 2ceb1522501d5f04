"""Constraints on their own, to ask whether they would do (neighbours.md 3.16)."""

from collections.abc import Mapping
from typing import Any

from flask import Blueprint, Response, abort

from rules.access import require
from rules.constraints import illegal, too_many
from serving.contract import operation
from serving.request_data import load
from serving.responses import empty_response
from sql.database import Connection, connection
from sql.vocabulary.context_fields import legal_values
from validators.vocabulary.constraints import Constraint

bp = Blueprint("constraints", __name__)

# Of the first one, in what is said of a list.
PLACE = "constraints.0"


@bp.post("/api/admin/constraints/validate")
@operation(body=Constraint, status=204, refuses=(400, 401, 403, 415))
def validate_constraint() -> Response:
    """Check a constraint.

    Whether a strategy or a segment could have it.
    """
    with connection() as conn:
        require(conn)
        check(conn, load(Constraint()))
    return empty_response(204)


def check(conn: Connection, constraint: Mapping[str, Any]) -> None:
    """400 unless it asks about a context field that exists, for its legal values, and no more of them than the setting allows."""
    legal = legal_values(conn, [constraint["contextName"]])
    problems = [*too_many([constraint], ()), *illegal([constraint], legal)]
    if problems:
        abort(400, "; ".join(map(of_one, problems)))


def of_one(problem: str) -> str:
    """A problem with a constraint of a list, as that of the only one."""
    return f"body{problem.removeprefix(PLACE)}" if problem.startswith(f"{PLACE}:") else problem.removeprefix(f"{PLACE}.")
