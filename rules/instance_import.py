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
from rules.instance_import_flags import find_new_flags, write_flags
from rules.instance_import_move import Move
from rules.instance_import_people import write_people
from rules.instance_import_projects import write_default_strategies, write_projects
from rules.instance_import_tokens import write_tokens
from rules.refusals import quantity
from sql import limits
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


def import_contents(conn: Connection, actor: Actor, contents: Contents) -> Report:
    """Write the records that do not exist here, and return the report.

    Raise Conflicts, or 400 for a value that cannot be stored. The transaction of the caller must then be rolled back.
    """
    move = Move(conn, actor, contents, Report(contents.source, notes=list(contents.warnings)))
    try:
        write(move)
    except (IntegrityError, DataError) as error:
        # The row of a token has its secret.
        row = None if error.diag.table_name == "api_keys" else error.diag.message_detail
        rule = error.diag.constraint_name or error.diag.message_primary or error
        raise BadRequest(f"A value cannot be stored here ({rule}). {(row or '')[:300]}".strip()) from None
    except UnicodeEncodeError:
        raise BadRequest("A text cannot be stored here, because it has lone surrogates.") from None
    if move.report.conflicts:
        raise Conflicts(move.report.conflicts)
    return move.report


def write(move: Move) -> None:
    """Write everything in the order in which records refer to each other. Conflicts are collected in the report."""
    # Two moves at once would both create the same records.
    lock_imports(move.conn, "")
    find_new_flags(move)
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
    written = {noun: numbers["new"] + numbers["changed"] for noun, numbers in move.report.counts.items()}
    counts = {noun: number for noun, number in written.items() if number}
    if counts:
        about = {"url": move.contents.url, "version": move.contents.version}
        move.record("instance-imported", data=about | {"counts": counts})


def refuse_excess(move: Move, setting: str, noun: str, new: int) -> None:
    """Add a conflict if the instance has too many records with the new ones, some of which may not be written yet."""
    number = limits.count(move.conn, setting) + new - move.report.counts[noun]["new"]
    if new and number > current_app.config[setting]:
        move.report.conflict(f"The instance would have {quantity(number, noun)}. Set {setting} to {number} or more.")
