"""The insights about flags: numbers of flags by state at the end of each week, in total and by project.

Each state of a flag lasts for consecutive weeks. It adds 1 to the first of them, and subtracts 1 after the last.
Running sums of these changes are the numbers of each week, so the cost does not depend on flags times weeks. Week
numbers begin with 0.
"""

from typing import LiteralString

from sql.projects.health import HEALTH, MEAN_DAYS

# Our choice: a flag counts in its present project, and with the present lifetime of its type. A flag that is marked
# stale is not potentially stale, however old it is.
# Columns of flag_weeks: born, archived, stale and old are the first week at whose end the flag exists, is archived, is
# marked stale, or is older than its lifetime. If there is no such week, they are week_count. was_stale and
# was_archived are the weeks of ended states, or null.
FLAGS: LiteralString = """
    , past_states AS (
        SELECT flag_id,
               coalesce(range_agg(held) FILTER (WHERE state = 'stale'), '{}') AS was_stale,
               coalesce(range_agg(held) FILTER (WHERE state = 'archived'), '{}') AS was_archived
          FROM bounds
         CROSS JOIN LATERAL (
            SELECT flag_id, state,
                   int4range(width_bucket(started_at, after_ends), width_bucket(ended_at, after_ends)) AS held
              FROM past_flag_states
             WHERE started_at <= last_end
               AND ended_at > first_end) AS held_states
         GROUP BY flag_id
    ),
    flag_weeks AS MATERIALIZED (
        SELECT flags.project_id,
               week_count,
               width_bucket(flags.created_at, after_ends) AS born,
               coalesce(width_bucket(archived_at, after_ends), week_count) AS archived,
               coalesce(width_bucket(stale_since, after_ends), week_count) AS stale,
               coalesce(width_bucket(flags.created_at + make_interval(hours => 24 * lifetime_days), ends), week_count)
                   AS old,
               was_stale,
               was_archived
          FROM bounds
         CROSS JOIN flags
          JOIN flag_types ON flag_types.id = flags.type
          LEFT JOIN past_states ON past_states.flag_id = flags.id
         WHERE flags.created_at <= last_end
           AND (archived_at IS NULL OR archived_at > first_end)
    ),
    -- Most flags have no ended state. Then the weeks of each state are consecutive, and two numbers describe them.
    spans AS (
        SELECT project_id, week_count, born, archived,
               greatest(born, stale) AS stale, greatest(born, old) AS old, least(archived, stale) AS old_until
          FROM flag_weeks
         WHERE was_stale IS NULL
           AND born < archived
    ),
    plain_changes AS (
        SELECT project_id, born AS week, 1 AS total, 0 AS stale, 0 AS old FROM spans
     UNION ALL
        SELECT project_id, archived, -1, 0, 0 FROM spans WHERE archived < week_count
     UNION ALL
        SELECT project_id, stale, 0, 1, 0 FROM spans WHERE stale < archived
     UNION ALL
        SELECT project_id, archived, 0, -1, 0 FROM spans WHERE stale < archived AND archived < week_count
     UNION ALL
        SELECT project_id, old, 0, 0, 1 FROM spans WHERE old < old_until
     UNION ALL
        SELECT project_id, old_until, 0, 0, -1 FROM spans WHERE old < old_until AND old_until < week_count
    ),
    live_weeks AS MATERIALIZED (
        SELECT project_id,
               live,
               live * all_stale AS stale,
               live * int4multirange(int4range(old, week_count)) - all_stale AS old
          FROM flag_weeks
         CROSS JOIN LATERAL (
            SELECT int4multirange(int4range(born, archived)) - was_archived AS live,
                   was_stale + int4multirange(int4range(stale, week_count)) AS all_stale) AS states
         WHERE was_stale IS NOT NULL
           AND born < archived
    ),
    changes AS (
        SELECT project_id, week, sum(total)::integer AS total, sum(stale)::integer AS stale, sum(old)::integer AS old
          FROM (SELECT * FROM plain_changes
             UNION ALL
                SELECT project_id, lower(weeks), 1, 0, 0 FROM live_weeks, unnest(live) AS weeks
             UNION ALL
                SELECT project_id, upper(weeks), -1, 0, 0 FROM live_weeks, unnest(live) AS weeks
             UNION ALL
                SELECT project_id, lower(weeks), 0, 1, 0 FROM live_weeks, unnest(stale) AS weeks
             UNION ALL
                SELECT project_id, upper(weeks), 0, -1, 0 FROM live_weeks, unnest(stale) AS weeks
             UNION ALL
                SELECT project_id, lower(weeks), 0, 0, 1 FROM live_weeks, unnest(old) AS weeks
             UNION ALL
                SELECT project_id, upper(weeks), 0, 0, -1 FROM live_weeks, unnest(old) AS weeks) AS all_changes
         GROUP BY project_id, week
    ),
    flag_trends AS (
        SELECT number AS place,
               date,
               total,
               total - stale - old AS active,
               stale,
               old AS "potentiallyStale"
          FROM (SELECT number,
                       date,
                       sum(coalesce(sum(total), 0)) OVER so_far AS total,
                       sum(coalesce(sum(stale), 0)) OVER so_far AS stale,
                       sum(coalesce(sum(old), 0)) OVER so_far AS old
                  FROM weeks
                  LEFT JOIN changes ON changes.week = weeks.number
                 GROUP BY number, date
                WINDOW so_far AS (ORDER BY number)) AS sums
    )
"""

# Our choice: a project has an entry for each week at whose end it existed and was not archived.
PROJECT_FLAGS: LiteralString = f"""
    , production_changes AS (
        SELECT project_id,
               width_bucket(first_in_production_at, after_ends) AS week,
               count(*)::integer AS flags,
               sum(extract(epoch FROM first_in_production_at - created_at) / 86400) AS days
          FROM bounds
         CROSS JOIN flags
         WHERE first_in_production_at <= last_end
         GROUP BY 1, 2
    ),
    -- The weeks of each member, merged over all their roles.
    member_weeks AS (
        SELECT project_id, unnest(range_agg(held)) AS held
          FROM bounds
         CROSS JOIN LATERAL (
            SELECT project_id, user_id,
                   int4range(width_bucket(started_at, after_ends),
                             coalesce(width_bucket(ended_at, after_ends), week_count)) AS held
              FROM project_memberships
             WHERE started_at <= last_end
               AND (ended_at IS NULL OR ended_at > first_end)) AS memberships
         GROUP BY project_id, user_id
    ),
    member_changes AS (
        SELECT project_id, week, sum(change)::integer AS users
          FROM member_weeks
         CROSS JOIN LATERAL (VALUES (lower(held), 1), (upper(held), -1)) AS ends (week, change)
         GROUP BY project_id, week
    ),
    project_changes AS (
        SELECT project_id, week, sum(total)::integer AS total, sum(stale)::integer AS stale, sum(old)::integer AS old,
               sum(users)::integer AS users, sum(flags)::integer AS flags, sum(days) AS days
          FROM (SELECT project_id, week, total, stale, old,
                       NULL::integer AS users, NULL::integer AS flags, NULL::numeric AS days
                  FROM changes
             UNION ALL
                SELECT project_id, week, NULL, NULL, NULL, users, NULL, NULL FROM member_changes
             UNION ALL
                SELECT project_id, week, NULL, NULL, NULL, NULL, flags, days FROM production_changes) AS all_changes
         GROUP BY project_id, week
    ),
    project_weeks AS (
        SELECT seen_projects.id AS project,
               weeks.number AS place,
               weeks.week,
               weeks.date,
               created_at <= until AND (archived_at IS NULL OR archived_at > until) AS is_live,
               coalesce(sum(total) OVER so_far, 0) AS total,
               coalesce(sum(stale) OVER so_far, 0) AS stale,
               coalesce(sum(old) OVER so_far, 0) AS old,
               coalesce(sum(users) OVER so_far, 0) AS users,
               sum(days) OVER so_far / sum(flags) OVER so_far AS days
          FROM seen_projects
         CROSS JOIN weeks
          LEFT JOIN project_changes ON project_id = seen_projects.id AND project_changes.week = weeks.number
        WINDOW so_far AS (PARTITION BY seen_projects.id ORDER BY weeks.number)
    ),
    project_flag_trends AS (
        SELECT place,
               week,
               project,
               {HEALTH} AS health,
               {MEAN_DAYS} AS "timeToProduction",
               date,
               total,
               active,
               stale,
               old AS "potentiallyStale",
               users
          FROM (SELECT *, total - stale - old AS active FROM project_weeks WHERE is_live) AS live
    )
"""
