"""Move flags, with their strategies, variants, states, tags and dependencies."""

from collections import defaultdict
from collections.abc import Collection, Sequence
from uuid import uuid4

from psycopg.rows import DictRow
from werkzeug.exceptions import Conflict

from rules.dependencies import add_dependencies
from rules.flag_links import add_links
from rules.flags import change_flags, flag_event
from rules.import_contents import Json
from rules.instance_import_findings import warn_of_flags, warn_with
from rules.instance_import_move import STRATEGY, Move, differing
from rules.strategies import insert_strategies
from rules.tags import add_tags
from sql.flags import core as flags
from sql.flags import dependencies, environments, variants
from sql.flags import records as flag_records
from validators.flags.links import URL

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
    archived = {flag["name"] for flag in move.contents.flags if flag["archivedAt"]}
    parents = {parent["feature"] for flag in move.contents.flags for parent in flag["dependencies"]}
    known = {flag["name"] for flag in move.contents.flags}
    live = (known | flags.list_projects(move.conn, list(parents - known)).keys()) - archived
    new = {flag["name"] for flag in move.new_flags}
    by_project: dict[str, list[Json]] = defaultdict(list)
    for flag in sorted(move.contents.flags, key=lambda flag: flag["name"]):
        by_project[flag["project"]].append(flag)
    for project, there in by_project.items():
        links = []
        for start in range(0, len(there), BATCH):
            part = [with_values_here(move, flag, types, live) for flag in there[start : start + BATCH]]
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
                "environment": state["environment"],
                "enabled": state["enabled"] and not is_archived,
                "variants": [
                    {**stored_variant(variant), "overrides": variant.get("overrides") or []}
                    for variant in state["variants"]
                ],
                "strategies": [stored_strategy(move, strategy) for strategy in state["strategies"]],
            }
            for state in flag["environments"]
        ],
    }


def stored_strategy(move: Move, strategy: Json) -> Json:
    """Return a strategy as this instance stores it, with the ids that segments have here."""
    here = move.with_segments_here(strategy)
    return {key: here[key] for key in STRATEGY} | {
        "variants": [stored_variant(variant) for variant in here["variants"]]
    }


def stored_variant(variant: Json) -> Json:
    """Return a variant as this instance stores it, without its overrides."""
    return {key: variant[key] for key in VARIANT if variant.get(key) is not None}


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
    move.record_all([flag_event("feature-created", actor, flag, data=flag["record"]) for flag in added.values()])
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
    archived = [added[flag["name"]] for flag in new if flag["archivedAt"]]
    move.record_all([flag_event("feature-archived", actor, flag) for flag in archived])
    move.report.count("flag", "new", len(new))


def insert_links(move: Move, flag: DictRow, links: Sequence[Json]) -> None:
    """Add the links of a new flag, but those that are no web addresses."""
    for link in links:
        if not URL.fullmatch(link["url"]):
            move.report.warn(
                "This link is left out, because it does not begin with https://", f"{flag['name']}: {link['url']}"
            )
    add_links(move.conn, move.actor, flag, [link for link in links if URL.fullmatch(link["url"])], warn_with(move))


def insert_states(move: Move, environment: str, states: dict[int, Json]) -> None:
    """Insert strategies and variants of new flags in an environment, and switch the flags. states: by id of flag."""
    conn, actor = move.conn, move.actor
    places = sorted(environments.get_or_insert(conn, list(states), environment), key=lambda flag: flag["name"])
    owners, rows, log = [], [], []
    for flag in places:
        state = states[flag["id"]]
        for position, strategy in enumerate(state["strategies"]):
            row = {**strategy, "id": str(uuid4()), "flagId": flag["id"], "sortOrder": position}
            rows.append(row | {"variants": in_order(strategy["variants"])})
            owners.append(flag)
    if rows:
        insert_strategies(conn, actor, owners, rows)
    varied = [flag for flag in places if states[flag["id"]]["variants"]]
    own = [{"flagId": flag["id"], "variants": in_order(states[flag["id"]]["variants"])} for flag in varied]
    variants.insert(conn, [owner | {"environment": environment, "strategyId": None} for owner in own])
    for flag in varied:
        data, before = {"variants": states[flag["id"]]["variants"]}, {"variants": []}
        log.append(flag_event("feature-environment-variants-updated", actor, flag, data=data, pre_data=before))
    on = [flag for flag in places if states[flag["id"]]["enabled"]]
    environments.switch(conn, [flag["id"] for flag in on], environment, enabled=True, since_creation=True)
    move.record_all([*log, *(flag_event("feature-environment-enabled", actor, flag) for flag in on)])
    move.report.count("strategy", "new", len(rows))


def compare_flags(move: Move, existing: Sequence[Json]) -> None:
    """Compare flags with those that exist here."""
    here = flag_records.list_flags(move.conn, [flag["name"] for flag in existing])
    for flag, found in ((flag, here[flag["name"]]) for flag in existing if flag["name"] in here):
        for name, key in (("tags", "value"), ("dependencies", "feature")):
            found[name].sort(key=lambda item: (item.get("type", ""), item[key]))
        different = differing(flag, found, COMPARED)
        places = {place["name"]: place for place in found["environments"]}
        if found["archived"] is not bool(flag["archivedAt"]):
            different.append(f"is {'' if found['archived'] else 'not '}archived here")
        for state in flag["environments"]:
            place = places.get(state["environment"], OFF)
            if place["enabled"] is not state["enabled"]:
                different.append(f"{state['environment']} is {'on' if place['enabled'] else 'off'} here")
            if state["variants"] != place["variants"]:
                different.append(f"variants in {state['environment']}")
            stored = [{key: strategy[key] for key in STRATEGY} for strategy in place["strategies"]]
            is_equal = state["strategies"] == stored
            move.report.count("strategy", "exists" if is_equal else "differs", len(state["strategies"]))
            different += [] if is_equal else [f"strategies in {state['environment']}"]
        move.report.count(
            "dependency", "differs" if "dependencies" in different else "exists", len(flag["dependencies"])
        )
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
