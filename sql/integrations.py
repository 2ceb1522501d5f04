"""Integrations: the record, and what their editors may read."""

from collections.abc import Mapping, Sequence
from typing import Any, LiteralString

from psycopg.rows import DictRow

from sql.database import Connection, as_json, one, value
from sql.projects.visibility import visible_to

# Our choice: the maximum number of integrations, because each change compares its events with all of them.
LIMIT = 50
SENSITIVE = ("url", "authorization", "customHeaders", "signingSecret")

FIELDS: LiteralString = """
    'id', id, 'provider', provider, 'description', description, 'enabled', enabled, 'events', events,
    'projects', projects, 'environments', environments"""

# The integration in the form of events, which have no parameters.
LOGGED: LiteralString = f"json_build_object({FIELDS})"

RECORD: LiteralString = f"""
    json_build_object(
        {FIELDS},
        'parameters', (
            SELECT json_object_agg(key, CASE WHEN key = ANY(%(masked)s) THEN '*****' ELSE value END)
              FROM json_each_text(parameters)),
        'createdAt', iso(created_at),
        'failingSince', iso(failing_since))
"""

LIST: LiteralString = f"SELECT coalesce(json_agg({RECORD} ORDER BY id), '[]')::text FROM integrations"


def list_all(conn: Connection) -> str:
    """Return all integrations by id, as JSON text."""
    return value(conn, LIST, {"masked": list(SENSITIVE)})


GET: LiteralString = f"SELECT ({RECORD})::text FROM integrations WHERE id = %(id)s"


def get(conn: Connection, integration_id: int, masked: Sequence[str] = SENSITIVE) -> str | None:
    """Return an integration as JSON text, or None if it does not exist. masked: the parameters that it hides."""
    return value(conn, GET, {"id": integration_id, "masked": list(masked)})


LOCK: LiteralString = f"""
    SELECT id, provider, parameters, {LOGGED} AS logged FROM integrations WHERE id = %(id)s FOR UPDATE
"""


def lock(conn: Connection, integration_id: int) -> DictRow | None:
    """Lock an integration. Return id, provider, parameters, and logged: its form in events. Or None."""
    return one(conn, LOCK, {"id": integration_id})


INSERT: LiteralString = f"""
    INSERT INTO integrations (provider, description, enabled, parameters, events, projects, environments, editor_id)
    SELECT %(provider)s, %(description)s, %(enabled)s, %(parameters)s, %(events)s, %(projects)s, %(environments)s,
           %(editor)s
     WHERE (SELECT count(*) FROM integrations) < %(limit)s
    RETURNING {LOGGED}
"""


def insert(conn: Connection, integration: Mapping[str, Any], editor: int | None) -> dict[str, Any] | None:
    """Insert an integration and return it in the form of events, or None if there are too many."""
    row = {**integration, "parameters": as_json(integration["parameters"]), "editor": editor, "limit": LIMIT}
    return value(conn, INSERT, row)


# An integration that is disabled gives up what is waiting.
# Waiting deliveries are repeated at once, because the change may be the repair. A claim lasts a minute at most: what
# blocks an integration for longer is the pause after a failure, or a time from before the clock was set back.
UPDATE: LiteralString = f"""
    WITH given_up AS (
        UPDATE deliveries
           SET next_at = NULL, last_at = statement_timestamp(), state = 'failed',
               state_details = 'Gave up: the integration was disabled',
               details = coalesce(details, '{{"attempts": 0, "status": null, "milliseconds": null, "host": null}}')
         WHERE integration_id = %(id)s AND next_at IS NOT NULL AND NOT %(enabled)s
    ),
    repeated AS (
        UPDATE deliveries
           SET next_at = statement_timestamp()
         WHERE integration_id = %(id)s AND next_at > statement_timestamp() AND %(enabled)s
    )
    UPDATE integrations
       SET description = %(description)s, enabled = %(enabled)s, parameters = %(parameters)s, events = %(events)s,
           projects = %(projects)s, environments = %(environments)s, editor_id = %(editor)s,
           blocked_until = CASE
               WHEN failing_since IS NULL AND blocked_until < statement_timestamp() + interval '1 minute'
               THEN blocked_until
               ELSE statement_timestamp()
           END
     WHERE id = %(id)s
    RETURNING {LOGGED}
"""


def update(conn: Connection, integration: Mapping[str, Any], editor: int | None) -> dict[str, Any]:
    """Set every field of an integration that can change. Return it in the form of events."""
    return value(conn, UPDATE, {**integration, "parameters": as_json(integration["parameters"]), "editor": editor})


DELETE: LiteralString = f"""
    WITH deleted AS (DELETE FROM deliveries WHERE integration_id = %(id)s)
    DELETE FROM integrations WHERE id = %(id)s RETURNING {LOGGED}
"""


def delete(conn: Connection, integration_id: int) -> dict[str, Any] | None:
    """Delete an integration and its deliveries. Return it in the form of events, or None if it does not exist."""
    return value(conn, DELETE, {"id": integration_id})


# Events about people, credentials and access, which only administrators read.
ADMIN_TYPES: LiteralString = (
    "^(user|service-account|group|role|pat|api-token|public-signup-token|project-(access|user|group)|addon-config)-"
)

# Our choice: what the last editor of an integration may read at the time of delivery. Without ADMIN, that is what the
# search of events shows them, but events of private projects only if the integration names the project.
READABLE: LiteralString = f"""
    (integrations.editor_id IS NULL
     OR EXISTS (
        SELECT FROM users
          JOIN user_roles ON user_roles.user_id = users.id AND user_roles.project_id IS NULL
          JOIN roles ON roles.id = user_roles.role_id
          LEFT JOIN role_permissions ON role_permissions.role_id = roles.id AND role_permissions.permission = 'ADMIN'
          LEFT JOIN projects ON projects.id = events.project
         WHERE users.id = integrations.editor_id
           AND users.deleted_at IS NULL
           AND (role_permissions.permission IS NOT NULL
                OR projects.id IS NOT NULL
                   AND events.type !~ '{ADMIN_TYPES}'
                   AND (projects.mode <> 'private' OR projects.id = ANY(integrations.projects))
                   AND (roles.id = %(editor)s OR roles.type = 'root-custom' OR {visible_to("users.id")}))))
"""
