"""The event searches: a page and its exact total, in one statement."""

from collections.abc import Collection, Mapping
from typing import Any, LiteralString

from sql import Connection, value
from sql.events import FILTERS, RECORD

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

# Our choice: the total counts what the caller may see, exactly.
FOUND: LiteralString = """
    SELECT json_build_object('events', coalesce(json_agg(entry), '[]'), 'total', (SELECT number FROM total))::text
      FROM (SELECT {record} FROM page ORDER BY created_at DESC, page.id DESC) AS entry
"""

FOUND_FROM_ID: LiteralString = """
    SELECT json_build_object('version', 1, 'events', coalesce(json_agg(entry), '[]'),
                             'totalEvents', (SELECT number FROM total))::text
      FROM (SELECT {record} FROM page ORDER BY page.id DESC) AS entry
"""

# Our choice: as many as the interface gives, and the total of what the caller may see.
OF_FLAG_MOST = 100

FOUND_OF_FLAG: LiteralString = """
    SELECT json_build_object('version', 1, 'toggleName', %(feature)s::text, 'events', coalesce(json_agg(entry), '[]'),
                             'totalEvents', (SELECT number FROM total))::text
      FROM (SELECT {record} FROM page ORDER BY created_at DESC, page.id DESC) AS entry
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


def search(conn: Connection, filters: Mapping[str, Any], visible: Collection[str] | None, *, limit: int, offset: int) -> str:
    """{"events": [...], "total": n} as JSON text, newest first.

    Filters: keys of FILTERS, and pattern for payload and text. visible: the projects whose events the caller may see; None: all of them.
    """
    asked = of_visible(filters, visible)
    form = MATCHING + (NEWEST_OF_FLAGS if is_of_flags(asked) else NEWEST) + FOUND
    return value(conn, statement(form, asked), asked | {"limit": limit, "offset": offset})


def search_from_id(
    conn: Connection, filters: Mapping[str, Any], visible: Collection[str] | None, *, limit: int, first_id: int | None
) -> str:
    """{"version": 1, "events": [...], "totalEvents": n} as JSON text: from the event first_id to older ones; None: from the newest."""
    asked = of_visible(filters, visible)
    # Whether to walk the ids or to sort the matches depends on how many there are: a plan for any values would be wrong by seconds.
    return value(conn, statement(MATCHING + FROM_ID + FOUND_FROM_ID, asked), asked | {"limit": limit, "first_id": first_id}, prepare=False)


def of_flag(conn: Connection, flag: str, visible: Collection[str] | None) -> str:
    """{"version": 1, "toggleName": flag, "events": the newest 100, "totalEvents": n} as JSON text; of no flag, there are none."""
    asked = of_visible({"feature": flag}, visible)
    form = MATCHING + NEWEST_OF_FLAGS + FOUND_OF_FLAG
    return value(conn, statement(form, asked), asked | {"limit": OF_FLAG_MOST, "offset": 0})


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
