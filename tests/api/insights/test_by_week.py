"""The insights compared with a calculation week by week (tests/support/insights_by_week.py)."""

import json
from datetime import UTC, date, datetime, timedelta

import pytest

from sql import insights
from sql.database import Connection, value
from sql.vocabulary import environments
from tests.support import insights_by_week
from tests.support.event_rows import add
from tests.support.world import World

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
    INSERT INTO user_seen_days
    SELECT DISTINCT id, some_instant()::date FROM users CROSS JOIN generate_series(1, 5);
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
    INSERT INTO usage_metrics (project_id, flag_name, environment, app_name, hour, yes, no)
    SELECT 'p' || 1 + number % 7, 'flag' || number % 9, pick('{staging,production}'), pick('{web,app}'),
           date_trunc('hour', some_instant()), 1, 2
      FROM generate_series(1, 100) AS number ON CONFLICT DO NOTHING;
    -- On some dates, some of these rows are the same.
    INSERT INTO usage_metrics (project_id, flag_name, environment, app_name, hour, yes, no)
    SELECT DISTINCT 'p' || 1 + number % 7, 'flag' || number % 9, pick('{staging,production}'), pick('{web,app}'),
           date_trunc('hour', CASE WHEN random() < 0.1 THEN now() + random() * interval '9 days'
                                   ELSE some_instant() END), 3, 1
      FROM generate_series(1, 200) AS number
        ON CONFLICT ON CONSTRAINT usage_metrics_pkey DO UPDATE SET yes = usage_metrics.yes + 1;
    DELETE FROM usage_metrics WHERE random() < 0.1;
    UPDATE usage_metrics SET project_id = 'p1', flag_name = 'moved ' || project_id || flag_name WHERE random() < 0.1;
    INSERT INTO projects (id, name) VALUES ('gone', 'Gone');
    INSERT INTO usage_metrics
    VALUES ('gone', 'flag', 'production', 'web', date_trunc('hour', now() - interval '100 days'), 1, 1);
    DELETE FROM projects WHERE id = 'gone';
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
            found, wanted = (json.loads(module.trends(conn, *days, user)) for module in (insights, insights_by_week))
            for key, entries in wanted.items():
                assert found[key] == entries, (key, days, user)
            assert list(found) == list(wanted)
            assert [list(entry) for entry in found["projectFlagTrends"][:1]] == [
                list(entry) for entry in wanted["projectFlagTrends"][:1]
            ]


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
    found, wanted = (
        json.loads(module.trends(conn, *days, None))["environmentTypeTrends"] for module in (insights, insights_by_week)
    )
    assert found == wanted
    of_staging = [
        (row["environmentType"], row["totalUpdates"])
        for row in found
        if row["environmentType"] in ("test", "preproduction")
    ]
    assert of_staging == [("test", 4), ("preproduction", 2), ("test", 2), ("preproduction", 4)]
