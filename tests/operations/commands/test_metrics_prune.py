"""flags metrics prune: what is merged, what is deleted, and that readers see no difference."""

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta

import pytest

from sql import usage_retention
from sql.database import connect
from tests.support import fixtures
from tests.support.instance import ADMIN_KEY
from tests.support.races import wait_for
from tests.support.world import Caller, World

USAGE = "SELECT flag_name AS flag, app_name AS app, hour, yes, no FROM usage_metrics ORDER BY hour, flag_name, app_name"
VARIANTS = "SELECT hour, variant, count FROM usage_variants ORDER BY hour, variant"
RANDOM = """
    INSERT INTO usage_metrics (project_id, flag_name, environment, app_name, hour, yes, no)
    SELECT project, 'f' || flag, environment, 'app' || app,
           date_trunc('hour', now()) - number * interval '7 hours', 1 + (random() * 9)::integer, (random() * 9)::integer
      FROM unnest(ARRAY['default', 'hermes']) AS project, generate_series(1, 3) AS flag, generate_series(1, 2) AS app,
           unnest(ARRAY['development', 'production']) AS environment, generate_series(0, 300) AS number
     WHERE random() < 0.5;
    INSERT INTO usage_variants (project_id, flag_name, environment, app_name, hour, variant, count)
    SELECT project_id, flag_name, environment, app_name, hour, variant, 1 + (random() * 9)::integer
      FROM usage_metrics, unnest(ARRAY['red', 'blue']) AS variant WHERE random() < 0.5;
"""
PRUNE = ("metrics", "prune")


@pytest.fixture
def log(line):
    """An instance without flags and usage."""
    line.conn.execute("TRUNCATE usage_metrics, usage_variants, flag_sightings, flags CASCADE")
    return line


def at(days, hours=0):
    """An hour of the day that is so many days ago."""
    midnight = datetime.now(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    return midnight - timedelta(days=days) + timedelta(hours=hours)


def report(log, hour, yes, no=0, variants=(), *, flag="f", app="shop"):
    """Report usage and variants."""
    key = {"project": "default", "flag": flag, "environment": "production", "app": app}
    fixtures.report_usage(log.conn, [key | {"at": hour, "yes": yes, "no": no}])
    columns = {"project_id": "default", "flag_name": flag, "environment": "production", "app_name": app}
    for variant, count in dict(variants).items():
        fixtures.insert(log.conn, "usage_variants", **columns, hour=hour, variant=variant, count=count)


def usage(log):
    """The rows of usage."""
    return [tuple(row.values()) for row in log.rows(USAGE)]


def hours(log):
    """The hours of usage."""
    return [row[2] for row in usage(log)]


def test_the_hours_of_an_old_day_become_one_row_at_its_last_hour(log):
    for days in (31, 30):
        report(log, at(days), 1, 10, {"red": 1, "blue": 2})
        report(log, at(days, 5), 2, 20, {"red": 4})
        report(log, at(days, 22), 3, 30, {"red": 8})
        report(log, at(days, 23), 500, app="other")
    report(log, at(32, 23), 7)
    report(log, at(31, 3), 9, flag="g")
    before = usage(log)
    text = f"{{}} usage before {at(30):%F} (UTC) into days: 2 rows fewer.\n"
    assert log.does(*PRUNE, "--dry-run") == text.format("Would merge")
    assert usage(log) == before
    assert log.does(*PRUNE) == text.format("Merged")
    assert usage(log) == [
        ("f", "shop", at(32, 23), 7, 0),
        ("g", "shop", at(31, 3), 9, 0),
        ("f", "shop", at(31, 22), 6, 60),
        ("f", "other", at(31, 23), 500, 0),
        ("f", "shop", at(30), 1, 10),
        ("f", "shop", at(30, 5), 2, 20),
        ("f", "shop", at(30, 22), 3, 30),
        ("f", "other", at(30, 23), 500, 0),
    ]
    merged, kept = at(31, 22), at(30)
    assert [tuple(row.values()) for row in log.rows(VARIANTS)][:4] == [
        (merged, "blue", 2),
        (merged, "red", 13),
        (kept, "blue", 2),
        (kept, "red", 1),
    ]
    assert log.does(*PRUNE) == text.format("Merged").replace("2 rows", "0 rows")


def test_one_row_is_in_the_singular_and_none_in_the_plural(log):
    merged, deleted = f"Merged usage before {at(30):%F} (UTC) into days", f"usage before {at(40):%F} (UTC)."
    assert log.does(*PRUNE) == f"{merged}: 0 rows fewer.\n"
    for day, hour in ((41, 1), (31, 1), (31, 2)):
        report(log, at(day, hour), 1)
    assert log.does(*PRUNE, "--days", "40") == f"{merged}: 1 row fewer.\nDeleted 1 row of {deleted}\n"


def test_no_reader_sees_a_difference(log):
    world = World(log.app, log.conn)
    world.project("hermes")
    for number in (1, 2, 3):
        # Created during an hour of a day that has usage before and after it.
        world.flag(f"f{number}", created_at=at(41 + number) + timedelta(hours=12.7))
    log.conn.execute(RANDOM)

    def read():
        admin = Caller(log.app, ADMIN_KEY)
        paths = [f"insights?from={at(100):%F}", "projects/hermes/overview", "projects"]
        paths += [f"projects/default/features/f{number}" for number in (1, 2, 3)]
        paths += [f"client-metrics/features/f{number}/raw?hoursBack=700" for number in (1, 2, 3)]
        insights, overview, *others = (admin.get(f"/api/admin/{path}").get_json() for path in paths)
        trends = insights["metricsSummaryTrends"]
        assert len(trends) > 20
        # The end of the present week is now.
        for trend in trends:
            trend.pop("date")
        return [trends, overview["onboardingStatus"], *others]

    totals = """
        SELECT (hour AT TIME ZONE 'UTC')::date AS day, variant, flag_name, app_name, environment, project_id, sum(count)
          FROM usage_variants GROUP BY 1, 2, 3, 4, 5, 6 ORDER BY 1, 2, 3, 4, 5, 6
    """
    before, variants, rows = read(), log.rows(totals), len(usage(log))
    assert "Merged 0 " not in log.does(*PRUNE)
    assert len(usage(log)) < rows * 0.8
    assert (read(), log.rows(totals)) == (before, variants)


def test_usage_older_than_the_retention_is_deleted(log, with_settings):
    for days in (41, 40, 31, 20, 10):
        for hour in (1, 2):
            report(log, at(days, hour), 1, 0, {"red": 1})
    set_to_40 = with_settings(USAGE_RETENTION_DAYS=40)
    text = f"{{}} usage before {at(30):%F} (UTC) into days: 2 rows fewer.\n"
    text += f"{{}} 2 rows of usage before {at(40):%F} (UTC).\n"
    assert set_to_40.does(*PRUNE, "--dry-run") == text.format("Would merge", "Would delete")
    assert len(usage(log)) == 10
    assert set_to_40.does(*PRUNE) == text.format("Merged", "Deleted")
    assert hours(log)[:2] == [at(40, 2), at(31, 2)]
    assert len(log.rows(VARIANTS)) == 6
    # The option wins over the setting, and days that are deleted need no merge.
    assert "Deleted 4 rows of usage before" in set_to_40.does(*PRUNE, "--days", "15")
    assert hours(log) == [at(10, 1), at(10, 2)]
    assert log.run(*PRUNE, "--days", "0").exit_code == 2


def test_each_day_is_a_transaction(log, monkeypatch):
    for days in (33, 32, 31):
        for hour in (1, 2):
            report(log, at(days, hour), 1)
    merge = usage_retention.merge

    def fail_on_the_last_day(conn, day):
        if day == at(31).date():
            raise KeyboardInterrupt
        return merge(conn, day)

    monkeypatch.setattr(usage_retention, "merge", fail_on_the_last_day)
    assert log.run(*PRUNE).exit_code == 1
    assert hours(log) == [at(33, 2), at(32, 2), at(31, 1), at(31, 2)]


def test_two_prunes_take_turns(log, url):
    for hour in (1, 2):
        report(log, at(31, hour), 1, 0, {"red": 1})

    def merge():
        with connect(url) as conn, conn.transaction():
            return usage_retention.merge(conn, at(31).date())

    with connect(url) as other, ThreadPoolExecutor(1) as pool:
        with other.transaction():
            assert usage_retention.merge(other, at(31).date()) == 1
            second = pool.submit(merge)
            wait_for(other, [second])
            assert not second.done()
        assert second.result() == 0
    assert [row["count"] for row in log.rows(VARIANTS)] == [2]
