"""API keys: admin keys kept as a digest and a mask, client and frontend keys readable beside their digest."""

import secrets
from collections.abc import Sequence
from datetime import datetime
from typing import Any, LiteralString

from psycopg.rows import DictRow

from sql.access import digest
from sql.database import Connection, as_json, one, rows, run, value


def generate(project: str = "*", environment: str = "*") -> str:
    """A new key: project:environment.secret, the secret 64 hexadecimal characters."""
    return f"{project}:{environment}.{secrets.token_hex(32)}"


def project_part(projects: Sequence[str]) -> str:
    """What a key begins with: * for all projects, [] for several, else the one."""
    if len(projects) > 1:
        return "[]"
    return projects[0] if projects else "*"


def mask(secret: str) -> str:
    """How an admin key is listed: the first 8 characters of its random part, then an ellipsis."""
    _, found, random = secret.rpartition(".")
    # Our choice: of a key that an operator made up, nothing is shown where 8 characters would tell more than a quarter of it.
    return f"{random[:8]}…" if found and len(random) >= 32 else "…"


INSERT = """
    INSERT INTO api_keys (name, kind, digest, secret, mask, environment, expires_at)
    VALUES (%(name)s, %(kind)s, %(digest)s, %(secret)s, %(mask)s, %(environment)s, %(expires_at)s)
    RETURNING id
"""

INSERT_PROJECTS = "INSERT INTO api_key_projects (api_key_id, project_id) SELECT %(id)s, unnest(%(projects)s::text[])"


def insert(
    conn: Connection,
    secret: str,
    *,
    name: str,
    kind: str = "admin",
    environment: str | None = None,
    projects: Sequence[str] = (),
    expires_at: datetime | None = None,
) -> int:
    """The id of the new key. environment None: all; projects empty: all. UniqueViolation of api_keys_digest_key: the secret is taken."""
    params: dict[str, Any] = {
        "name": name,
        "kind": kind,
        "digest": digest(secret),
        "secret": None if kind == "admin" else secret,
        "mask": mask(secret) if kind == "admin" else None,
        "environment": environment,
        "expires_at": expires_at,
    }
    key_id = value(conn, INSERT, params)
    if projects:
        run(conn, INSERT_PROJECTS, {"id": key_id, "projects": list(projects)})
    return key_id


# The record of neighbours.md 1.1 without its secret, of rows of the table api_keys: what lists and the log tell of a key.
RECORD: LiteralString = """
    name AS "tokenName",
    name AS username,
    kind AS type,
    coalesce(environment, '*') AS environment,
    coalesce((SELECT string_agg(project_id, ',' ORDER BY project_id) FROM api_key_projects WHERE api_key_id = api_keys.id), '*') AS project,
    coalesce((SELECT json_agg(project_id ORDER BY project_id) FROM api_key_projects WHERE api_key_id = api_keys.id),
             '["*"]') AS projects,
    iso(created_at) AS "createdAt",
    iso(expires_at) AS "expiresAt",
    iso(seen_at) AS "seenAt",
    NULL AS alias
"""

LIST: LiteralString = f"SELECT id, {RECORD} FROM api_keys ORDER BY created_at, id"


def list_all(conn: Connection) -> list[DictRow]:
    """The id and the record of every key, oldest first, for the command line."""
    return rows(conn, LIST)


READ: LiteralString = f"""
    SELECT json_build_object('tokens', coalesce(json_agg(entry ORDER BY api_keys.created_at, api_keys.id), '[]'))::text
      FROM api_keys
     CROSS JOIN LATERAL (SELECT coalesce(secret, mask) AS secret, {RECORD}) AS entry
     WHERE kind = ANY(%(kinds)s)
       AND (%(name)s::text IS NULL OR name = %(name)s)
"""


def read(conn: Connection, kinds: Sequence[str], name: str | None = None) -> str:
    """{"tokens": [...]} as JSON text: the keys of these kinds, with their secrets or masks, oldest first; with a name, those called so."""
    return value(conn, READ, {"kinds": list(kinds), "name": name})


GET: LiteralString = f"""
    SELECT row_to_json(entry)::text
      FROM api_keys
     CROSS JOIN LATERAL (SELECT NULL AS secret, {RECORD}) AS entry
     WHERE id = %(id)s
"""


def get(conn: Connection, key_id: int, secret: str) -> str:
    """The record of a new key as JSON text, with its secret."""
    # It joins its record here: a database that logs statements, or slow ones, logs their parameters too.
    return value(conn, GET, {"id": key_id}).replace('{"secret":null', f'{{"secret":{as_json(secret)}', 1)


FIND = "SELECT id, kind FROM api_keys WHERE digest = %(digest)s FOR UPDATE"


def find(conn: Connection, secret: str) -> DictRow | None:
    """id and kind of the key with this secret, locked; None: unknown."""
    return one(conn, FIND, {"digest": digest(secret)})


LOCK: LiteralString = f"SELECT {RECORD} FROM api_keys WHERE id = %(id)s FOR UPDATE"


def lock(conn: Connection, key_id: int) -> DictRow | None:
    """The record of a key without its secret, locked; None: unknown."""
    return one(conn, LOCK, {"id": key_id})


UPDATE: LiteralString = f"UPDATE api_keys SET expires_at = %(expires_at)s WHERE id = %(id)s RETURNING {RECORD}"


def update(conn: Connection, key_id: int, expires_at: datetime) -> DictRow | None:
    """The record of a key without its secret; it works until that instant."""
    return one(conn, UPDATE, {"id": key_id, "expires_at": expires_at})


DELETE = "DELETE FROM api_keys WHERE id = %(id)s"


def delete(conn: Connection, key_id: int) -> None:
    """End a key."""
    run(conn, DELETE, {"id": key_id})


# Held, so that they are there still when a key is made for them.
HOLD_SCOPE = """
    WITH held_environments AS (
        SELECT name FROM environments WHERE name = ANY(%(environments)s::text[]) FOR KEY SHARE
    ),
    held_projects AS (
        SELECT id FROM projects WHERE id = ANY(%(projects)s::text[]) ORDER BY id FOR KEY SHARE
    )
    SELECT (SELECT name FROM held_environments ORDER BY array_position(%(environments)s::text[], name) LIMIT 1) AS environment,
           ARRAY(
               SELECT asked.id
                 FROM unnest(%(projects)s::text[]) WITH ORDINALITY AS asked (id, place)
                WHERE asked.id NOT IN (SELECT held_projects.id FROM held_projects)
                ORDER BY place) AS unknown_projects
"""


def hold_scope(conn: Connection, environments: Sequence[str], projects: Sequence[str]) -> DictRow:
    """environment: the first of the environments that exists, or None. unknown_projects: those of the projects that do not."""
    found = one(conn, HOLD_SCOPE, {"environments": list(environments), "projects": list(projects)})
    assert found is not None
    return found
