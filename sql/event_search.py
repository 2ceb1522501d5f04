"""The event searches: a page and its exact total, in one statement."""

from collections.abc import Collection, Mapping
from typing import Any, LiteralString

from sql import Connection, value
from sql.events import FILTERS, RECORD
from sql.limits import PAGE_BYTES

# Conditions beside a flag. A flag has few events: IS TRUE keeps the planner from also collecting millions of the same type or project,
# and IN makes a table of the values once.
BESIDE_FLAGS: dict[str, LiteralString] = {
    "project": "(project = %(project)s) IS TRUE",
    "projects": "(project IN (SELECT unnest(%(projects)s::text[]))) IS TRUE",
    "type": "(type = %(type)s) IS TRUE",
    "types": "(type IN (SELECT unnest(%(types)s::text[]))) IS TRUE",
    "creator": "(created_by_user_id = %(creator)s) IS TRUE",
    "creators": "(created_by_user_id IN (SELECT unnest(%(creators)s::bigint[]))) IS TRUE",
}

# NOT MATERIALIZED: used twice, the list of matches would otherwise be written out in full before either use.
MATCHING: LiteralString = """
    WITH matching AS NOT MATERIALIZED (
        SELECT *
          FROM events
         WHERE {conditions}
    ),
    total AS (
        SELECT count(*) AS number FROM matching
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
    )
"""

# Events of a flag are found in their index alone, whatever else is asked of them, and only those of the page are read: a plan that is made
# for any flag knows neither how many events it has nor how many of them match.
NEWEST_OF_FLAGS: LiteralString = """
    , page AS (
        SELECT events.*
          FROM (SELECT id
                  FROM matching
                 ORDER BY created_at DESC, id DESC
                 LIMIT %(limit)s
                OFFSET %(offset)s) AS places
          JOIN events USING (id)
    )
"""

# Our choice: the listing starts at the event that offset names, and goes on to older ones.
FROM_ID: LiteralString = """
    , page AS (
        SELECT *
          FROM matching
         WHERE %(first_id)s::bigint IS NULL OR id <= %(first_id)s
         ORDER BY id DESC
         LIMIT %(limit)s
    )
"""

# Counted before the JSON is built: neither PostgreSQL nor this process could hold a thousand large events as one text. (HAVING without
# aggregates is evaluated before there is any row.)
IS_SMALL: LiteralString = """
    , size AS (
        SELECT coalesce(sum(octet_length(tags::text)
                            + coalesce(octet_length(data::text), 0)
                            + coalesce(octet_length(pre_data::text), 0)), 0) <= %(most_bytes)s AS is_small
          FROM page
    )
"""

# Our choice: the total counts what the caller may see, exactly.
FOUND: LiteralString = """
    SELECT json_build_object('events', coalesce(json_agg(entry), '[]'), 'total', (SELECT number FROM total))::text
      FROM (SELECT {record} FROM page ORDER BY created_at DESC, page.id DESC) AS entry
    HAVING (SELECT is_small FROM size)
"""

FOUND_FROM_ID: LiteralString = """
    SELECT json_build_object('version', 1, 'events', coalesce(json_agg(entry), '[]'),
                             'totalEvents', (SELECT number FROM total))::text
      FROM (SELECT {record} FROM page ORDER BY page.id DESC) AS entry
    HAVING (SELECT is_small FROM size)
"""

# Our choice: as many as the interface gives, and the total of what the caller may see.
OF_FLAG_MOST = 100

FOUND_OF_FLAG: LiteralString = """
    SELECT json_build_object('version', 1, 'toggleName', %(feature)s::text, 'events', coalesce(json_agg(entry), '[]'),
                             'totalEvents', (SELECT number FROM total))::text
      FROM (SELECT {record} FROM page ORDER BY created_at DESC, page.id DESC) AS entry
    HAVING (SELECT is_small FROM size)
"""

# One probe of an index for each user there ever was, instead of a look at every event.
MADE_ANY: LiteralString = "EXISTS (SELECT FROM events WHERE created_by_user_id = users.id)"
MADE_VISIBLE: LiteralString = "users.id IN (SELECT created_by_user_id FROM events WHERE project = ANY(%(visible)s))"

CREATORS: LiteralString = """
    SELECT coalesce(json_agg(json_build_object('id', users.id, 'name', called) ORDER BY called, users.id), '[]')::text
      FROM users
     CROSS JOIN LATERAL (SELECT coalesce(users.name, users.username, users.email) AS called) AS naming
     WHERE {conditions}
"""


def search(conn: Connection, filters: Mapping[str, Any], visible: Collection[str] | None, *, limit: int, offset: int) -> str | None:
    """Return {"events": [...], "total": n} as JSON text, newest first, or None if the payloads exceed PAGE_BYTES.

    Filters: keys of FILTERS, and pattern for payload and text. visible: the projects whose events the caller may see; None: all of them.
    """
    asked = of_visible(filters, visible)
    form = MATCHING + (NEWEST_OF_FLAGS if is_of_flags(asked) else NEWEST) + IS_SMALL + FOUND
    return value(conn, statement(form, asked), asked | {"limit": limit, "offset": offset, "most_bytes": PAGE_BYTES})


def search_from_id(
    conn: Connection, filters: Mapping[str, Any], visible: Collection[str] | None, *, limit: int, first_id: int | None
) -> str | None:
    """Return {"version": 1, "events": [...], "totalEvents": n} as JSON text, or None if the payloads exceed PAGE_BYTES.

    The page begins with the event first_id, or the newest one for None, and goes on to older ones.
    """
    asked = of_visible(filters, visible)
    # Whether to walk the ids or to sort the matches depends on how many there are: a plan for any values would be wrong by seconds.
    form = MATCHING + FROM_ID + IS_SMALL + FOUND_FROM_ID
    return value(conn, statement(form, asked), asked | {"limit": limit, "first_id": first_id, "most_bytes": PAGE_BYTES}, prepare=False)


def of_flag(conn: Connection, flag: str, visible: Collection[str] | None) -> str | None:
    """Return {"version": 1, "toggleName": flag, "events": the newest 100, "totalEvents": n} as JSON text, or None if the payloads exceed
    PAGE_BYTES. An unknown flag has no events."""
    asked = of_visible({"feature": flag}, visible)
    form = MATCHING + NEWEST_OF_FLAGS + IS_SMALL + FOUND_OF_FLAG
    return value(conn, statement(form, asked), asked | {"limit": OF_FLAG_MOST, "offset": 0, "most_bytes": PAGE_BYTES})


def creators(conn: Connection, visible: Collection[str] | None) -> str:
    """[{"id", "name"}] as JSON text, by name: the users, deleted ones too, who made the events that the caller may see."""
    conditions = MADE_ANY if visible is None else MADE_VISIBLE
    return value(conn, CREATORS.format(conditions=conditions), {"visible": None if visible is None else list(visible)})


def of_visible(filters: Mapping[str, Any], visible: Collection[str] | None) -> dict[str, Any]:
    """The filters, with only those projects that the caller may see: of the projects asked for, or else of all."""
    if visible is None:
        return dict(filters)
    given = [filters["project"]] if "project" in filters else filters.get("projects")
    seen = list(visible) if given is None else [project for project in given if project in visible]
    rest = {key: it for key, it in filters.items() if key not in ("project", "projects")}
    return rest | ({"project": seen[0]} if len(seen) == 1 else {"projects": seen})


def is_of_flags(filters: Mapping[str, Any]) -> bool:
    """Whether events of certain flags are asked for."""
    return bool(filters.keys() & {"feature", "features"})


def statement(form: LiteralString, filters: Mapping[str, Any]) -> LiteralString:
    """A search statement with the conditions that are asked for: constant fragments, chosen by key."""
    conditions: LiteralString = "true"
    fragments = FILTERS | BESIDE_FLAGS if is_of_flags(filters) else FILTERS
    for key, fragment in fragments.items():
        if key in filters:
            conditions += " AND " + fragment
    return form.format(conditions=conditions, record=RECORD)
