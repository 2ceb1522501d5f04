"""flags demo: start a separate instance with the data of an imaginary company."""

import json
import os
import secrets
import shlex
import socket
import sys
from pathlib import Path
from typing import LiteralString

import click

from operations import bootstrap, start
from operations.commands.database import one_line
from operations.commands.output import say
from operations.postgres import embedded, migrate
from rules.api_tokens import new_secret
from serving import settings
from serving.settings import FOLDER, PROJECT, SETTINGS
from sql.database import Connection, value
from sql.tokens import signup_tokens

SQL = Path(__file__).with_name("demo.sql")
STEP = "-- Step: "
LOGIN = "demo-login.json"

IS_FILLED = "SELECT EXISTS (SELECT FROM users WHERE email = 'nora.lindqvist@brightcart.example')"
# A new instance has the administrator and the project default.
IS_EMPTY = """
    SELECT (SELECT count(*) FROM users) <= 1 AND (SELECT count(*) FROM projects) <= 1 AND NOT EXISTS (SELECT FROM flags)
"""
LOCK = "LOCK TABLE users IN SHARE ROW EXCLUSIVE MODE"
COUNTS = """
    SELECT format('%s users, %s projects, %s flags, %s events',
                  (SELECT count(*) FROM users), (SELECT count(*) FROM projects WHERE archived_at IS NULL),
                  (SELECT count(*) FROM flags WHERE archived_at IS NULL), (SELECT count(*) FROM events))
"""
GET_SIGNUP_LINK: LiteralString = f"SELECT {signup_tokens.URL} FROM signup_tokens WHERE name = 'New colleagues'"


@click.command(context_settings={"show_default": True})
@click.option(
    "--data-dir",
    type=click.Path(path_type=Path),
    default=FOLDER / "data-demo",
    show_default=False,
    help="Folder for the demo's data.  [default: ./data-demo]",
)
@click.option("--host", envvar="HOST", show_envvar=True, default="127.0.0.1", help="Address to listen on.")
@click.option(
    "--port", envvar="PORT", show_envvar=True, default=4243, type=click.IntRange(1, 65535), help="Port to listen on."
)
@click.option("--use-database-url", is_flag=True, help="Fill the empty database in DATABASE_URL, and start no service.")
def demo(data_dir: Path, host: str, port: int, use_database_url: bool) -> None:
    """Start a demo: an online shop with two years of data.

    The demo has its own data folder, so it cannot change your data. Of your settings, it uses only HOST and PORT.
    If you run the command again, the same demo starts again.
    """
    with one_line():
        if use_database_url:
            config = settings.load(os.environ)
            if not config["DATABASE_URL"]:
                raise click.UsageError("--use-database-url requires the setting DATABASE_URL.")
            say(fill(config["DATABASE_URL"], config))
            return
        environ = environment(data_dir.absolute(), host, port)
        config = settings.load(environ)
        try:
            socket.create_server((host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET).close()
        except OSError as error:
            # error.strerror of create_server() repeats the address.
            known = os.strerror(error.errno) if error.errno and error.errno > 0 else "Unknown host name"
            reason = f"Cannot listen on {host}:{port}: {known}."
            advice = "If the demo is already running, use it. If not, choose another port: ./flags demo --port NUMBER"
            raise click.ClickException(f"{reason} {advice}") from None
        # instructions() tells people to delete the whole folder.
        if data_dir.exists() and not {path.name for path in data_dir.iterdir()} <= {*embedded.CONTENTS, LOGIN}:
            raise migrate.DatabaseProblem(
                f"{data_dir.absolute()} contains other files. Set --data-dir to a new folder."
            )
        ignored = sorted(name for name in os.environ if os.environ[name] and environ.get(name) != os.environ[name])
        if ignored:
            click.echo(f"The demo ignores these settings: {', '.join(ignored)}.", err=True)
        try:
            click.echo(f"Starting the demo's PostgreSQL in {data_dir.absolute()} ...", err=True)
            url = start.find_database(config, environ)
            login = read_login(data_dir, url)
            first = {f"INIT_ADMIN_{name}": text for name, text in login.items()}
            summary = fill(url, settings.load(environ | first))
        finally:
            start.release_servers()
    say(summary)
    for line in instructions(data_dir.absolute(), config["BASE_URL"], login):
        say(line)
    sys.stdout.flush()
    environ = environment(data_dir.absolute(), host, port)
    os.execve(sys.executable, [sys.executable, str(PROJECT / "operations" / "flags.py"), "serve"], environ)


def environment(data_dir: Path, host: str, port: int) -> dict[str, str]:
    """Return this process's environment with the settings of the demo, and without those of the real instance."""
    settings = {start.DATABASE_READY, *(f"{setting.name}{end}" for setting in SETTINGS for end in ("", "_FILE"))}
    others = {name: text for name, text in os.environ.items() if name not in settings}
    return others | {"DATA_DIR": str(data_dir), "HOST": host, "PORT": str(port)}


def read_login(data_dir: Path, url: str) -> dict[str, str]:
    """Return the administrator's password and API token. The first run generates them and stores them in the folder."""
    file = data_dir / LOGIN
    if not file.exists():
        with migrate.open_database(url, "none") as conn:
            if migrate.version(conn):
                problem = f"{data_dir} contains an instance that is not a demo."
                raise migrate.DatabaseProblem(f"{problem} Set --data-dir to another folder.")
        login = {"PASSWORD": secrets.token_urlsafe(15), "API_TOKENS": new_secret()}
        with os.fdopen(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as output:
            json.dump(login, output)
    return json.loads(file.read_text())


def fill(url: str, config: dict) -> str:
    """Fill an empty database, all or nothing, and return a summary of its data."""
    first_start = bootstrap.prepare_database(url, config)
    if first_start and (first_start.password or first_start.api_token):
        click.echo(bootstrap.announcement(first_start, config["BASE_URL"]), err=True)
    with migrate.open_database(url, config["DATABASE_POOLER"]) as conn:
        with conn.transaction():
            migrate.disable_timeout(conn)
            conn.execute(LOCK)
            is_new = must_be_filled(conn)
            if is_new:
                run_steps(conn)
        conn.execute("ANALYZE")
        state = "ready" if is_new else "already filled"
        link = value(conn, GET_SIGNUP_LINK, {"base_url": config["BASE_URL"]})
        return f"The demo is {state}: {value(conn, COUNTS)}. A signup link: {link}"


def must_be_filled(conn: Connection) -> bool:
    """Return True for a new database and False for a demo. Raise DatabaseProblem for any other database."""
    if value(conn, IS_FILLED):
        return False
    if not value(conn, IS_EMPTY):
        problem = "This database is not empty: it has users, projects or flags."
        raise migrate.DatabaseProblem(f"{problem} Use an empty database. Nothing was changed.")
    return True


def run_steps(conn: Connection) -> None:
    """Run demo.sql, with a progress bar on a terminal."""
    steps = SQL.read_text(encoding="utf-8").split(STEP)[1:]
    with click.progressbar(steps, label="Filling the demo", file=sys.stderr, hidden=not sys.stderr.isatty()) as bar:
        for step in bar:
            conn.execute(step.partition("\n")[2].encode())


def instructions(data_dir: Path, address: str, login: dict[str, str]) -> list[str]:
    """Return the lines that explain how to use the demo."""
    return [
        "",
        f"    address      {address}",
        "    user name    admin",
        f"    password     {login['PASSWORD']}",
        f"    API token    {login['API_TOKENS']}",
        "",
        "Try it:",
        "",
        f"    curl -H 'Authorization: {login['API_TOKENS']}' {address}/api/admin/projects/checkout/overview",
        "",
        f"To delete the demo, press Ctrl-C and run: rm -rf {shlex.quote(str(data_dir))}",
        "",
    ]
