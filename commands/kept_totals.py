"""What doctor says of the numbers that triggers keep: whether they are right, and how they were mended."""

import sys
import time
from collections.abc import Iterator
from typing import Any

import click

from sql import Connection, kept_totals, migrate

Finding = tuple[str, str, str]
# So many are looked at unless all are asked for, and so long at most, in seconds.
SAMPLE = 10
SAMPLE_SECONDS = 5.0
# So long for who locks the tables, in seconds: a timer runs this, and should hear of it.
PATIENCE = 30
TOTALS, WEEKS = "kept totals", "kept weeks"


def look_at_kept(conn: Connection, *, thorough: bool, repair: bool) -> Iterator[Finding]:
    """Whether the totals of the event log and the weeks of usage are right; mended first, where that is asked for."""
    for subject, look, mend in ((TOTALS, look_at_totals, mend_totals), (WEEKS, look_at_weeks, mend_weeks)):
        began = time.monotonic()
        with conn.transaction():
            take_the_time(conn)
            wrong, sentence = look(conn, thorough=thorough or repair)
        if wrong and repair:
            with conn.transaction():
                take_the_time(conn)
                sentence = f"{sentence} So all was counted anew: {mend(conn)} Now they are right"
        seconds = f"({time.monotonic() - began:.1f} s)"
        if not wrong:
            more = "" if thorough or repair else " --thorough looks at all."
            yield "ok", subject, f"{sentence} {seconds}.{more}"
        elif repair:
            yield "ok", subject, f"{sentence} {seconds}."
        else:
            yield "FAIL", subject, f"{sentence} {seconds} Run flask --app app doctor --repair to count anew."


def take_the_time(conn: Connection) -> None:
    """Let the caller's transaction count for as long as it takes, but not wait for others for ever."""
    migrate.take_all_the_time(conn)
    conn.execute("SELECT set_config('lock_timeout', %s, true)", [f"{PATIENCE}s"])


def look_at_totals(conn: Connection, *, thorough: bool) -> tuple[bool, str]:
    """Whether the totals of the event log are wrong, and a sentence about them."""
    whole = kept_totals.of_whole_log(conn)
    if whole["kept"] != whole["counted"]:
        return True, f"They say that there are {whole['kept']} events, and there are {whole['counted']}."
    if thorough:
        months = kept_totals.all_months(conn)
        with bar("Counting events", len(months)) as progress:
            wrong = 0
            for first, last in months:
                wrong += kept_totals.wrong_days(conn, first, last)
                progress.update(1)
        sums = kept_totals.wrong_sums(conn)
        if wrong or sums:
            return True, f"They are off on {wrong} days, and {sums} of them do not add up."
        return False, f"They are right: {whole['counted']} events, by day, project, type, creator and environment"
    deadline = time.monotonic() + SAMPLE_SECONDS
    looked_at = wrong = 0
    for day in kept_totals.some_days(conn, SAMPLE):
        if time.monotonic() < deadline:
            looked_at += 1
            wrong += kept_totals.wrong_days(conn, day, day)
    if wrong:
        return True, f"They are off on {wrong} of {looked_at} days chosen at random."
    return False, f"They are right: {whole['counted']} events in all, and those of {looked_at} days chosen at random"


def mend_totals(conn: Connection) -> str:
    """Count the event log anew; how many events it has."""
    return f"{kept_totals.recount(conn)} events."


def look_at_weeks(conn: Connection, *, thorough: bool) -> tuple[bool, str]:
    """Whether the kept weeks of usage are wrong, and a sentence about them."""
    found = kept_totals.wrong_weeks(conn, None if thorough else SAMPLE)
    if found["wrong"]:
        return True, f"Of {found['looked_at']} weeks of usage of projects, {found['wrong']} are not the sum of their hours."
    return False, f"They are right: {found['looked_at']} weeks of usage of projects{'' if thorough else ' chosen at random'}"


def mend_weeks(conn: Connection) -> str:
    """Count the weeks of usage anew; how many there are."""
    return f"{kept_totals.recount_weeks(conn)} weeks."


def bar(label: str, length: int) -> Any:
    """A progress bar on stderr, which is only there where that is a terminal."""
    return click.progressbar(length=length, label=label, file=sys.stderr, hidden=not sys.stderr.isatty())
