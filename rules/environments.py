"""Enable and disable environments."""

from flask import abort

from rules.access import Actor
from sql import events
from sql.catalog import environments
from sql.database import Connection
from sql.events import Event

UNKNOWN = "No environment has that name."


def switch(conn: Connection, actor: Actor, name: str, *, enabled: bool) -> None:
    """Enable or disable an environment, and record the event. Raise 404 if it does not exist."""
    before = environments.lock(conn, name) or abort(404, UNKNOWN)
    if before["enabled"] != enabled:
        environments.update(conn, before | {"enabled": enabled})
        old, new = {"enabled": before["enabled"]}, {"enabled": enabled}
        events.record(conn, Event("environment-updated", actor, environment=name, data=new, pre_data=old))
