"""Flags for tests: their paths, rows and events."""

from sql.database import value
from sql.flags import core as flags

FLAGS = "/api/admin/projects/default/features"
# What an event says beside its id, its time and its author.
COLUMNS = ("type", "project", "environment", "feature_name", "data", "pre_data", "tags")


def recorded(world, since, by=None):
    """The events since then, each as what it says, without what is null; AssertionError unless all are by this user."""
    found = world.events(since)
    if by is not None:
        assert {(event["created_by"], event["created_by_user_id"]) for event in found} <= {(by.email, by.id)}
    return [{column: event[column] for column in COLUMNS if event[column] is not None} for event in found]


def event(type, name="f", project="default", tags=(), **payload):
    """What recorded() gives for an event of a flag."""
    return {"type": type, "project": project, "feature_name": name, "tags": list(tags)} | payload


def core(conn, name="f"):
    """Return the present FlagCore record of a flag."""
    return flags.read(
        conn, [value(conn, "SELECT id FROM flags WHERE name = %(name)s AND deleted_at IS NULL", {"name": name})]
    )[0]["record"]


PROJECT = "/api/admin/projects/default"
ARCHIVE = "/api/admin/archive"
BETA = {"type": "simple", "value": "beta"}


def depend(conn, child, parent):
    """Make one flag depend on another. Both are ids."""
    conn.execute("INSERT INTO flag_dependencies (child_id, parent_id) VALUES (%s, %s)", [child, parent])
