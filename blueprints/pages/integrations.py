"""Integrations: whether they work, their form, a test message and the last deliveries."""

import json
import re
from collections.abc import Mapping
from typing import Any

from flask import Blueprint, Response, abort, g, request
from werkzeug.exceptions import BadRequest, HTTPException, PreconditionFailed

from blueprints.pages.events import names_of_people
from blueprints.pages.lists import list_page
from blueprints.pages.page import page, require_reader
from blueprints.pages.plain_forms import form_page, see_other
from rules import integrations as rules
from rules.access import Actor, id_in_path
from rules.event_text import SENTENCES, sentence
from serving.deliveries import send_test
from serving.etags import content_version
from sql import deliveries, integrations
from sql.catalog import environments
from sql.database import Connection, connection, transaction
from sql.integrations import ADMIN_TYPES
from sql.projects import list as project_list
from validators import load_or_400
from validators.integrations import MASK, PARAMETERS, PROVIDERS, Integration

# Groups of event types: title, what all of them are called, and what they look like. The first one that fits counts.
GROUPS = {
    "flags": ("Flags", "All changes of flags", "feature-(?!type|.*favorited)|features-imported|strategy-order"),
    "projects": ("Projects", "All changes of projects", "project-(?!access|user|group|.*favorited)|default-strategy"),
    "catalog": (
        "Segments, environments, tags",
        "All",
        "(context-field|environment|feature-type|segment|strategy|tag)-",
    ),
    "people": ("People, tokens and access", "All", ADMIN_TYPES),
    "requests": ("Change requests", "All", "change-"),
    "rest": ("Others", "All", ""),
    "unknown": ("Unknown to this version, without effect", "All", ""),
}

# The properties that the form changes.
EDITED = ("description", "enabled", "parameters", "events", "projects", "environments")
CHANGED = (
    "Somebody has changed this integration meanwhile. What you entered is not saved, but kept below. "
    "To see their version, open this page in a new tab. To overwrite it, save again."
)

bp = Blueprint("integrations", __name__)


@bp.get("/admin/integrations")
def show_integrations() -> Response:
    """Show all integrations with their states."""
    with connection() as conn:
        require_reader(conn, *rules.HOLDER)
        items = json.loads(integrations.list_all(conn))
        sent = deliveries.last_attempts(conn)
    return page("admin/integrations.html", providers=PROVIDERS, sent=sent, **list_page(items, "description"))


@bp.get("/admin/integrations/new")
@bp.get("/admin/integrations/<addon_id>")
@bp.get("/admin/integrations/<addon_id>/test")
def show_integration(addon_id: str = "", error: HTTPException | None = None, **shown: Any) -> Response:
    """Show an integration, or the form of a new one. error, shown: the result of another form."""
    with connection() as conn:
        reader = require_reader(conn, *(rules.HOLDER if addon_id else ("CREATE_ADDON",)), list_projects=True)
        stored = find(conn, addon_id)
        closed = [type for type in stored["events"] if re.match(ADMIN_TYPES, type) and not reader.actor.is_admin]
        editable = not closed and reader.may("UPDATE_ADDON" if addon_id else "CREATE_ADDON")
        if addon_id and editable:
            log = deliveries.log(conn, stored["id"], reader.actor.visible, {"limit": 5, "offset": 0})
            shown["people"] = names_of_people(conn, reader.actor)
            shown["log"] = log and json.loads(log["body"])["integrationEvents"]
        shown["sent"] = deliveries.last_attempts(conn)
        shown["projects"] = project_list.names_by_id(conn, reader.actor.viewer)
        places = json.loads(environments.list_all(conn))["environments"]
    shown["seen"] = content_version(stored, *EDITED)
    shown = {"record": stored, "closed": closed, "editable": editable, "sentence": sentence, "mask": MASK} | shown
    shown |= {"env_types": {place["name"]: place["type"] for place in places}, "parameters": PARAMETERS}
    groups = [(name, *GROUPS[name], types) for name, types in types_of(reader.actor, stored).items()]
    return form_page("admin/integration.html", error, providers=PROVIDERS, groups=groups, **shown)


@bp.post("/admin/integrations/new")
@bp.post("/admin/integrations/<addon_id>")
def save_integration(addon_id: str = "") -> Response:
    """Create or change an integration. Show the form again after a refusal, and the signing secret of a new one."""
    record, secret = dict[str, Any](), None
    try:
        with transaction() as conn:
            actor = require_reader(conn, "UPDATE_ADDON" if addon_id else "CREATE_ADDON").actor
            if addon_id:
                rules.lock(conn, actor, id_in_path(addon_id))
            stored = find(conn, addon_id)
            record = read_form(actor, stored)
            version = content_version(stored, *EDITED)
            if request.form.get("seen", version) != version:
                raise PreconditionFailed(CHANGED)
            given = load_or_400(Integration(), record)
            if addon_id:
                rules.update(conn, actor, id_in_path(addon_id), given)
            else:
                new_id, secret = rules.create(conn, actor, given)
                addon_id = str(new_id)
    except (BadRequest, PreconditionFailed) as error:
        return show_integration(addon_id, error, record=record)
    return show_integration(addon_id, secret=secret) if secret else see_other(f"/admin/integrations/{addon_id}?saved")


@bp.post("/admin/integrations/<addon_id>/test")
def test_integration(addon_id: str) -> Response:
    """Send a test message, and show its outcome."""
    with transaction() as conn:
        actor = require_reader(conn, "UPDATE_ADDON").actor
        integration = rules.lock(conn, actor, id_in_path(addon_id))
        rules.throttle_tests(conn, g.caller.account)
    return show_integration(addon_id, outcome=send_test(integration, actor.name))


@bp.post("/admin/integrations/<addon_id>/delete")
def delete_integration(addon_id: str) -> Response:
    """Delete an integration."""
    with transaction() as conn:
        actor = require_reader(conn, "DELETE_ADDON").actor
        rules.delete(conn, actor, id_in_path(addon_id))
    return see_other("/admin/integrations")


def find(conn: Connection, addon_id: str) -> dict[str, Any]:
    """Return an integration, or without an id a new one of the provider in the query. Raise 404."""
    if addon_id:
        return json.loads(integrations.get(conn, id_in_path(addon_id)) or abort(404, rules.UNKNOWN))
    provider = request.args.get("provider")
    new = {"provider": provider if provider in PROVIDERS else abort(404), "description": None, "enabled": True}
    about_flags = [type for type in SENTENCES if re.match(GROUPS["flags"][2], type)]
    return {**new, "parameters": {}, "events": about_flags, "projects": [], "environments": []}


def types_of(actor: Actor, stored: Mapping[str, Any]) -> dict[str, list[str]]:
    """Return the types that an integration has or that the reader can choose, by the names of their groups."""
    groups: dict[str, list[str]] = {name: [] for name in GROUPS}
    for type in sorted({*rules.providers(actor)[0]["events"], *stored["events"]}):
        fits = (name for name, (_, _, pattern) in GROUPS.items() if re.match(pattern, type))
        groups[next(fits) if type in SENTENCES else "unknown"].append(type)
    return {name: types for name, types in groups.items() if types}


def read_form(actor: Actor, stored: Mapping[str, Any]) -> dict[str, Any]:
    """Return an integration as the form changes it, for the schema of the API."""
    form, known = request.form, PROVIDERS[stored["provider"]][1]
    given = {name: form.get(f"parameters.{name}", "").replace("\r\n", "\n") for name in known}
    kept = [name for name, text in stored["parameters"].items() if text == MASK and f"remove.{name}" not in form]
    lists = {"projects": form.getlist("projects"), "environments": form.getlist("environments"), "events": list[str]()}
    for name, types in types_of(actor, stored).items():
        chosen = {"all": types, "some": form.getlist("events")}.get(form.get(f"group.{name}", ""), [])
        lists["events"] += [type for type in types if type in chosen]
    # In the order of before, because another order would be a change.
    lists = {name: sorted(new, key=[*stored[name], *new].index) for name, new in lists.items()}
    # An empty description, because null means unchanged.
    texts = {"description": form.get("description") or (stored["description"] and "")}
    parameters = given | {name: MASK for name in kept if not given[name]}
    return {**stored, **lists, **texts, "enabled": "enabled" in form, "parameters": parameters}
