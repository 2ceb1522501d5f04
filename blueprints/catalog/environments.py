"""Environments of the instance, such as development and production."""

from flask import Blueprint, Response, abort

from rules.access import require
from rules.change_request_states import cancel_open
from rules.environments import UNKNOWN, switch
from rules.instance_limits import refuse_excess, unique_or_409
from rules.refusals import Refusal, name_taken
from serving.operation import operation
from serving.request_data import load
from serving.responses import created, empty_response, json_response
from sql import events
from sql.catalog import environment_copies, environments
from sql.database import connection, transaction
from sql.events import Event
from validators.catalog.environments import (
    CloneEnvironment,
    CreateEnvironment,
    EnvironmentName,
    EnvironmentOrder,
    UpdateEnvironment,
)
from validators.errors import NameExists
from validators.returned import without_read_only

bp = Blueprint("environments", __name__)


@bp.get("/api/admin/environments")
@operation(record="environmentList", refuses=(401, 403))
def list_environments() -> Response:
    """List environments.

    Returns all of them, sorted by position. Counts the projects, API tokens and enabled flags of each.
    """
    with connection() as conn:
        require(conn)
        body = environments.list_all(conn)
    return json_response(body)


@bp.get("/api/admin/environments/<name>")
@operation(record="environment", refuses=(401, 403, 404))
def get_environment(name: str) -> Response:
    """Get an environment.

    Does not return the numbers of projects, API tokens and flags that the list has.
    """
    with connection() as conn:
        require(conn)
        body = environments.get(conn, name) or abort(404, UNKNOWN)
    return json_response(body)


@bp.post("/api/admin/environments")
@operation(
    record="environment",
    body=CreateEnvironment,
    status=201,
    refuses=(401, 403, 409, 415),
    errors={409: name_taken("an environment")},
)
def create_environment() -> Response:
    """Create an environment.

    No project has the new environment yet. The type production matters: the time to production and the lifecycle of
    flags depend on it. Any other type is allowed too.
    """
    with transaction() as conn, unique_or_409(environments.TAKEN):
        actor = require(conn, "ADMIN")
        payload = load(CreateEnvironment())
        refuse_excess(conn, "MAX_ENVIRONMENTS", "environment")
        environment = environments.insert(
            conn, payload["name"], payload["type"], enabled=payload["enabled"], sort_order=payload["sortOrder"]
        )
        events.record(conn, Event("environment-created", actor, environment=payload["name"], data=environment))
        body = environments.get(conn, payload["name"])
    return created(body, "environments/{}", payload["name"])


@bp.post("/api/admin/environments/validate")
@operation(body=EnvironmentName, refuses=(401, 403, 409, 415))
def validate_environment_name() -> Response:
    """Check a name for a new environment.

    200 if the name is free.
    """
    with connection() as conn:
        require(conn, "ADMIN")
        payload = load(EnvironmentName())
        if environments.get(conn, payload["name"]):
            raise NameExists(environments.TAKEN["environments_pkey"])
    return empty_response()


@bp.post("/api/admin/environments/<name>/clone")
@operation(record="environment", body=CloneEnvironment, refuses=(401, 403, 404, 409, 415))
def clone_environment(name: str) -> Response:
    """Copy an environment.

    By default, all projects with the environment get the copy, with the same default strategies. Their flags get the
    same strategies and variants, and are disabled in the copy. API tokens are not copied.
    """
    with transaction() as conn, unique_or_409(environments.TAKEN):
        actor = require(conn, "ADMIN")
        payload = load(CloneEnvironment())
        refuse_excess(conn, "MAX_ENVIRONMENTS", "environment")
        source = environments.lock_with_flags(conn, name) or abort(404, UNKNOWN)
        copy = environments.insert(conn, payload["name"], payload["type"], enabled=source["enabled"])
        unknown = environment_copies.link_projects(conn, name, payload["name"], payload["projects"])
        if unknown:
            abort(400, f"projects: unknown projects, or projects without {name}: {', '.join(unknown[:20])}")
        environment_copies.copy_flags(conn, name, payload["name"])
        if payload["clonePermissions"]:
            environment_copies.copy_permissions(conn, name, payload["name"])
        # Our choice: one event. The strategies of the copy have no events of their own.
        events.record(conn, Event("environment-created", actor, environment=payload["name"], data=copy))
        body = environments.get(conn, payload["name"])
    return json_response(body)


@bp.put("/api/admin/environments/update/<name>")
@operation(record="environment", body=UpdateEnvironment, refuses=(401, 403, 404, 415))
def update_environment(name: str) -> Response:
    """Update an environment.

    Changes its type, its position, or both.
    """
    with transaction() as conn:
        actor = require(conn, "ADMIN")
        payload = load(UpdateEnvironment())
        before = environments.lock(conn, name) or abort(404, UNKNOWN)
        after = before | without_read_only(payload, lambda: before)
        if after != before:
            # Record the event before the change, so that insights count it under the old type.
            events.record(conn, Event("environment-updated", actor, environment=name, data=after, pre_data=before))
            environments.update(conn, after)
        body = environments.get(conn, name)
    return json_response(body)


@bp.delete("/api/admin/environments/<name>")
@operation(
    refuses=(401, 403, 404, 409),
    errors={409: Refusal("The environment is protected.", "The environment is protected and cannot be deleted.")},
)
def delete_environment(name: str) -> Response:
    """Delete an environment.

    Removes the environment from all projects. Also deletes the states and strategies of flags in it, its API tokens,
    and permissions in this environment only. A protected environment cannot be deleted.
    """
    with transaction() as conn:
        actor = require(conn, "ADMIN")
        before = environments.lock_with_flags(conn, name) or abort(404, UNKNOWN)
        if before["protected"]:
            abort(409, "The environment is protected and cannot be deleted.")
        cancel_open(conn, environment=name)
        # Our choice: one event. Strategies and other records that are deleted with the environment have no events. The
        # event is recorded before the deletion, so that insights count it under the type of the environment.
        events.record(conn, Event("environment-deleted", actor, environment=name, pre_data=before))
        environments.delete(conn, name)
    return empty_response()


@bp.post("/api/admin/environments/<name>/on")
@operation(status=204, refuses=(401, 403, 404))
def enable_environment(name: str) -> Response:
    """Enable an environment.

    New projects get it again.
    """
    with transaction() as conn:
        switch(conn, require(conn, "ADMIN"), name, enabled=True)
    return empty_response(204)


@bp.post("/api/admin/environments/<name>/off")
@operation(status=204, refuses=(401, 403, 404))
def disable_environment(name: str) -> Response:
    """Disable an environment.

    New projects do not get it. Existing projects keep it, and SDKs still receive its flags.
    """
    with transaction() as conn:
        switch(conn, require(conn, "ADMIN"), name, enabled=False)
    return empty_response(204)


@bp.put("/api/admin/environments/sort-order")
@operation(body=EnvironmentOrder, refuses=(401, 403, 415))
def sort_environments() -> Response:
    """Sort environments.

    The body sets their positions. Environments that it does not name keep theirs.
    """
    with transaction() as conn:
        actor = require(conn, "ADMIN")
        positions = load(EnvironmentOrder())
        before = environments.lock_many(conn, list(positions))
        if len(before) < len(positions):
            abort(400, "body: must contain existing environments only")
        moved = [environment for environment in before if environment["sortOrder"] != positions[environment["name"]]]
        environments.set_order(conn, {environment["name"]: positions[environment["name"]] for environment in moved})
        for environment in moved:
            old, new = {"sortOrder": environment["sortOrder"]}, {"sortOrder": positions[environment["name"]]}
            events.record(
                conn, Event("environment-updated", actor, environment=environment["name"], data=new, pre_data=old)
            )
    return empty_response()
