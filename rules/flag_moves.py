"""Copy a flag, or move it to another project, with the events."""

from psycopg.rows import DictRow
from werkzeug.exceptions import Conflict

from rules.access import Actor, require_parts
from rules.flag_links import add_links
from rules.flags import flag_event
from rules.projects import refuse_full_project
from rules.refusals import first_five
from sql import events
from sql.database import Connection
from sql.flags import core as flags
from sql.flags import links, moves


def finish_copy(conn: Connection, actor: Actor, source: DictRow, copy: DictRow) -> None:
    """Record the events of the strategies, variants and dependencies that the copy got, and copy the links."""
    for strategy in moves.strategies_of(conn, copy["id"]):
        events.record(
            conn,
            flag_event(
                "feature-strategy-add", actor, copy, environment=strategy["environment"], data=strategy["record"]
            ),
        )
    for row in moves.variants_of(conn, copy["id"]):
        change = {"data": {"variants": row["variants"]}, "pre_data": {"variants": []}}
        events.record(
            conn,
            flag_event("feature-environment-variants-updated", actor, copy, environment=row["environment"], **change),
        )
    for dependency in moves.dependencies_of(conn, copy["id"]):
        events.record(conn, flag_event("feature-dependency-added", actor, copy, data=dependency["record"]))
    add_links(conn, actor, copy, list(links.by_id(conn, source["id"]).values()))


def move(conn: Connection, actor: Actor, flag: DictRow, project: DictRow) -> None:
    """Move a locked flag to a locked project, and record the event. Raise 409 if something prevents the move."""
    # Our choice: the caller must have the permissions to create the flag in the new project as it is.
    require_parts(conn, actor, project["id"], [("CREATE_FEATURE", None), *moves.parts(conn, flag["id"])])
    # Our choice: naming patterns apply to new names only, so a flag keeps its name.
    obstacles = moves.obstacles(conn, flag["id"], project["id"])
    if obstacles["environments"]:
        raise Conflict(
            f"The new project lacks environments of the flag: {first_five(obstacles['environments'])}. Add them first."
        )
    if obstacles["has_dependencies"]:
        raise Conflict("The flag has dependencies. Remove them first.")
    if obstacles["segments"]:
        raise Conflict(
            f"The flag uses segments of its current project: {first_five(obstacles['segments'])}. Remove them first."
        )
    refuse_full_project(conn, project, [flag["name"]])
    moves.move(conn, flag["id"], project["id"])
    flags.link_environments(conn, flag["id"])
    change = {"oldProject": flag["project_id"], "newProject": project["id"]}
    events.record(conn, flag_event("feature-project-change", actor, flag, project=project["id"], data=change))
