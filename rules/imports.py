"""Import the flags of a document by the rules of single flags, or only validate it (neighbours.md 3.17)."""

import json
import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from flask import abort
from psycopg.errors import ReadOnlySqlTransaction
from psycopg.rows import DictRow
from werkzeug.exceptions import Forbidden

from rules import strategies as strategy_rules
from rules.access import Actor, require
from rules.constraints import check_strategies
from rules.dependencies import add_dependencies, refuse_impossible
from rules.flags import add_flags, change_flags, refuse_bad_names, refuse_no_room
from rules.import_documents import Document, Findings, Json, as_record, as_sentence, read_document
from rules.limits import unique
from rules.projects import share_project
from rules.tags import add_tags, check_tag_types, remove_tags
from sql import events
from sql.database import Connection
from sql.events import Event
from sql.flags import core as flags
from sql.flags import dependencies, environments, strategies, transfer, variants
from sql.vocabulary import context_fields, tag_types
from sql.vocabulary.strategy_types import share_types
from validators.flags.core import MOST_TAGS

UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
NEW: Json = {"type": "release", "description": None, "impressionData": False}
NOT_LINKED = "No environment with this name is linked to the project."
ID_TAKEN = {"strategies_pkey": "A strategy with one of these ids was created during the import."}
# Validation locks so many flags at a time. Larger parts let others wait longer for the same flags, smaller ones take
# longer in total.
PART = 100


def import_flags(conn: Connection, actor: Actor, project_id: str, environment: str, data: Mapping[str, Any]) -> None:
    """Import a document, all or nothing. 403: missing permissions, 400: errors, 404: unknown environment."""
    refuse_unlinked(conn, project_id, environment)
    project = share_project(conn, project_id)
    findings = Findings()
    document = read_document(data, findings)
    transfer.lock_imports(conn, project_id)
    known = flags.lock_many(conn, document.names, None, project_id)
    check_together(conn, project, document, known, findings)
    write(conn, actor, project, environment, document, known, findings)
    for message, missing in missing_permissions(conn, findings, project_id, environment).items():
        abort(403, f"{message.rstrip('.')}: {', '.join(missing)}")
    if findings.errors:
        abort(400, as_sentence(findings.errors))
    events.record(conn, Event("features-imported", actor, project=project_id, environment=environment))


def validate(conn: Connection, actor: Actor, project_id: str, environment: str, data: Mapping[str, Any]) -> Json:
    """Return the record importFindings. The import runs in transactions that are rolled back."""
    refuse_unlinked(conn, project_id, environment)
    findings = Findings()
    document = read_document(data, findings)
    try:
        with conn.transaction(force_rollback=True):
            project = share_project(conn, project_id)
            check_together(conn, project, document, flags.list_by_name(conn, project_id, document.names), findings)
        # The rest in parts, so that no user waits long for the locks of a large document.
        passed = document.without(findings.refused).flags
        for start in range(0, max(len(passed), 1), PART):
            part = replace(document, flags=passed[start : start + PART])
            with conn.transaction(force_rollback=True):
                project = share_project(conn, project_id)
                transfer.lock_imports(conn, project_id)
                write(
                    conn,
                    actor,
                    project,
                    environment,
                    part,
                    flags.lock_many(conn, part.names, None, project_id),
                    findings,
                )
    except ReadOnlySqlTransaction:
        findings.warn(
            "The database is read-only, so this flag was not compared with it.", [flag.name for flag in document.flags]
        )
    permissions = missing_permissions(conn, findings, project_id, environment)
    return {
        "errors": as_record(findings.errors),
        "warnings": as_record(findings.warnings),
        "permissions": as_record(permissions),
    }


def refuse_unlinked(conn: Connection, project: str, environment: str) -> None:
    """404 unless the environment is linked to the project."""
    if not environments.is_linked(conn, project, environment):
        abort(404, NOT_LINKED)


def missing_permissions(conn: Connection, findings: Findings, project: str, environment: str) -> dict[str, list[str]]:
    """Return the permissions that the import needs and the caller lacks, by their message."""
    missing = []
    for permission in sorted(findings.permissions):
        try:
            require(conn, permission, project=project, environment=environment)
        except Forbidden:
            missing.append(permission)
    return (
        {f"You lack these permissions in project {project} and environment {environment}.": missing} if missing else {}
    )


def check_together(
    conn: Connection, project: DictRow, document: Document, known: Sequence[DictRow], findings: Findings
) -> None:
    """Check new names, limits and dependencies of all flags of a document.

    known: its flags in the project.
    """
    live = {flag["name"] for flag in known if flag["archived_at"] is None}
    new = sorted({flag.name for flag in document.flags} - {flag["name"] for flag in known})
    refuse_bad_names(project, new, findings.refuse)
    refuse_no_room(conn, project, new, findings.refuse)
    pairs = dependencies.pairs(conn, [flag["id"] for flag in known])
    refuse_impossible(document.links, live | set(new), pairs, findings.refuse)
    findings.need("UPDATE_FEATURE_DEPENDENCY", document.links)
    segments = transfer.share_segments(conn, set(document.segments.values()), project["id"])
    users = {number: set[str]() for number, name in document.segments.items() if name not in segments}
    for flag in document.flags:
        for number in users.keys() & {segment for strategy in flag.strategies for segment in strategy["segments"]}:
            users[number].add(flag.name)
    for number, names in users.items():
        name = document.segments[number]
        findings.add_error(
            f"segments: no segment named {name} exists for all projects or for this one", names or [name]
        )


def write(
    conn: Connection,
    actor: Actor,
    project: DictRow,
    environment: str,
    document: Document,
    known: Sequence[DictRow],
    findings: Findings,
) -> None:
    """Write the flags of a document, but not those that are refused. known: its locked flags in the project."""
    add_vocabulary(conn, actor, document, findings)
    here = {flag["name"]: flag for flag in known}
    archived = {name for name, flag in here.items() if flag["archived_at"] is not None}
    document = document.without(findings.refused)
    coming = {flag.name for flag in document.flags}
    findings.warn("This flag is archived here. It is left out.", coming & archived)
    findings.warn("This flag exists. It is overwritten.", (coming & here.keys()) - archived)
    document = document.without(archived)
    new = [{"name": flag.name, **NEW, **flag.fields} for flag in document.flags if flag.name not in here]
    findings.need("CREATE_FEATURE", new)
    here |= {flag["name"]: flag for flag in add_flags(conn, actor, project, new, findings.refuse)}
    document = document.without(findings.refused)
    change_flags(conn, actor, [(here[flag.name], flag.fields) for flag in document.flags])
    document = write_tags(conn, actor, document, here, findings)
    document = write_environment(conn, actor, project, environment, document, findings)
    ids = {name: flag["id"] for name, flag in here.items()}
    # In one part of a validation, new flags of other parts have no id.
    add_dependencies(conn, actor, ids, [link for link in document.links if link["feature"] in ids])


def add_vocabulary(conn: Connection, actor: Actor, document: Document, findings: Findings) -> None:
    """Create the context fields and tag types that do not exist. Legal values must exist here."""
    legal = context_fields.legal_values(conn, [one["name"] for one in document.context_fields])
    unknown = {
        one["name"]
        for one in document.context_fields
        if legal.get(one["name"]) and not {value["value"] for value in one["legalValues"]} <= legal[one["name"]]
    }
    findings.add_error("The document has legal values of this context field that do not exist here.", unknown)
    fields = context_fields.insert_missing(conn, document.context_fields)
    types = tag_types.insert_missing(conn, document.tag_types)
    findings.need("CREATE_CONTEXT_FIELD", fields)
    findings.need("CREATE_TAG_TYPE", types)
    log = [Event("tag-type-created", actor, data=record) for record in types]
    events.record(conn, *log, *[Event("context-field-created", actor, data=record) for record in fields])


def write_tags(
    conn: Connection, actor: Actor, document: Document, here: Mapping[str, DictRow], findings: Findings
) -> Document:
    """Replace the tags of flags, and return the document without flags that are refused."""
    wanted = {flag.name: flag.tags for flag in document.flags if flag.tags is not None}
    new = [(here[name], tag) for name, tags in wanted.items() for tag in tags if tag not in here[name]["tags"]]
    check_tag_types(conn, [(flag["name"], tag) for flag, tag in new], "featureTags", findings.refuse)
    too_many = {flag["name"] for flag, _ in new if len(wanted[flag["name"]]) > MOST_TAGS}
    findings.add_error(f"featureTags: must hold at most {MOST_TAGS} tags of a flag", too_many)
    passed = document.without(findings.refused)
    remove_tags(
        conn,
        actor,
        [(here[name], tag) for name, tags in wanted.items() for tag in here[name]["tags"] if tag not in tags],
    )
    add_tags(conn, actor, [(flag, tag) for flag, tag in new if flag["name"] not in findings.refused])
    return passed


def write_environment(
    conn: Connection, actor: Actor, project: DictRow, environment: str, document: Document, findings: Findings
) -> Document:
    """Replace variants and strategies of flags, switch them, and return the document without flags that are refused."""
    imported = {flag.name: flag for flag in document.flags}
    here = environments.lock(conn, project["id"], list(imported), environment)
    if len(here) < len(imported):
        abort(404, NOT_LINKED)
    ids = [flag["id"] for flag in here]
    write_variants(conn, actor, [(flag, imported[flag["name"]].state) for flag in here], findings)
    there = strategies.list_by_flag(conn, ids, environment)
    plans = [
        (flag, *compare(wanted, there[flag["id"]]))
        for flag, wanted in wanted_strategies(conn, project, document, here, findings)
    ]
    findings.need("CREATE_FEATURE_STRATEGY", any(added for _, _, added, _ in plans))
    findings.need("DELETE_FEATURE_STRATEGY", any(removed for *_, removed in plans))
    checked = [
        (flag["name"], strategy) for flag, _, added, _ in plans for strategy in added if not strategy.get("isDefault")
    ]
    check_strategies(conn, checked, project["id"], refuse=findings.refuse)
    plans = [plan for plan in plans if plan[0]["name"] not in findings.refused]
    on, off = [], []
    for flag, kept, added, _ in plans:
        # Our choice: a flag that loses its last enabled strategy, and is not said to be on, is switched off, as by
        # hand.
        stays_on = flag["enabled"] and strategy_rules.is_any_enabled([*kept, *added])
        (on if imported[flag["name"]].state.get("enabled", stays_on) else off).append(flag)
    # Our choice: off comes first and on last, so that a flag is never on without strategies.
    strategy_rules.switch_off(conn, actor, off)
    strategy_rules.remove_strategies(
        conn, actor, [(flag, strategy) for flag, _, _, removed in plans for strategy in removed]
    )
    new = with_free_ids(conn, [(flag, strategy) for flag, _, added, _ in plans for strategy in added])
    with unique(ID_TAKEN):
        strategy_rules.add_strategies(conn, actor, new, findings.refuse)
    strategy_rules.switch_on(conn, actor, on)
    return document.without(findings.refused)


def write_variants(conn: Connection, actor: Actor, states: Sequence[tuple[DictRow, Json]], findings: Findings) -> None:
    """Replace the variants of the flags whose states have variants."""
    new = [(flag, state["variants"]) for flag, state in states if "variants" in state]
    # Our choice: variants need the permission even if they stay as they are.
    there = (
        variants.list_by_flag(conn, [flag["id"] for flag, _ in states], states[0][0]["environment"]) if states else {}
    )
    findings.need("UPDATE_FEATURE_ENVIRONMENT_VARIANTS", any(there.values()) or any(wanted for _, wanted in new))
    strategy_rules.replace_variants(conn, actor, new)


def wanted_strategies(
    conn: Connection, project: DictRow, document: Document, here: Sequence[DictRow], findings: Findings
) -> list[tuple[DictRow, list[Json]]]:
    """Return each flag with the strategies that it is to have. A flag that is to be on gets an enabled one."""
    imported = {flag.name: flag for flag in document.flags}
    segments = transfer.share_segments(conn, set(document.segments.values()), project["id"])
    ids = {number: segments.get(name) for number, name in document.segments.items()}
    types = share_types(conn, {strategy["name"] for flag in document.flags for strategy in flag.strategies})
    custom = {name for name, is_custom in types.items() if is_custom}
    found = []
    for flag in here:
        of_flag = imported[flag["name"]].strategies
        findings.warn(
            "Strategies have this custom type. It must mean the same here.", {one["name"] for one in of_flag} & custom
        )
        found.append((flag, [as_wanted(flag, strategy, position, ids) for position, strategy in enumerate(of_flag)]))
    # Our choice: as when it is switched on by hand. On without a strategy, it would be on for everyone.
    lacking = [
        flag
        for flag, wanted in found
        if imported[flag["name"]].state.get("enabled") and not strategy_rules.is_any_enabled(wanted)
    ]
    defaults = {
        flag["id"]: default for flag, default in strategy_rules.default_strategies(conn, lacking, findings.refuse)
    }
    for flag, wanted in found:
        if flag["id"] in defaults:
            default = defaults[flag["id"]]
            own_ids = {segment: segment for segment in default["segments"]}
            wanted.append(as_wanted(flag, default, len(wanted), own_ids) | {"isDefault": True})
    return [(flag, wanted) for flag, wanted in found if flag["name"] not in findings.refused]


def as_wanted(flag: DictRow, strategy: Json, position: int, segments: Mapping[int, int | None]) -> Json:
    """Return a strategy as the flag is to have it, with the ids that its segments have here."""
    return {
        **{key: strategy[key] for key in ("name", "title", "disabled", "constraints", "variants")},
        "id": strategy.get("id"),
        "sortOrder": strategy.get("sortOrder", position),
        "parameters": strategy_rules.filled_parameters(flag, strategy),
        "segments": sorted({here for segment in strategy["segments"] if (here := segments[segment]) is not None}),
    }


def compare(wanted: Sequence[Json], there: Sequence[Json]) -> tuple[list[Json], list[Json], list[Json]]:
    """Return the strategies of a flag that stay, those to be added, and those to be removed.

    Our choice: a strategy that is as wanted stays, so that a second import of the same document changes nothing.
    """
    left: dict[str, list[Json]] = defaultdict(list)
    for strategy in there:
        left[content(strategy)].append(strategy)
    kept, missing = [], []
    for strategy in wanted:
        same = next((one for one in left[content(strategy)] if one["id"] == strategy["id"]), None)
        (kept if same else missing).append(same or strategy)
        if same:
            left[content(strategy)].remove(same)
    added = []
    for strategy in missing:
        alike = left[content(strategy)]
        (kept if alike else added).append(alike.pop(0) if alike else strategy)
    stay = {strategy["id"] for strategy in kept}
    return kept, added, [strategy for strategy in there if strategy["id"] not in stay]


def content(strategy: Json) -> str:
    """Return all of a strategy but its id, to compare it."""
    keys = ("name", "title", "disabled", "sortOrder", "constraints", "variants", "parameters", "segments")
    return json.dumps([strategy[key] for key in keys], sort_keys=True)


def with_free_ids(conn: Connection, new: Sequence[tuple[DictRow, Json]]) -> list[tuple[DictRow, Json]]:
    """Return new strategies with their ids if these are UUIDs that no other strategy has, and without ids otherwise."""
    used = strategies.used_ids(conn, [strategy["id"] for _, strategy in new if strategy["id"] is not None])
    found = []
    for flag, strategy in new:
        wanted = strategy["id"]
        is_free = wanted is not None and UUID.fullmatch(wanted) is not None and wanted not in used
        used |= {wanted} if is_free else set()
        found.append((flag, strategy if is_free else {key: value for key, value in strategy.items() if key != "id"}))
    return found
