"""Integrations. They get events as signed webhooks or chat messages."""

from flask import Blueprint, Response, abort, g

from rules import integrations as rules
from rules.access import id_in_path, require
from serving.deliveries import send_test
from serving.operation import operation
from serving.request_data import load, load_query
from serving.responses import created, empty_response, json_response, json_text
from sql import deliveries, integrations
from sql.database import connection, transaction
from validators.integrations import Integration, IntegrationLog

bp = Blueprint("integrations", __name__)


@bp.get("/api/admin/addons")
@operation(record="addons", refuses=(401, 403))
def list_integrations() -> Response:
    """List integrations.

    Returns all of them by id, and what each provider needs. Sensitive parameters are `*****`.
    """
    with connection() as conn:
        actor = require(conn, *rules.HOLDER)
        body = integrations.list_all(conn)
    return json_response(f'{{"addons" : {body}, "providers" : {json_text(rules.providers(actor))}}}')


@bp.post("/api/admin/addons")
@operation(record="addon", body=Integration, status=201, refuses=(400, 401, 403, 415))
def create_integration() -> Response:
    """Create an integration.

    It gets all events of these types, projects and environments from now on. Only this response shows the signing
    secret of a webhook. Types about people, credentials and access need the permission ADMIN. An integration whose last
    editor lacks ADMIN gets only events that this person may read, and those of private projects only if it names them.
    """
    with transaction() as conn:
        actor = require(conn, "CREATE_ADDON")
        new_id, _ = rules.create(conn, actor, load(Integration()))
        body = integrations.get(conn, new_id, masked=integrations.SENSITIVE[:-1])
    return created(body, "addons/{}", new_id)


@bp.get("/api/admin/addons/<addon_id>")
@operation(record="addon", refuses=(400, 401, 403, 404))
def get_integration(addon_id: str) -> Response:
    """Get an integration.

    Returns it with its failures. Sensitive parameters are `*****`.
    """
    with connection() as conn:
        require(conn, *rules.HOLDER)
        body = integrations.get(conn, id_in_path(addon_id)) or abort(404, rules.UNKNOWN)
    return json_response(body)


@bp.put("/api/admin/addons/<addon_id>")
@operation(record="addon", body=Integration, refuses=(400, 401, 403, 404, 415))
def update_integration(addon_id: str) -> Response:
    """Update an integration.

    Replaces everything but the provider. Omitted projects and environments mean all, and an omitted description or
    signingSecret stays. If the integration is disabled, its waiting events are given up.
    """
    with transaction() as conn:
        actor = require(conn, "UPDATE_ADDON")
        change = load(Integration())
        rules.update(conn, actor, id_in_path(addon_id), change)
        body = integrations.get(conn, id_in_path(addon_id))
    return json_response(body)


@bp.delete("/api/admin/addons/<addon_id>")
@operation(refuses=(400, 401, 403, 404))
def delete_integration(addon_id: str) -> Response:
    """Delete an integration.

    Its deliveries are deleted too. Waiting events are not sent.
    """
    with transaction() as conn:
        actor = require(conn, "DELETE_ADDON")
        rules.delete(conn, actor, id_in_path(addon_id))
    return empty_response()


@bp.get("/api/admin/addons/<addon_id>/events")
@operation(record="integrationEvents", query=IntegrationLog, refuses=(400, 401, 403, 404))
def list_integration_events(addon_id: str) -> Response:
    """List the deliveries of an integration.

    Returns those with an outcome, newest first. Callers who are not administrators get only deliveries of events that
    they can see.
    """
    with connection() as conn:
        actor = require(conn, "UPDATE_ADDON", list_projects=True)
        page = load_query(IntegrationLog)
        found = deliveries.log(conn, id_in_path(addon_id), actor.visible, page) or abort(404, rules.UNKNOWN)
        rules.refuse_types(actor, found["types"])
    return json_response(found["body"])


@bp.post("/api/admin/addons/<addon_id>/test")
@operation(record="addonTest", refuses=(400, 401, 403, 404))
def test_integration(addon_id: str) -> Response:
    """Test an integration.

    Sends a test message at once, also if the integration is disabled. It is neither repeated nor in the log. A caller
    can send 10 test messages in a minute.
    """
    with transaction() as conn:
        actor = require(conn, "UPDATE_ADDON")
        integration = rules.lock(conn, actor, id_in_path(addon_id))
        rules.throttle_tests(conn, g.caller.account)
    return json_response(json_text(send_test(integration, actor.name)))
