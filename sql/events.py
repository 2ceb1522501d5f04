"""The event log: write events, build their JSON record, and the conditions of filters."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, LiteralString, Protocol

from psycopg.rows import DictRow

from sql.database import Connection, as_json, note_events, one, rows, value


@dataclass(frozen=True)
class VisibleEvents:
    """The events that a caller without the permission ADMIN may see: those of these projects.

    access: the projects whose access list the caller may read. Only their events about access are visible.
    """

    projects: tuple[str, ...]
    access: tuple[str, ...]


# Our choice: callers without ADMIN find the events of projects that they may see. They find no events without a
# project.
VISIBLE: LiteralString = "project = ANY(%(visible)s::text[])"

# Our choice: events of these types show the roles of users in a project. They need the same permission as its access
# list.
ACCESS_TYPES = ("project-access-", "project-user-", "project-group-")
READABLE: LiteralString = """
    (type NOT LIKE ALL ('{project-access-%%, project-user-%%, project-group-%%}')
     OR project = ANY(%(readable)s::text[]))
"""

# Our choice: the query is plain text without special characters, and its case is ignored. Payloads are compared as they
# were written. The pattern begins with '***=', which makes it a literal text. LIKE is tried first, because it nearly
# always finds common words and takes a third of the time.
PAYLOAD_MATCHES: LiteralString = """
    data::text LIKE %(like)s OR pre_data::text LIKE %(like)s OR tags::text LIKE %(like)s
    OR data::text ~* %(pattern)s OR pre_data::text ~* %(pattern)s OR tags::text ~* %(pattern)s
"""

# Our choice: any event finds its group, if the caller can see that event. An event that was recorded
# alone is a group too. visible: null for callers who see all.
IN_GROUPS: LiteralString = f"""
    id = ANY(ARRAY(
        WITH given AS (
            SELECT coalesce(group_id, id) AS first_id
              FROM events
             WHERE id = ANY(%(groups)s)
               AND (%(visible)s::text[] IS NULL OR {VISIBLE} AND {READABLE})
        )
        SELECT first_id FROM given
     UNION
        SELECT id FROM events WHERE group_id = ANY(ARRAY(SELECT first_id FROM given))))
"""

# A single value is compared with =, which keeps the order of an index. Before PostgreSQL 17, = ANY does not.
FILTERS: dict[str, LiteralString] = {
    "feature": "feature_name = %(feature)s",
    "features": "feature_name = ANY(%(features)s)",
    "project": "project = %(project)s",
    "readable": READABLE,
    "projects": "project = ANY(%(projects)s)",
    "type": "type = %(type)s",
    "types": "type = ANY(%(types)s)",
    "creator": "created_by_user_id = %(creator)s",
    "creators": "created_by_user_id = ANY(%(creators)s)",
    "token": "created_by_token_id = %(token)s",
    "tokens": "created_by_token_id = ANY(%(tokens)s)",
    "environment": "environment = %(environment)s",
    "environments": "environment = ANY(%(environments)s)",
    "ids": "id = ANY(%(ids)s)",
    "groups": IN_GROUPS,
    "requests": "change_request_id = ANY(%(requests)s)",
    "first_day": "created_at >= %(first_day)s::date::timestamp AT TIME ZONE 'UTC'",
    "since": "created_at >= %(since)s",
    "before": "created_at < %(before)s",
    # The names of flags are searched, not those of a million events. A deleted flag is found by its whole name: the
    # pattern begins with '***='.
    "flag_pattern": """feature_name = ANY(ARRAY(
        SELECT name FROM flags WHERE name ~* %(flag_pattern)s UNION SELECT substr(%(flag_pattern)s, 5)))""",
    "last_day": "created_at < (%(last_day)s::date + 1)::timestamp AT TIME ZONE 'UTC'",
    "payload": f"({PAYLOAD_MATCHES})",
    "text": f"({PAYLOAD_MATCHES} OR type = ANY(%(types_named)s) OR created_by ~* %(pattern)s)",
}

FIELDS: LiteralString = """
        'id', id,
        'createdAt', iso(created_at),
        'type', type,
        'createdBy', created_by,
        'createdByUserId', created_by_user_id,
        'environment', environment,
        'project', project,
        'featureName', feature_name,
        'data', data,
        'preData', pre_data,
        'tags', tags"""

RECORD: LiteralString = f"""
    CASE WHEN undoes IS NOT NULL
         THEN json_build_object({FIELDS}, 'undoes', undoes)
         WHEN change_request_id IS NOT NULL
         THEN json_build_object({FIELDS}, 'groupType', 'change-request',
                                'groupId', 'change-request-' || change_request_id)
         ELSE json_build_object({FIELDS})
    END
"""


class Author(Protocol):
    """The author of an event: name is its createdBy, user_id its createdByUserId, token_id its API token, if any.

    undoes: the id of the event that the author undoes, if any. change_request_id: of the change request being applied.
    """

    @property
    def name(self) -> str: ...
    @property
    def user_id(self) -> int | None: ...
    @property
    def token_id(self) -> int | None: ...
    @property
    def undoes(self) -> int | None: ...
    @property
    def change_request_id(self) -> int | None: ...


@dataclass(frozen=True)
class Event:
    """An event for the log. data and pre_data: any JSON value. tags: the tags of the flag, as [{"type", "value"}]."""

    type: str
    author: Author
    _: KW_ONLY
    project: str | None = None
    environment: str | None = None
    feature: str | None = None
    data: Any = None
    pre_data: Any = None
    tags: Iterable[Mapping[str, str]] = ()


# clock_timestamp(), because the transaction can have waited for the lock of an earlier change. So the newest event of a
# flag is always that of its last change. The time is truncated, not rounded, so that no event is in the future. WHERE
# is evaluated first: the transaction gets its id before the first event gets one, as sql/event_stream.py requires.
# Bulk changes and imports record thousands of events, so one statement writes all of them. The type json keeps payloads
# as they were written. group_id: the first event of a transaction leaves its id in a setting, which ends with the
# transaction. The next event of the list finds it there, because nothing sorts the rows: each is written before the
# next one is read.
#
# Our choice for integrations: an event without a project needs one of all projects. An event without an environment,
# such as that of an archived flag, matters to all environments.
INSERT = """
    WITH recorded AS (
        INSERT INTO events (created_at, type, created_by, created_by_user_id, environment, project, feature_name,
                            data, pre_data, tags, created_by_token_id, undoes, change_request_id, group_id)
        SELECT date_trunc('milliseconds', clock_timestamp()), type, created_by, created_by_user_id, environment,
               project, feature_name, data, pre_data, tags, created_by_token_id, undoes, change_request_id,
               nullif(current_setting('flags.event_group', true), '')::bigint
          FROM json_to_recordset(%(events)s::json)
            AS (type text, created_by text, created_by_user_id integer, environment text, project text,
                feature_name text, data json, pre_data json, tags json, created_by_token_id integer, undoes bigint,
                change_request_id integer)
         WHERE pg_current_xact_id() IS NOT NULL
        RETURNING id, type, project, environment, set_config('flags.event_group', coalesce(group_id, id)::text, true)
    ),
    deliveries AS (
        INSERT INTO deliveries (integration_id, event_id)
        SELECT integrations.id, recorded.id
          FROM recorded
          JOIN integrations
            ON enabled
           AND recorded.type = ANY(integrations.events)
           AND (projects <@ '{}' OR projects && ARRAY['*', recorded.project])
           AND (environments <@ '{}' OR recorded.environment IS NULL
                OR environments && ARRAY['*', recorded.environment])
    )
    SELECT id, type FROM recorded
"""


def record(conn: Connection, *events: Event) -> None:
    """Write events into the log, in the caller's transaction."""
    if events:
        note_events(conn, rows(conn, INSERT, {"events": as_json([as_row(event) for event in events])}))


def record_change(conn: Connection, event: Event) -> None:
    """Write an event into the log, unless data and pre_data are equal."""
    # Our choice: a request that changes nothing records no event.
    if event.data != event.pre_data:
        record(conn, event)


def as_row(event: Event) -> dict[str, Any]:
    """Return the columns of an event, without its id and its time."""
    return {
        "type": event.type,
        "created_by": event.author.name,
        "created_by_user_id": event.author.user_id,
        "environment": event.environment,
        "project": event.project,
        "feature_name": event.feature,
        "data": event.data,
        "pre_data": event.pre_data,
        "tags": list(event.tags),
        "created_by_token_id": event.author.token_id,
        "undoes": event.author.undoes,
        "change_request_id": event.author.change_request_id,
    }


# is_of_another: whether its flag or project was deleted, and created again with the same name.
GET: LiteralString = f"""
    SELECT id, type, environment, project, feature_name, data, pre_data,
           EXISTS (SELECT FROM flags
                    WHERE name = feature_name AND deleted_at IS NULL AND created_at > events.created_at)
           OR EXISTS (SELECT FROM projects WHERE id = project AND created_at > events.created_at) AS is_of_another
      FROM events
     WHERE id = %(id)s
       AND (%(visible)s::text[] IS NULL OR {VISIBLE} AND {READABLE})
"""


def get(conn: Connection, event_id: int, visible: VisibleEvents | None) -> DictRow | None:
    """Return some columns of an event, or None if it is unknown or hidden. visible: None for callers who see all."""
    seen = {"visible": visible and list(visible.projects), "readable": visible and list(visible.access)}
    return one(conn, GET, {"id": event_id, **seen})


LIST_UNDOING: LiteralString = f"""
    SELECT json_build_object('message', %(message)s::text,
                             'events', coalesce(json_agg({RECORD} ORDER BY id), '[]'))::text
      FROM events
     WHERE id = ANY(%(ids)s)
"""


def list_undoing(conn: Connection, ids: Sequence[int], message: str) -> str:
    """Return the message and the events that undid another event, as JSON text."""
    return value(conn, LIST_UNDOING, {"ids": list(ids), "message": message})


# statement_timestamp(), because clock_timestamp() changes during the statement, so no index can be used.
RECORDED_IN_LAST_MINUTE = """
    SELECT EXISTS (
        SELECT FROM events
         WHERE type = %(type)s
           AND created_at > statement_timestamp() - interval '1 minute'
           AND created_by = %(created_by)s
           AND created_by_user_id IS NOT DISTINCT FROM %(user_id)s::integer
           AND created_by_token_id IS NOT DISTINCT FROM %(token_id)s::integer
           AND project IS NOT DISTINCT FROM %(project)s::text
           AND feature_name IS NOT DISTINCT FROM %(feature)s::text
           AND data ->> 'environment' IS NOT DISTINCT FROM %(environment)s::text)
"""


# Our choice: repeated changes of a favorite, and repeated exports, do not fill the event log.
def record_once_a_minute(conn: Connection, event: Event) -> None:
    """Write an event into the log, unless the author has written an equal one in the last minute.

    Equal events have the same type, project, feature, and environment in their data. The caller must have a lock that
    keeps other requests from recording an equal event at the same time.
    """
    params: dict[str, Any] = {
        "type": event.type,
        "created_by": event.author.name,
        "user_id": event.author.user_id,
        "token_id": event.author.token_id,
        "project": event.project,
        "feature": event.feature,
        "environment": event.data.get("environment"),
    }
    if not value(conn, RECORDED_IN_LAST_MINUTE, params):
        record(conn, event)
