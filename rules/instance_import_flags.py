"""Move flags, with their strategies, variants, states, tags and dependencies."""

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from functools import partial
from itertools import groupby
from uuid import uuid4

from psycopg.rows import DictRow

from rules import flags as flag_rules
from rules.dependencies import add_dependencies
from rules.flag_links import add_links, usable_links
from rules.flags import flag_event
from rules.import_contents import Json
from rules.instance_import_findings import warn, warn_of_flags
from rules.instance_import_move import STRATEGY, Move, differing
from rules.strategies import insert_strategies
from rules.tags import add_tags
from rules.variants import in_order
from sql import events
from sql.flags import core as flags
from sql.flags import dependencies, environments, variants
from sql.flags import records as flag_records

# As many flags are written or compared at once, each with up to hundreds of strategies.
BATCH = 200
COMPARED = ("type", "description", "stale", "impressionData", "tags", "dependencies", "links")
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
    new = {flag["name"] for flag in move.new_flags}
    ordered = sorted(move.contents.flags, key=lambda flag: (flag["project"], flag["name"]))
    for project, there in groupby(ordered, key=lambda flag: str(flag["project"])):
        group = list(there)
        added = [flag for flag in group if flag["name"] in new]
        existing = [flag for flag in group if flag["name"] not in new]
        for start in range(0, len(added), BATCH):
            part = added[start : start + BATCH]
            insert_flags(move, project, [with_values_here(move, flag, types) for flag in part])
        parents = insert_dependencies(move, project, group, new)
        for start in range(0, len(existing), BATCH):
            part = existing[start : start + BATCH]
            compare_flags(move, [with_values_here(move, flag, types) for flag in part], parents)
    move.report.archived = sum(flag["archivedAt"] is not None for flag in ordered)


def with_values_here(move: Move, flag: Json, types: Collection[str]) -> Json:
    """Return a flag as this instance stores it: with a type and segments that exist here."""
    if flag["type"] not in types:
        message = "There is no such flag type here. These flags are of the type release"
        move.report.warn(message, f"{flag['name']} ({flag['type']})")
    return {
        **flag,
        "type": flag["type"] if flag["type"] in types else "release",
        "tags": sorted(flag["tags"], key=lambda tag: (tag["type"], tag["value"])),
        "environments": [
            {
                **state,
                "enabled": state["enabled"] and not flag["archivedAt"],
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


def insert_flags(move: Move, project: str, new: Sequence[Json]) -> None:
    """Insert flags with everything that belongs to them, except dependencies."""
    if not new:
        return
    warn_of_flags(move, project, new)
    conn, actor = move.conn, move.actor
    columns = [{key: flag[key] for key in COLUMNS} for flag in new]
    added = {flag["name"]: flag for flag in flag_rules.insert_flags(conn, actor, {"id": project}, columns)}
    states: dict[str, dict[int, Json]] = defaultdict(dict)
    for flag in new:
        for state in flag["environments"]:
            states[state["environment"]][added[flag["name"]]["id"]] = state
    for environment, by_flag in states.items():
        insert_states(move, environment, by_flag)
    add_tags(conn, actor, [(added[flag["name"]], tag) for flag in new for tag in flag["tags"]])
    for flag in new:
        insert_links(move, added[flag["name"]], flag["links"])
    flag_rules.change_flags(conn, actor, [(added[flag["name"]], {"stale": flag["stale"]}) for flag in new])
    archived = [added[flag["name"]] for flag in new if flag["archivedAt"]]
    events.record(conn, *(flag_event("feature-archived", actor, flag) for flag in archived))
    move.report.count("flag", "new", len(new))


def insert_links(move: Move, flag: DictRow, links: Sequence[Json]) -> None:
    """Add the links of a new flag, but those that are no web addresses."""
    usable = usable_links(links)
    for link in (link for link in links if link not in usable):
        move.report.warn("This link is left out, because it is no web address", f"{flag['name']}: {link['url']}")
    add_links(move.conn, move.actor, flag, usable, partial(warn, move))


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


def compare_flags(move: Move, existing: Sequence[Json], parents: Mapping[str, Sequence[Json]]) -> None:
    """Compare flags with those that exist here. parents: the usable dependencies, by child."""
    here = flag_records.list_flags(move.conn, [flag["name"] for flag in existing])
    for flag, found in ((flag, here[flag["name"]]) for flag in existing if flag["name"] in here):
        found["tags"].sort(key=lambda tag: (tag["type"], tag["value"]))
        found["dependencies"].sort(key=lambda parent: parent["feature"])
        found["links"] = usable_links(found["links"])
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
        wanted = flag | {"dependencies": parents[flag["name"]], "links": usable_links(flag["links"])}
        different = differing(wanted, found, COMPARED) + [text for text in differs if differs[text]]
        move.report.compare("flag", flag["name"], different)


def insert_dependencies(
    move: Move, project: str, group: Sequence[Json], new: Collection[str]
) -> Mapping[str, list[Json]]:
    """Insert the dependencies of new flags of a project. Return those of all flags that can exist here, by child."""
    usable: dict[str, list[Json]] = {flag["name"]: [] for flag in group}
    wanted = {flag["name"]: flag["dependencies"] for flag in group if not flag["archivedAt"]}
    names = wanted.keys() | {parent["feature"] for parents in wanted.values() for parent in parents}
    ids = dependencies.lock(move.conn, project, names)
    for child, parents in wanted.items():
        for parent in sorted(parents, key=lambda parent: str(parent["feature"])):
            if parent["feature"] in ids:
                usable[child].append(parent)
            else:
                move.report.count("dependency", "not moved")
                message = "This dependency is left out, because its parent is archived or missing"
                move.report.warn(message, f"{child} on {parent['feature']}")
    links = [{"child": child, **parent} for child, parents in usable.items() if child in new for parent in parents]
    add_dependencies(move.conn, move.actor, ids, links)
    move.report.count("dependency", "new", len(links))
    return usable
