"""Check the constraints of a segment."""

from collections.abc import Mapping
from typing import Any

from flask import abort, current_app

from rules.constraints import check_constraints
from rules.refusals import quantity
from sql.database import Connection


def check_segment(conn: Connection, payload: Mapping[str, Any], before: Mapping[str, Any] | None = None) -> None:
    """Raise 400 for invalid constraints. before: the record that the payload replaces."""
    replaced = [{"values": [], **constraint} for constraint in before["constraints"]] if before else []
    check_constraints(conn, payload["constraints"], replaced)
    limit = max(current_app.config["MAX_SEGMENT_VALUES"], count_values(replaced))
    if count_values(payload["constraints"]) > limit:
        abort(400, f"constraints: must have at most {quantity(limit, 'value')} in total (setting MAX_SEGMENT_VALUES)")


def count_values(constraints: list[dict[str, Any]]) -> int:
    """Return how many values the constraints have together."""
    return sum(len(constraint["values"]) for constraint in constraints)
