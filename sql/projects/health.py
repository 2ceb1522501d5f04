"""How healthy a project is: SQL expressions that its records and the insights share."""

from typing import LiteralString

# The percentage of active flags. A project without flags has 100 (decisions.md, Insights).
HEALTH: LiteralString = "CASE WHEN total = 0 THEN 100 ELSE round(100.0 * active / total)::integer END"

# Whether a flag is active (decisions.md, Insights): a condition on flags joined with flag_types.
ACTIVE: LiteralString = (
    "stale_since IS NULL AND coalesce(now() - flags.created_at <= make_interval(days => lifetime_days), true)"
)

# Our choice: 0 means that there is no mean, in the insights too. A mean has one decimal and is at least 0.1.
MEAN_DAYS: LiteralString = "CASE WHEN days IS NULL THEN 0 ELSE trim_scale(greatest(0.1, round(days, 1))) END"

# Whether a flag is potentially stale: it is not marked stale, but older than the lifetime of its type.
POTENTIALLY_STALE: LiteralString = f"stale_since IS NULL AND NOT ({ACTIVE})"

# Counts of live flags. Add AND with the project.
FLAG_COUNTS: LiteralString = f"""
    SELECT count(*) AS total,
           count(*) FILTER (WHERE {ACTIVE}) AS active,
           count(*) FILTER (WHERE stale_since IS NOT NULL) AS stale
      FROM flags
      JOIN flag_types ON flag_types.id = flags.type
     WHERE archived_at IS NULL
"""
