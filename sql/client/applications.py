"""Applications and their instances, as they make themselves known."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, LiteralString, NamedTuple

from sql import locks
from sql.database import Connection, array_text, rows, run, value

MAX_APPLICATIONS = 1_000
# Our choice: the last of these are for servers. Frontend tokens are public, so anybody could keep servers out.
SERVER_APPLICATIONS = 100
MAX_INSTANCES = 10_000
# Events of the type application-created for each client token in 24 hours.
MAX_EVENTS = 100
# New applications of each frontend token in 24 hours. The events are counted, so each of these has one.
MAX_FRONTEND_APPLICATIONS = 500


class InstanceKey(NamedTuple):
    """The primary key of an instance. connection: the connectionId of newer SDKs, else the instanceId."""

    app_name: str
    environment: str
    connection: str


class Instance(NamedTuple):
    """What an instance says about itself. None: it did not say."""

    instance_id: str
    sdk_version: str | None
    platform: str | None
    spec_version: str | None
    address: str


REPORTED_APPLICATIONS: LiteralString = """
    reported AS (
        SELECT name, strategies::text[] AS strategies
          FROM unnest(%(names)s::text[], %(strategies)s::text[]) AS reported (name, strategies)
    )
"""

# Each application is written at most once a minute, unless its strategies change. The rows are locked in one order.
SEE: LiteralString = f"""
    WITH {REPORTED_APPLICATIONS},
    due AS (
        SELECT name, reported.strategies
          FROM applications
          JOIN reported USING (name)
         WHERE seen_at < now() - interval '1 minute'
            OR applications.strategies <> reported.strategies
         ORDER BY name
           FOR NO KEY UPDATE OF applications
    ),
    seen AS (
        UPDATE applications
           SET seen_at = now(), strategies = coalesce(due.strategies, applications.strategies)
          FROM due
         WHERE due.name = applications.name
    )
    SELECT name FROM applications WHERE name = ANY(%(names)s)
"""


def see(conn: Connection, strategies: Mapping[str, Sequence[str] | None]) -> set[str]:
    """Mark applications as seen. Return the names of those that exist. strategies: by name, None if unknown."""
    return {row["name"] for row in rows(conn, SEE, application_columns(strategies))}


FIND: LiteralString = f"""
    WITH {REPORTED_APPLICATIONS}
    SELECT name,
           seen_at < now() - interval '1 minute'
               OR coalesce(applications.strategies <> reported.strategies, false) AS is_due
      FROM applications
      JOIN reported USING (name)
"""


def find(conn: Connection, strategies: Mapping[str, Sequence[str] | None]) -> dict[str, bool]:
    """Return whether see() would write an application, by name, of those that exist. strategies: as in see()."""
    return {row["name"]: row["is_due"] for row in rows(conn, FIND, application_columns(strategies))}


LOCK: LiteralString = f"SELECT pg_advisory_xact_lock({locks.LIMIT}, {locks.of_text('%(what)s::text')})"

INSERT: LiteralString = f"""
    WITH {REPORTED_APPLICATIONS}
    INSERT INTO applications (name, strategies)
    SELECT name, coalesce(strategies, '{{}}')
      FROM (SELECT reported.*,
                   name = ANY(%(public)s::text[]) AS is_public,
                   row_number() OVER (ORDER BY name = ANY(%(public)s::text[]), name) AS place
              FROM reported
             WHERE name NOT IN (SELECT name FROM applications)) AS new
     WHERE place + (SELECT count(*) FROM applications)
           <= %(most)s - CASE WHEN is_public THEN %(server_applications)s ELSE 0 END
     ORDER BY name
    ON CONFLICT DO NOTHING
    RETURNING name
"""


# Frontend tokens are public, so anybody could fill the list with names for ever. A hundred at a time, so that no report
# takes long. Applications that people have described stay. ARRAY, here and below: the planner could run a subquery
# behind IN several times, and each time with other rows.
FORGET: LiteralString = """
    DELETE FROM applications
     WHERE name = ANY(ARRAY(
            SELECT name
              FROM applications
             WHERE seen_at < now() - interval '30 days'
               AND coalesce(description, url, icon, color) IS NULL
               AND NOT EXISTS (SELECT FROM application_instances WHERE app_name = name)
             ORDER BY seen_at
             LIMIT 100
               FOR UPDATE SKIP LOCKED))
"""


def lock(conn: Connection) -> None:
    """Let other transactions that insert applications wait for this one."""
    run(conn, LOCK, {"what": "applications"})


def insert(conn: Connection, strategies: Mapping[str, Sequence[str] | None], public: Iterable[str]) -> list[str]:
    """Insert those of these applications that do not exist, up to MAX_APPLICATIONS. Return the names of the new ones.

    Applications that were not seen for 30 days are deleted first. Call lock() before. strategies: as in see(). public:
    those that only frontend tokens report.
    """
    run(conn, FORGET)
    limits = {"most": MAX_APPLICATIONS, "server_applications": SERVER_APPLICATIONS}
    params = {**limits, "public": list(public), **application_columns(strategies)}
    return [row["name"] for row in rows(conn, INSERT, params)]


def application_columns(strategies: Mapping[str, Sequence[str] | None]) -> dict[str, list[Any]]:
    """Return applications by column."""
    return {
        "names": list(strategies),
        "strategies": [None if types is None else array_text(types) for types in strategies.values()],
    }


COUNT_EVENTS = """
    SELECT count(*)
      FROM events
     WHERE type = 'application-created'
       AND created_at > now() - interval '1 day'
       AND data ->> 'tokenId' = %(token_id)s::text
"""


def count_events(conn: Connection, token_id: int) -> int:
    """Return how many applications an API token has made known in the last 24 hours, by the event log."""
    return value(conn, COUNT_EVENTS, {"token_id": str(token_id)})


REPORTED: LiteralString = """
    reported AS (
        SELECT *
          FROM unnest(%(apps)s::text[], %(environments)s::text[], %(connections)s::text[], %(instances)s::text[],
                      %(sdks)s::text[], %(platforms)s::text[], %(specs)s::text[], %(addresses)s::text[])
            AS reported (app_name, environment, connection, instance_id, sdk_version, platform, spec_version, address)
    )
"""

# An instance is written again after a minute, or if it now names something that it did not name before.
FIND_OLD: LiteralString = f"""
    WITH {REPORTED}
    SELECT app_name, environment, connection, known.app_name IS NULL AS is_new
      FROM reported
      LEFT JOIN application_instances AS known USING (app_name, environment, connection)
     WHERE known.seen_at IS NULL
        OR known.seen_at < now() - interval '1 minute'
        OR (known.sdk_version IS NULL AND reported.sdk_version IS NOT NULL)
        OR (known.platform IS NULL AND reported.platform IS NOT NULL)
        OR (known.spec_version IS NULL AND reported.spec_version IS NOT NULL)
"""

# A hundred at a time, so that no registration takes long.
PRUNE = """
    DELETE FROM application_instances
     WHERE ctid = ANY(ARRAY(
            SELECT ctid
              FROM application_instances
             WHERE seen_at < now() - interval '7 days'
             ORDER BY seen_at
             LIMIT 100
               FOR UPDATE SKIP LOCKED))
"""

COUNT_INSTANCES = "SELECT count(*) FROM application_instances"

# The lock keeps the applications until the end of the transaction, because instances refer to them.
UPSERT: LiteralString = f"""
    WITH {REPORTED},
    kept AS MATERIALIZED (
        SELECT name FROM applications WHERE name = ANY(%(apps)s) ORDER BY name FOR KEY SHARE
    )
    INSERT INTO application_instances AS known (app_name, environment, connection, instance_id, sdk_version, platform,
                                                spec_version, address)
    SELECT reported.*
      FROM reported
      JOIN kept ON kept.name = app_name
      JOIN environments ON environments.name = environment
     ORDER BY app_name, environment, connection
        ON CONFLICT ON CONSTRAINT application_instances_pkey DO UPDATE
       SET instance_id = excluded.instance_id,
           sdk_version = coalesce(excluded.sdk_version, known.sdk_version),
           platform = coalesce(excluded.platform, known.platform),
           spec_version = coalesce(excluded.spec_version, known.spec_version),
           address = excluded.address,
           seen_at = now()
"""


def see_instances(conn: Connection, instances: Mapping[InstanceKey, Instance]) -> list[InstanceKey]:
    """Insert or update instances of existing applications. Return those that were refused because of MAX_INSTANCES.

    Each instance is written at most once a minute. With new ones, some of those that were not seen for a week go.
    """
    found = rows(conn, FIND_OLD, instance_columns(instances))
    due = {InstanceKey(row["app_name"], row["environment"], row["connection"]): row["is_new"] for row in found}
    refused: list[InstanceKey] = []
    if any(due.values()):
        run(conn, LOCK, {"what": "application instances"})
        run(conn, PRUNE)
        new = [key for key, is_new in due.items() if is_new]
        refused = new[max(MAX_INSTANCES - value(conn, COUNT_INSTANCES), 0) :]
    written = {key: instances[key] for key in due if key not in set(refused)}
    if written:
        run(conn, UPSERT, instance_columns(written))
    return refused


def instance_columns(instances: Mapping[InstanceKey, Instance]) -> dict[str, list[str | None]]:
    """Return instances by column."""
    names = ("apps", "environments", "connections", "instances", "sdks", "platforms", "specs", "addresses")
    records = [(*key, *instance) for key, instance in instances.items()]
    return {name: [record[place] for record in records] for place, name in enumerate(names)}
