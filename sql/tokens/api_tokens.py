"""API tokens. The database stores their digests, with a mask of admin tokens and the secrets of other tokens."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, LiteralString

from psycopg.rows import DictRow

from sql.access import digest
from sql.database import Connection, as_json, one, rows, run, value
from sql.projects.visibility import VISIBLE


def mask(secret: str) -> str:
    """Return an admin token as lists show it: the first 8 characters of its random part and an ellipsis."""
    _, dot, random = secret.rpartition(".")
    # Our choice: a token that an operator chose is not shown if 8 characters are more than a quarter of it.
    return f"{random[:8]}…" if dot and len(random) >= 32 else "…"


INSERT = """
    INSERT INTO api_keys (name, kind, digest, secret, mask, environment, expires_at, origins, created_at)
    VALUES (%(name)s, %(kind)s, %(digest)s, %(secret)s, %(mask)s, %(environment)s, %(expires_at)s, %(origins)s::text[],
            coalesce(%(created_at)s, now()))
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
    expires_at: datetime | str | None = None,
    origins: Sequence[str] | None = None,
    created_at: str | None = None,
) -> int:
    """Insert a token and return its id. environment None: all. projects (): all. origins None: the setting's."""
    params: dict[str, Any] = {
        "name": name,
        "kind": kind,
        "digest": digest(secret),
        "secret": None if kind == "admin" else secret,
        "mask": mask(secret) if kind == "admin" else None,
        "environment": environment,
        "expires_at": expires_at,
        "origins": None if origins is None else list(origins),
        "created_at": created_at,
    }
    key_id = value(conn, INSERT, params)
    if projects:
        run(conn, INSERT_PROJECTS, {"id": key_id, "projects": list(projects)})
    return key_id


# The record without its secret, as arguments of json_merge.
# Our choice: origins, which Unleash does not have, are omitted unless they are set, so that clients of Unleash see no
# unknown property.
FIELDS: LiteralString = """
    json_build_object(
        'tokenName', name,
        'username', name,
        'type', kind,
        'environment', coalesce(environment, '*'),
        'project', coalesce((
            SELECT string_agg(project_id, ',' ORDER BY project_id)
              FROM api_key_projects
             WHERE api_key_id = api_keys.id), '*'),
        'projects', coalesce((
            SELECT json_agg(project_id ORDER BY project_id)
              FROM api_key_projects
             WHERE api_key_id = api_keys.id), '["*"]'),
        'createdAt', iso(created_at),
        'expiresAt', iso(expires_at),
        'seenAt', iso(seen_at),
        'alias', NULL),
    CASE WHEN origins IS NOT NULL THEN json_build_object('origins', origins) END
"""

# The form of a token in events.
LOGGED: LiteralString = f"json_merge({FIELDS})"

LIST_ROWS: LiteralString = f"""
    SELECT json_merge(
               json_build_object('id', id),
               {FIELDS},
               json_build_object('state', CASE WHEN expires_at <= now() THEN 'expired' ELSE 'active' END)) AS record
      FROM api_keys
     ORDER BY created_at, id
"""


def list_rows(conn: Connection) -> list[dict[str, Any]]:
    """Return id and record of every token, oldest first, without its secret."""
    return [row["record"] for row in rows(conn, LIST_ROWS)]


LIST: LiteralString = f"""
    SELECT json_build_object('tokens', coalesce(
               json_agg(json_merge(json_build_object('secret', coalesce(secret, mask)), {FIELDS})
                        ORDER BY created_at, id), '[]'))::text
      FROM api_keys
     WHERE kind = ANY(%(kinds)s)
       AND (%(name)s::text IS NULL OR name = %(name)s)
"""


def list_all(conn: Connection, kinds: Sequence[str], name: str | None = None) -> str:
    """Return {"tokens": [...]} of these kinds, and this name, oldest first, with secrets or masks."""
    return value(conn, LIST, {"kinds": list(kinds), "name": name})


LIST_EXPIRING = """
    SELECT name
      FROM api_keys
     WHERE kind = ANY(%(kinds)s)
       AND expires_at BETWEEN now() AND now() + interval '7 days'
     ORDER BY expires_at, name
"""


def list_expiring(conn: Connection, kinds: Sequence[str]) -> list[str]:
    """Return the names of the tokens of these kinds that expire within 7 days, the first to expire first."""
    return [row["name"] for row in rows(conn, LIST_EXPIRING, {"kinds": list(kinds)})]


# The client and frontend tokens for a project. Tokens for all projects count too.
OF_PROJECT = """
    kind <> 'admin'
    AND (EXISTS (SELECT FROM api_key_projects WHERE api_key_id = api_keys.id AND project_id = %(project)s)
         OR NOT EXISTS (SELECT FROM api_key_projects WHERE api_key_id = api_keys.id))
"""

# Our choice: a token that is also for a project hidden from the caller is not listed, because its secret reads that
# project.
LIST_BY_PROJECT: LiteralString = f"""
    WITH hidden AS (
        SELECT id FROM projects WHERE NOT {VISIBLE}
    )
    SELECT json_build_object('tokens', coalesce(
               json_agg(json_merge(json_build_object('secret', secret), {FIELDS}) ORDER BY created_at, id), '[]'))::text
      FROM api_keys
     WHERE {OF_PROJECT}
       AND NOT EXISTS (
            SELECT FROM hidden
             WHERE EXISTS (SELECT FROM api_key_projects WHERE api_key_id = api_keys.id AND project_id = hidden.id)
                OR NOT EXISTS (SELECT FROM api_key_projects WHERE api_key_id = api_keys.id))
"""


def list_by_project(conn: Connection, project: str, viewer: int | None) -> str:
    """Return {"tokens": [...]} as JSON text: client and frontend tokens for a project, oldest first, with secrets.

    Tokens that are also for projects hidden from the viewer are omitted.
    """
    return value(conn, LIST_BY_PROJECT, {"project": project, "viewer": viewer})


GET: LiteralString = f"""
    SELECT json_merge(json_build_object('secret', NULL), {FIELDS})::text FROM api_keys WHERE id = %(id)s
"""


def get(conn: Connection, key_id: int, secret: str) -> str:
    """Return a new token as JSON text, with its secret."""
    # The secret of an admin token is never a parameter: a database that logs statements logs their parameters too.
    return value(conn, GET, {"id": key_id}).replace('{"secret" : null', f'{{"secret" : {as_json(secret)}', 1)


LOCK_BY_DIGEST = "SELECT id, kind FROM api_keys WHERE digest = %(digest)s FOR UPDATE"


def lock_by_secret(conn: Connection, secret: str) -> DictRow | None:
    """Lock the token with this secret. Return id and kind, or None if there is none."""
    return one(conn, LOCK_BY_DIGEST, {"digest": digest(secret)})


LOCK_OF_PROJECT: LiteralString = f"""
    SELECT id,
           (SELECT count(*) FROM api_key_projects WHERE api_key_id = api_keys.id) <> 1 AS is_shared
      FROM api_keys
     WHERE digest = %(digest)s
       AND {OF_PROJECT}
       FOR UPDATE
"""


def lock_of_project(conn: Connection, secret: str, project: str) -> DictRow | None:
    """Lock a client or frontend token. Return id and is_shared with other projects, or None."""
    return one(conn, LOCK_OF_PROJECT, {"digest": digest(secret), "project": project})


LOCK: LiteralString = f"SELECT {LOGGED} FROM api_keys WHERE id = %(id)s FOR UPDATE"


def lock(conn: Connection, key_id: int) -> dict[str, Any] | None:
    """Lock a token and return it in the form of events, or None if it does not exist."""
    return value(conn, LOCK, {"id": key_id})


UPDATE: LiteralString = f"""
    UPDATE api_keys
       SET expires_at = %(expiresAt)s,
           origins = %(origins)s::text[]
     WHERE id = %(id)s
    RETURNING {LOGGED}
"""


def update(conn: Connection, key_id: int, token: Mapping[str, Any]) -> dict[str, Any]:
    """Set expiresAt and origins of a token. Return it in the form of events."""
    return value(conn, UPDATE, {"origins": None, **token, "id": key_id})


IS_LAST_ADMIN = """
    SELECT count(*) = 1 AND bool_and(id = %(id)s)
      FROM api_keys
     WHERE kind = 'admin'
       AND (expires_at IS NULL OR expires_at > now())
"""


def is_last_admin(conn: Connection, key_id: int) -> bool:
    """Return whether this is the only valid admin token."""
    return value(conn, IS_LAST_ADMIN, {"id": key_id}) or False


DELETE = "DELETE FROM api_keys WHERE id = %(id)s"


def delete(conn: Connection, key_id: int) -> None:
    """Delete a token."""
    run(conn, DELETE, {"id": key_id})


# FOR KEY SHARE: the environments and projects cannot be deleted before the token is inserted.
HOLD_SCOPE = """
    WITH existing_environments AS (
        SELECT name FROM environments WHERE name = ANY(%(environments)s::text[]) FOR KEY SHARE
    ),
    existing_projects AS (
        SELECT id FROM projects WHERE id = ANY(%(projects)s::text[]) ORDER BY id FOR KEY SHARE
    )
    SELECT (SELECT name
              FROM existing_environments
             ORDER BY array_position(%(environments)s::text[], name)
             LIMIT 1) AS environment,
           ARRAY(
               SELECT requested.id
                 FROM unnest(%(projects)s::text[]) WITH ORDINALITY AS requested (id, place)
                WHERE requested.id NOT IN (SELECT existing_projects.id FROM existing_projects)
                ORDER BY place) AS unknown_projects
"""


def hold_scope(conn: Connection, environments: Sequence[str], projects: Sequence[str]) -> DictRow:
    """Keep environments and projects. Return environment (the first that exists) and unknown_projects."""
    scope = one(conn, HOLD_SCOPE, {"environments": list(environments), "projects": list(projects)})
    assert scope is not None
    return scope
