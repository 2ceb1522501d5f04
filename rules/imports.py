"""Import the flags of a document by the rules of single flags, or only validate it."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from flask import abort
from psycopg.errors import ReadOnlySqlTransaction
from psycopg.rows import DictRow

from rules.access import Actor, held_permissions
from rules.constraints import check_strategies
from rules.dependencies import add_dependencies, refuse_invalid_dependencies
from rules.flag_links import replace_links, usable_links
from rules.flags import change_flags, insert_flags, refuse_above_limits, refuse_bad_names
from rules.import_documents import Document, Findings, ImportedFlag, Json, as_record, as_sentence, read_document
from rules.import_segments import use_segments
from rules.import_strategies import NOT_LINKED, write_environment
from rules.projects import hold_project
from rules.tags import add_tags, check_tag_types, remove_tags
from sql import access, events
from sql.catalog import context_fields, tag_types
from sql.catalog.strategy_types import hold_strategy_types
from sql.database import Connection, rolled_back_transaction
from sql.events import Event
from sql.flags import core as flags
from sql.flags import dependencies, environments, transfer
from validators.flags.core import MAX_TAGS

NEW: Json = {"type": "release", "description": None, "impressionData": False}
# Validation locks the flags of so many entries at a time. With larger parts, other requests wait longer for these
# flags. With smaller parts, validation takes longer.
PART = 500


def may_import(conn: Connection, actor: Actor) -> bool:
    """Return whether the caller may import into at least one project."""
    return actor.is_admin or (
        actor.user_id is not None and bool(access.projects_permitting(conn, actor.user_id, "UPDATE_FEATURE"))
    )


def import_flags(conn: Connection, actor: Actor, project_id: str, environment: str, data: Mapping[str, Any]) -> None:
    """Import a document, all or nothing. Raises 404 unlinked environment, 403 missing permissions, 400 errors."""
    project = hold_project(conn, project_id)
    refuse_unlinked(conn, project_id, environment)
    findings = Findings()
    document = read_document(data, findings)
    transfer.lock_imports(conn, project_id)
    known = flags.lock_many(conn, document.names, None, project_id)
    document = check_document(conn, project, document, known, findings)
    write(conn, actor, project, environment, document, known, findings)
    for message, missing in missing_permissions(conn, actor, findings, project_id, environment).items():
        abort(403, f"{message.rstrip('.')}: {', '.join(missing)}")
    if findings.errors:
        abort(400, as_sentence(findings.errors))
    events.record(conn, Event("features-imported", actor, project=project_id, environment=environment))


def validate(conn: Connection, actor: Actor, project_id: str, environment: str, data: Mapping[str, Any]) -> Json:
    """Return the record importFindings of an import, in transactions that are rolled back."""
    refuse_unlinked(conn, project_id, environment)
    findings = Findings()
    document = read_document(data, findings)
    try:
        with rolled_back_transaction(conn):
            project = hold_project(conn, project_id)
            known = flags.list_by_name(conn, project_id, document.names)
            document = check_document(conn, project, document, known, findings)
            warn_of_custom_types(conn, document, findings)
        # The other checks run in parts, so that no user waits long for the locks of a large document.
        for part in parts(document):
            with rolled_back_transaction(conn):
                project = hold_project(conn, project_id)
                transfer.lock_imports(conn, project_id)
                known = flags.lock_many(conn, part.names, None, project_id)
                write(conn, actor, project, environment, part, known, findings)
    except ReadOnlySqlTransaction:
        findings.warn(
            "The database is read-only, so this flag was not compared with it.",
            [flag.name for flag in document.without(findings.refused).flags],
        )
    findings.need("SKIP_CHANGE_REQUEST", actor.protected)
    permissions = missing_permissions(conn, actor, findings, project_id, environment)
    return {
        "errors": as_record(findings.errors),
        "warnings": as_record(findings.warnings),
        "permissions": as_record(permissions),
    }


def parts(document: Document) -> Iterator[Document]:
    """Yield the document in parts of about PART entries. The last part can be empty."""
    part, size = list[ImportedFlag](), 0
    for flag in document.flags:
        part.append(flag)
        size += flag.size
        if size >= PART:
            yield replace(document, flags=part)
            part, size = [], 0
    yield replace(document, flags=part)


def refuse_unlinked(conn: Connection, project: str, environment: str) -> None:
    """Raise 404 unless the environment is linked to the project."""
    if not environments.is_linked(conn, project, environment):
        abort(404, NOT_LINKED)


def missing_permissions(
    conn: Connection, actor: Actor, findings: Findings, project: str, environment: str
) -> dict[str, list[str]]:
    """Return {message: permissions} for the permissions that the import needs and the caller lacks, or {}."""
    missing = sorted(findings.permissions - held_permissions(conn, findings.permissions, project, environment))
    message = f"You lack these permissions in project {project} and environment {{}}."
    found = {message.format(environment): missing} if missing else {}
    if findings.changes_links and not actor.is_admin:
        others = {name for _, name in access.list_protected(conn, actor.user_id, projects=[project])} - {environment}
        message = f"Dependencies hold in all environments. {message}"
        found |= {message.format(name): ["SKIP_CHANGE_REQUEST"] for name in sorted(others)}
    return found


def check_document(
    conn: Connection, project: DictRow, document: Document, known: Sequence[DictRow], findings: Findings
) -> Document:
    """Add errors for names, limits and dependencies that concern the document as a whole.

    Return the document without archived flags. known: the flags of the document that exist in the project.
    """
    archived = {flag["name"] for flag in known if flag["archived_at"] is not None}
    live = {flag["name"] for flag in known} - archived
    new = sorted({flag.name for flag in document.flags} - live - archived)
    refuse_bad_names(project, new, findings.refuse)
    refuse_above_limits(conn, project, new, findings.refuse)
    if links := document.without(archived).links:
        pairs = dependencies.pairs(conn, [flag["id"] for flag in known])
        refuse_invalid_dependencies(links, live | set(new), pairs, findings.refuse)
        findings.need("UPDATE_FEATURE_DEPENDENCY", links)
    names = {flag.name for flag in document.flags}
    findings.warn("This flag is archived here. The import omits it.", names & archived)
    findings.warn("This flag exists. It is overwritten.", names & live - findings.refused)
    return document.without(archived)


def warn_of_custom_types(conn: Connection, document: Document, findings: Findings) -> None:
    """Add a warning for each custom strategy type of the document."""
    types = hold_strategy_types(conn, {strategy["name"] for flag in document.flags for strategy in flag.strategies})
    custom = [name for name, type in types.items() if type["editable"]]
    findings.warn("Strategies use this custom type. It must have the same meaning in this instance.", custom)


def write(
    conn: Connection,
    actor: Actor,
    project: DictRow,
    environment: str,
    document: Document,
    known: Sequence[DictRow],
    findings: Findings,
) -> None:
    """Write the flags of a document from check_document(). known: those that exist, locked."""
    add_missing_catalog(conn, actor, document, findings)
    use_segments(conn, actor, project, environment, document, findings)
    tags = [(flag.name, tag) for flag in document.flags for tag in flag.tags or ()]
    check_tag_types(conn, tags, "featureTags", findings.refuse)
    by_name = {flag["name"]: flag for flag in known}
    new = [{"name": flag.name, **NEW, **flag.fields} for flag in document.flags if flag.name not in by_name]
    findings.need("CREATE_FEATURE", new)
    by_name |= {flag["name"]: flag for flag in insert_flags(conn, actor, project, new, findings.refuse)}
    # Flags that cannot be created have no id. Check their strategies here, to find all problems at once.
    nameless = document.without(by_name)
    new_strategies = [(flag.name, strategy, None) for flag in nameless.flags for strategy in flag.strategies]
    check_strategies(conn, new_strategies, project["id"], findings.refuse, imported=True)
    document = document.without({flag.name for flag in nameless.flags})
    change_flags(conn, actor, [(by_name[flag.name], flag.fields) for flag in document.flags])
    write_tags(conn, actor, document, by_name, findings)
    write_links(conn, actor, document, by_name, findings)
    ids = {name: flag["id"] for name, flag in by_name.items()}
    write_environment(conn, actor, environment, document, ids, findings)
    wanted = document.without(findings.refused).links
    # When a validation runs in parts, new flags of the other parts have no id.
    links = [link for link in wanted if link["feature"] in ids]
    findings.changes_links |= add_dependencies(conn, actor, ids, links) or links != wanted


def add_missing_catalog(conn: Connection, actor: Actor, document: Document, findings: Findings) -> None:
    """Create the context fields and tag types that do not exist.

    Add an error for context fields that exist here without the legal values of the document.
    """
    if not (document.context_fields or document.tag_types):
        return
    legal = context_fields.list_legal_values(conn, [field["name"] for field in document.context_fields])
    unknown = {
        field["name"]
        for field in document.context_fields
        if legal.get(field["name"]) and not {value["value"] for value in field["legalValues"]} <= legal[field["name"]]
    }
    findings.add_error("The document has legal values of this context field that do not exist here.", unknown)
    fields = context_fields.insert_missing(conn, document.context_fields)
    types = tag_types.insert_missing(conn, document.tag_types)
    findings.need("CREATE_CONTEXT_FIELD", fields)
    findings.need("CREATE_TAG_TYPE", types)
    log = [Event("tag-type-created", actor, data=record) for record in types]
    events.record(conn, *log, *[Event("context-field-created", actor, data=record) for record in fields])


def write_tags(
    conn: Connection, actor: Actor, document: Document, by_name: Mapping[str, DictRow], findings: Findings
) -> None:
    """Replace the tags of flags. by_name: the locked flags."""
    wanted = {flag.name: flag.tags for flag in document.flags if flag.tags is not None}
    new = [(by_name[name], tag) for name, tags in wanted.items() for tag in tags if tag not in by_name[name]["tags"]]
    too_many = {flag["name"] for flag, _ in new if len(wanted[flag["name"]]) > MAX_TAGS}
    findings.add_error(f"featureTags: must have at most {MAX_TAGS} tags for each flag", too_many)
    remove_tags(
        conn,
        actor,
        [(by_name[name], tag) for name, tags in wanted.items() for tag in by_name[name]["tags"] if tag not in tags],
    )
    add_tags(conn, actor, [(flag, tag) for flag, tag in new if flag["name"] not in findings.refused])


def write_links(
    conn: Connection, actor: Actor, document: Document, by_name: Mapping[str, DictRow], findings: Findings
) -> None:
    """Replace the links of flags, and warn of those that are left out. by_name: the locked flags."""
    for flag in document.flags:
        if flag.links is not None:
            links = usable_links(flag.links)
            others = [flag.name] if len(links) < len(flag.links) else []
            findings.warn("Links that do not begin with https:// or http:// are left out.", others)
            replace_links(conn, actor, by_name[flag.name], links, findings.refuse)
