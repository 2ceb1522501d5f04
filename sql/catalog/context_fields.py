"""Context fields, which constraints compare with values."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any, LiteralString

from sql.catalog import strategy_uses
from sql.database import Connection, RecordText, as_json, record, rows, run, value

# The message of a unique violation.
TAKEN = {"context_fields_pkey": "name: a context field with this name already exists"}

# As arguments of json_build_object.
FIELDS: LiteralString = """
    'name', context_fields.name,
    'description', context_fields.description,
    'stickiness', context_fields.stickiness,
    'sortOrder', context_fields.sort_order,
    'legalValues', context_fields.legal_values,
    'createdAt', iso(context_fields.created_at)
"""

# The ContextField record, which events contain too.
RECORD: LiteralString = f"json_build_object({FIELDS})"

# Each use of a field: in a constraint or an override, or as a stickiness. live_flag is null where that is no live flag.
# Our choice: archived flags use fields too, because a revived flag has its strategies and variants again.
# The conditions on '[]' and 'default', which most strategies and variants have, save a third of the time.
USES: LiteralString = f"""
    SELECT project_id, field, {strategy_uses.PLACE} AS place, NULL::integer AS segment,
           CASE WHEN archived_at IS NULL THEN flags.id END AS live_flag
      FROM flags
      JOIN (SELECT flag_id, environment, item ->> 'contextName' AS field
              FROM strategies, json_array_elements(constraints) AS item WHERE constraints::text <> '[]'
         UNION ALL
            SELECT flag_id, environment, parameters ->> 'stickiness' FROM strategies
         UNION ALL
            SELECT flag_id, environment, stickiness FROM variants WHERE stickiness NOT IN ('default', 'random')
         UNION ALL
            SELECT flag_id, environment, item ->> 'contextName'
              FROM variants, json_array_elements(overrides) AS item WHERE overrides::text <> '[]') AS named
        ON flag_id = flags.id
 UNION ALL
    SELECT project_id, item ->> 'contextName', concat('segment ', name), id, NULL
      FROM segments, json_array_elements(constraints) AS item
 UNION ALL
    SELECT project_id, field, {strategy_uses.DEFAULT_PLACE}, NULL, NULL
      FROM project_environments,
           LATERAL (SELECT item ->> 'contextName' FROM json_array_elements(default_strategy -> 'constraints') AS item
                 UNION ALL
                    SELECT item ->> 'stickiness' FROM json_array_elements(default_strategy -> 'variants') AS item
                 UNION ALL
                    SELECT default_strategy -> 'parameters' ->> 'stickiness') AS named (field)
 UNION ALL
    SELECT id, default_stickiness, concat('default stickiness of project ', id), NULL, NULL FROM projects
"""

LIST: LiteralString = f"""
    WITH uses AS (
        SELECT field, count(DISTINCT live_flag) AS flags, count(DISTINCT segment) AS segments,
               count(DISTINCT project_id) FILTER (WHERE live_flag IS NOT NULL) AS projects
          FROM ({USES}) AS every_use
         WHERE field IN (SELECT name FROM context_fields)
         GROUP BY field
    )
    SELECT coalesce(json_agg(json_build_object({FIELDS},
                                 'usedInFeatures', coalesce(uses.flags, 0),
                                 'usedInProjects', coalesce(uses.projects, 0),
                                 'usedInSegments', coalesce(uses.segments, 0)) ORDER BY sort_order, name), '[]')::text
      FROM context_fields
      LEFT JOIN uses ON uses.field = context_fields.name
"""


def list_all(conn: Connection) -> str:
    """Return every context field with its use as JSON text, in their order."""
    return value(conn, LIST)


GET: LiteralString = f"SELECT ({RECORD})::text AS text, version FROM context_fields WHERE name = %(name)s"


def get(conn: Connection, name: str) -> RecordText | None:
    """Return the ContextField record as JSON text, or None if it does not exist."""
    return record(conn, GET, {"name": name})


LOCK: LiteralString = f"SELECT {RECORD} FROM context_fields WHERE name = %(name)s FOR UPDATE"


def lock(conn: Connection, name: str) -> dict[str, Any] | None:
    """Lock a context field and return its record, or None if it does not exist."""
    return value(conn, LOCK, {"name": name})


INSERT: LiteralString = f"""
    INSERT INTO context_fields (name, description, stickiness, sort_order, legal_values)
    VALUES (%(name)s, %(description)s, %(stickiness)s, %(sort_order)s, %(legal_values)s::json)
    RETURNING {RECORD}
"""


def insert(
    conn: Connection,
    name: str,
    *,
    description: str | None = None,
    stickiness: bool = False,
    sort_order: int = 10,
    legal_values: Sequence[Any] = (),
) -> dict[str, Any]:
    """Insert a context field and return its record. Raise UniqueViolation if the name is taken."""
    params: dict[str, Any] = {
        "name": name,
        "description": description,
        "stickiness": stickiness,
        "sort_order": sort_order,
        "legal_values": as_json(list(legal_values)),
    }
    return value(conn, INSERT, params)


INSERT_MISSING: LiteralString = f"""
    INSERT INTO context_fields (name, description, stickiness, sort_order, legal_values)
    SELECT name, description, stickiness, "sortOrder", "legalValues"
      FROM json_to_recordset(%(fields)s::json)
        AS new (name text, description text, stickiness boolean, "sortOrder" integer, "legalValues" json)
     ORDER BY name
    ON CONFLICT DO NOTHING
    RETURNING {RECORD} AS record"""


def insert_missing(conn: Connection, fields: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Insert those of these fields that do not exist, and return their ContextField records."""
    return [row["record"] for row in rows(conn, INSERT_MISSING, {"fields": as_json(fields)})]


UPDATE: LiteralString = f"""
    UPDATE context_fields
       SET description = %(description)s,
           stickiness = %(stickiness)s,
           sort_order = %(sortOrder)s,
           legal_values = %(legal_values)s::json
     WHERE name = %(name)s
    RETURNING {RECORD}
"""


def update(conn: Connection, field: Mapping[str, Any]) -> dict[str, Any]:
    """Set every column of a context field from this record. Return the record."""
    return value(conn, UPDATE, {**field, "legal_values": as_json(field["legalValues"])})


DELETE = "DELETE FROM context_fields WHERE name = %(name)s"


def delete(conn: Connection, name: str) -> None:
    """Delete a context field that nothing uses."""
    run(conn, DELETE, {"name": name})


PLACES: LiteralString = strategy_uses.places(f"SELECT * FROM ({USES}) AS every_use WHERE field = %(name)s")


def list_places(conn: Connection, name: str, viewer: int | None) -> list[str | None]:
    """Return the places that use a field, None for those that the viewer does not see. After lock(), none is added."""
    return [row["place"] for row in rows(conn, PLACES, {"name": name, "viewer": viewer})]


# EXISTS: a strategy with two constraints on the field is listed once.
USES_FIELD: LiteralString = """
    (parameters ->> 'stickiness' = %(name)s
     OR EXISTS (SELECT FROM json_array_elements(constraints) AS item WHERE item ->> 'contextName' = %(name)s)
     OR EXISTS (SELECT FROM variants WHERE strategy_id = strategies.id AND stickiness = %(name)s))
"""

STRATEGIES: LiteralString = f"""
    SELECT json_build_object('strategies', {strategy_uses.records(USES_FIELD)})::text
      FROM context_fields
     WHERE name = %(name)s
"""


def list_strategies(conn: Connection, name: str, viewer: int | None) -> str | None:
    """Return visible strategies of live flags with the field as JSON text. None: no such field."""
    return value(conn, STRATEGIES, {"name": name, "viewer": viewer})


# KEY SHARE: until the transaction ends, none of these fields is deleted.
HOLD_STICKY = "SELECT name FROM context_fields WHERE name = ANY(%(names)s::text[]) AND stickiness FOR KEY SHARE"


def hold_sticky(conn: Connection, names: Collection[str]) -> frozenset[str]:
    """Return those of these context fields that can be a stickiness, and keep them from being deleted."""
    return frozenset(row["name"] for row in rows(conn, HOLD_STICKY, {"names": list(names)}))


LEGAL_VALUES: LiteralString = """
    SELECT name, ARRAY(SELECT legal ->> 'value' FROM json_array_elements(legal_values) AS legal) AS legal_values
      FROM context_fields
     WHERE name = ANY(%(names)s::text[])
"""


HOLD_LEGAL_VALUES: LiteralString = f"{LEGAL_VALUES} FOR KEY SHARE"


def list_legal_values(conn: Connection, names: Sequence[str], *, hold: bool = False) -> dict[str, set[str]]:
    """Return the legal values (empty: all) of those fields that exist. hold: lock them, against deletion."""
    found = rows(conn, HOLD_LEGAL_VALUES if hold else LEGAL_VALUES, {"names": list(names)})
    return {row["name"]: set(row["legal_values"]) for row in found}
