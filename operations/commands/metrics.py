"""flags metrics: prune the usage that applications have reported."""

import sys
from datetime import date, timedelta

import click
from flask import current_app

from operations.commands.database import DatabaseCommand
from operations.commands.output import say
from operations.postgres import migrate
from rules.refusals import quantity
from sql import usage_retention
from sql.database import connection, transaction


@click.group()
def metrics() -> None:
    """Prune the usage that applications have reported."""


@metrics.command(cls=DatabaseCommand)
@click.option(
    "--days",
    type=click.IntRange(1, 36500),
    help="Number of days to keep, apart from today.  [default: USAGE_RETENTION_DAYS]",
)
@click.option("--dry-run", is_flag=True, help="Only print the number of rows to delete and to merge.")
def prune(days: int | None, dry_run: bool) -> None:
    """Merge and delete old usage.

    Usage that is older than 30 days is merged: each day gets one row for all its hours. Usage that is older than the
    given number of days is deleted. Days are in UTC. Run this command once a day with cron or a timer: the service
    never merges or deletes usage itself.
    """
    with connection() as conn:
        today = usage_retention.today(conn)
        first_day = usage_retention.first_day(conn) or today
    kept_days = days or current_app.config["USAGE_RETENTION_DAYS"]
    first_kept = today - timedelta(days=kept_days) if kept_days else date.min
    first_hourly = today - timedelta(days=usage_retention.HOURLY_DAYS)
    merged = deleted = 0
    number_of_days = max(0, (max(first_hourly, first_kept) - first_day).days)
    with click.progressbar(range(number_of_days), file=sys.stderr, hidden=not sys.stderr.isatty()) as bar:
        for number in bar:
            day = first_day + timedelta(days=number)
            # A day can have many rows, so no statement has a timeout here.
            with transaction() as conn:
                migrate.disable_timeout(conn)
                if dry_run:
                    rows = usage_retention.count(conn, day)
                    deleted += rows["all_rows"] if day < first_kept else 0
                    merged += 0 if day < first_kept else rows["all_rows"] - rows["merged_rows"]
                elif day < first_kept:
                    deleted += usage_retention.delete(conn, day)
                else:
                    merged += usage_retention.merge(conn, day)
    merge, delete = ("Would merge", "Would delete") if dry_run else ("Merged", "Deleted")
    say(f"{merge} usage before {first_hourly} (UTC) into days: {quantity(merged, 'row')} fewer.")
    if kept_days:
        say(f"{delete} {quantity(deleted, 'row')} of usage before {first_kept} (UTC).")
