"""Move the contents of another instance, or of a file, into this one.

What does not exist here is written. What exists stays as it is, and the report says whether it is equal. Only
unchanged built-in records take the values of the source.
"""

from flask import current_app
from psycopg.errors import DataError, IntegrityError
from werkzeug.exceptions import BadRequest

from rules.access import Actor
from rules.import_contents import Contents
from rules.import_report import Conflicts, Report
from rules.instance_import_catalog import write_catalog, write_segments
from rules.instance_import_flags import OFF, find_new_flags, write_flags
from rules.instance_import_move import Move
from rules.instance_import_people import write_people
from rules.instance_import_projects import write_default_strategies, write_projects
from rules.instance_import_tokens import write_tokens
from rules.refusals import quantity
from sql import limits
from sql.access import list_protected
from sql.database import Connection
from sql.flags.transfer import lock_imports

# The records that settings limit.
LIMITS = {
    "MAX_FLAGS": "flag",
    "MAX_ENVIRONMENTS": "environment",
    "MAX_PROJECTS": "project",
    "MAX_SEGMENTS": "segment",
    "MAX_API_TOKENS": "API token",
}


def import_contents(
    conn: Connection, actor: Actor, contents: Contents, *, skip_change_requests: bool = False
) -> Report:
    """Write the records that do not exist here, and return the report.

    skip_change_requests: whether new flags can get states and strategies where change requests are on.
    Raise Conflicts, or 400 for a value that cannot be stored. The transaction of the caller must then be rolled back.
    """
    move = Move(conn, actor, contents, Report(contents.source, notes=list(contents.warnings)))
    try:
        write(move, skip_change_requests=skip_change_requests)
    except (IntegrityError, DataError) as error:
        # The row of a token has its secret.
        row = None if error.diag.table_name == "api_keys" else error.diag.message_detail
        rule = error.diag.constraint_name or error.diag.message_primary or error
        raise BadRequest(f"A value cannot be stored here ({rule}). {(row or '')[:300]}".strip()) from None
    except UnicodeEncodeError:
        raise BadRequest("A text cannot be stored here, because it has lone surrogates.") from None
    if move.report.conflicts:
        raise Conflicts(move.report.conflicts, move.report.table_lines("Nothing was moved."))
    return move.report


def write(move: Move, *, skip_change_requests: bool) -> None:
    """Write everything in the order in which records refer to each other. Conflicts are collected in the report."""
    # Two moves at once would both create the same records.
    lock_imports(move.conn, "")
    find_new_flags(move)
    # Added at the end, so that the table of the report has the flags.
    protected = [] if skip_change_requests else find_protected(move)
    types, environments = write_catalog(move)
    write_projects(move)
    write_segments(move)
    if not move.report.conflicts:
        write_flags(move, types)
        write_default_strategies(move)
    write_tokens(move, environments)
    write_people(move)
    for setting, noun in LIMITS.items():
        new = len(move.new_flags) if noun == "flag" else move.report.counts[noun]["new"]
        refuse_excess(move, setting, noun, new)
    for place in protected:
        move.report.conflict(f"Change requests are on in {place}. To add flags there, use --skip-change-requests.")
    written = {noun: numbers["new"] + numbers["changed"] for noun, numbers in move.report.counts.items()}
    counts = {noun: number for noun, number in written.items() if number}
    if counts:
        about = {"url": move.contents.url, "version": move.contents.version}
        move.record("instance-imported", data=about | {"counts": counts})


def find_protected(move: Move) -> list[str]:
    """Return the environments with change requests in which new flags would get more than their names."""
    states = ((flag["project"], state) for flag in move.new_flags for state in flag["environments"])
    changed = {(project, one["environment"]) for project, one in states if any(one[key] for key in OFF)}
    places = list_protected(move.conn, None, projects={project for project, _ in changed})
    return [f"environment {name} of the project {project}" for project, name in places if (project, name) in changed]


def refuse_excess(move: Move, setting: str, noun: str, new: int) -> None:
    """Add a conflict if the instance has too many records with the new ones, some of which may not be written yet."""
    number = limits.count(move.conn, setting) + new - move.report.counts[noun]["new"]
    if new and number > current_app.config[setting]:
        move.report.conflict(f"The instance would have {quantity(number, noun)}. Set {setting} to {number} or more.")
