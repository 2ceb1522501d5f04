"""The event searches: a page and its exact total, in one statement whose time does not grow with the log (docs/performance.md)."""

from collections.abc import Collection, Mapping
from math import prod
from typing import Any, LiteralString

from sql import Connection, value
from sql.events import FILTERS, RECORD

# A page is reached by an index alone up to here; what is further back is looked up by its day.
WALK_AT_MOST = 1000
# Each combination of what is asked for has a total of its own. So many are looked up in a quarter of a second; a query string can ask for
# hundreds of millions, which nothing but a look at the events can answer.
MOST_KEYS = 50_000
# What event_totals are kept of: in the filters' words, one value or several.
COUNTED = (("project", "projects"), ("type", "types"), ("creator", "creators"))
# Beside a flag. Its events are few: IS TRUE keeps the planner from looking for millions of the same type or project as well,
# and IN makes a table of the values once.
BESIDE_FLAGS: dict[str, LiteralString] = {
    "project": "(project = %(project)s) IS TRUE",
    "projects": "(project IN (SELECT unnest(%(projects)s::text[]))) IS TRUE",
    "type": "(type = %(type)s) IS TRUE",
    "types": "(type IN (SELECT unnest(%(types)s::text[]))) IS TRUE",
    "creator": "(created_by_user_id = %(creator)s) IS TRUE",
    "creators": "(created_by_user_id IN (SELECT unnest(%(creators)s::bigint[]))) IS TRUE",
}
# Of the database, whose days begin before the year 1 and end after 9999.
UNBOUNDED = {"first_day": "-infinity", "last_day": "infinity"}

# How many of a year's and of a month's events are of the days asked for.
IN_YEAR: LiteralString = """
    CASE WHEN make_date(year, 1, 1) >= %(first_day)s::date AND make_date(year, 12, 31) <= %(last_day)s::date THEN total
         ELSE (SELECT coalesce(sum(number), 0)
                 FROM unnest(days[extract(doy FROM greatest(%(first_day)s::date, make_date(year, 1, 1)))::integer
                                : extract(doy FROM least(%(last_day)s::date, make_date(year, 12, 31)))::integer]) AS number)
    END
"""
IN_MONTH: LiteralString = """
    CASE WHEN make_date(year, place::integer, 1) >= %(first_day)s::date
          AND make_date(year, place::integer, 1) + interval '1 month - 1 day' <= %(last_day)s::date THEN of_month
         ELSE (SELECT coalesce(sum(number), 0)
                 FROM unnest(days[extract(doy FROM greatest(%(first_day)s::date, make_date(year, place::integer, 1)))::integer
                                : extract(doy FROM least(%(last_day)s::date,
                                          (make_date(year, place::integer, 1) + interval '1 month - 1 day')::date))::integer]) AS number)
    END
"""
YEARS: LiteralString = "AND year BETWEEN extract(year FROM %(first_day)s::date) AND extract(year FROM %(last_day)s::date)"
MONTHS: LiteralString = (
    "AND make_date(year, place::integer, 1) BETWEEN date_trunc('month', %(first_day)s::date)::date AND %(last_day)s::date"
)

# Whether the page has some of these events. newer: how many matches there are after them.
ON_PAGE: LiteralString = "newer < %(offset)s::numeric + %(limit)s AND newer + number > %(offset)s"

# The total is what is kept of whole years, or of days, and the few events that are not in there yet.
KEPT: LiteralString = """
    WITH kept AS MATERIALIZED (
        SELECT year, total, months, days
          FROM event_totals
         WHERE key = ANY(ARRAY(
                SELECT event_key(project, type, creator, NULL)
                  FROM unnest(%(projects_counted)s::text[]) AS project,
                       unnest(%(types_counted)s::text[]) AS type,
                       unnest(%(creators_counted)s::bigint[]) AS creator))
           {years}
    ),
    uncounted AS MATERIALIZED (
        SELECT (created_at AT TIME ZONE 'UTC')::date AS day
          FROM uncounted_events
         WHERE {conditions}
    ),
    total AS (
        SELECT (SELECT coalesce(sum({in_year}), 0) FROM kept) + (SELECT count(*) FROM uncounted) AS number
    )
"""

# NOT MATERIALIZED: used twice, the list of matches would otherwise be written out in full before either use.
COUNTED_NOW: LiteralString = """
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
          FROM events
         WHERE {conditions}
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
                  FROM events
                 WHERE {conditions}
                 ORDER BY created_at DESC, id DESC
                 LIMIT %(limit)s
                OFFSET %(offset)s) AS places
          JOIN events USING (id)
    )
"""

# Where the index that the conditions leave to choose could have to pass millions, or the page lies that far back: the totals tell in which
# years, months there and days there the page lies (newer: how many matches there are after that time), and only those days are read.
NEWEST_BY_DAY: LiteralString = """
    , years AS (
        SELECT year, sum(number) AS number, sum(sum(number)) OVER (ORDER BY year DESC) - sum(number) AS newer
          FROM (SELECT year, {in_year} AS number FROM kept
             UNION ALL
                SELECT extract(year FROM day)::integer, 1 FROM uncounted) AS both_kinds
         GROUP BY year
    ),
    page_years AS MATERIALIZED (
        SELECT year, newer
          FROM years
         WHERE {on_page}
    ),
    months AS (
        SELECT month, sum(number) AS number,
               (SELECT min(newer) FROM page_years) + sum(sum(number)) OVER (ORDER BY month DESC) - sum(number) AS newer
          FROM (SELECT make_date(year, place::integer, 1) AS month, {in_month} AS number
                  FROM page_years
                  JOIN kept USING (year)
                 CROSS JOIN LATERAL unnest(months) WITH ORDINALITY AS counted (of_month, place)
                 WHERE of_month IS NOT NULL
                   {months}
             UNION ALL
                SELECT date_trunc('month', day::timestamp)::date, 1
                  FROM uncounted
                  JOIN page_years ON year = extract(year FROM day)) AS both_kinds
         GROUP BY month
    ),
    page_months AS MATERIALIZED (
        SELECT month, newer
          FROM months
         WHERE {on_page}
    ),
    days AS (
        SELECT day, sum(number) AS number,
               (SELECT min(newer) FROM page_months) + sum(sum(number)) OVER (ORDER BY day DESC) - sum(number) AS newer
          FROM (SELECT month + place::integer - 1 AS day, of_day AS number
                  FROM page_months
                  JOIN kept ON year = extract(year FROM month)
                 CROSS JOIN LATERAL unnest(days[extract(doy FROM month)::integer
                                              : extract(doy FROM month + interval '1 month - 1 day')::integer])
                            WITH ORDINALITY AS counted (of_day, place)
                 WHERE of_day IS NOT NULL
                   AND month + place::integer - 1 BETWEEN %(first_day)s::date AND %(last_day)s::date
             UNION ALL
                SELECT day, 1
                  FROM uncounted
                  JOIN page_months ON month = date_trunc('month', day::timestamp)::date) AS both_kinds
         GROUP BY day
    ),
    page_days AS MATERIALIZED (
        SELECT day, newer
          FROM days
         WHERE {on_page}
    ),
    page AS (
        SELECT events.*
          FROM (SELECT found.id
                  FROM page_days
                 CROSS JOIN LATERAL (
                    SELECT created_at, id
                      FROM events
                     WHERE {conditions}
                       AND created_at >= day::timestamp AT TIME ZONE 'UTC'
                       AND created_at < (day + 1)::timestamp AT TIME ZONE 'UTC'
                     ORDER BY created_at DESC, id DESC
                     LIMIT %(limit)s + %(offset)s::numeric - (SELECT min(newer) FROM page_days)) AS found
                 ORDER BY found.created_at DESC, found.id DESC
                 LIMIT %(limit)s
                OFFSET %(offset)s::numeric - coalesce((SELECT min(newer) FROM page_days), %(offset)s)) AS places
          JOIN events USING (id)
    )
"""

# Our choice: the listing starts at the event that offset names, and goes on to older ones.
FROM_ID: LiteralString = """
    , page AS (
        SELECT *
          FROM events
         WHERE {conditions}
           AND (%(first_id)s::bigint IS NULL OR id <= %(first_id)s)
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

# The events of a user can be millions, and none of them in the projects that are asked about: the totals tell who made some in each.
# Users times projects would be millions too; who made events in a project stands in its keys, which follow each other: digits are below n.
# ARRAY: looked up once, however few users the planner takes there to be.
MADE_VISIBLE: LiteralString = """
    users.id = ANY(ARRAY(
            SELECT (key::json ->> 2)::integer
              FROM unnest(%(visible)s::text[]) AS seen
             CROSS JOIN LATERAL (SELECT left(event_key(seen, NULL, NULL, NULL), -length('null, null]')) AS beginning) AS keys
             CROSS JOIN LATERAL (SELECT key FROM event_totals WHERE key > beginning AND key < beginning || 'n' OFFSET 0) AS of_creators
         UNION
            SELECT created_by_user_id FROM uncounted_events WHERE project = ANY(%(visible)s::text[])))
"""

CREATORS: LiteralString = """
    SELECT coalesce(json_agg(json_build_object('id', users.id, 'name', called) ORDER BY called, users.id), '[]')::text
      FROM users
     CROSS JOIN LATERAL (SELECT coalesce(users.name, users.username, users.email) AS called) AS naming
     WHERE {conditions}
"""


def search(conn: Connection, filters: Mapping[str, Any], visible: Collection[str] | None, *, limit: int, offset: int) -> str:
    """{"events": [...], "total": n} as JSON text, newest first.

    Filters: keys of FILTERS, and pattern for payload and text. visible: the projects whose events the caller may see; None: he sees all.
    """
    asked = of_visible(filters, visible)
    form = COUNTED_NOW + (NEWEST_OF_FLAGS if is_of_flags(asked) else NEWEST)
    if is_counted(asked):
        form = KEPT + (NEWEST if is_in_order(asked) and offset <= WALK_AT_MOST else NEWEST_BY_DAY)
    return value(conn, statement(form + FOUND, asked), parameters(asked) | {"limit": limit, "offset": offset})


def search_from_id(
    conn: Connection, filters: Mapping[str, Any], visible: Collection[str] | None, *, limit: int, first_id: int | None
) -> str:
    """{"version": 1, "events": [...], "totalEvents": n} as JSON text: from the event first_id to older ones; None: from the newest."""
    asked = of_visible(filters, visible)
    form = (KEPT if is_counted(asked) else COUNTED_NOW) + FROM_ID + FOUND_FROM_ID
    # Whether to walk the ids or to sort the matches depends on how many there are: a plan for any values would be wrong by seconds.
    return value(conn, statement(form, asked), parameters(asked) | {"limit": limit, "first_id": first_id}, prepare=False)


def of_flag(conn: Connection, flag: str, visible: Collection[str] | None) -> str:
    """{"version": 1, "toggleName": flag, "events": the newest 100, "totalEvents": n} as JSON text; of no flag, there are none."""
    asked = of_visible({"feature": flag}, visible)
    form = COUNTED_NOW + NEWEST_OF_FLAGS + FOUND_OF_FLAG
    return value(conn, statement(form, asked), parameters(asked) | {"limit": OF_FLAG_MOST, "offset": 0})


def creators(conn: Connection, visible: Collection[str] | None) -> str:
    """[{"id", "name"}] as JSON text, by name: the users, deleted ones too, who made the events that the caller may see."""
    conditions = MADE_ANY if visible is None else MADE_VISIBLE
    return value(conn, CREATORS.format(conditions=conditions), {"visible": None if visible is None else list(visible)})


def of_visible(filters: Mapping[str, Any], visible: Collection[str] | None) -> dict[str, Any]:
    """The filters, with those projects alone that the caller may see: what he asks for, or else all that he may."""
    if visible is None:
        return dict(filters)
    asked = given(filters, "project", "projects")
    seen = list(visible) if asked is None else [project for project in asked if project in visible]
    rest = {key: it for key, it in filters.items() if key not in ("project", "projects")}
    return rest | ({"project": seen[0]} if len(seen) == 1 else {"projects": seen})


def given(filters: Mapping[str, Any], one: str, many: str) -> list[Any] | None:
    """The values of a filter, however many; None: it is not there."""
    return [filters[one]] if one in filters else filters.get(many)


def is_counted(filters: Mapping[str, Any]) -> bool:
    """Whether the totals tell how many events match: not those of words, of flags, which are few and have an index, and of too much."""
    keys = prod(len(values) for one, many in COUNTED if (values := given(filters, one, many)) is not None)
    return keys <= MOST_KEYS and "pattern" not in filters and not is_of_flags(filters)


def is_of_flags(filters: Mapping[str, Any]) -> bool:
    """Whether events of certain flags are asked for."""
    return bool(filters.keys() & {"feature", "features"})


def is_in_order(filters: Mapping[str, Any]) -> bool:
    """Whether an index has just these events in the order of the page."""
    asked = [name for names in COUNTED for name in names if name in filters]
    return not asked or asked in [[one] for one, _ in COUNTED]


def parameters(filters: Mapping[str, Any]) -> dict[str, Any]:
    """The values of a statement; what the totals are asked for is null where the filters do not say."""
    counted = {f"{many}_counted": given(filters, one, many) for one, many in COUNTED}
    return UNBOUNDED | dict(filters) | {name: [None] if values is None else values for name, values in counted.items()}


def statement(form: LiteralString, filters: Mapping[str, Any]) -> LiteralString:
    """A search statement with the conditions that are asked for: constant fragments, chosen by key."""
    conditions: LiteralString = "true"
    fragments = FILTERS | BESIDE_FLAGS if is_of_flags(filters) else FILTERS
    for key, fragment in fragments.items():
        if key in filters:
            conditions += " AND " + fragment
    is_range = bool(filters.keys() & UNBOUNDED.keys())
    return form.format(
        conditions=conditions,
        record=RECORD,
        in_year=IN_YEAR if is_range else "total",
        in_month=IN_MONTH if is_range else "of_month",
        years=YEARS if is_range else "",
        months=MONTHS if is_range else "",
        on_page=ON_PAGE,
    )
