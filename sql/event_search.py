"""The event searches: a page and its exact total, in one statement.

Totals without a filter, by project, by type and by date come from finished_weeks (schema.sql), as far as it has the
weeks. All other totals are counted in the indexes of events.
"""

from collections.abc import Mapping
from typing import Any, LiteralString

from sql import event_weeks
from sql.database import Connection, value
from sql.events import ACCESS_TYPES, FILTERS, READABLE, RECORD, VISIBLE, VisibleEvents
from sql.limits import PAGE_BYTES

# Conditions for searches by flag or project, which use the index of the flag or project. That index includes the
# columns of these conditions; IS TRUE keeps PostgreSQL from using the indexes of these columns instead. IN builds a
# hash table once, where = ANY would compare each event with each value.
UNINDEXED: dict[str, LiteralString] = {
    "project": "(project = %(project)s) IS TRUE",
    "projects": "(project IN (SELECT unnest(%(projects)s::text[]))) IS TRUE",
    "type": "(type = %(type)s) IS TRUE",
    "types": "(type IN (SELECT unnest(%(types)s::text[]))) IS TRUE",
    "creator": "(created_by_user_id = %(creator)s) IS TRUE",
    "creators": "(created_by_user_id IN (SELECT unnest(%(creators)s::bigint[]))) IS TRUE",
}
# The rows of finished_weeks for a search with one of these filters (None: without a filter), with or without days.
WEEK_TOTALS: dict[str | None, LiteralString] = {
    None: "kind = 'all' AND name = ''",
    "project": "kind = 'project' AND name = %(project)s",
    "projects": "kind = 'project' AND name = ANY(%(projects)s)",
    "type": "kind = 'type' AND name = %(type)s",
    "types": "kind = 'type' AND name = ANY(%(types)s)",
    "environment": "kind = 'environment' AND name = %(environment)s",
    "environments": "kind = 'environment' AND name = ANY(%(environments)s)",
}
# Values of parameters without a filter. Week totals consider these parameters.
DEFAULTS = {"first_day": "-infinity", "last_day": "infinity", "visible": None, "readable": None}
BY_ID = ("ids", "groups", "requests")
# For filters with several values: the values, and the condition on one of them. An index returns the events of one
# project or type in order, but not those of several.
EACH: dict[str, tuple[LiteralString, LiteralString]] = {
    "projects": ("unnest(%(projects)s::text[])", "project = each_one"),
    "types": ("unnest(%(types)s::text[])", "type = each_one"),
}

# Our choice: the same number of events as Unleash.
MAX_FLAG_EVENTS = 100

# The size of a page is checked before its JSON is built: a thousand large events would not fit into memory as one text.
# (HAVING without aggregates is evaluated before the rows.)
SIZE: LiteralString = """
        size AS (
            SELECT coalesce(sum(octet_length(tags::text)
                                + coalesce(octet_length(data::text), 0)
                                + coalesce(octet_length(pre_data::text), 0)), 0) <= %(max_bytes)s AS is_small
              FROM page
        )"""

# One index lookup for each user, deleted ones too, instead of a scan of all events.
HAS_EVENTS: LiteralString = "EXISTS (SELECT FROM events WHERE created_by_user_id = users.id)"
# ARRAY: evaluated once, with the index of projects only.
HAS_VISIBLE_EVENTS: LiteralString = f"""
    users.id = ANY(ARRAY(SELECT DISTINCT created_by_user_id FROM events WHERE {VISIBLE} AND {READABLE}))
"""


def search(
    conn: Connection, filters: Mapping[str, Any], visible: VisibleEvents | None, *, limit: int, offset: int
) -> str | None:
    """Return {"events": [...], "total": n} as JSON text, newest first, or None if the payloads exceed PAGE_BYTES.

    filters: keys of FILTERS, and pattern for payload and text. visible: None for callers who see all.
    """
    filters = limit_to_visible(filters, visible)
    # Our choice: newest first, by createdAt and then id. The total counts what the caller may see, exactly.
    statement: LiteralString = f"""
        WITH {chosen(filters)}{total(filters)},
        {place(filters)},
        page AS (
            {newest(filters)}
        ),
        {SIZE}
        SELECT json_build_object('events', coalesce(json_agg(entry), '[]'),
                                 'total', (SELECT number FROM total))::text AS body
          FROM (SELECT {RECORD} AS entry FROM page ORDER BY created_at DESC, id DESC) AS entries
        HAVING (SELECT is_small FROM size)
    """
    params = {**DEFAULTS, **filters, "max_bytes": PAGE_BYTES, "limit": limit, "offset": offset}
    return event_weeks.body(conn, statement, params)


def search_from_id(
    conn: Connection, filters: Mapping[str, Any], visible: VisibleEvents | None, *, limit: int, first_id: int | None
) -> str | None:
    """Return {"version": 1, "events": [...], "totalEvents": n} as JSON text, or None if the payloads exceed PAGE_BYTES.

    The page begins with the event first_id, or the newest event for None, and continues with older events.
    """
    filters = limit_to_visible(filters, visible)
    # Our choice: offset is the id of the first event in the list. Older events follow.
    statement: LiteralString = f"""
        WITH {chosen(filters)}{total(filters)},
        page AS (
            SELECT *
              FROM events
             WHERE {conditions(filters)}
               AND (%(first_id)s::bigint IS NULL OR id <= %(first_id)s)
             ORDER BY id DESC
             LIMIT %(limit)s
        ),
        {SIZE}
        SELECT json_build_object('version', 1, 'events', coalesce(json_agg(entry), '[]'),
                                 'totalEvents', (SELECT number FROM total))::text AS body
          FROM (SELECT {RECORD} AS entry FROM page ORDER BY id DESC) AS entries
        HAVING (SELECT is_small FROM size)
    """
    # The best plan depends on the number of matches. A generic plan can be slower by seconds.
    params = {**DEFAULTS, **filters, "max_bytes": PAGE_BYTES, "limit": limit, "first_id": first_id}
    return event_weeks.body(conn, statement, params, prepare=False)


def of_flag(conn: Connection, flag: str, visible: VisibleEvents | None) -> str | None:
    """Return the newest 100 events of a flag as JSON text, or None if the payloads exceed PAGE_BYTES."""
    filters = limit_to_visible({"feature": flag}, visible)
    statement: LiteralString = f"""
        WITH {total(filters)},
        {place(filters)},
        page AS (
            {newest(filters)}
        ),
        {SIZE}
        SELECT json_build_object('version', 1,
                                 'toggleName', %(feature)s::text,
                                 'events', coalesce(json_agg(entry), '[]'),
                                 'totalEvents', (SELECT number FROM total))::text AS body
          FROM (SELECT {RECORD} AS entry FROM page ORDER BY created_at DESC, id DESC) AS entries
        HAVING (SELECT is_small FROM size)
    """
    params = {**DEFAULTS, **filters, "max_bytes": PAGE_BYTES, "limit": MAX_FLAG_EVENTS, "offset": 0}
    return event_weeks.body(conn, statement, params)


def creators(conn: Connection, visible: VisibleEvents | None) -> str:
    """Return [{"id", "name"}] as JSON text, by name: the creators of the events that the caller may see."""
    condition: LiteralString = HAS_EVENTS if visible is None else HAS_VISIBLE_EVENTS
    statement: LiteralString = f"""
        SELECT coalesce(json_agg(json_build_object('id', users.id, 'name', label) ORDER BY label, users.id), '[]')::text
          FROM users
         CROSS JOIN LATERAL (SELECT coalesce(users.name, users.username, users.email) AS label) AS labels
         WHERE {condition}
    """
    params = {} if visible is None else {"visible": list(visible.projects), "readable": list(visible.access)}
    return value(conn, statement, params)


def limit_to_visible(filters: Mapping[str, Any], visible: VisibleEvents | None) -> dict[str, Any]:
    """Return the filters, limited to the projects that the caller may see."""
    if visible is None:
        return dict(filters)
    given = [filters["project"]] if "project" in filters else filters.get("projects")
    seen = [project for project in (visible.projects if given is None else given) if project in visible.projects]
    rest = {key: value for key, value in filters.items() if key not in ("project", "projects")}
    rest["visible"] = list(visible.projects)
    types = [filters["type"]] if "type" in filters else filters.get("types", ACCESS_TYPES)
    shows_access = any(type.startswith(ACCESS_TYPES) for type in types) and not set(seen) <= set(visible.access)
    if "groups" in filters or shows_access:
        rest["readable"] = list(visible.access)
    return rest | ({"project": seen[0]} if len(seen) == 1 else {"projects": seen})


def chosen(filters: Mapping[str, Any]) -> LiteralString:
    """Return the table events of a WITH list, which has only the events with these ids or groups. Otherwise, nothing.

    A group can have thousands of events, and a filter would compare each other event with all of them.
    """
    found: LiteralString = " AND ".join(FILTERS[key] for key in BY_ID if key in filters)
    return f"events AS MATERIALIZED (SELECT * FROM events WHERE {found})," if found else ""


def conditions(filters: Mapping[str, Any], without: str | None = None) -> LiteralString:
    """Return the conditions of these filters: constant fragments, chosen by key. without: a key to skip."""
    leading = ({"feature", "features"} & filters.keys()) or ({"project", "projects"} & filters.keys())
    unindexed: dict[str, LiteralString] = {}
    if leading and "pattern" not in filters:
        unindexed = {key: fragment for key, fragment in UNINDEXED.items() if key not in leading}
    text: LiteralString = "true"
    for key, fragment in (FILTERS | unindexed).items():
        if key in filters and key != without and key not in BY_ID:
            text = f"{text} AND {fragment}"
    return text


def has_week_totals(filters: Mapping[str, Any]) -> bool:
    """Return whether finished_weeks has totals for these filters."""
    others = filters.keys() - DEFAULTS.keys()
    return not others or (len(others) == 1 and others < WEEK_TOTALS.keys())


def total(filters: Mapping[str, Any]) -> LiteralString:
    """Return the table total (number) of a WITH list: the number of matches.

    For filters with totals in finished_weeks, also the table spans: the number of matches in each week or gap.
    """
    if not has_week_totals(filters):
        return f"""
        total AS (
            SELECT count(*) AS number FROM events WHERE {conditions(filters)}
        )"""
    kind = next(iter(filters.keys() - DEFAULTS.keys()), None)
    number: LiteralString = "number"
    if "readable" in filters:
        number = "number - of_access * (name <> ALL(%(readable)s::text[]))::integer"
    return f"""
        spans AS MATERIALIZED (
            SELECT (monday + 7)::timestamp AT TIME ZONE 'UTC' AS until, sum({number})::bigint AS number
              FROM finished_weeks
             WHERE {WEEK_TOTALS[kind]}
               AND monday >= %(first_day)s::date
               AND monday <= %(last_day)s::date - 6
             GROUP BY monday
         UNION ALL
            SELECT upper(gap), (SELECT count(*)
                                  FROM events
                                 WHERE {conditions(filters)}
                                   AND created_at >= lower(gap)
                                   AND created_at < upper(gap))
              FROM event_gaps(%(first_day)s::date, %(last_day)s::date) AS gap
        ),
        total AS (
            SELECT coalesce(sum(number), 0)::bigint AS number FROM spans
        )"""


def place(filters: Mapping[str, Any]) -> LiteralString:
    """Return the table place (until, skip) of a WITH list: the beginning of the page.

    Of the matches that are older than `until`, newest first, the first `skip` come before the page.
    """
    if not has_week_totals(filters):
        return "place AS (SELECT 'infinity'::timestamptz AS until, least(%(offset)s, number) AS skip FROM total)"
    return """
        place AS (
            SELECT until, least(%(offset)s, (SELECT number FROM total)) - newer AS skip
              FROM (SELECT until, (sum(number) OVER (ORDER BY until DESC) - number)::bigint AS newer FROM spans) AS sums
             WHERE newer <= %(offset)s
             ORDER BY until
             LIMIT 1
        )"""


def newest(filters: Mapping[str, Any]) -> LiteralString:
    """Return the statement for the events of a page, newest first.

    It reads the ids of the page from an index if possible, and then only these events.
    """
    each = next((key for key in EACH if key in filters), None)
    if each and "pattern" not in filters and not {"feature", "features"} & filters.keys():
        values, is_one = EACH[each]
        return f"""
            SELECT events.*
              FROM (SELECT id
                      FROM (SELECT DISTINCT {values} AS each_one) AS given
                     CROSS JOIN LATERAL (
                        SELECT created_at, id
                          FROM events
                         WHERE {is_one}
                           AND {conditions(filters, without=each)}
                           AND created_at < (SELECT until FROM place)
                         ORDER BY created_at DESC, id DESC
                         LIMIT %(limit)s + (SELECT skip FROM place)) AS found
                     ORDER BY created_at DESC, id DESC
                     LIMIT %(limit)s
                    OFFSET (SELECT skip FROM place)) AS places
              JOIN events USING (id)"""
    if has_week_totals(filters):
        return f"""
            SELECT events.*
              FROM (SELECT id
                      FROM events
                     WHERE {conditions(filters)}
                       AND created_at < (SELECT until FROM place)
                     ORDER BY created_at DESC, id DESC
                     LIMIT %(limit)s
                    OFFSET (SELECT skip FROM place)) AS places
              JOIN events USING (id)"""
    return f"""
            SELECT events.*
              FROM (SELECT id
                      FROM events
                     WHERE {conditions(filters)}
                     ORDER BY created_at DESC, id DESC
                     LIMIT %(limit)s
                    OFFSET %(offset)s) AS places
              JOIN events USING (id)"""
