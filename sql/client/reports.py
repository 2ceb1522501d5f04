"""Add reported usage to usage_metrics, usage_variants and flag_sightings, and keep the names of unknown flags."""

from collections.abc import Mapping, Sequence
from typing import LiteralString, NamedTuple

from psycopg.rows import DictRow

from sql import locks
from sql.database import Connection, rows, run, value

# Names of unknown flags, with the application and the environment. The oldest are deleted after a week.
MAX_UNKNOWN = 10_000
# Our choice: the last of these are for servers, as with applications.
SERVER_UNKNOWN = 1_000


class UsageKey(NamedTuple):
    """What reports are added up by.

    token_id: of a frontend token, or None. scope: the projects of the API token as the text of an SQL array, or None
    for all. hour: as RFC 3339.
    """

    token_id: int | None
    scope: str | None
    environment: str
    app_name: str
    flag_name: str
    hour: str


class Counts:
    """How often a flag was on (yes) and off (no), and how often each variant was chosen."""

    def __init__(self) -> None:
        self.yes = self.no = 0
        self.variants: dict[str, int] = {}

    def add(self, yes: int, no: int, variants: Mapping[str, int]) -> None:
        """Add other counts to these."""
        self.yes += yes
        self.no += no
        for name, count in variants.items():
            self.variants[name] = self.variants.get(name, 0) + count


# All transactions write these tables in the same order, and the rows of each by key, so they cannot deadlock. The lock
# of the project comes first, because the deletion of a project locks the project before its usage. So does the lock of
# the application, because its deletion locks it before its sightings.
# Our choice: only variants that the flag has are kept, and "disabled". The names come from applications, and frontend
# tokens are public, so anybody could fill the table.
# Our choice: an application is said to have seen a flag now, or at the end of the hour if it reports a past hour.
ADD: LiteralString = """
    WITH reported AS (
        SELECT *
          FROM unnest(%(scopes)s::text[], %(environments)s::text[], %(apps)s::text[], %(flags)s::text[],
                      %(hours)s::timestamptz[], %(yes)s::bigint[], %(no)s::bigint[])
               WITH ORDINALITY AS reported (scope, environment, app_name, flag_name, hour, yes, no, number)
    ),
    kept_projects AS MATERIALIZED (
        SELECT id
          FROM projects
         WHERE id IN (SELECT project_id FROM flags JOIN reported ON name = flag_name WHERE deleted_at IS NULL)
         ORDER BY id
           FOR KEY SHARE
    ),
    kept_applications AS MATERIALIZED (
        SELECT name FROM applications WHERE name IN (SELECT app_name FROM reported) ORDER BY name FOR KEY SHARE
    ),
    counted AS MATERIALIZED (
        SELECT reported.*, flags.id AS flag_id, flags.project_id, flags.created_at
          FROM reported
          JOIN environments ON environments.name = reported.environment
          JOIN flags ON flags.name = flag_name AND flags.deleted_at IS NULL
          JOIN kept_projects ON kept_projects.id = flags.project_id
          LEFT JOIN kept_applications ON kept_applications.name = app_name
         WHERE scope IS NULL
            OR flags.project_id = ANY(scope::text[])
    ),
    added AS (
        INSERT INTO usage_metrics (project_id, flag_name, environment, app_name, hour, yes, no)
        SELECT project_id, flag_name, environment, app_name, hour, sum(yes), sum(no)
          FROM counted
         GROUP BY project_id, hour, flag_name, environment, app_name
         ORDER BY project_id, hour, flag_name, environment, app_name
            ON CONFLICT ON CONSTRAINT usage_metrics_pkey DO UPDATE
           SET yes = usage_metrics.yes + excluded.yes, no = usage_metrics.no + excluded.no
    ),
    added_variants AS (
        INSERT INTO usage_variants (project_id, flag_name, environment, app_name, hour, variant, count)
        SELECT project_id, flag_name, environment, app_name, hour, variant, sum(count)
          FROM unnest(%(variant_rows)s::bigint[], %(variants)s::text[], %(variant_counts)s::bigint[])
               AS chosen (number, variant, count)
          JOIN counted USING (number)
         WHERE variant = 'disabled'
            OR EXISTS (SELECT FROM variants WHERE variants.flag_id = counted.flag_id AND variants.name = variant)
         GROUP BY project_id, hour, flag_name, environment, app_name, variant
         ORDER BY project_id, hour, flag_name, environment, app_name, variant
            ON CONFLICT ON CONSTRAINT usage_variants_pkey DO UPDATE
           SET count = usage_variants.count + excluded.count
    ),
    seen AS (
        SELECT flag_id,
               environment,
               app_name,
               min(least(hour + interval '1 hour', now())) AS first_at,
               max(least(hour + interval '1 hour', now())) AS last_at
          FROM counted
         WHERE hour >= date_trunc('hour', created_at)
         GROUP BY flag_id, environment, app_name
    ),
    sighted AS (
        INSERT INTO flag_sightings (flag_id, environment, app_name, first_at, last_at)
        SELECT flag_id, environment, app_name, seen.first_at, seen.last_at
          FROM seen
          LEFT JOIN flag_sightings AS known USING (flag_id, environment, app_name)
         WHERE known.flag_id IS NULL
            OR seen.last_at > known.last_at + interval '1 minute'
            OR seen.first_at < known.first_at
         ORDER BY flag_id, environment, app_name
            ON CONFLICT ON CONSTRAINT flag_sightings_pkey DO UPDATE
           SET first_at = least(flag_sightings.first_at, excluded.first_at),
               last_at = greatest(flag_sightings.last_at, excluded.last_at)
    )
    SELECT DISTINCT
           reported.app_name,
           reported.flag_name,
           reported.environment,
           environments.name IS NULL AS has_no_environment,
           flags.id IS NULL AS is_unknown
      FROM reported
      LEFT JOIN environments ON environments.name = reported.environment
      LEFT JOIN flags ON flags.name = reported.flag_name AND flags.deleted_at IS NULL
     WHERE number NOT IN (SELECT number FROM counted)
"""


def add(conn: Connection, usage: Mapping[UsageKey, Counts]) -> list[DictRow]:
    """Add usage of live and archived flags. Return the rest, for which there is no such environment or flag.

    It has app_name, flag_name, environment, has_no_environment, and is_unknown. If both are false, the flag belongs to
    another project than those of the token.
    """
    keys, counts = list(usage), list(usage.values())
    variants = [(number, *item) for number, each in enumerate(counts, 1) for item in each.variants.items()]
    return rows(
        conn,
        ADD,
        {
            "scopes": [key.scope for key in keys],
            "environments": [key.environment for key in keys],
            "apps": [key.app_name for key in keys],
            "flags": [key.flag_name for key in keys],
            "hours": [key.hour for key in keys],
            "yes": [each.yes for each in counts],
            "no": [each.no for each in counts],
            "variant_rows": [number for number, _, _ in variants],
            "variants": [name for _, name, _ in variants],
            "variant_counts": [count for _, _, count in variants],
        },
    )


KNOWN = """
    SELECT flag_name, app_name, environment, seen_at > now() - interval '1 hour' AS is_recent
      FROM unnest(%(flags)s::text[], %(apps)s::text[], %(environments)s::text[])
           AS reported (flag_name, app_name, environment)
      JOIN unknown_flags USING (flag_name, app_name, environment)
     WHERE seen_at >= now() - interval '7 days'
"""

COUNT_UNKNOWN = "SELECT count(*) FROM unknown_flags WHERE seen_at >= now() - interval '7 days'"

LOCK_UNKNOWN: LiteralString = f"""
    SELECT pg_advisory_xact_lock({locks.LIMIT}, {locks.of_text("'unknown flags'")})
"""

KEEP_UNKNOWN = """
    WITH pruned AS (
        DELETE FROM unknown_flags WHERE seen_at < now() - interval '7 days'
    ),
    renewed AS (
        UPDATE unknown_flags AS known
           SET seen_at = now()
          FROM unnest(%(flags)s::text[], %(apps)s::text[], %(environments)s::text[])
               AS reported (flag_name, app_name, environment)
         WHERE (known.flag_name, known.app_name, known.environment)
             = (reported.flag_name, reported.app_name, reported.environment)
           AND seen_at >= now() - interval '7 days'
    )
    INSERT INTO unknown_flags (flag_name, app_name, environment, seen_at)
    SELECT flag_name, app_name, environment, now()
      FROM unnest(%(flags)s::text[], %(apps)s::text[], %(environments)s::text[])
           AS reported (flag_name, app_name, environment)
      LEFT JOIN unknown_flags AS known USING (flag_name, app_name, environment)
     WHERE known.seen_at IS NULL
     LIMIT (SELECT greatest(%(most)s - count(*), 0)
              FROM unknown_flags
             WHERE seen_at >= now() - interval '7 days')
"""


def keep_unknown(conn: Connection, names: Sequence[tuple[str, str, str]], *, public: bool) -> None:
    """Remember (flag, application, environment) of flags that do not exist. Beyond MAX_UNKNOWN, none is added.

    Names that were written in the last hour are not written again. public: only frontend tokens report these names, so
    they leave room for SERVER_UNKNOWN.
    """
    known = {tuple(row.values())[:3]: row["is_recent"] for row in rows(conn, KNOWN, columns(names))}
    due, new = [name for name in names if known.get(name) is False], [name for name in names if name not in known]
    most = MAX_UNKNOWN - public * SERVER_UNKNOWN
    # Without room, other transactions need not wait for the lock.
    due += new[: max(most - value(conn, COUNT_UNKNOWN), 0)] if new else ()
    if due:
        run(conn, LOCK_UNKNOWN)
        run(conn, KEEP_UNKNOWN, {"most": most, **columns(due)})


def columns(names: Sequence[tuple[str, str, str]]) -> dict[str, list[str]]:
    """Return (flag, application, environment) by column."""
    flags, apps, environments = ([*column] for column in zip(*names, strict=True))
    return {"flags": flags, "apps": apps, "environments": environments}
