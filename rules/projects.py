"""Create projects, and check what their flags prevent or allow."""

from collections.abc import Collection, Mapping
from typing import Any

from psycopg.rows import DictRow
from werkzeug.exceptions import BadRequest, Conflict, NotFound

from rules.access import Actor
from rules.constraints import check_strategy
from rules.instance_limits import refuse_excess, unique_or_409
from rules.refusals import Refuse, first_five, quantity, raise_error
from rules.stickiness import check_default_stickiness
from sql import events
from sql.database import Connection
from sql.events import Event
from sql.projects import change_requests, deletion
from sql.projects import core as projects
from sql.projects import environments as project_environments
from validators.errors import NameExists
from validators.projects.core import RESERVED, slug

Strategy = Mapping[str, Any] | None
# The same message for all cases, so that it does not reveal whether a hidden project has or had the id.
TAKEN = "id: already used by a project, which may be archived or deleted; choose another id"


def add_project(conn: Connection, actor: Actor, payload: Mapping[str, Any]) -> DictRow:
    """Create a project, owned by the user, and return it as created() does. Raise 400 or 409."""
    refuse_excess(conn, "MAX_PROJECTS", "live project")
    check_default_stickiness(conn, payload["defaultStickiness"])
    project_id = payload["id"] or projects.free_id(conn, slug(payload["name"]), RESERVED)
    with unique_or_409({"projects_pkey": TAKEN}):
        projects.create(conn, {**payload, "id": project_id})
    # The insert waits for a running deletion of a project with this id, so this check comes after it.
    refuse_past_private(conn, actor, project_id)
    unknown = projects.add_environments(conn, project_id, payload["environments"])
    if unknown:
        raise BadRequest(f"environments: unknown environments: {', '.join(unknown[:20])}")
    for place in payload["changeRequestEnvironments"]:
        if not change_requests.configure(conn, project_id, place["name"], place["requiredApprovals"]):
            raise BadRequest(f"changeRequestEnvironments: must be environments of the project, unlike {place['name']}")
    projects.add_owner(conn, project_id, actor.user_id)
    project = projects.created(conn, project_id)
    events.record(conn, Event("project-created", actor, project=project_id, data=project["record"]))
    return project


def change_project(conn: Connection, actor: Actor, before: Mapping[str, Any], after: Mapping[str, Any]) -> None:
    """Change a locked project from one record of events to another, and record the event. 400 if it is invalid."""
    check_default_stickiness(conn, after["defaultStickiness"], before["defaultStickiness"])
    if after != before:
        projects.update(conn, after)
        events.record(conn, Event("project-updated", actor, project=before["id"], data=after, pre_data=before))


def change_default_strategy(
    conn: Connection, actor: Actor, project_id: str, environment: str, before: Strategy, after: Strategy
) -> None:
    """Set the default strategy of an environment, or remove it (None), and record the event.

    before: that of project_environments.lock_link(). Raise 400 if the new one is invalid.
    """
    if after is not None:
        check_strategy(conn, after, project_id, before)
    project_environments.set_default_strategy(conn, project_id, environment, after)
    details: dict[str, Any] = {"project": project_id, "environment": environment, "data": after, "pre_data": before}
    events.record_change(conn, Event("default-strategy-updated", actor, **details))


def refuse_past_private(conn: Connection, actor: Actor, project_id: str) -> None:
    """Raise 409 for the id of a deleted private project. Administrators can reuse it."""
    # Our choice: the events of a deleted private project stay hidden.
    if not actor.is_admin and projects.was_private(conn, project_id):
        raise NameExists(TAKEN)


def hold_project(conn: Connection, project_id: str) -> DictRow:
    """Lock the project FOR SHARE, and return it as projects.hold_live() does. Raise 404 if it is archived."""
    project = projects.hold_live(conn, project_id)
    if project is None:
        raise NotFound("The project is archived. Revive it first.")
    return project


def refuse_full_project(
    conn: Connection, project: DictRow, names: Collection[str], refuse: Refuse = raise_error
) -> None:
    """Refuse flags that would exceed the limit of live flags of the project."""
    # Our choice: the limit holds for new flags, copies, revived flags, and flags moved from other projects.
    limit = project["feature_limit"]
    if limit is not None and names and projects.count_flags(conn, project["id"]) + len(names) > limit:
        most = f"The project can have at most {quantity(limit, 'live flag')}."
        refuse(Conflict(f"{most} To allow more, raise its featureLimit."), names)


def lock_project(conn: Connection, project_id: str) -> DictRow:
    """Lock a project, and return it as projects.lock() does. Raise 404 if it does not exist."""
    project = projects.lock(conn, project_id)
    if project is None:
        raise NotFound("No project has that id.")
    return project


def lock_without_live_flags(conn: Connection, project_id: str) -> DictRow:
    """Return the locked project. Raise 409 if it has live flags, or if it is default."""
    project = lock_project(conn, project_id)
    # Projects, change requests and flags in this order, like all changes that lock several of them.
    change_requests.lock_open(conn, project_id, None)
    if project_id == "default":
        raise Conflict("The project default cannot be archived or deleted.")
    if live := deletion.list_live_flags(conn, project_id):
        raise Conflict(f"The project has flags that are not archived. Archive them first: {first_five(live)}.")
    return project
