"""The event log: one table, written in the transaction of each change, read by both searches."""

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any, LiteralString, Protocol

from sql import Connection, as_json, projects, run, value

# Our choice: what a caller who is not ADMIN may see: events of the projects that he may see, and none without a project.
VISIBLE: LiteralString = "project IN (SELECT projects.id FROM projects WHERE " + projects.VISIBLE + ")"

# Our choice: the query is a plain text, whatever characters it has, and any case of letters will do.
# Payloads are looked at as they were written. The pattern is a literal text: '***=' takes away the meaning of every character.
PAYLOAD_MATCHES: LiteralString = "data::text ~* %(pattern)s OR pre_data::text ~* %(pattern)s OR tags::text ~* %(pattern)s"

# One value is compared with =, which keeps the order of an index; = ANY does not before PostgreSQL 17.
FILTERS: dict[str, LiteralString] = {
    "feature": "feature_name = %(feature)s",
    "features": "feature_name = ANY(%(features)s)",
    "project": "project = %(project)s",
    "projects": "project = ANY(%(projects)s)",
    "type": "type = %(type)s",
    "types": "type = ANY(%(types)s)",
    "creator": "created_by_user_id = %(creator)s",
    "creators": "created_by_user_id = ANY(%(creators)s)",
    "first_day": "created_at >= %(first_day)s::date::timestamp AT TIME ZONE 'UTC'",
    "last_day": "created_at < (%(last_day)s::date + 1)::timestamp AT TIME ZONE 'UTC'",
    "payload": "(" + PAYLOAD_MATCHES + ")",
    "text": "(" + PAYLOAD_MATCHES + " OR type ~* %(pattern)s OR created_by ~* %(pattern)s)",
}

RECORD: LiteralString = """
    id,
    iso(created_at) AS "createdAt",
    type,
    created_by AS "createdBy",
    created_by_user_id AS "createdByUserId",
    environment,
    project,
    feature_name AS "featureName",
    data,
    pre_data AS "preData",
    tags
"""

# NOT MATERIALIZED: used twice, the list of matches would otherwise be written out in full before either use.
MATCHING: LiteralString = """
    WITH matching AS NOT MATERIALIZED (
        SELECT *
          FROM events
         WHERE {conditions}
    )
"""

# Our choice: newest first, by createdAt and then id.
NEWEST: LiteralString = """
    , page AS (
        SELECT *
          FROM matching
         ORDER BY created_at DESC, id DESC
         LIMIT %(limit)s
        OFFSET %(offset)s
    ),
    entries AS (
        SELECT coalesce(json_agg(entry), '[]') AS list
          FROM (SELECT {record} FROM page ORDER BY created_at DESC, page.id DESC) AS entry
    )
"""

# Our choice: the total counts what the caller may see, exactly.
SEARCH: LiteralString = (
    NEWEST
    + """
    SELECT json_build_object('events', list, 'total', (SELECT count(*) FROM matching))::text
      FROM entries
"""
)

# Our choice: the listing starts at the event that offset names, and goes on to older ones.
SEARCH_FROM_ID: LiteralString = """
    , page AS (
        SELECT *
          FROM matching
         WHERE %(first_id)s::bigint IS NULL
            OR id <= %(first_id)s
         ORDER BY id DESC
         LIMIT %(limit)s
    ),
    entries AS (
        SELECT coalesce(json_agg(entry), '[]') AS list
          FROM (SELECT {record} FROM page ORDER BY page.id DESC) AS entry
    )
    SELECT json_build_object('version', 1, 'events', list, 'totalEvents', (SELECT count(*) FROM matching))::text
      FROM entries
"""

# Our choice: as many as the interface gives, and the total of what the caller may see.
OF_FLAG_MOST = 100

OF_FLAG: LiteralString = (
    NEWEST
    + """
    SELECT json_build_object('version', 1, 'toggleName', %(feature)s::text, 'events', list,
                             'totalEvents', (SELECT count(*) FROM matching))::text
      FROM entries
"""
)

# One probe of an index for each user there ever was, instead of a look at every event.
CREATORS: LiteralString = """
    SELECT coalesce(json_agg(json_build_object('id', users.id, 'name', called) ORDER BY called, users.id), '[]')::text
      FROM users
     CROSS JOIN LATERAL (SELECT coalesce(users.name, users.username, users.email) AS called) AS naming
     WHERE EXISTS (
            SELECT FROM events
             WHERE created_by_user_id = users.id
               AND {conditions})
"""


class Author(Protocol):
    """Whom an event names: createdBy, and createdByUserId where it is a user."""

    @property
    def name(self) -> str: ...
    @property
    def user_id(self) -> int | None: ...


def search(conn: Connection, filters: Mapping[str, Any], *, is_admin: bool, viewer: int | None, limit: int, offset: int) -> str:
    """{"events": [...], "total": n} as JSON text, newest first. Filters: keys of FILTERS, and pattern for payload and text."""
    params = {**filters, "viewer": viewer, "limit": limit, "offset": offset}
    return value(conn, statement(SEARCH, filters, is_admin), params)


def search_from_id(
    conn: Connection, filters: Mapping[str, Any], *, is_admin: bool, viewer: int | None, limit: int, first_id: int | None
) -> str:
    """{"version": 1, "events": [...], "totalEvents": n} as JSON text: from the event first_id to older ones; None: from the newest."""
    params = {**filters, "viewer": viewer, "limit": limit, "first_id": first_id}
    return value(conn, statement(SEARCH_FROM_ID, filters, is_admin), params)


def of_flag(conn: Connection, flag: str, *, is_admin: bool, viewer: int | None) -> str:
    """{"version": 1, "toggleName": flag, "events": the newest 100, "totalEvents": n} as JSON text; of no flag, there are none."""
    filters = {"feature": flag}
    params = {**filters, "viewer": viewer, "limit": OF_FLAG_MOST, "offset": 0}
    return value(conn, statement(OF_FLAG, filters, is_admin), params)


def creators(conn: Connection, *, is_admin: bool, viewer: int | None) -> str:
    """[{"id", "name"}] as JSON text, by name: the users, deleted ones too, who made the events that the viewer may see."""
    return value(conn, CREATORS.format(conditions="true" if is_admin else VISIBLE), {"viewer": viewer})


def statement(form: LiteralString, filters: Mapping[str, Any], is_admin: bool) -> LiteralString:
    """A search statement with the conditions that are asked for: constant fragments, chosen by key."""
    conditions: LiteralString = "true" if is_admin else VISIBLE
    for key, fragment in FILTERS.items():
        if key in filters:
            conditions += " AND " + fragment
    return (MATCHING + form).format(conditions=conditions, record=RECORD)


INSERT = """
    INSERT INTO events (created_at, type, created_by, created_by_user_id, environment, project, feature_name, data, pre_data, tags)
    VALUES (coalesce(%(created_at)s, now()), %(type)s, %(created_by)s, %(created_by_user_id)s,
            %(environment)s, %(project)s, %(feature)s, %(data)s, %(pre_data)s, %(tags)s)
"""


def record(
    conn: Connection,
    type: str,
    author: Author,
    *,
    project: str | None = None,
    environment: str | None = None,
    feature: str | None = None,
    data: Any = None,
    pre_data: Any = None,
    tags: Any = (),
    created_at: datetime | None = None,
) -> None:
    """Write one event into the log, in the caller's transaction. tags: those of the flag, as [{"type", "value"}]."""
    run(conn, INSERT, row(type, author, project, environment, feature, data, pre_data, tags, created_at))


def record_many(conn: Connection, events: Iterable[Mapping[str, Any]]) -> None:
    """Write many events in one go; each is made by row()."""
    with conn.cursor() as cursor:
        cursor.executemany(INSERT, events)


def row(
    type: str,
    author: Author,
    project: str | None = None,
    environment: str | None = None,
    feature: str | None = None,
    data: Any = None,
    pre_data: Any = None,
    tags: Any = (),
    created_at: datetime | None = None,
) -> dict[str, Any]:
    """The parameters of INSERT for one event."""
    return {
        "created_at": created_at,
        "type": type,
        "created_by": author.name,
        "created_by_user_id": author.user_id,
        "environment": environment,
        "project": project,
        "feature": feature,
        "data": None if data is None else as_json(data),
        "pre_data": None if pre_data is None else as_json(pre_data),
        "tags": as_json(list(tags)),
    }
