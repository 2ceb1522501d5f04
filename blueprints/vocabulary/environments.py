"""Environments (neighbours.md 3.11)."""

from flask import Blueprint, Response, abort

from rules.access import Actor, require
from rules.limits import refuse_excess, unique
from serving.contract import operation
from serving.request_data import load
from serving.responses import created, empty_response, json_response
from sql import events
from sql.database import Connection, connection, transaction
from sql.events import Event
from sql.vocabulary import environments
from validators.vocabulary.environments import CreateEnvironment, EnvironmentOrder, UpdateEnvironment

bp = Blueprint("environments", __name__)

UNKNOWN = "No environment has that name."


@bp.get("/api/admin/environments")
@operation(record="environmentList", refuses=(401, 403))
def list_environments() -> Response:
    """List environments.

    All of them, by their positions, and how many projects, API keys and switched-on flags each has.
    """
    with connection() as conn:
        require(conn)
        body = environments.read(conn)
    return json_response(body)


@bp.get("/api/admin/environments/<name>")
@operation(record="environment", refuses=(401, 403, 404))
def get_environment(name: str) -> Response:
    """Get an environment.

    What it is, without the counts that the list has.
    """
    with connection() as conn:
        require(conn)
        body = environments.get(conn, name) or abort(404, UNKNOWN)
    return json_response(body)


@bp.post("/api/admin/environments")
@operation(record="environment", body=CreateEnvironment, status=201, refuses=(401, 403, 409, 415))
def create_environment() -> Response:
    """Create an environment.

    It is linked to no project. Of the types, development, test, preproduction and production carry meaning.
    """
    with transaction() as conn, unique(environments.TAKEN):
        actor = require(conn, "ADMIN")
        asked = load(CreateEnvironment())
        refuse_excess(conn, "MAX_ENVIRONMENTS", "environments")
        made = environments.insert(conn, asked["name"], asked["type"], enabled=asked["enabled"], sort_order=asked["sortOrder"])
        events.record(conn, Event("environment-created", actor, environment=asked["name"], data=made))
        body = environments.get(conn, asked["name"])
    return created(body, "environments/{}", asked["name"])


@bp.put("/api/admin/environments/update/<name>")
@operation(record="environment", body=UpdateEnvironment, refuses=(401, 403, 404, 415))
def update_environment(name: str) -> Response:
    """Change an environment.

    Its type, its position, or both.
    """
    with transaction() as conn:
        actor = require(conn, "ADMIN")
        asked = load(UpdateEnvironment())
        before = environments.lock(conn, name) or abort(404, UNKNOWN)
        after = before | {key: asked[key] for key in ("type", "sortOrder") if key in asked}
        if after != before:
            # Recorded first, so that insights count it for the type that it ends.
            events.record(conn, Event("environment-updated", actor, environment=name, data=after, pre_data=before))
            environments.update(conn, after)
        body = environments.get(conn, name)
    return json_response(body)


@bp.delete("/api/admin/environments/<name>")
@operation(refuses=(401, 403, 404, 409))
def delete_environment(name: str) -> Response:
    """Delete an environment.

    With it go its links to projects, the states and strategies that flags have there, its API keys, and what roles allow in it alone. One
    that is protected stays.
    """
    with transaction() as conn:
        actor = require(conn, "ADMIN")
        before = environments.lock_for_deletion(conn, name) or abort(404, UNKNOWN)
        if before["protected"]:
            abort(409, "The environment is protected and cannot be deleted.")
        # Our choice: one event, as the interface says; what goes with the environment has none of its own. Recorded first: see above.
        events.record(conn, Event("environment-deleted", actor, environment=name, pre_data=before))
        environments.delete(conn, name)
    return empty_response()


@bp.post("/api/admin/environments/<name>/on")
@operation(status=204, refuses=(401, 403, 404))
def enable_environment(name: str) -> Response:
    """Switch an environment on.

    New projects get it again.
    """
    with transaction() as conn:
        switch(conn, require(conn, "ADMIN"), name, enabled=True)
    return empty_response(204)


@bp.post("/api/admin/environments/<name>/off")
@operation(status=204, refuses=(401, 403, 404))
def disable_environment(name: str) -> Response:
    """Switch an environment off.

    New projects do not get it. Projects that have it keep it, with all that is in it, and SDKs are served as before.
    """
    with transaction() as conn:
        switch(conn, require(conn, "ADMIN"), name, enabled=False)
    return empty_response(204)


def switch(conn: Connection, actor: Actor, name: str, *, enabled: bool) -> None:
    """Switch an environment on or off; 404 when there is none of that name."""
    before = environments.lock(conn, name) or abort(404, UNKNOWN)
    if before["enabled"] != enabled:
        environments.update(conn, before | {"enabled": enabled})
        was, now = {"enabled": before["enabled"]}, {"enabled": enabled}
        events.record(conn, Event("environment-updated", actor, environment=name, data=now, pre_data=was))


@bp.put("/api/admin/environments/sort-order")
@operation(body=EnvironmentOrder, refuses=(401, 403, 415))
def sort_environments() -> Response:
    """Put environments in order.

    The body gives the position of each; those that it does not name stay where they are.
    """
    with transaction() as conn:
        actor = require(conn, "ADMIN")
        asked = load(EnvironmentOrder())
        before = environments.lock_many(conn, list(asked))
        if len(before) < len(asked):
            abort(400, "body: must name environments that exist")
        moved = [it for it in before if it["sortOrder"] != asked[it["name"]]]
        environments.set_order(conn, {it["name"]: asked[it["name"]] for it in moved})
        for it in moved:
            was, now = {"sortOrder": it["sortOrder"]}, {"sortOrder": asked[it["name"]]}
            events.record(conn, Event("environment-updated", actor, environment=it["name"], data=now, pre_data=was))
    return empty_response()
