"""Give imported flags their variants, strategies and states in one environment."""

import json
import re
from collections import defaultdict
from collections.abc import Mapping, Sequence

from flask import abort
from psycopg.rows import DictRow

from rules import strategies as strategy_rules
from rules.access import Actor
from rules.constraints import check_strategies
from rules.import_documents import Document, Findings, ImportedFlag, Json
from rules.instance_limits import unique_or_409
from rules.strategy_parameters import filled_parameters
from rules.variants import replace_variants
from sql.database import Connection
from sql.flags import environments, strategies, variants

UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
NOT_LINKED = "No environment with this name is linked to the project."
ID_TAKEN = {"strategies_pkey": "A strategy with one of these ids was created during the import."}


def write_environment(
    conn: Connection,
    actor: Actor,
    environment: str,
    document: Document,
    ids: Mapping[str, int],
    findings: Findings,
) -> None:
    """Replace variants and strategies of flags, and switch them. Raise 404 if the environment is not linked."""
    if not document.flags:
        return
    imported = {flag.name: flag for flag in document.flags}
    found = environments.get_or_insert(conn, [ids[name] for name in imported], environment)
    flags = sorted(found, key=lambda flag: flag["name"])
    if len(flags) < len(imported):
        abort(404, NOT_LINKED)
    write_variants(conn, actor, [(flag, imported[flag["name"]].state) for flag in flags], findings)
    existing = strategies.list_by_flag(conn, [flag["id"] for flag in flags], environment)
    plans = [
        (flag, *compare(wanted, existing[flag["id"]]))
        for flag, wanted in wanted_strategies(conn, imported, flags, findings)
    ]
    findings.need("CREATE_FEATURE_STRATEGY", any(added for _, _, added, _ in plans))
    findings.need("DELETE_FEATURE_STRATEGY", any(removed for *_, removed in plans))
    # Check the parameters of the document: it is not to blame for an old default stickiness of the project.
    stored = {(flag["id"], strategy["id"]): strategy for flag, *_, removed in plans for strategy in removed}
    checked = [
        (flag["name"], strategy | {"parameters": strategy["given"]}, stored.get((flag["id"], strategy["id"])))
        for flag, _, added, _ in plans
        for strategy in added
        if "given" in strategy
    ]
    check_strategies(conn, checked, flags[0]["project_id"], findings.refuse, imported=True)
    counts = [(flag, len(kept + added)) for flag, kept, added, removed in plans if len(added) > len(removed)]
    strategy_rules.refuse_too_many(counts, findings.refuse)
    plans = [plan for plan in plans if plan[0]["name"] not in findings.refused]
    on, off = [], []
    for flag, kept, added, _ in plans:
        # Our choice: a flag that loses its last enabled strategy is switched off, unless the document has it on.
        stays_on = flag["enabled"] and strategy_rules.is_any_enabled([*kept, *added])
        (on if imported[flag["name"]].state.get("enabled", stays_on) else off).append(flag)
    # Our choice: flags are switched off first and on last, so that no flag is on without strategies in between.
    strategy_rules.switch_off(conn, actor, off)
    strategy_rules.remove_strategies(
        conn, actor, [(flag, strategy) for flag, _, _, removed in plans for strategy in removed]
    )
    new = [(flag, strategy) for flag, _, added, _ in plans for strategy in added]
    if new:
        with unique_or_409(ID_TAKEN):
            strategy_rules.add_strategies(conn, actor, with_free_ids(conn, new), are_counted=True)
    strategy_rules.switch_on(conn, actor, on)


def write_variants(conn: Connection, actor: Actor, states: Sequence[tuple[DictRow, Json]], findings: Findings) -> None:
    """Replace the variants of flags. Flags whose state has no property variants keep theirs."""
    existing = variants.list_each(conn, [flag for flag, _ in states])
    new = [
        (flag, before, state["variants"])
        for (flag, state), before in zip(states, existing, strict=True)
        if "variants" in state
    ]
    # Our choice: variants need the permission even if they do not change.
    findings.need("UPDATE_FEATURE_ENVIRONMENT_VARIANTS", any(existing) or any(wanted for *_, wanted in new))
    replace_variants(conn, actor, new, findings.refuse)


def wanted_strategies(
    conn: Connection, imported: Mapping[str, ImportedFlag], flags: Sequence[DictRow], findings: Findings
) -> list[tuple[DictRow, list[Json]]]:
    """Return each flag with its new strategies. given: their parameters in the document, without defaults."""
    plans = [
        (
            flag,
            [
                as_wanted_strategy(flag, strategy, position) | {"given": strategy["parameters"]}
                for position, strategy in enumerate(imported[flag["name"]].strategies)
            ],
        )
        for flag in flags
    ]
    # Our choice: such a flag gets the default strategy, as when a user enables it. On without an enabled strategy, it
    # would be on for everyone.
    lacking = [
        flag
        for flag, wanted in plans
        if imported[flag["name"]].state.get("enabled") and not strategy_rules.is_any_enabled(wanted)
    ]
    by_flag = {flag["id"]: wanted for flag, wanted in plans}
    for flag, default in strategy_rules.default_strategies(conn, lacking, findings.refuse):
        wanted = by_flag[flag["id"]]
        wanted.append(as_wanted_strategy(flag, default, len(wanted)))
    return plans


def as_wanted_strategy(flag: DictRow, strategy: Json, position: int) -> Json:
    """Return a strategy in the form that the flag will have. position: the sortOrder of a strategy without one."""
    return {
        **{key: strategy[key] for key in ("name", "title", "disabled", "constraints", "variants")},
        "id": strategy.get("id"),
        "sortOrder": strategy.get("sortOrder", position),
        "parameters": filled_parameters(flag, strategy),
        "segments": sorted(strategy["segments"]),
    }


# Our choice: existing strategies equal to wanted ones stay, so that a second import of a document changes nothing.
def compare(wanted: Sequence[Json], existing: Sequence[Json]) -> tuple[list[Json], list[Json], list[Json]]:
    """Return the strategies of a flag that stay, the strategies to add, and the strategies to remove."""
    unmatched: dict[str, list[Json]] = defaultdict(list)
    for strategy in existing:
        unmatched[content(strategy)].append(strategy)
    kept, missing = [], []
    for strategy in wanted:
        same = next((other for other in unmatched[content(strategy)] if other["id"] == strategy["id"]), None)
        (kept if same else missing).append(same or strategy)
        if same:
            unmatched[content(strategy)].remove(same)
    added = []
    for strategy in missing:
        equal = unmatched[content(strategy)]
        (kept if equal else added).append(equal.pop(0) if equal else strategy)
    kept_ids = {strategy["id"] for strategy in kept}
    return kept, added, [strategy for strategy in existing if strategy["id"] not in kept_ids]


def content(strategy: Json) -> str:
    """Return a strategy without its id as text, to compare it."""
    keys = ("name", "title", "disabled", "sortOrder", "constraints", "variants", "parameters", "segments")
    return json.dumps([strategy[key] for key in keys], sort_keys=True)


def with_free_ids(conn: Connection, new: Sequence[tuple[DictRow, Json]]) -> list[tuple[DictRow, Json]]:
    """Return new strategies. Each keeps its id only if the id is a UUID and no other strategy has it."""
    used = strategies.used_ids(conn, [strategy["id"] for _, strategy in new if strategy["id"] is not None])
    result = []
    for flag, strategy in new:
        id = strategy["id"]
        is_free = id not in used and UUID.fullmatch(id or "")
        used.add(id)
        result.append((flag, strategy if is_free else {key: value for key, value in strategy.items() if key != "id"}))
    return result
