"""Name what a move writes although requests refuse it, and what only some SDKs evaluate."""

import re
from collections.abc import Collection, Sequence
from functools import partial

from marshmallow import Schema
from werkzeug.exceptions import BadRequest, HTTPException

from rules.constraints import check_strategies
from rules.import_contents import Json
from rules.instance_import_move import Move
from rules.segments import check_segment
from rules.strategies import refuse_too_many
from sql.catalog.strategy_types import hold_strategy_types
from validators import load_or_400
from validators.flags.transfer import ImportedEnvironment, ImportedStrategy

# What is special to one flag: a position in a list, such as constraints.3, and the invalid value.
SPECIFIC = re.compile(r"(?<=[A-Za-z])\.\d+|, (?:not|as in) .*$")
STRATEGY, STATE = ImportedStrategy(), ImportedEnvironment()


def warn(move: Move, error: HTTPException, names: Collection[str]) -> None:
    """Make a warning of an error."""
    problem = SPECIFIC.sub("", error.description or "").rstrip(".")
    for name in names:
        move.report.warn(f"Moved as it is, although requests refuse it ({problem})", name)


def warn_of_flags(move: Move, project: str, new: Sequence[Json]) -> None:
    """Add warnings about new flags with values that requests refuse, and about custom strategy types."""
    readable, refuse = [], partial(warn, move)
    for flag in new:
        place = {"featureName": flag["name"]}
        for state in flag["environments"]:
            is_accepted(move, STATE, place | {"variants": state["variants"]}, flag["name"])
            for strategy in state["strategies"]:
                if is_accepted(move, STRATEGY, strategy | place, flag["name"]):
                    readable.append((flag["name"], strategy, None))
        refuse_too_many([(flag, len(state["strategies"])) for state in flag["environments"]], refuse)
    check_strategies(move.conn, readable, project, refuse, imported=True)
    types = hold_strategy_types(move.conn, {strategy["name"] for _, strategy, _ in readable})
    for name in (name for name, type in types.items() if type["editable"]):
        move.report.warn("Flags use this strategy type, which only SDKs that have it evaluate", name)


def warn_of_segment(move: Move, segment: Json) -> None:
    """Add a warning about a segment with constraints that requests refuse."""
    data, name = {"featureName": "x", "name": "default", "constraints": segment["constraints"]}, segment["name"]
    if is_accepted(move, STRATEGY, data, f"segment {name}"):
        try:
            check_segment(move.conn, segment)
        except BadRequest as error:
            warn(move, error, [f"segment {name}"])


def is_accepted(move: Move, schema: Schema, data: Json, name: str) -> bool:
    """Return whether requests accept the data. If not, add a warning about the record of this name."""
    try:
        load_or_400(schema, data)
    except BadRequest as error:
        warn(move, error, [name])
        return False
    return True
