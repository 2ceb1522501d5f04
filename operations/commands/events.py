"""flags events: export and prune the event log."""

import gzip
import sys
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from datetime import date
from pathlib import Path
from typing import Any

import click
from flask import current_app

from operations.commands.database import DatabaseCommand
from operations.commands.output import say
from operations.postgres import migrate
from rules.refusals import quantity
from sql import event_filters, event_retention
from sql.database import connection, transaction
from sql.event_stream import OpenTransaction, Stream, newest
from validators import load_or_400
from validators.commands import EventExport
from validators.events import TYPES, filters


@click.group()
def events() -> None:
    """Export and prune the event log."""


def filter_options(command: Callable[..., None]) -> Callable[..., None]:
    """Add the options that filter events. An event must match all of them."""
    for option in (
        click.option("--query", help="Text in the data, previous data or tags; ignores case."),
        click.option("--to", metavar="YYYY-MM-DD", help="Last day (UTC)."),
        click.option("--from", "from_", metavar="YYYY-MM-DD", help="First day (UTC)."),
        click.option(
            "--created-by",
            "createdBy",
            type=click.IntRange(min=0),
            multiple=True,
            help="User id of the creator; repeatable.",
        ),
        click.option(
            "--token",
            "createdByToken",
            type=click.IntRange(min=1),
            multiple=True,
            help="Id of the API token that made the change, also a deleted one; repeatable.",
        ),
        click.option("--feature", multiple=True, help="Flag name; repeatable."),
        click.option("--type", multiple=True, help="Event type; repeatable."),
        click.option("--project", multiple=True, help="Project id; repeatable."),
    ):
        command = option(command)
    return command


output_option = click.option(
    "--output",
    type=click.Path(dir_okay=False, allow_dash=True, path_type=Path),
    default="-",
    metavar="FILE",
    help="New file to write, or - for stdout. Compressed if its name ends in .gz.  [default: stdout]",
)


@events.command(cls=DatabaseCommand)
@filter_options
@click.option("--after", type=click.IntRange(min=0), default=0, help="Start after the event with this id.")
@output_option
def export(after: int, output: Path, **options: Any) -> None:
    """Write events as JSON, one per line, oldest first.

    The lines are the same as those of an event search with Accept: application/x-ndjson. At the end, stderr shows the
    --after value for the next export. Only the owner of FILE can read it.
    """
    given = {name.rstrip("_"): value for name, value in options.items() if value not in (None, ())}
    search = load_or_400(EventExport(), given)
    refuse_unknown(search)
    try:
        until = newest(connection, after, current_app.config["WAIT_SECONDS"])
    except OpenTransaction as error:
        raise click.ClickException(str(error)) from None
    stream = Stream(filters(search), after=after, until=until)
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
            # The program that reads our output has ended.
            raise
        except BaseException:
            print_summary(written, reached)
            raise
    print_summary(written, reached)


def refuse_unknown(search: Mapping[str, Any]) -> None:
    """Raise ClickException for filters that match no event because a name is mistyped."""
    with connection() as conn:
        found = event_filters.unknown(
            conn, search.get("project", ()), search.get("feature", ()), search.get("createdBy", ())
        )
    found["types"] = [type for type in search.get("type", ()) if type not in TYPES]
    messages = [
        f"{option}: unknown {noun} {', '.join(map(str, found[key]))}"
        for option, noun, key in (
            ("project", "project", "projects"),
            ("type", "event type", "types"),
            ("feature", "flag", "flags"),
            ("created-by", "user", "users"),
        )
        if found[key]
    ]
    if messages:
        raise click.ClickException("; ".join(messages))


def print_summary(written: int, reached: int) -> None:
    """Print on stderr how many events were written, and the --after value for the next export."""
    click.echo(f"Wrote {quantity(written, 'event')}. To continue later: --after {reached}", err=True)


def new_file(path: Path) -> AbstractContextManager[Any]:
    """Create a file that only its owner can read, and open it for bytes. If the path is -, return stdout."""
    if str(path) == "-":
        return nullcontext(sys.stdout.buffer)
    try:
        path.touch(0o600, exist_ok=False)
        return gzip.open(path, "wb") if path.suffix == ".gz" else path.open("wb")
    except OSError as error:
        exists = isinstance(error, FileExistsError)
        message = f"{path} already exists." if exists else f"{path} cannot be created: {error.strerror}."
        raise click.ClickException(message) from None


def progress(label: str, length: int) -> Any:
    """Return a progress bar on stderr. It is hidden unless stderr is a terminal."""
    return click.progressbar(length=length, label=label, file=sys.stderr, hidden=not sys.stderr.isatty())


@events.command(cls=DatabaseCommand)
@click.option(
    "--days",
    type=click.IntRange(1, 36500),
    help="Number of days to keep, apart from today.  [default: EVENT_RETENTION_DAYS]",
)
@click.option("--dry-run", is_flag=True, help="Only print the number of events to delete.")
def prune(days: int | None, dry_run: bool) -> None:
    """Delete old events permanently.

    Keeps the events of today and of the given number of days before it (UTC). Run this command once a day with cron or
    a timer: the service never deletes events itself.
    """
    kept_days = days or current_app.config["EVENT_RETENTION_DAYS"]
    if kept_days == 0:
        # Our choice: no error, so everybody can use the same timer.
        say("EVENT_RETENTION_DAYS is 0: events are kept for ever. To delete old events, set it or use --days.")
        return
    with connection() as conn:
        first_day = event_retention.first_kept_day(conn, kept_days)
    if dry_run:
        say(f"Would delete {quantity(number_before(first_day), 'event')} before {first_day} (UTC).")
    else:
        say(f"Deleted {quantity(delete_before(first_day), 'event')} before {first_day} (UTC).")


def delete_before(first_day: date) -> int:
    """Delete events in batches, and return their number. An interruption keeps what was deleted before."""
    prune = event_retention.Prune(first_day)
    with progress("Deleting", number_before(first_day) if sys.stderr.isatty() else 0) as bar:
        number = None
        while number != 0:
            with transaction() as conn:
                number = prune.delete_some(conn)
            bar.update(number)
    return prune.number


def number_before(first_day: date) -> int:
    """Return the number of events to delete, without a statement timeout."""
    with transaction() as conn:
        migrate.disable_timeout(conn)
        return event_retention.count(conn, first_day)
