"""Import of flags from a document, and what it would meet (neighbours.md 1.7 and 3.17)."""

from collections.abc import Mapping
from typing import Any

from flask import Blueprint, Response, abort
from psycopg.rows import DictRow

from rules.access import Actor, require
from rules.import_events import of_import
from rules.import_findings import findings, sentence
from rules.import_plan import UUID, Plan, Wish, draw_up, names_in
from rules.limits import unique
from serving.contract import operation
from serving.request_data import load
from serving.responses import empty_response, json_response
from sql import events
from sql.database import Connection, as_json, connection, transaction
from sql.flags import imported as imported_flags
from sql.flags import imports as flag_import
from sql.flags.strategies import used_ids
from validators.flags.imports import ImportFlags

bp = Blueprint("flag_import", __name__)

MEANWHILE = {
    "flags_name_key": "data.features: a flag of one of these names was made while this was imported",
    "strategies_pkey": "data.featureStrategies: a strategy with one of these ids was made while this was imported",
}


@bp.post("/api/admin/features-batch/validate")
@operation(record="importFindings", body=ImportFlags, refuses=(401, 403, 404, 415))
def validate_import() -> Response:
    """Say what an import would meet.

    Nothing is changed. With errors, or permissions that the caller lacks, the import of the same document is refused.
    """
    with connection() as conn:
        require(conn)
        asked = load(ImportFlags())
        require(conn, project=asked["project"])
        found = findings(conn, draw_up(conn, home_of(conn, asked), asked["data"]))
    return json_response(as_json(found))


@bp.post("/api/admin/features-batch/import")
@operation(body=ImportFlags, refuses=(401, 403, 404, 409, 415))
def import_flags() -> Response:
    """Import flags from a document.

    Flags are made, or become what the document says, with their strategies, variants and state in one environment, their tags and their
    dependencies; types of tags and context fields that are missing are made. All of it or nothing.
    """
    with transaction() as conn:
        require(conn)
        asked = load(ImportFlags())
        actor = require(conn, "UPDATE_FEATURE", project=asked["project"])
        home = home_of(conn, asked)
        flag_import.hold(conn, asked["project"], names_in(asked["data"]))
        plan = draw_up(conn, home, asked["data"])
        refuse(findings(conn, plan))
        carry_out(conn, actor, plan)
    return empty_response()


def home_of(conn: Connection, asked: Mapping[str, Any]) -> DictRow:
    """The project and the environment of an import; 404 if it is archived, or they have nothing to do with each other."""
    home = flag_import.home(conn, asked["project"], asked["environment"])
    if home is None:
        abort(404, "The project is archived, or the environment is not linked to it.")
    return home


def refuse(found: Mapping[str, list[Any]]) -> None:
    """403 for permissions that are lacking, 400 for errors."""
    if found["permissions"]:
        abort(403, sentence(found["permissions"]))
    if found["errors"]:
        abort(400, sentence(found["errors"]))


def carry_out(conn: Connection, actor: Actor, plan: Plan) -> None:
    """Do what is planned, with its events."""
    project, environment = plan.home["project"], plan.home["environment"]
    wishes, made, changed = plan.wishes, plan.new, [wish for wish in plan.wishes if wish.says_more]
    names = [wish.name for wish in wishes]
    tag_types = imported_flags.add_tag_types(conn, plan.new_tag_types)
    fields = imported_flags.add_context_fields(conn, plan.new_context_fields)
    with unique(MEANWHILE):
        imported_flags.add(conn, project, [said(wish) for wish in made], actor.user_id)
    imported_flags.update(conn, [said(wish) for wish in changed])
    imported_flags.place(conn, environment, names)
    imported_flags.remove_tags(conn, [{"flag": wish.name, **tag} for wish in wishes for tag in wish.old_tags])
    tags = imported_flags.add_tags(conn, [{"flag": wish.name, **tag} for wish in wishes for tag in wish.new_tags])
    imported_flags.set_variants(
        conn, environment, [{"name": wish.name, "variants": wish.variants} for wish in wishes if wish.has_other_variants]
    )
    imported_flags.remove_strategies(conn, [strategy["id"] for wish in wishes for strategy in wish.removed])
    with unique(MEANWHILE):
        imported_flags.add_strategies(conn, environment, with_free_ids(conn, [strategy for wish in wishes for strategy in wish.added]))
    switched = [wish for wish in wishes if wish.is_switched]
    imported_flags.switch(
        conn, environment, on=[wish.name for wish in switched if wish.enabled], off=[wish.name for wish in switched if not wish.enabled]
    )
    imported_flags.set_parents(conn, plan.links)
    after = flag_import.read(conn, project, environment, names)
    events.record(conn, *of_import(actor, plan, after, tag_types=tag_types, context_fields=fields, tags=tags))


def said(wish: Wish) -> dict[str, Any]:
    """What a flag is to say of itself."""
    return {"name": wish.name} | {key: wish.record[key] for key in ("type", "description", "impressionData", "stale")}


def with_free_ids(conn: Connection, strategies: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The strategies with their ids where these are UUIDs that no other has; None where a new one is to be made."""
    taken = used_ids(conn, [strategy["id"] for strategy in strategies if strategy["id"] is not None])
    found = []
    for strategy in strategies:
        wanted = strategy["id"]
        is_free = wanted is not None and UUID.fullmatch(wanted) is not None and wanted not in taken
        taken |= {wanted} if is_free else set()
        found.append(strategy | {"id": wanted if is_free else None})
    return found
