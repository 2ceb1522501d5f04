"""flags import-unleash: move from a running Unleash server."""

import sys
import time
from collections.abc import Iterable
from pathlib import Path
from urllib.parse import urlsplit

import click
from flask import current_app

from operations.commands.database import DatabaseCommand, service_address
from operations.commands.flags import skip_option
from operations.commands.output import cell, say
from operations.unleash.client import Unleash
from operations.unleash.server import read_server
from rules.access import SYSTEM
from rules.import_contents import Contents
from rules.import_report import Conflicts, Report
from rules.instance_import import import_contents
from sql.database import connection, rolled_back_transaction, transaction_or_savepoint

MAX_TOKEN = 1000


@click.command("import-unleash", cls=DatabaseCommand)
@click.argument("url")
@click.option(
    "--token-file",
    required=True,
    type=click.Path(exists=True, dir_okay=False, allow_dash=True, path_type=Path),
    help="File with an admin token of that server, or - for stdin.",
)
@click.option("--dry-run", is_flag=True, help="Print the report and change nothing.")
@click.option("--project", "projects", multiple=True, metavar="ID", help="Project to move; repeatable.  [default: all]")
@click.option("--with-users", is_flag=True, help="Move users, custom roles, groups and access to projects too.")
@click.option(
    "--ca-file",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Certificate to trust, in PEM format, if the system does not trust that of the server.",
)
@skip_option
def import_unleash(
    url: str,
    token_file: Path,
    *,
    dry_run: bool,
    projects: tuple[str, ...],
    with_users: bool,
    ca_file: Path | None,
    skip_change_requests: bool,
) -> None:
    """Move the contents of the Unleash server at URL into this instance.

    Unleash 5 to 8. Flags, API tokens and all else move in one transaction. Existing records stay as they are,
    so you can repeat the command. Only unchanged built-in records take the values of that server, which is only read.
    This service can keep running.
    """
    began = time.monotonic()
    contents = read_server(open_server(url, token_file, ca_file), projects, with_users=with_users)
    if contents.users and not dry_run:
        current_app.config["BASE_URL"] = service_address()
    report = write_contents(contents, began, dry_run=dry_run, skip_change_requests=skip_change_requests)
    if not dry_run:
        say_lines(f"{name} {link}" for name, link in report.reset_links)


def write_contents(contents: Contents, began: float, *, dry_run: bool, skip_change_requests: bool) -> Report:
    """Write the contents of a move, and print the report or the conflicts. began: when the command began."""
    try:
        with connection() as conn, rolled_back_transaction(conn) if dry_run else transaction_or_savepoint(conn):
            report = import_contents(conn, SYSTEM, contents, skip_change_requests=skip_change_requests)
    except Conflicts as error:
        say_lines([*error.table, *error.lines()])
        sys.exit(1)
    say_lines(report.lines(dry_run=dry_run, seconds=time.monotonic() - began))
    return report


def open_server(url: str, token_file: Path, ca_file: Path | None) -> Unleash:
    """Return the server at a URL, which may end with / or /api. Raises ClickException for an invalid URL or file."""
    try:
        parts = urlsplit(url)
        is_valid = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
    except ValueError:
        is_valid = False
    if not is_valid or any(character in url for character in "@?# "):
        raise click.BadParameter("must be an address such as https://unleash.example.com", param_hint="URL")
    name = "stdin" if str(token_file) == "-" else str(token_file)
    with click.open_file(str(token_file), "rb") as file:
        token = file.read(MAX_TOKEN).decode("ascii", "replace").strip()
    if not (token.isascii() and token.isprintable() and token and " " not in token):
        raise click.BadParameter(f"{name} must contain an API token and nothing else", param_hint="--token-file")
    return Unleash(url.rstrip("/").removesuffix("/api"), token, name, ca_file)


def say_lines(lines: Iterable[str]) -> None:
    """Print lines on stdout, with control characters escaped."""
    for line in lines:
        say(cell(line))
