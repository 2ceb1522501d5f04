"""API keys: admin keys kept as a digest alone, client and frontend keys readable beside it."""

import hashlib
import secrets
from collections.abc import Sequence
from datetime import datetime
from typing import Any, LiteralString

from psycopg.rows import DictRow

from sql import Connection, one, rows, run, value


def generate(project: str = "*", environment: str = "*") -> str:
    """A new key: project:environment.secret, the secret 64 hexadecimal characters."""
    return f"{project}:{environment}.{secrets.token_hex(32)}"


INSERT = """
    INSERT INTO api_keys (name, kind, digest, secret, environment, expires_at, created_at)
    VALUES (%(name)s, %(kind)s, %(digest)s, %(secret)s, %(environment)s, %(expires_at)s,
            coalesce(%(created_at)s::timestamptz, now()))
    RETURNING id
"""

INSERT_PROJECT = "INSERT INTO api_key_projects (api_key_id, project_id) VALUES (%(id)s, %(project)s)"


def insert(
    conn: Connection,
    secret: str,
    *,
    name: str,
    kind: str = "admin",
    environment: str | None = None,
    projects: Sequence[str] = (),
    expires_at: datetime | None = None,
    created_at: datetime | None = None,
) -> int:
    """The id of the new key. environment None: all; projects empty: all. UniqueViolation of api_keys_digest_key: the secret is taken."""
    params: dict[str, Any] = {
        "name": name,
        "kind": kind,
        "digest": hashlib.sha256(secret.encode()).digest(),
        "secret": None if kind == "admin" else secret,
        "environment": environment,
        "expires_at": expires_at,
        "created_at": created_at,
    }
    key_id = value(conn, INSERT, params)
    for project in projects:
        run(conn, INSERT_PROJECT, {"id": key_id, "project": project})
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

LIST: LiteralString = "SELECT id, " + RECORD + " FROM api_keys ORDER BY created_at, id"


def list_all(conn: Connection) -> list[DictRow]:
    """The id and the record of every key, oldest first."""
    return rows(conn, LIST)


LOCK: LiteralString = "SELECT " + RECORD + " FROM api_keys WHERE id = %(id)s FOR UPDATE"


def lock(conn: Connection, key_id: int) -> DictRow | None:
    """The record of a key, locked; None: unknown."""
    return one(conn, LOCK, {"id": key_id})


DELETE = "DELETE FROM api_keys WHERE id = %(id)s"


def delete(conn: Connection, key_id: int) -> None:
    """End a key."""
    run(conn, DELETE, {"id": key_id})


LOOK_AT_SCOPE = """
    SELECT EXISTS (SELECT FROM environments WHERE name = %(environment)s) AS has_environment,
           ARRAY(
               SELECT asked.id
                 FROM unnest(%(projects)s::text[]) WITH ORDINALITY AS asked (id, place)
                WHERE NOT EXISTS (SELECT FROM projects WHERE projects.id = asked.id)
                ORDER BY place) AS unknown_projects
"""


def look_at_scope(conn: Connection, environment: str, projects: Sequence[str]) -> DictRow:
    """has_environment, and unknown_projects: those of the projects that do not exist."""
    found = one(conn, LOOK_AT_SCOPE, {"environment": environment, "projects": list(projects)})
    assert found is not None
    return found
