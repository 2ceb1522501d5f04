"""Copy what a flag has in one environment to another."""

from collections.abc import Mapping
from itertools import zip_longest
from typing import Any

from flask import abort
from psycopg.rows import DictRow

from rules.access import Actor, require_parts
from rules.strategies import lock_in_environment, replace_strategies, switch_off, switch_on
from rules.variants import in_order, replace_variants
from sql.database import Connection
from sql.flags import environments, variants
from sql.flags.strategies import list_by_flag

# What a copy of each part can need in the target. A caller without any of these can copy nothing.
PERMISSIONS = {
    "enabled": ["UPDATE_FEATURE_ENVIRONMENT"],
    "strategies": ["CREATE_FEATURE_STRATEGY", "UPDATE_FEATURE_STRATEGY", "DELETE_FEATURE_STRATEGY"],
    "variants": ["UPDATE_FEATURE_ENVIRONMENT_VARIANTS"],
}


def lock_source(conn: Connection, flag: DictRow, environment: str) -> DictRow:
    """Lock a flag in the environment that is copied. Raise 400 unless it is another one than that of the flag."""
    found = environments.lock(conn, flag["project_id"], [flag["name"]], environment)
    if not found or environment == flag["environment"]:
        abort(400, "from: must be another environment that is linked to the project")
    return found[0]


def read_sides(conn: Connection, *places: DictRow) -> dict[str, list[Any]]:
    """Return by environment what a flag has there: whether it is on, its strategies and its variants."""
    own = variants.list_each(conn, places)
    by_place = [list_by_flag(conn, [place["id"]], place["environment"])[place["id"]] for place in places]
    sides = zip(places, by_place, own, strict=True)
    return {place["environment"]: [place["enabled"], *more] for place, *more in sides}


def copy_environment(conn: Connection, actor: Actor, flag: DictRow, source: DictRow, parts: Mapping[str, bool]) -> None:
    """Copy strategies, variants or the state of a flag from another environment to its own.

    flag, source: from lock_in_environment() and lock_source(). parts: whether to copy strategies, variants and enabled.
    Raises 403 if the caller lacks a permission for what differs.
    """
    place = flag["project_id"], flag["name"]
    copied, present = variants.list_each(conn, [source, flag])
    differing = {
        "enabled": parts["enabled"] and source["enabled"] != flag["enabled"],
        "variants": parts["variants"] and copied != present,
    }
    needed = [(name, flag["environment"]) for part in differing if differing[part] for name in PERMISSIONS[part]]
    require_parts(conn, actor, place[0], needed)
    if differing["variants"]:
        replace_variants(conn, actor, [(flag, present, in_order(copied))])
    # Off first and on last, so that the flag is never on with half of the strategies.
    if differing["enabled"] and not source["enabled"]:
        switch_off(conn, actor, [flag])
    if parts["strategies"]:
        wanted, before = (list_by_flag(conn, [flag["id"]], one["environment"])[flag["id"]] for one in (source, flag))
        # Our choice: a strategy replaces the one at its place, so that the history shows what changed.
        ids = [one["id"] for one in before[: len(wanted)]]
        wanted = [one | {"id": id} for one, id in zip_longest(wanted, ids)]
        replace_strategies(conn, actor, flag, before, wanted)
    if parts["enabled"] and source["enabled"]:
        switch_on(conn, actor, [lock_in_environment(conn, *place, flag["environment"])])
