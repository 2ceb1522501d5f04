"""What frontend tokens add with their reports, hour by hour, and which reported usage would be new rows."""

from collections.abc import Sequence

from sql.client.reports import UsageKey
from sql.database import Connection, rows, value

# CASE: PostgreSQL looks up each row by the primary key, and never reads all usage.
NEW_ROWS = """
    SELECT number
      FROM unnest(%(scope)s::text[], %(environment)s::text[], %(app_name)s::text[], %(flag_name)s::text[],
                  %(hour)s::timestamptz[], %(variant)s::text[])
           WITH ORDINALITY AS reported (scope, environment, app_name, flag_name, hour, variant, number)
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
                      OR EXISTS (SELECT FROM variants WHERE variants.flag_id = flags.id AND variants.name = variant))
                 AND NOT EXISTS (
                    SELECT
                      FROM usage_variants AS known
                     WHERE (known.project_id, known.hour, known.flag_name, known.environment, known.app_name,
                            known.variant)
                         = (flags.project_id, reported.hour, reported.flag_name, environment, reported.app_name,
                            reported.variant))
           END
     ORDER BY number
"""


def new_rows(conn: Connection, reported: Sequence[tuple[UsageKey, str | None]]) -> list[tuple[UsageKey, str | None]]:
    """Return the reported rows that usage does not have yet. Without a variant, it is a row of usage_metrics."""
    columns = zip(*((*key, variant) for key, variant in reported), strict=True)
    params = dict(zip((*UsageKey._fields, "variant"), map(list, columns), strict=True))
    return [reported[row["number"] - 1] for row in rows(conn, NEW_ROWS, params)]


ADD = """
    WITH old AS (
        DELETE FROM frontend_additions
         WHERE ctid = ANY(ARRAY(
                SELECT ctid
                  FROM frontend_additions
                 WHERE hour < now() - interval '25 hours'
                 LIMIT 100
                   FOR UPDATE SKIP LOCKED))
    )
    INSERT INTO frontend_additions AS known (token_id, hour, usage_rows, applications)
    VALUES (%(token_id)s, date_trunc('hour', now()), %(usage_rows)s, %(applications)s)
    ON CONFLICT (token_id, hour) DO UPDATE
       SET usage_rows = known.usage_rows + excluded.usage_rows,
           applications = known.applications + excluded.applications
    RETURNING usage_rows
"""


def add(conn: Connection, token_id: int, usage_rows: int, applications: int) -> int:
    """Count what a token adds, and return its rows of usage in this hour, with these and with refused ones.

    Other transactions that count for the token in this hour wait for this one, so the bound holds for all services.
    """
    return value(conn, ADD, {"token_id": token_id, "usage_rows": usage_rows, "applications": applications})
