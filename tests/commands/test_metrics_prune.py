"""flags metrics prune: what is merged, what is deleted, and that readers see no difference."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta
from typing import Any

import pytest

from sql import usage_retention
from sql.database import connect
from tests.support import fixtures
from tests.support.command_line import CommandLine, run_flags
from tests.support.events_command import midnight
from tests.support.instance import ADMIN_KEY
from tests.support.world import World

KEY = {"project": "default", "flag": "f", "environment": "production", "app": "shop"}
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


@pytest.fixture
def log(line: CommandLine) -> CommandLine:
    """An instance without flags and usage."""
    line.conn.execute("TRUNCATE usage_metrics, usage_variants, flag_sightings, flags CASCADE")
    return line


def at(days: int, hours: int = 0) -> datetime:
    """An hour of the day that is so many days ago."""
    return midnight() - timedelta(days=days) + timedelta(hours=hours)


def report(log: CommandLine, hour: datetime, yes: int, no: int = 0, variants: Any = (), **key: str) -> None:
    """Let usage and variants be reported."""
    words = KEY | key
    fixtures.report_usage(log.conn, [words | {"at": hour, "yes": yes, "no": no}])
    names = {"project": "project_id", "flag": "flag_name", "environment": "environment", "app": "app_name"}
    for variant, count in dict(variants).items():
        columns = {names[name]: text for name, text in words.items()}
        fixtures.insert(log.conn, "usage_variants", **columns, hour=hour, variant=variant, count=count)


def usage(log: CommandLine) -> list[tuple[Any, ...]]:
    """The rows of usage."""
    return [tuple(row.values()) for row in log.rows(USAGE)]


def test_the_hours_of_an_old_day_become_one_row_at_its_last_hour(log: CommandLine) -> None:
    for days in (31, 30):
        report(log, at(days), 1, 10, {"red": 1, "blue": 2})
        report(log, at(days, 5), 2, 20, {"red": 4})
        report(log, at(days, 22), 3, 30, {"red": 8})
        report(log, at(days, 23), 500, app="other")
    report(log, at(32, 23), 7)
    report(log, at(31, 3), 9, flag="g")
    before = usage(log)
    said = f"{{}} usage before {at(30):%F} (UTC) into days: 2 rows fewer.\n"
    assert log.does("metrics", "prune", "--dry-run") == said.format("Would merge")
    assert usage(log) == before
    assert log.does("metrics", "prune") == said.format("Merged")
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
    assert log.does("metrics", "prune") == said.format("Merged").replace("2 rows", "0 rows")


def test_an_instance_without_usage_has_nothing_to_merge(log: CommandLine) -> None:
    assert log.does("metrics", "prune") == f"Merged usage before {at(30):%F} (UTC) into days: 0 rows fewer.\n"


def test_one_row_is_no_plural(log: CommandLine) -> None:
    for day, hour in ((41, 1), (31, 1), (31, 2)):
        report(log, at(day, hour), 1)
    merged, deleted = f"{at(30):%F}", f"{at(40):%F}"
    expected = (
        f"Merged usage before {merged} (UTC) into days: 1 row fewer.\nDeleted 1 row of usage before {deleted} (UTC).\n"
    )
    assert log.does("metrics", "prune", "--days", "40") == expected


def test_no_reader_sees_a_difference(log: CommandLine) -> None:
    world = World(log.app, log.conn)
    world.project("hermes")
    for number in (1, 2, 3):
        # Created during an hour of a day that has usage before and after it.
        world.flag(f"f{number}", created_at=midnight() - timedelta(days=40 + number, hours=11.3))
    log.conn.execute(RANDOM)

    def read() -> list[Any]:
        client = log.app.test_client()
        first = f"{midnight() - timedelta(days=100):%F}"
        paths = [f"/api/admin/insights?from={first}", "/api/admin/projects/hermes/overview", "/api/admin/projects"]
        paths += [f"/api/admin/projects/default/features/f{number}" for number in (1, 2, 3)]
        paths += [f"/api/admin/client-metrics/features/f{number}/raw?hoursBack=700" for number in (1, 2, 3)]
        answers = [client.get(path, headers={"Authorization": ADMIN_KEY}) for path in paths]
        assert [answer.status_code for answer in answers] == [200] * len(paths)
        trends = answers[0].json["metricsSummaryTrends"]
        assert len(trends) > 20
        # The end of the present week is now.
        for trend in trends:
            trend.pop("date")
        return [trends, answers[1].json["onboardingStatus"], *(answer.json for answer in answers[2:])]

    totals = """
        SELECT (hour AT TIME ZONE 'UTC')::date AS day, variant, flag_name, app_name, environment, project_id, sum(count)
          FROM usage_variants GROUP BY 1, 2, 3, 4, 5, 6 ORDER BY 1, 2, 3, 4, 5, 6
    """
    before, variants, rows = read(), log.rows(totals), len(usage(log))
    assert "Merged 0 " not in log.does("metrics", "prune")
    assert len(usage(log)) < rows * 0.8
    assert (read(), log.rows(totals)) == (before, variants)


def test_usage_older_than_the_retention_is_deleted(log: CommandLine, make_app: Callable[..., Any]) -> None:
    for days in (41, 40, 31, 20, 10):
        for hour in (1, 2):
            report(log, at(days, hour), 1, 0, {"red": 1})
    set_to_40 = CommandLine(make_app(log.app.config["DATABASE_URL"], USAGE_RETENTION_DAYS=40), log.conn)
    said = "{} usage before {} (UTC) into days: 2 rows fewer.\n{} 2 rows of usage before {} (UTC).\n"
    hourly, first_day = f"{at(30):%F}", f"{at(40):%F}"
    assert set_to_40.does("metrics", "prune", "--dry-run") == said.format(
        "Would merge", hourly, "Would delete", first_day
    )
    assert len(usage(log)) == 10
    assert set_to_40.does("metrics", "prune") == said.format("Merged", hourly, "Deleted", first_day)
    assert [row[2] for row in usage(log)][:2] == [at(40, 2), at(31, 2)]
    assert len(log.rows(VARIANTS)) == 6
    # The option wins over the setting, and days that are deleted need no merge.
    assert "Deleted 4 rows of usage before" in set_to_40.does("metrics", "prune", "--days", "15")
    assert [row[2] for row in usage(log)] == [at(10, 1), at(10, 2)]
    assert log.run("metrics", "prune", "--days", "0").exit_code == 2


def test_each_day_is_a_transaction(log: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    for days in (33, 32, 31):
        for hour in (1, 2):
            report(log, at(days, hour), 1)
    merge = usage_retention.merge

    def fail_on_the_last_day(conn: Any, day: Any) -> int:
        if day == at(31).date():
            raise KeyboardInterrupt
        return merge(conn, day)

    monkeypatch.setattr(usage_retention, "merge", fail_on_the_last_day)
    assert log.run("metrics", "prune").exit_code == 1
    assert [row[2] for row in usage(log)] == [at(33, 2), at(32, 2), at(31, 1), at(31, 2)]


WAITING = "SELECT FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"


def test_two_prunes_take_turns(log: CommandLine) -> None:
    for hour in (1, 2):
        report(log, at(31, hour), 1, 0, {"red": 1})
    with connect(log.app.config["DATABASE_URL"]) as other, ThreadPoolExecutor(1) as pool:
        with other.transaction():
            assert usage_retention.merge(other, at(31).date()) == 1
            second = pool.submit(run_flags, "metrics", "prune", DATABASE_URL=log.app.config["DATABASE_URL"])
            while not log.rows(WAITING):
                assert not second.done(), second.result()
        assert ": 0 rows fewer." in second.result().stdout
    assert [row["count"] for row in log.rows(VARIANTS)] == [2]
