"""Context fields: what constraints can ask about."""

from collections.abc import Sequence
from typing import Any, LiteralString

from sql.database import Connection, as_json, rows, run, value
from sql.vocabulary import strategy_uses

# What the service says when the name of a context field is taken.
TAKEN = {"context_fields_pkey": "name: a context field with this name exists already"}

RECORD: LiteralString = """
    json_build_object(
        'name', context_fields.name,
        'description', context_fields.description,
        'stickiness', context_fields.stickiness,
        'sortOrder', context_fields.sort_order,
        'legalValues', context_fields.legal_values,
        'createdAt', iso(context_fields.created_at))
"""

# Our choice: a field is used by the live flags whose strategies ask about it, wherever they are; archived flags ask nothing.
LIST: LiteralString = """
    WITH uses AS (
        SELECT field, count(DISTINCT flags.id) AS flags, count(DISTINCT flags.project_id) AS projects
          FROM strategies
          JOIN flags ON flags.id = strategies.flag_id
         CROSS JOIN LATERAL (SELECT asked ->> 'contextName' AS field FROM json_array_elements(constraints) AS asked) AS asked
         WHERE flags.archived_at IS NULL
         GROUP BY field
    )
    SELECT coalesce(json_agg(json_build_object(
               'name', name,
               'description', description,
               'stickiness', stickiness,
               'sortOrder', sort_order,
               'legalValues', legal_values,
               'createdAt', iso(created_at),
               'usedInFeatures', coalesce(uses.flags, 0),
               'usedInProjects', coalesce(uses.projects, 0)) ORDER BY sort_order, name), '[]')::text
      FROM context_fields
      LEFT JOIN uses ON uses.field = context_fields.name
"""


def read(conn: Connection) -> str:
    """Every context field with its use, by its place, as JSON text."""
    return value(conn, LIST)


GET: LiteralString = f"SELECT ({RECORD})::text FROM context_fields WHERE name = %(name)s"


def get(conn: Connection, name: str) -> str | None:
    """The ContextField record as JSON text; None: unknown."""
    return value(conn, GET, {"name": name})


LOCK: LiteralString = f"SELECT {RECORD} FROM context_fields WHERE name = %(name)s FOR UPDATE"


def lock(conn: Connection, name: str) -> dict[str, Any] | None:
    """The record, and the field stays as it is until the transaction ends. None: unknown."""
    return value(conn, LOCK, {"name": name})


INSERT: LiteralString = f"""
    INSERT INTO context_fields (name, description, stickiness, sort_order, legal_values)
    VALUES (%(name)s, %(description)s, %(stickiness)s, %(sort_order)s, %(legal_values)s::json)
    RETURNING {RECORD}"""


def insert(
    conn: Connection,
    name: str,
    *,
    description: str | None = None,
    stickiness: bool = False,
    sort_order: int = 10,
    legal_values: Sequence[Any] = (),
) -> dict[str, Any]:
    """The record of the new context field. UniqueViolation of context_fields_pkey when the name is taken."""
    params: dict[str, Any] = {
        "name": name,
        "description": description,
        "stickiness": stickiness,
        "sort_order": sort_order,
        "legal_values": as_json(list(legal_values)),
    }
    return value(conn, INSERT, params)


UPDATE: LiteralString = f"""
    UPDATE context_fields
       SET description = %(description)s,
           stickiness = %(stickiness)s,
           sort_order = %(sortOrder)s,
           legal_values = %(legal_values)s::json
     WHERE name = %(name)s
    RETURNING {RECORD}"""


def update(conn: Connection, field: dict[str, Any]) -> dict[str, Any]:
    """The record of the context field, made what this record says."""
    return value(conn, UPDATE, field | {"legal_values": as_json(field["legalValues"])})


DELETE = "DELETE FROM context_fields WHERE name = %(name)s"


def delete(conn: Connection, name: str) -> None:
    """Remove a context field; constraints that ask about it stay as they are."""
    run(conn, DELETE, {"name": name})


# A strategy that asks twice is told once.
STRATEGIES: LiteralString = f"""SELECT json_build_object('strategies', {strategy_uses.RECORDS}EXISTS (
            SELECT FROM json_array_elements(constraints) AS asked
             WHERE asked ->> 'contextName' = %(name)s)))::text
      FROM context_fields
     WHERE name = %(name)s
"""


def strategies(conn: Connection, name: str, viewer: int | None) -> str | None:
    """The strategies of live flags in visible projects that ask about the field, as JSON text. None: no such field."""
    return value(conn, STRATEGIES, {"name": name, "viewer": viewer})


LEGAL_VALUES = """
    SELECT name, ARRAY(SELECT legal ->> 'value' FROM json_array_elements(legal_values) AS legal) AS legal_values
      FROM context_fields
     WHERE name = ANY(%(names)s::text[])
"""


def legal_values(conn: Connection, names: Sequence[str]) -> dict[str, set[str]]:
    """Return the legal values of each of these context fields that exists. An empty set: all values are legal."""
    return {row["name"]: set(row["legal_values"]) for row in rows(conn, LEGAL_VALUES, {"names": list(names)})}
