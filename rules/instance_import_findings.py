"""Name what a move writes although requests refuse it, and what only some SDKs evaluate."""

import re
from collections.abc import Collection, Sequence

from werkzeug.exceptions import BadRequest, HTTPException

from rules.constraints import check_strategies
from rules.import_contents import Json
from rules.instance_import_move import Move
from rules.refusals import Refuse
from rules.segments import check_segment
from rules.strategies import refuse_too_many
from sql.catalog.strategy_types import hold_strategy_types
from validators import load_or_400
from validators.flags.transfer import ImportedEnvironment, ImportedStrategy

# What is special to one flag: a position in a list, such as constraints.3, and the invalid value.
SPECIFIC = re.compile(r"(?<=[A-Za-z])\.\d+|, (?:not|as in) .*$")
STRATEGY, STATE = ImportedStrategy(), ImportedEnvironment()


def warn_with(move: Move) -> Refuse:
    """Return a callback that makes a warning of an error."""

    def warn(error: HTTPException, names: Collection[str]) -> None:
        for name in names:
            problem = SPECIFIC.sub("", error.description or "").rstrip(".")
            move.report.warn(f"Moved as it is, although requests refuse it ({problem})", name)

    return warn


def warn_of_flags(move: Move, project: str, new: Sequence[Json]) -> None:
    """Add warnings about new flags with values that requests refuse, and about custom strategy types."""
    warn, readable = warn_with(move), []
    for flag in new:
        place = {"featureName": flag["name"]}
        for state in flag["environments"]:
            try:
                load_or_400(STATE, place | {"variants": state["variants"]})
            except BadRequest as error:
                warn(error, [flag["name"]])
            for strategy in state["strategies"]:
                try:
                    load_or_400(STRATEGY, strategy | place)
                    readable.append((flag["name"], strategy, None))
                except BadRequest as error:
                    warn(error, [flag["name"]])
        refuse_too_many([(flag, len(state["strategies"])) for state in flag["environments"]], warn)
    check_strategies(move.conn, readable, project, warn, imported=True)
    types = hold_strategy_types(move.conn, {strategy["name"] for _, strategy, _ in readable})
    for name in (name for name, type in types.items() if type["editable"]):
        move.report.warn("Flags use this strategy type, which only SDKs that have it evaluate", name)


def warn_of_segment(move: Move, segment: Json) -> None:
    """Add a warning about a segment with constraints that requests refuse."""
    try:
        load_or_400(STRATEGY, {"featureName": "x", "name": "default", "constraints": segment["constraints"]})
        check_segment(move.conn, segment)
    except BadRequest as error:
        warn_with(move)(error, [f"segment {segment['name']}"])
