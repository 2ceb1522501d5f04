"""Find strategy types that can change."""

from typing import Any

from flask import abort

from sql.catalog import strategy_types
from sql.database import Connection


def lock_editable(conn: Connection, name: str) -> dict[str, Any]:
    """Lock a custom strategy type and return its record. Raise 404 if it does not exist, and 409 if it is built-in."""
    strategy_type = strategy_types.lock(conn, name) or abort(404, "No strategy type has that name.")
    if not strategy_type["editable"]:
        abort(409, "A built-in strategy type cannot be changed or deleted.")
    return strategy_type
