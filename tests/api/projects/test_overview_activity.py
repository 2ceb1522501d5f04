"""Project overview: the activity of a project is exact, however busy it is."""

from sql.database import value

# All over three months, and around every instant at which something begins or ends: a window, a day, and this very
# moment.
FILL = """
    WITH instants AS (
        SELECT now() - make_interval(days => days) AS instant FROM unnest(ARRAY[0, 30, 60]) AS days
    ),
    edges AS (
        SELECT instant FROM instants
     UNION ALL
        SELECT date_trunc('day', instant AT TIME ZONE 'UTC') AT TIME ZONE 'UTC' + make_interval(days => after)
          FROM instants, unnest(ARRAY[0, 1]) AS after
    )
    INSERT INTO events (created_at, type, created_by, project)
    SELECT at, 'feature-updated', 'system', project
      FROM (SELECT now() - number * 7919 % 7776000 * interval '1 second' AS at FROM generate_series(1, 6000) AS number
         UNION ALL
            SELECT instant + microseconds * interval '1 microsecond' FROM edges, unnest(ARRAY[-1, 0, 1]) AS microseconds
             WHERE instant + microseconds * interval '1 microsecond' <= now()
         UNION ALL
            SELECT now() + interval '1 hour') AS instants,
           unnest(ARRAY['gemini', 'vostok']) AS project
     WHERE project = 'gemini'
        OR extract(second FROM at)::integer % 3 = 0
"""

COUNT = """
    SELECT count(*)
      FROM events
     WHERE project = 'gemini'
       AND created_at > now() - %(from)s::interval
       AND created_at <= now() - %(to)s::interval
"""


def test_the_activity_is_what_the_log_has(world, conn, alice):
    world.project("gemini")
    world.project("vostok")
    conn.execute(FILL)
    stats = alice.get("/api/admin/projects/gemini/overview").json["stats"]
    assert stats["projectActivityCurrentWindow"] == value(conn, COUNT, {"from": "30 days", "to": "0"})
    assert stats["projectActivityPastWindow"] == value(conn, COUNT, {"from": "60 days", "to": "30 days"})
    assert stats["projectActivityCurrentWindow"] > 1500
