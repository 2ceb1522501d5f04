"""The insights that are calculated by changes or from totals, compared with a plain calculation week by week."""

import json
from datetime import UTC, date, datetime, timedelta
from typing import Any, LiteralString

import pytest

from sql import insights
from sql.catalog import environments
from sql.database import Connection, value
from sql.projects.health import HEALTH, MEAN_DAYS
from sql.projects.visibility import VISIBLE
from tests.support.event_rows import add
from tests.support.world import World

# Weeks from Monday to Sunday in UTC that overlap the days and have begun. until: the last instant, or now.
WEEKS: LiteralString = f"""
    WITH weeks AS (
        SELECT to_char(monday, 'IYYY-IW') AS week,
               monday::timestamp AT TIME ZONE 'UTC' AS since,
               least((monday + 7)::timestamp AT TIME ZONE 'UTC' - interval '1 microsecond', now()) AS until
          FROM (SELECT generate_series(date_trunc('week', %(first_day)s::date::timestamp),
                                       least(%(last_day)s::date, (now() AT TIME ZONE 'UTC')::date)::timestamp,
                                       '7 days')::date AS monday) AS mondays
         WHERE %(first_day)s::date <= %(last_day)s::date
    ),
    seen_projects AS (
        SELECT id, created_at, archived_at
          FROM projects
         WHERE {VISIBLE}
    )
"""

# A flag counts in its present project, with the present lifetime of its type. A stale flag is not potentially stale.
FLAGS: LiteralString = """
    , flags_then AS (
        SELECT until,
               project_id,
               count(*) AS total,
               count(*) FILTER (WHERE NOT is_stale AND NOT is_old) AS active,
               count(*) FILTER (WHERE is_stale) AS stale,
               count(*) FILTER (WHERE NOT is_stale AND is_old) AS potentially_stale
          FROM weeks
          JOIN flags ON flags.created_at <= until
          JOIN flag_types ON flag_types.id = flags.type
         CROSS JOIN LATERAL (
            SELECT coalesce(bool_or(state = 'archived'), false) AS is_archived,
                   coalesce(bool_or(state = 'stale'), false) AS is_stale,
                   coalesce(until - flags.created_at > make_interval(days => lifetime_days), false) AS is_old
              FROM flag_states
             WHERE flag_id = flags.id
               AND started_at <= until
               AND (ended_at IS NULL OR ended_at > until)
         ) AS states
         WHERE NOT is_archived
         GROUP BY until, project_id
    ),
    flag_trends AS (
        SELECT iso(until) AS date,
               coalesce(sum(total), 0) AS total,
               coalesce(sum(active), 0) AS active,
               coalesce(sum(stale), 0) AS stale,
               coalesce(sum(potentially_stale), 0) AS "potentiallyStale"
          FROM weeks
          LEFT JOIN flags_then USING (until)
         GROUP BY until
    )
"""

# A project has an entry for each week at whose end it existed and was not archived.
PROJECT_FLAGS: LiteralString = f"""
    , production_then AS (
        SELECT until, project_id, avg(extract(epoch FROM first_in_production_at - created_at) / 86400) AS days
          FROM weeks
          JOIN flags ON first_in_production_at <= until
         GROUP BY until, project_id
    ),
    members_then AS (
        SELECT until, project_id, count(DISTINCT user_id) AS users
          FROM weeks
          JOIN project_memberships ON started_at <= until AND (ended_at IS NULL OR ended_at > until)
         GROUP BY until, project_id
    ),
    project_facts AS (
        SELECT weeks.week,
               weeks.until,
               seen_projects.id AS project,
               coalesce(total, 0) AS total,
               coalesce(active, 0) AS active,
               coalesce(stale, 0) AS stale,
               coalesce(potentially_stale, 0) AS potentially_stale,
               coalesce(users, 0) AS users,
               days
          FROM weeks
          JOIN seen_projects ON created_at <= weeks.until AND (archived_at IS NULL OR archived_at > weeks.until)
          LEFT JOIN flags_then ON flags_then.until = weeks.until AND flags_then.project_id = seen_projects.id
          LEFT JOIN production_then
                 ON production_then.until = weeks.until AND production_then.project_id = seen_projects.id
          LEFT JOIN members_then ON members_then.until = weeks.until AND members_then.project_id = seen_projects.id
    ),
    project_flag_trends AS (
        SELECT week,
               project,
               {HEALTH} AS health,
               {MEAN_DAYS} AS "timeToProduction",
               iso(until) AS date,
               total,
               active,
               stale,
               potentially_stale AS "potentiallyStale",
               users
          FROM project_facts
    )
"""

# An event counts for the type that its environment had then.
ENVIRONMENTS: LiteralString = """
    , environment_type_trends AS (
        SELECT iso(until) AS date, week, environment_types.type AS "environmentType", count(*) AS "totalUpdates"
          FROM weeks
          JOIN events ON events.created_at BETWEEN since AND until
          JOIN environment_types ON environment_types.environment = events.environment
                                AND environment_types.started_at < events.created_at
                                AND (environment_types.ended_at IS NULL
                                     OR environment_types.ended_at >= events.created_at)
         GROUP BY week, until, environment_types.type
    )
"""

PLAINLY: LiteralString = f"""
    {WEEKS}{FLAGS}{PROJECT_FLAGS}{ENVIRONMENTS}
    SELECT json_build_object(
        'flagTrends', (SELECT coalesce(json_agg(entry ORDER BY date), '[]') FROM flag_trends AS entry),
        'projectFlagTrends',
            (SELECT coalesce(json_agg(entry ORDER BY date, project), '[]') FROM project_flag_trends AS entry),
        'environmentTypeTrends',
            (SELECT coalesce(json_agg(entry ORDER BY date, "environmentType"), '[]')
               FROM environment_type_trends AS entry))
"""


def plainly(conn: Connection, first_day: date, last_day: date, viewer: int | None) -> dict[str, Any]:
    """The arrays, of the weeks that overlap these days (UTC, both included). viewer: see VISIBLE."""
    return value(conn, PLAINLY, {"first_day": first_day, "last_day": last_day, "viewer": viewer})


# Instants at random, many of them at the very end or beginning of a week, or a microsecond beside.
SETUP = """
    CREATE FUNCTION some_instant() RETURNS timestamptz LANGUAGE sql VOLATILE AS $$
        SELECT least(now(), CASE WHEN random() < 0.4
                                 THEN date_trunc('week', now() - interval '300 days' * random())
                                      + (floor(random() * 3) - 1) * interval '1 microsecond'
                                 ELSE now() - interval '300 days' * random() END)
    $$;
    CREATE FUNCTION pick(names text[]) RETURNS text LANGUAGE sql VOLATILE AS $$
        SELECT names[1 + floor(random() * cardinality(names))::integer]
    $$;
    DELETE FROM events;
    INSERT INTO environments (name, type, sort_order) VALUES ('staging', 'preproduction', 3), ('old', 'test', 4);
    INSERT INTO projects (id, name, mode, created_at, archived_at)
    SELECT 'p' || number, 'p', CASE WHEN number % 3 = 0 THEN 'private' ELSE 'open' END, some_instant(),
           CASE WHEN random() < 0.2 THEN some_instant() END
      FROM generate_series(1, 7) AS number;
    INSERT INTO users (username, root_role_id, account_type, created_at, deleted_at)
    SELECT 'user' || number, 3, CASE WHEN random() < 0.2 THEN 'Service Account' ELSE 'User' END, some_instant(),
           CASE WHEN random() < 0.2 THEN some_instant() END
      FROM generate_series(1, 40) AS number;
    INSERT INTO flags (name, project_id, type, created_at, stale_since, archived_at, deleted_at, first_in_production_at)
    SELECT 'flag' || number, CASE WHEN random() < 0.1 AND is_gone THEN NULL ELSE 'p' || 1 + number % 7 END,
           pick('{release,experiment,operational,kill-switch}'), born,
           CASE WHEN random() < 0.3 THEN greatest(born, some_instant()) END,
           CASE WHEN is_gone OR random() < 0.3 THEN greatest(born, some_instant()) END,
           CASE WHEN is_gone THEN now() END,
           CASE WHEN random() < 0.4 THEN greatest(born, some_instant()) END
      FROM (SELECT number, some_instant() AS born, random() < 0.1 AS is_gone
            FROM generate_series(1, 200) AS number) AS made;
    INSERT INTO past_flag_states
    SELECT flags.id, pick('{stale,archived}'), least(one, other), greatest(one, other)
      FROM flags
     CROSS JOIN generate_series(1, 2)
     CROSS JOIN LATERAL (SELECT some_instant() AS one, some_instant() AS other, flags.id AS of) AS ends
     WHERE random() < 0.3;
    INSERT INTO groups (name) VALUES ('g1'), ('g2');
    INSERT INTO group_users (group_id, user_id, created_at)
    SELECT groups.id, users.id, some_instant() FROM groups CROSS JOIN users WHERE random() < 0.2;
    INSERT INTO project_user_roles (project_id, user_id, role_id, created_at)
    SELECT projects.id, users.id, role, some_instant()
      FROM projects CROSS JOIN users CROSS JOIN (VALUES (4), (5)) AS roles (role)
     WHERE random() < 0.1;
    INSERT INTO project_group_roles (project_id, group_id, role_id, created_at)
    SELECT projects.id, groups.id, 5, some_instant() FROM projects CROSS JOIN groups WHERE random() < 0.3;
    INSERT INTO past_project_user_roles
    SELECT projects.id, users.id, 4, least(one, other), greatest(one, other)
      FROM projects CROSS JOIN users
           CROSS JOIN LATERAL (SELECT some_instant() AS one, some_instant() AS other, users.id AS of) AS ends
     WHERE random() < 0.2;
    INSERT INTO past_group_users
    SELECT groups.id, users.id, least(one, other), greatest(one, other)
      FROM groups CROSS JOIN users
           CROSS JOIN LATERAL (SELECT some_instant() AS one, some_instant() AS other, users.id AS of) AS ends
     WHERE random() < 0.2;
    INSERT INTO past_environment_types
    SELECT pick('{staging,gone}'), pick('{test,production,load}'), some_instant() FROM generate_series(1, 6);
    DELETE FROM environments WHERE name = 'old';
    UPDATE past_environment_types SET ended_at = least(ended_at, now());
    INSERT INTO events (created_at, type, created_by, environment)
    SELECT CASE WHEN random() < 0.1
                THEN coalesce((SELECT ended_at FROM past_environment_types ORDER BY random(), number LIMIT 1), now())
                WHEN random() < 0.05 THEN now() + random() * interval '2 days'
                ELSE some_instant() END,
           'feature-created', 'somebody', pick('{staging,production,development,gone,old,never}')
      FROM generate_series(1, 600) AS number;
"""


@pytest.mark.parametrize("seed", [0.1, 0.2, 0.3])
def test_the_sum_of_changes_equals_a_count_of_every_week(conn: Connection, world: World, seed: float) -> None:
    conn.execute("SELECT setseed(%(seed)s)", {"seed": seed})
    conn.execute(SETUP)
    viewer = world.user("Somebody").id
    today: date = value(conn, "SELECT (now() AT TIME ZONE 'UTC')::date")
    for back, until in ((91, 0), (320, 0), (150, 60), (3, 0), (700, 300), (0, 5)):
        for user in (None, viewer):
            days = today - timedelta(days=back), today - timedelta(days=until)
            found = json.loads(insights.trends(conn, *days, user))
            for key, entries in plainly(conn, *days, user).items():
                assert found[key] == entries, (key, days, user)


def test_insights_count_a_week_in_which_a_type_changed(conn: Connection) -> None:
    today = datetime.now(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    monday = today - timedelta(days=28 + today.weekday())
    environments.insert(conn, "staging", "preproduction")
    wednesday = monday + timedelta(days=2, hours=12)
    for week in (-7, 0, 7):
        for hours in (0, 50, 70, 160):
            add(conn, at=monday + timedelta(days=week, hours=hours), environment="staging")
    days = (monday - timedelta(days=7)).date(), today.date()
    insights.trends(conn, *days, None)
    assert value(conn, "SELECT count(*) FROM event_weeks WHERE kind = 'all'") >= 3
    conn.execute("INSERT INTO past_environment_types VALUES ('staging', 'test', %s)", [wednesday])
    found = json.loads(insights.trends(conn, *days, None))["environmentTypeTrends"]
    assert found == plainly(conn, *days, None)["environmentTypeTrends"]
    updates = [(entry["environmentType"], entry["totalUpdates"]) for entry in found]
    assert [update for update in updates if update[0] in ("test", "preproduction")] == [
        ("test", 4),
        ("preproduction", 2),
        ("test", 2),
        ("preproduction", 4),
    ]
