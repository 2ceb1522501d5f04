"""Integrations: what callers may subscribe to, the parameters of providers, and the end after failures."""

import re
import secrets
from base64 import b64encode
from collections.abc import Iterable, Mapping
from typing import Any
from urllib.parse import urlsplit

from flask import abort, current_app
from psycopg.rows import DictRow
from werkzeug.exceptions import BadRequest, Forbidden

from rules.access import SYSTEM, Actor
from rules.addresses import is_allowed
from rules.event_text import SENTENCES
from sql import events, integrations, login_throttle
from sql.database import Connection
from sql.events import Event
from sql.integrations import ADMIN_TYPES, SENSITIVE
from validators.errors import RateLimited
from validators.integrations import MASK, PARAMETERS, PROVIDERS

# Readers of integrations need one of these permissions.
HOLDER = ("CREATE_ADDON", "UPDATE_ADDON", "DELETE_ADDON")
UNKNOWN = "No integration has that id."


def providers(actor: Actor) -> list[dict[str, Any]]:
    """Return the providers with their parameters, and the types of events that the caller can choose."""
    types = [type for type in sorted(SENTENCES) if actor.is_admin or not re.match(ADMIN_TYPES, type)]
    return [
        {
            "name": name,
            "displayName": title,
            "description": f"Sends events to {title}.",
            "documentationUrl": f"{current_app.config['BASE_URL']}/docs",
            "parameters": [
                {"name": key, **PARAMETERS[key], "required": key == "url", "sensitive": key in SENSITIVE}
                for key in keys
            ],
            "events": types,
        }
        for name, (title, keys) in PROVIDERS.items()
    ]


def refuse_types(actor: Actor, types: Iterable[str]) -> None:
    """Raise 403 if one of the types is about people, credentials or access, and the caller lacks ADMIN."""
    for type in types:
        if not actor.is_admin and re.match(ADMIN_TYPES, type):
            raise Forbidden(f"You lack the permission ADMIN, which events of the type {type} need.")


def complete(given: Mapping[str, Any], stored: Mapping[str, str]) -> dict[str, str]:
    """Return the parameters with what a request keeps, and with a signing secret. Raise 400 if they are invalid."""
    parameters = dict(given["parameters"])
    if given["provider"] == "webhook":
        new = f"whsec_{b64encode(secrets.token_bytes(32)).decode()}"
        parameters = {"signingSecret": stored.get("signingSecret", new)} | parameters
    kept = [name for name, text in parameters.items() if text == MASK and name in SENSITIVE]
    for name in kept:
        if name not in stored:
            raise BadRequest(f"parameters.{name}: must not be {MASK}, because there is no value to keep")
        parameters[name] = stored[name]
    if parameters["url"] != stored.get("url"):
        check_address(parameters["url"])
        # Otherwise an editor could send headers that they cannot read to a server of their own.
        if hidden := [name for name in kept if name in ("authorization", "customHeaders")]:
            raise BadRequest(f"parameters.{hidden[0]}: must be sent again, because the url changes")
    return parameters


def check_address(address: str) -> None:
    """Raise 400 if integrations may not reach this URL. Our choice: a name is resolved at each attempt."""
    networks, is_encrypted = current_app.config["INTEGRATION_NETWORKS"], address.startswith("https")
    try:
        is_right = is_allowed(urlsplit(address).hostname or "", networks, is_encrypted=is_encrypted)
    except ValueError:
        is_right = is_encrypted or networks
    if not is_right:
        raise BadRequest("parameters.url: must be https and public. The setting INTEGRATION_NETWORKS allows others.")


def create(conn: Connection, actor: Actor, given: Mapping[str, Any]) -> tuple[int, str | None]:
    """Create an integration. Return its id and signing secret. Raise as complete(), or 400 if there are too many."""
    refuse_types(actor, given["events"])
    row = {**given, "description": given.get("description"), "parameters": complete(given, {})}
    integration = integrations.insert(conn, row, actor.user_id) or abort(
        400, f"There can be at most {integrations.LIMIT} integrations."
    )
    events.record(conn, Event("addon-config-created", actor, data=integration))
    return integration["id"], row["parameters"].get("signingSecret")


def lock(conn: Connection, actor: Actor, integration_id: int) -> DictRow:
    """Lock an integration, as sql does. Raise 404 if it does not exist, or as refuse_types() for its types."""
    found = integrations.lock(conn, integration_id) or abort(404, UNKNOWN)
    refuse_types(actor, found["logged"]["events"])
    return found


def update(conn: Connection, actor: Actor, integration_id: int, change: Mapping[str, Any]) -> None:
    """Change an integration. Raise 400 if the provider differs, or as lock(), refuse_types() and complete()."""
    before = lock(conn, actor, integration_id)
    refuse_types(actor, change["events"])
    logged, stored = before["logged"], before["parameters"]
    if change["provider"] != logged["provider"]:
        raise BadRequest(f"provider: must be {logged['provider']}, because it cannot change")
    parameters = complete(change, stored)
    changed = sorted(name for name in stored | parameters if stored.get(name) != parameters.get(name))
    after = integrations.update(conn, {**logged, **change, "parameters": parameters}, actor.user_id)
    data = after | ({"changedParameters": changed} if changed else {})
    events.record_change(conn, Event("addon-config-updated", actor, data=data, pre_data=logged))


def delete(conn: Connection, actor: Actor, integration_id: int) -> None:
    """Delete an integration. Raise 404 if it does not exist."""
    before = integrations.delete(conn, integration_id) or abort(404, UNKNOWN)
    events.record(conn, Event("addon-config-deleted", actor, pre_data=before))


def throttle_tests(conn: Connection, account: str) -> None:
    """Raise 429 if the user or API token has sent 10 test messages in the last minute."""
    if wait := login_throttle.admit_address(conn, f"addon test {account}", 10):
        raise RateLimited("You can send 10 test messages in a minute.", wait)


def disable(conn: Connection, integration_id: int) -> None:
    """Disable an integration that fails for good, and give up what is waiting."""
    if found := integrations.lock(conn, integration_id):
        row = {**found["logged"], "parameters": found["parameters"], "enabled": False}
        # Without an editor, because the next one enables it.
        after = integrations.update(conn, row, None)
        events.record_change(conn, Event("addon-config-updated", SYSTEM, data=after, pre_data=found["logged"]))
