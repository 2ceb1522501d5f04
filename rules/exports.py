"""Export flags to a document, for the API and for the page of a project."""

from collections.abc import Mapping
from typing import Any

from flask import abort

from rules.access import Actor
from sql import events
from sql.database import Connection
from sql.events import Event
from sql.flags import transfer


def export_flags(conn: Connection, actor: Actor, choice: Mapping[str, Any]) -> str | None:
    """Return the chosen flags as JSON text, and record the export. Raise 404 if the environment does not exist.

    None if the text would exceed PAGE_BYTES. choice: a body of ExportFlags.
    """
    exported = transfer.export(conn, choice["environment"], choice["selectors"], actor.viewer)
    if exported is None:
        abort(404, "No environment has that name.")
    transfer.lock_exports(conn, actor.name)
    data = {"environment": choice["environment"], "features": exported["names"]}
    events.record_once_a_minute(conn, Event("features-exported", actor, data=data))
    return exported["body"]
