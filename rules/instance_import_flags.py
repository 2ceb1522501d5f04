"""Move flags, with their strategies, variants, states, tags and dependencies."""

from collections import defaultdict
from collections.abc import Collection, Sequence
from itertools import groupby, islice
from uuid import uuid4

from psycopg.rows import DictRow
from werkzeug.exceptions import Conflict

from rules.dependencies import add_dependencies
from rules.flags import change_flags, flag_event
from rules.import_contents import Json
from rules.instance_import_findings import warn_of_flags
from rules.instance_import_move import STRATEGY, Move, differing
from rules.strategies import insert_strategies
from rules.tags import add_tags
from sql import events
from sql.flags import core as flags
from sql.flags import dependencies, environments, variants
from sql.flags import records as flag_records

# As many flags are written or compared at once, each with up to hundreds of strategies.
BATCH = 200
COMPARED = ("type", "description", "stale", "impressionData", "tags", "dependencies")
VARIANT = ("name", "weight", "weightType", "stickiness", "payload")
COLUMNS = ("name", "type", "description", "impressionData", "createdAt", "archivedAt")
OFF = {"enabled": False, "strategies": [], "variants": []}


def find_new_flags(move: Move) -> None:
    """Set move.new_flags to the flags that do not exist here. A flag in another project is a conflict."""
    here = flags.list_projects(move.conn, [flag["name"] for flag in move.contents.flags])
    move.new_flags = [flag for flag in move.contents.flags if flag["name"] not in here]
    for flag in move.contents.flags:
        place = here.get(flag["name"], flag["project"])
        if place != flag["project"]:
            move.report.conflict(f"Flag {flag['name']} of project {flag['project']} is in project {place} here.")


def write_flags(move: Move, types: Collection[str]) -> None:
    """Write the flags that do not exist here, and compare the others. types: the flag types of this instance."""
    brought, new = move.contents.flags, {flag["name"] for flag in move.new_flags}
    archived = {flag["name"] for flag in brought if flag["archivedAt"]}
    parents = {parent["feature"] for flag in brought for parent in flag["dependencies"]}
    live = ({flag["name"] for flag in brought} | flags.list_projects(move.conn, list(parents)).keys()) - archived
    ordered = sorted(brought, key=lambda flag: (flag["project"], flag["name"]))
    for project, there in groupby(ordered, key=lambda flag: str(flag["project"])):
        links = []
        while part := [with_values_here(move, flag, types, live) for flag in islice(there, BATCH)]:
            added = [flag for flag in part if flag["name"] in new]
            insert_flags(move, project, added)
            compare_flags(move, [flag for flag in part if flag["name"] not in new])
            links += [{"child": flag["name"], **parent} for flag in added for parent in flag["dependencies"]]
        insert_dependencies(move, project, links)
    move.report.archived = len(archived)


def with_values_here(move: Move, flag: Json, types: Collection[str], live: Collection[str]) -> Json:
    """Return a flag as this instance stores it: with a type, segments and parents that exist here."""
    is_archived = flag["archivedAt"] is not None
    if flag["type"] not in types:
        message = "There is no such flag type here. These flags are of the type release"
        move.report.warn(message, f"{flag['name']} ({flag['type']})")
    parents = [] if is_archived else sorted(flag["dependencies"], key=lambda parent: parent["feature"])
    for parent in parents:
        if parent["feature"] not in live:
            leave_out(move, flag["name"], parent["feature"])
    return {
        **flag,
        "type": flag["type"] if flag["type"] in types else "release",
        "tags": sorted(flag["tags"], key=lambda tag: (tag["type"], tag["value"])),
        "dependencies": [parent for parent in parents if parent["feature"] in live],
        "environments": [
            {
                **state,
                "enabled": state["enabled"] and not is_archived,
                "variants": [stored_variant(item, overrides=item.get("overrides") or []) for item in state["variants"]],
                "strategies": [stored_strategy(move, strategy) for strategy in state["strategies"]],
            }
            for state in flag["environments"]
        ],
    }


def stored_strategy(move: Move, strategy: Json) -> Json:
    """Return a strategy as this instance stores it, with the ids that segments have here."""
    here = move.with_segments_here(strategy)
    here["variants"] = [stored_variant(variant) for variant in here["variants"]]
    return {key: here[key] for key in STRATEGY}


def stored_variant(variant: Json, **overrides: list[Json]) -> Json:
    """Return a variant as this instance stores it. Only those of flags have overrides."""
    return {key: variant[key] for key in VARIANT if variant.get(key) is not None} | overrides


def in_order(variants: Sequence[Json]) -> list[Json]:
    """Return variants with their positions."""
    return [variant | {"position": position} for position, variant in enumerate(variants)]


def insert_flags(move: Move, project: str, new: Sequence[Json]) -> None:
    """Insert flags with everything that belongs to them, except dependencies."""
    if not new:
        return
    warn_of_flags(move, project, new)
    conn, actor = move.conn, move.actor
    columns = [{key: flag[key] for key in COLUMNS} for flag in new]
    added = {flag["name"]: flag for flag in flags.insert(conn, project, columns, None, keep_dates=True)}
    if len(added) < len(new):
        raise Conflict("One of the flags was created here during the move. Start the move again.")
    events.record(conn, *(flag_event("feature-created", actor, flag, data=flag["record"]) for flag in added.values()))
    states: dict[str, dict[int, Json]] = defaultdict(dict)
    for flag in new:
        for state in flag["environments"]:
            states[state["environment"]][added[flag["name"]]["id"]] = state
    for environment, by_flag in states.items():
        insert_states(move, environment, by_flag)
    add_tags(conn, actor, [(added[flag["name"]], tag) for flag in new for tag in flag["tags"]])
    for flag in new:
        insert_links(move, added[flag["name"]], flag["links"])
    change_flags(conn, actor, [(added[flag["name"]], {"stale": flag["stale"]}) for flag in new])
    events.record(
        conn, *(flag_event("feature-archived", actor, added[flag["name"]]) for flag in new if flag["archivedAt"])
    )
    move.report.count("flag", "new", len(new))


def insert_links(move: Move, flag: DictRow, links: Sequence[Json]) -> None:
    """Add the links of a new flag."""
    if links:
        move.report.warn("Links of flags are not kept", flag["name"])


def insert_states(move: Move, environment: str, states: dict[int, Json]) -> None:
    """Insert strategies and variants of new flags in an environment, and switch the flags. states: by id of flag."""
    conn, actor = move.conn, move.actor
    places = sorted(environments.get_or_insert(conn, list(states), environment), key=lambda flag: flag["name"])
    owners, rows, varied, log = [], [], [], []
    for flag in places:
        state = states[flag["id"]]
        for position, strategy in enumerate(state["strategies"]):
            row = {**strategy, "id": str(uuid4()), "flagId": flag["id"], "sortOrder": position}
            rows.append(row | {"variants": in_order(strategy["variants"])})
            owners.append(flag)
        if own := state["variants"]:
            owner = {"flagId": flag["id"], "environment": environment, "strategyId": None}
            varied.append(owner | {"variants": in_order(own)})
            data, before = {"variants": own}, {"variants": []}
            log.append(flag_event("feature-environment-variants-updated", actor, flag, data=data, pre_data=before))
    if rows:
        insert_strategies(conn, actor, owners, rows)
    variants.insert(conn, varied)
    on = [flag for flag in places if states[flag["id"]]["enabled"]]
    environments.switch(conn, [flag["id"] for flag in on], environment, enabled=True, since_creation=True)
    events.record(conn, *log, *(flag_event("feature-environment-enabled", actor, flag) for flag in on))
    move.report.count("strategy", "new", len(rows))


def compare_flags(move: Move, existing: Sequence[Json]) -> None:
    """Compare flags with those that exist here."""
    here = flag_records.list_flags(move.conn, [flag["name"] for flag in existing])
    for flag, found in ((flag, here[flag["name"]]) for flag in existing if flag["name"] in here):
        found["tags"].sort(key=lambda tag: (tag["type"], tag["value"]))
        found["dependencies"].sort(key=lambda parent: parent["feature"])
        is_archived = "is archived here" if found["archived"] else "is not archived here"
        differs = {is_archived: found["archived"] is not bool(flag["archivedAt"])}
        places = {place["name"]: place for place in found["environments"]}
        for state in flag["environments"]:
            name = state["environment"]
            place = places.get(name, OFF)
            stored = [{key: strategy[key] for key in STRATEGY} for strategy in place["strategies"]]
            differs |= {
                f"{name} is {'on' if place['enabled'] else 'off'} here": place["enabled"] is not state["enabled"],
                f"variants in {name}": state["variants"] != place["variants"],
                f"strategies in {name}": state["strategies"] != stored,
            }
            column = "exists" if state["strategies"] == stored else "differs"
            move.report.count("strategy", column, len(state["strategies"]))
        different = differing(flag, found, COMPARED) + [text for text in differs if differs[text]]
        column = "differs" if "dependencies" in different else "exists"
        move.report.count("dependency", column, len(flag["dependencies"]))
        move.report.compare("flag", flag["name"], different)


def insert_dependencies(move: Move, project: str, links: Sequence[Json]) -> None:
    """Insert the dependencies of new flags, but those on a parent that is archived here, or in another project."""
    ids = dependencies.lock(move.conn, project, {name for link in links for name in (link["child"], link["feature"])})
    for link in links:
        if link["feature"] not in ids:
            leave_out(move, link["child"], link["feature"])
    usable = [link for link in links if link["feature"] in ids]
    add_dependencies(move.conn, move.actor, ids, usable)
    move.report.count("dependency", "new", len(usable))


def leave_out(move: Move, child: str, parent: str) -> None:
    """Report a dependency that is not moved."""
    move.report.count("dependency", "not moved")
    move.report.warn("This dependency is left out, because its parent is archived or missing", f"{child} on {parent}")
