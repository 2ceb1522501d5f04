"""Find the token of an application, and how often its flags may have changed."""

from collections.abc import Sequence

from psycopg.rows import DictRow

from sql.database import Connection, one, rows, run, value

# A personal token is found too, so that it is a token of the wrong kind, not an unknown one. A token for all
# environments sees a change in any of them. That costs a rebuild of its document now and then, and no ETag.
TOKENS = """
    SELECT digest,
           api_keys.id,
           name,
           kind,
           environment,
           projects,
           origins,
           extract(epoch FROM expires_at - now())::double precision AS expires_in,
           revision,
           mark,
           CASE WHEN api_keys.environment IS NULL
                THEN (SELECT min(name) FROM environments WHERE name IN ('default', 'development'))
           END AS default_environment,
           seen_at > now() - interval '1 minute' OR current_setting('transaction_read_only')::boolean AS is_marked_seen
      FROM api_keys
     CROSS JOIN LATERAL (
            SELECT array_agg(project_id ORDER BY project_id) AS projects
              FROM api_key_projects
             WHERE api_key_id = api_keys.id) AS bound
     CROSS JOIN LATERAL (
            SELECT coalesce(sum(revision), 0)::bigint AS revision, coalesce(sum(mark), 0) AS mark
              FROM client_revisions
             WHERE (api_keys.environment IS NULL OR client_revisions.environment IN (api_keys.environment, ''))
               AND (projects IS NULL OR project_id = '' OR project_id = ANY(projects))) AS changes
     WHERE (expires_at IS NULL OR expires_at > now())"""
FIND = f"""{TOKENS}
       AND digest = %(digest)s
 UNION ALL
    SELECT digest,
           users.id, coalesce(email, username), 'personal', NULL, NULL, NULL, NULL, 0, 0, NULL, true
      FROM personal_tokens
      JOIN users ON users.id = user_id
     WHERE digest = %(digest)s
       AND expires_at > now()
       AND deleted_at IS NULL
"""


def find(conn: Connection, digest: bytes) -> DictRow | None:
    """Return the valid token with this SHA-256, or None.

    kind: personal for a personal access token. environment and projects: None for all. revision: grows with every
    change that can alter the flags of the token. mark: a random number that each of these changes draws, because the
    same revision can come again after a failover or a restore. default_environment: of a token for all environments.
    is_marked_seen: false if the last use is not recent enough. expires_in: seconds, None if it never expires. id: of a
    personal access token, the id of its user.
    """
    return one(conn, FIND, {"digest": digest})


LIST_BY_DIGEST = f"""{TOKENS}
       AND digest = ANY(%(digests)s::bytea[])
"""


def list_by_digest(conn: Connection, digests: Sequence[bytes]) -> list[DictRow]:
    """Return the valid API tokens with these SHA-256, as find() does, without personal access tokens."""
    return rows(conn, LIST_BY_DIGEST, {"digests": list(digests)})


GET_DIGEST = "SELECT digest FROM api_keys WHERE id = %(id)s AND kind = 'frontend'"


def get_digest(conn: Connection, token_id: int) -> bytes | None:
    """Return the SHA-256 of a frontend token, or None if it does not exist."""
    return value(conn, GET_DIGEST, {"id": token_id})


LIST_VALID = """
    SELECT digest,
           CASE kind WHEN 'backend' THEN 'client' ELSE kind END AS type,
           coalesce((SELECT array_agg(project_id ORDER BY project_id)
                       FROM api_key_projects
                      WHERE api_key_id = api_keys.id), '{*}') AS projects,
           coalesce(environment, '*') AS environment
      FROM api_keys
     WHERE digest = ANY(%(digests)s::bytea[])
       AND (expires_at IS NULL OR expires_at > now())
"""


def list_valid(conn: Connection, digests: Sequence[bytes]) -> list[DictRow]:
    """Return digest, type, projects and environment of the valid API tokens with these SHA-256.

    Our choice: the type of a backend token is client, because older versions of Unleash Edge know no other word.
    """
    return rows(conn, LIST_VALID, {"digests": list(digests)})


NOTE_BULK_READ = """
    UPDATE api_keys
       SET bulk_read_on = (now() AT TIME ZONE 'UTC')::date
     WHERE id = %(id)s
       AND bulk_read_on IS DISTINCT FROM (now() AT TIME ZONE 'UTC')::date
"""


def note_bulk_read(conn: Connection, token_id: int) -> None:
    """Note that a token has read all its flags by OFREP today (UTC)."""
    run(conn, NOTE_BULK_READ, {"id": token_id})
