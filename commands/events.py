"""flask events: the event log as a whole."""

import gzip
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

import click

from commands.database import DatabaseCommand
from sql import connection
from sql.event_stream import Held, Stream
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
@click.option("--after", type=click.IntRange(min=0), default=0, help="Begin behind the event with this id.")
@click.option(
    "--output",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Write to a new file instead of stdout; compressed if its name ends in .gz.",
)
def export(after: int, output: Path | None, **options: Any) -> None:
    """Write the event log as JSON, one event a line, oldest first.

    The lines are those of the search with Accept: application/x-ndjson. At the end, stderr says with which --after to go on later.
    """
    asked = checked(EventExport(), {name.rstrip("_"): value for name, value in options.items() if value not in (None, ())})
    stream = Stream(filters(asked), after=after)
    written, reached = 0, after
    with new_file(output) as out:
        try:
            for text in batches(stream):
                out.write(text)
                out.flush()
                written, reached = stream.lines, stream.after
        except BrokenPipeError:
            # Who has heard enough needs no more words.
            raise
        except BaseException:
            say_how_far(written, reached)
            raise
    say_how_far(written, reached)


def batches(stream: Stream) -> Iterator[bytes]:
    """The batches of a stream for who may see everything, with a progress bar where somebody looks on."""
    try:
        with connection() as conn:
            began = stream.after
            text = stream.read(conn, is_admin=True, viewer=None)
            with progress("Exporting", (stream.newest or 0) - began) as bar:
                while True:
                    yield text
                    bar.update(stream.after - began)
                    began = stream.after
                    if stream.is_over:
                        return
                    time.sleep(stream.pause)
                    text = stream.read(conn, is_admin=True, viewer=None)
    except Held:
        message = f"A transaction that does not end may still write the next event after {stream.after}. Try again when it has ended."
        raise click.ClickException(message) from None


def say_how_far(written: int, reached: int) -> None:
    """On stderr, how much was written, and how to go on."""
    click.echo(f"Wrote {written} events. To go on later: --after {reached}", err=True)


def new_file(path: Path | None) -> AbstractContextManager[Any]:
    """Where to write bytes: a file that was not there before; None: stdout."""
    if path is None:
        return nullcontext(sys.stdout.buffer)
    try:
        if path.suffix == ".gz":
            return gzip.open(path, "xb")
        return path.open("xb")
    except OSError as error:
        reason = "it is there already" if isinstance(error, FileExistsError) else error.strerror
        raise click.ClickException(f"The file {path} cannot be made: {reason}.") from None


def progress(label: str, length: int) -> Any:
    """A progress bar on stderr, which is only there where that is a terminal."""
    return click.progressbar(length=length, label=label, file=sys.stderr, hidden=not sys.stderr.isatty())
