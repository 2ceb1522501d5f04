"""Dependencies between flags. A child depends on its parents. A flag with parents has no children."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from psycopg.rows import DictRow
from werkzeug.exceptions import Conflict, NotFound

from rules.access import Actor
from rules.flags import NO_FLAG, flag_event
from rules.refusals import Refuse, first_five, raise_error
from sql import events
from sql.database import Connection
from sql.flags import core as flags
from sql.flags import dependencies, lifecycle

# A dependency. child: name of a flag. feature: name of its parent. enabled and variants: the state of the parent that
# the child requires.
Link = Mapping[str, Any]


def add_dependencies(conn: Connection, actor: Actor, ids: Mapping[str, int], links: Sequence[Link]) -> bool:
    """Save dependencies between locked flags, record the events, and return whether any changed. ids: by flag name."""
    if not links:
        return False
    variants = [list(dict.fromkeys(link["variants"])) for link in links]
    rows = [
        {"childId": ids[link["child"]], "parentId": ids[link["feature"]], "enabled": link["enabled"], "variants": names}
        for link, names in zip(links, variants, strict=True)
    ]
    saved = dependencies.save(conn, rows)
    changed = [(link, row) for link, row in zip(links, rows, strict=True) if (row["childId"], row["parentId"]) in saved]
    children = {flag["id"]: flag for flag in flags.read(conn, [row["childId"] for _, row in changed])}
    log = []
    for link, row in changed:
        data = {"feature": link["feature"], "enabled": row["enabled"]} | (
            {"variants": row["variants"]} if row["variants"] else {}
        )
        log.append(flag_event("feature-dependency-added", actor, children[row["childId"]], data=data))
    events.record(conn, *log)
    return bool(log)


def add_dependency(conn: Connection, actor: Actor, project: str, link: Link) -> None:
    """Add a dependency to a live flag of the project, or replace that on the same parent. Raise 404 or 409."""
    ids = dependencies.lock(conn, project, [link["child"], link["feature"]])
    if link["child"] not in ids:
        raise NotFound(NO_FLAG)
    refuse_invalid_dependencies([link], ids, dependencies.pairs(conn, list(ids.values())))
    add_dependencies(conn, actor, ids, [link])


def remove_dependencies(conn: Connection, actor: Actor, flag: DictRow) -> None:
    """Remove all dependencies of a locked flag, and record the event if it has any."""
    if dependencies.delete(conn, flag["id"]):
        events.record(conn, flag_event("feature-dependencies-removed", actor, flag))


def refuse_parents(conn: Connection, live: Sequence[DictRow]) -> None:
    """Raise 409 if other live flags depend on these locked flags, which are to be archived."""
    ids = [flag["id"] for flag in live]
    parents = lifecycle.needed_by_others(conn, ids)
    if parents:
        pairs = dependencies.pairs(conn, ids)
        archived = {flag["name"] for flag in live}
        children = first_five(sorted({child for child, parent in pairs if parent in parents and child not in archived}))
        raise Conflict(f"Live flags depend on {first_five(parents)}: {children}. Remove their dependencies first.")


def refuse_invalid_dependencies(
    links: Sequence[Link], live: Collection[str], pairs: Collection[tuple[str, str]], refuse: Refuse = raise_error
) -> None:
    """Refuse flags that cannot depend on their parents. live: names of flags. pairs: existing child and parent."""
    children = {link["child"] for link in links} | {child for child, _ in pairs}
    parents = {link["feature"] for link in links} | {parent for _, parent in pairs}
    for link in links:
        child, parent = link["child"], link["feature"]
        if parent not in live:
            refuse(Conflict(f"feature: must be a live flag of this project, not {parent}"), [child])
        elif parent == child:
            refuse(Conflict("feature: a flag cannot depend on itself"), [child])
        elif parent in children:
            refuse(Conflict(f"feature: {parent} itself depends on another flag, so no flag can depend on it"), [child])
        elif child in parents:
            refuse(Conflict("This flag cannot depend on another flag, because other flags depend on it."), [child])
