"""flask doctor: what it says of the numbers that triggers keep, and what --repair mends."""

from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

import pytest

from sql import connect, kept_totals, value
from tests.command_line import CommandLine
from tests.test_commands_doctor import about, parsed
from tests.test_event_totals import NOW, add, assert_right, count

Maker = Callable[..., Any]


@pytest.fixture
def line(make_database: Maker, make_app: Maker) -> Iterator[CommandLine]:
    """The command line on a database of its own."""
    url = make_database()
    with connect(url) as conn:
        yield CommandLine(make_app(url, BCRYPT_ROUNDS=12), conn)


@pytest.fixture
def log(line: CommandLine) -> CommandLine:
    """A log of two years, most of it counted."""
    for days in (0, 1, 40, 400):
        add(line.conn, 30, project="default", creator=1, at=NOW - timedelta(days=days))
    count(line.conn)
    add(line.conn, 7, project="default")
    return line


def test_totals_that_are_right_are_told_so(log: CommandLine) -> None:
    status, grade, sentence = about(log, "kept totals")
    assert (status, grade) == (0, "ok")
    number = value(log.conn, "SELECT count(*) FROM events")
    assert sentence.startswith(f"They are right: {number} events in all, and those of ")
    assert sentence.endswith("s). --thorough looks at all.")
    done = log.does("doctor", "--thorough")
    assert f"They are right: {number} events, by day, project, type, creator and environment (" in done


# Each of them is seen without looking at everything; by project alone, it depends on the day.
@pytest.mark.parametrize(
    "change",
    [
        "UPDATE event_totals SET total = total + 1 WHERE key = event_key(NULL, NULL, NULL, NULL)",
        "DELETE FROM event_totals",
        "DELETE FROM uncounted_ids",
        "ALTER TABLE events DISABLE TRIGGER uncount_events; DELETE FROM events WHERE created_by = 'somebody' AND id % 10 = 0;"
        "ALTER TABLE events ENABLE TRIGGER uncount_events",
        "UPDATE event_totals SET days = array_replace(days, 30, 29) WHERE key = event_key('default', NULL, NULL, NULL)",
    ],
)
def test_totals_that_are_off_are_a_failure_and_repaired(log: CommandLine, change: str) -> None:
    log.conn.execute(change)  # pyright: ignore
    status, grade, sentence = about(log, "kept totals")
    assert (status, grade) == (1, "FAIL")
    assert sentence.endswith("Run flask --app app doctor --repair to count anew.")
    done = log.run("doctor", "--repair")
    [(grade, sentence)] = [(grade, it) for grade, subject, it in parsed(done.stdout) if subject == "kept totals"]
    assert (done.exit_code, grade) == (0, "ok")
    assert f"counted anew: {value(log.conn, 'SELECT count(*) FROM events')} events. Now they are right" in sentence
    assert_right(log.conn)
    assert about(log, "kept totals")[1] == "ok"


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE event_totals SET months = array_append(months, 1) WHERE cardinality(months) < 12 AND key = event_key(NULL, NULL, 1, NULL)",
        "UPDATE event_totals SET total = total + 1 WHERE key = event_key(NULL, NULL, 1, NULL)",
        "INSERT INTO event_totals VALUES (event_key('nowhere', NULL, NULL, NULL), 2011, 1, '{1}', '{1}')",
    ],
)
def test_a_thorough_look_sees_what_a_sample_may_miss(log: CommandLine, change: str) -> None:
    log.conn.execute(change)  # pyright: ignore
    result = log.run("doctor", "--thorough")
    assert (result.exit_code, [grade for grade, subject, _ in parsed(result.stdout) if subject == "kept totals"]) == (1, ["FAIL"])
    assert log.run("doctor", "--repair").exit_code == 0
    assert_right(log.conn)


def test_the_sample_is_of_several_days(line: CommandLine) -> None:
    for days in range(20):
        add(line.conn, 10, at=NOW - timedelta(days=days))
    found = kept_totals.some_days(line.conn, 10)
    # That all ten places are of one day happens once in more years than there were.
    assert 2 <= len(found) == len(set(found)) <= 10
    line.conn.execute("TRUNCATE events")
    assert kept_totals.some_days(line.conn, 10) == []


def test_events_that_come_while_it_looks_are_no_failure(log: CommandLine) -> None:
    with connect(log.app.config["DATABASE_URL"]) as other, other.transaction():
        add(other, 3, project="default")
        assert kept_totals.of_whole_log(log.conn)["kept"] == kept_totals.of_whole_log(log.conn)["counted"]
        assert about(log, "kept totals")[1] == "ok"


@pytest.mark.parametrize("option", [[], ["--repair"]])
def test_it_does_not_wait_for_ever_for_who_locks_the_totals(log: CommandLine, monkeypatch: pytest.MonkeyPatch, option: list[str]) -> None:
    monkeypatch.setattr("commands.kept_totals.PATIENCE", 1)
    with connect(log.app.config["DATABASE_URL"]) as other, other.transaction():
        if option:
            log.conn.execute("DELETE FROM event_totals")
            other.execute("SELECT lock_event_totals()")
        else:
            other.execute("LOCK TABLE event_totals IN ACCESS EXCLUSIVE MODE")
        result = log.run("doctor", *option)
    assert result.exit_code == 1
    assert parsed(result.stdout)[-1] == ("FAIL", "database", "It refuses to be looked at: canceling statement due to lock timeout.")


def test_kept_weeks_are_looked_at_and_repaired(line: CommandLine) -> None:
    line.conn.execute("""
        INSERT INTO usage_metrics (project_id, flag_name, environment, app_name, hour, yes)
        SELECT 'default', 'f', 'production', 'app', date_trunc('hour', now()) - interval '1 week' * week, week
          FROM generate_series(1, 8) AS week
    """)
    assert value(line.conn, "SELECT recount_usage_weeks()") == 8
    status, grade, sentence = about(line, "kept weeks")
    assert (status, grade) == (0, "ok")
    assert sentence.startswith("They are right: 8 weeks of usage of projects chosen at random (")
    for change in ("UPDATE usage_weeks SET yes = yes + 1", "UPDATE usage_weeks SET apps = 2 WHERE yes = 3"):
        line.conn.execute(change)  # pyright: ignore
        assert about(line, "kept weeks")[:2] == (1, "FAIL")
        assert line.run("doctor", "--repair").exit_code == 0
        assert about(line, "kept weeks")[:2] == (0, "ok")
    line.conn.execute("DELETE FROM usage_weeks WHERE yes = 3")
    assert "1 are not the sum of their hours" in line.run("doctor", "--thorough").stdout
    assert "So all was counted anew: 8 weeks. Now they are right" in line.run("doctor", "--repair").stdout
