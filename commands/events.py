"""flask events: the event log as a whole."""

import gzip
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from datetime import date
from pathlib import Path
from typing import Any

import click
from flask import current_app

from commands.database import DatabaseCommand
from commands.output import say
from sql import event_retention
from sql.database import connection, migrate, transaction
from sql.event_stream import OpenTransaction, Stream, newest
from validators import checked
from validators.commands import EventExport
from validators.events import filters


@click.group()
def events() -> None:
    """The event log as a whole."""


def filter_options(command: Callable[..., None]) -> Callable[..., None]:
    """The options that say which events are meant; all of them together."""
    for option in (
        click.option("--query", help="A text that the event's data, previous data or tags hold, in any case of letters."),
        click.option("--to", metavar="YYYY-MM-DD", help="Last day, in UTC."),
        click.option("--from", "from_", metavar="YYYY-MM-DD", help="First day, in UTC."),
        click.option(
            "--created-by", "createdBy", type=click.IntRange(min=0), multiple=True, help="Id of a user who did it, once for each."
        ),
        click.option("--feature", multiple=True, help="Name of a flag, once for each."),
        click.option("--type", multiple=True, help="Type of events, once for each."),
        click.option("--project", multiple=True, help="Id of a project, once for each."),
    ):
        command = option(command)
    return command


@events.command(cls=DatabaseCommand)
@filter_options
@click.option("--after", type=click.IntRange(min=0), default=0, help="Begin after the event with this id.")
@click.option(
    "--output",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Write to a new file instead of stdout; compressed if its name ends in .gz. Only its owner can read it.",
)
def export(after: int, output: Path | None, **options: Any) -> None:
    """Write the event log as JSON, one event per line, oldest first.

    The lines are those of the search with Accept: application/x-ndjson. At the end, stderr names the --after to go on with later.
    """
    asked = checked(EventExport(), {name.rstrip("_"): value for name, value in options.items() if value not in (None, ())})
    try:
        until = newest(connection, after, current_app.config["WAIT_SECONDS"])
    except OpenTransaction as error:
        raise click.ClickException(str(error)) from None
    stream = Stream(filters(asked), after=after, until=until)
    written, reached = 0, after
    with new_file(output) as out, progress("Exporting", until - after) as bar:
        try:
            while not stream.is_over:
                with connection() as conn:
                    out.write(stream.read(conn, None))
                out.flush()
                bar.update(stream.after - reached)
                written, reached = stream.lines, stream.after
        except BrokenPipeError:
            # The reader has enough, so there is nothing to say.
            raise
        except BaseException:
            say_how_far(written, reached)
            raise
    say_how_far(written, reached)


def say_how_far(written: int, reached: int) -> None:
    """Print on stderr how much was written, and how to go on."""
    click.echo(f"Wrote {written} events. To go on later: --after {reached}", err=True)


def new_file(path: Path | None) -> AbstractContextManager[Any]:
    """Create a file that only its owner can read, and open it for bytes. None: stdout."""
    if path is None:
        return nullcontext(sys.stdout.buffer)
    try:
        path.touch(0o600, exist_ok=False)
        return gzip.open(path, "wb") if path.suffix == ".gz" else path.open("wb")
    except OSError as error:
        reason = "it already exists" if isinstance(error, FileExistsError) else error.strerror
        raise click.ClickException(f"The file {path} cannot be created: {reason}.") from None


def progress(label: str, length: int) -> Any:
    """A progress bar on stderr, which is only there where that is a terminal."""
    return click.progressbar(length=length, label=label, file=sys.stderr, hidden=not sys.stderr.isatty())


@events.command(cls=DatabaseCommand)
@click.option("--days", type=click.IntRange(1, 36500), help="Keep events for so many days.  [default: EVENT_RETENTION_DAYS]")
@click.option("--dry-run", is_flag=True, help="Only say how many events would be deleted.")
def prune(days: int | None, dry_run: bool) -> None:
    """Delete old events for good.

    What happened today or on one of so many whole days before it (UTC) is kept. Nothing else deletes events: run this every day, by cron
    or a timer.
    """
    kept = days or current_app.config["EVENT_RETENTION_DAYS"]
    if kept == 0:
        raise click.ClickException("EVENT_RETENTION_DAYS is 0, so events are kept for ever. Set it, or say --days.")
    with connection() as conn:
        first_day = event_retention.first_kept_day(conn, kept)
    if dry_run:
        say(f"Would delete {number_before(first_day)} events from before {first_day} (UTC).")
    else:
        say(f"Deleted {delete_before(first_day)} events from before {first_day} (UTC).")


def delete_before(first_day: date) -> int:
    """How many events were deleted, batch by batch; what is committed stays deleted when that is interrupted."""
    work = event_retention.Prune(first_day)
    with progress("Deleting", number_before(first_day) if sys.stderr.isatty() else 0) as bar:
        number = None
        while number != 0:
            with transaction() as conn:
                number = work.delete_some(conn)
            bar.update(number)
    return work.number


def number_before(first_day: date) -> int:
    """How many events there are to delete, however long it takes to count them."""
    with transaction() as conn:
        migrate.take_all_the_time(conn)
        return event_retention.count(conn, first_day)
