"""Limit the rows of usage that a frontend token adds. It is public, so anybody can report with it."""

from collections.abc import Sequence

from sql.client.reports import UsageKey
from sql.database import Connection, rows

# Our choice: the new rows of a frontend token in an hour. A variant is a row too. 4 applications with 5,000 flags fit.
MAX_ROWS = 20_000

# CASE: PostgreSQL looks up each row by the primary key, and never reads all usage. The rows of tokens are locked in one
# order, so that transactions do not wait for each other in a circle.
ADD_NEW_ROWS = """
    WITH new AS (
        SELECT number, token_id, row_number() OVER (PARTITION BY token_id ORDER BY number DESC) AS from_end
          FROM unnest(%(token_id)s::bigint[], %(scope)s::text[], %(environment)s::text[], %(app_name)s::text[],
                      %(flag_name)s::text[], %(hour)s::timestamptz[], %(variant)s::text[])
               WITH ORDINALITY AS reported (token_id, scope, environment, app_name, flag_name, hour, variant, number)
          JOIN environments ON environments.name = environment
          JOIN flags ON flags.name = flag_name AND flags.deleted_at IS NULL
         WHERE (scope IS NULL OR project_id = ANY(scope::text[]))
           AND CASE WHEN variant IS NULL
                    THEN NOT EXISTS (
                        SELECT
                          FROM usage_metrics AS known
                         WHERE (known.project_id, known.hour, known.flag_name, known.environment, known.app_name)
                             = (flags.project_id, reported.hour, reported.flag_name, environment, reported.app_name))
                    ELSE (variant = 'disabled'
                          OR EXISTS (SELECT FROM variants WHERE flag_id = flags.id AND variants.name = variant))
                     AND NOT EXISTS (
                        SELECT
                          FROM usage_variants AS known
                         WHERE (known.project_id, known.hour, known.flag_name, known.environment, known.app_name,
                                known.variant)
                             = (flags.project_id, reported.hour, reported.flag_name, environment, reported.app_name,
                                reported.variant))
               END
    ),
    added AS (
        INSERT INTO frontend_additions AS known (token_id, hour, usage_rows)
        SELECT token_id, date_trunc('hour', now()), count(*) FROM new GROUP BY token_id ORDER BY token_id
            ON CONFLICT (token_id) DO UPDATE
           SET hour = greatest(known.hour, excluded.hour),
               usage_rows = excluded.usage_rows + CASE WHEN known.hour < excluded.hour THEN 0 ELSE known.usage_rows END
        RETURNING token_id, usage_rows
    )
    SELECT number FROM new JOIN added USING (token_id) WHERE usage_rows - from_end >= %(most)s ORDER BY number
"""


Row = tuple[UsageKey, str | None]


def add_new_rows(conn: Connection, reported: Sequence[Row]) -> list[Row]:
    """Count the reported rows that usage does not have yet. Return those above MAX_ROWS.

    Without a variant, a row is one of usage_metrics. Others with new rows of the token wait for this transaction,
    so the bound holds for all services.
    """
    columns = zip(*((*key, variant) for key, variant in reported), strict=True)
    params = dict(zip((*UsageKey._fields, "variant"), map(list, columns), strict=True))
    return [reported[row["number"] - 1] for row in rows(conn, ADD_NEW_ROWS, {**params, "most": MAX_ROWS})]
