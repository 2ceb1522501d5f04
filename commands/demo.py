"""flask demo: start an instance of its own, filled with a believable company."""

import json
import os
import secrets
import shlex
import socket
import sys
from pathlib import Path

import click

from commands.database import one_line
from commands.output import say
from rules import bootstrap
from serving import settings, start
from serving.settings import PROJECT, SETTINGS
from sql.database import Connection, embedded, migrate, value
from sql.tokens import api_tokens

SQL = Path(__file__).with_name("demo.sql")
STEP = "-- Step: "
HOST = "127.0.0.1"
LOGIN = "demo-login.json"

IS_FILLED = "SELECT EXISTS (SELECT FROM users WHERE email = 'nora.lindqvist@brightcart.example')"
# What a first start makes.
IS_EMPTY = """
    SELECT (SELECT count(*) FROM users) <= 1 AND (SELECT count(*) FROM projects) <= 1 AND NOT EXISTS (SELECT FROM flags)
"""
LOCK = "LOCK TABLE users IN SHARE ROW EXCLUSIVE MODE"
COUNTS = """
    SELECT format('%s users, %s projects, %s flags, %s events', (SELECT count(*) FROM users), (SELECT count(*) FROM projects),
                  (SELECT count(*) FROM flags), (SELECT count(*) FROM events))
"""
GET_INVITATION = "SELECT secret FROM signup_tokens WHERE name = 'New colleagues'"


@click.command()
@click.option(
    "--data-dir", type=click.Path(path_type=Path), default=PROJECT / "data-demo", help="Folder for its data.  [default: ./data-demo]"
)
@click.option("--port", type=click.IntRange(1, 65535), default=4243, show_default=True, help="Port to listen on.")
@click.option("--use-database-url", is_flag=True, help="Fill the empty database that DATABASE_URL names instead; start nothing.")
def demo(data_dir: Path, port: int, use_database_url: bool) -> None:
    """Start a demo beside your instance: an online shop.

    It has two years of people, projects, flags, events and usage. The demo has its own data folder and port, and reads no setting of your
    instance, so it cannot change your data. The second run starts the same demo again.
    """
    with one_line():
        if use_database_url:
            config = settings.load(os.environ)
            if not config["DATABASE_URL"]:
                raise click.UsageError("--use-database-url needs the setting DATABASE_URL.")
            say(fill(config["DATABASE_URL"], config))
            return
        try:
            socket.create_server((HOST, port)).close()
        except OSError as problem:
            reason = f"Port {port} cannot be used: {problem.strerror}."
            raise click.ClickException(f"{reason} If the demo runs there already, use that one; else choose another --port.") from None
        # Our last line advises to delete the whole folder.
        if data_dir.exists() and not {path.name for path in data_dir.iterdir()} <= {*embedded.CONTENTS, LOGIN}:
            raise migrate.DatabaseProblem(f"{data_dir.absolute()} holds other files. Choose a new folder with --data-dir.")
        environ = environment(data_dir.absolute(), port)
        try:
            click.echo(f"Starting the demo's PostgreSQL in {data_dir.absolute()} ...", err=True)
            url = start.find_database(environ)
            login = read_login(data_dir, url)
            filled = fill(url, settings.load(environ | {f"INIT_ADMIN_{name}": text for name, text in login.items()}))
        finally:
            start.let_go()
    say(filled)
    for line in instructions(data_dir.absolute(), f"http://{HOST}:{port}", login):
        say(line)
    sys.stdout.flush()
    os.chdir(PROJECT)
    os.execve(sys.executable, [sys.executable, "-c", "from serving.start import serve; serve()"], environment(data_dir.absolute(), port))


def environment(data_dir: Path, port: int) -> dict[str, str]:
    """Return this process's environment with the settings of the demo, and none of the real instance."""
    ours = {start.DONE, *(f"{setting.name}{end}" for setting in SETTINGS for end in ("", "_FILE"))}
    kept = {name: text for name, text in os.environ.items() if name not in ours}
    return kept | {"DATA_DIR": str(data_dir), "HOST": HOST, "PORT": str(port)}


def read_login(data_dir: Path, url: str) -> dict[str, str]:
    """Return the administrator's password and API token, which are generated once and kept in the data folder."""
    file = data_dir / LOGIN
    if not file.exists():
        with migrate.open_database(url, "none") as conn:
            if migrate.version(conn):
                raise migrate.DatabaseProblem(f"{data_dir} holds an instance that is not a demo. Choose another --data-dir.")
        login = {"PASSWORD": secrets.token_urlsafe(15), "API_TOKENS": api_tokens.generate()}
        with os.fdopen(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as output:
            json.dump(login, output)
    return json.loads(file.read_text())


def fill(url: str, config: dict) -> str:
    """Fill an empty database, all or nothing, and return a sentence about what it holds."""
    made = bootstrap.prepare_database(url, config)
    if made and (made.password or made.api_token):
        click.echo(bootstrap.announcement(made, config["BASE_URL"]), err=True)
    with migrate.open_database(url, config["DATABASE_POOLER"]) as conn:
        with conn.transaction():
            migrate.take_all_the_time(conn)
            conn.execute(LOCK)
            state = "is filled" if is_to_be_filled(conn) else "was filled before"
            if state == "is filled":
                run_steps(conn)
        conn.execute("ANALYZE")
        return f"The demo {state}: {value(conn, COUNTS)}. A signup token: {value(conn, GET_INVITATION)}"


def is_to_be_filled(conn: Connection) -> bool:
    """Return whether the database is as a first start left it; raise unless it is that or holds the demo."""
    if value(conn, IS_FILLED):
        return False
    if not value(conn, IS_EMPTY):
        raise migrate.DatabaseProblem("This database has users, projects or flags. The demo fills only an empty one. Nothing was changed.")
    return True


def run_steps(conn: Connection) -> None:
    """Run demo.sql, with a progress bar on a terminal."""
    steps = SQL.read_text(encoding="utf-8").split(STEP)[1:]
    with click.progressbar(steps, label="Filling the demo", file=sys.stderr, hidden=not sys.stderr.isatty()) as bar:
        for step in bar:
            conn.execute(step.partition("\n")[2].encode())


def instructions(data_dir: Path, address: str, login: dict[str, str]) -> list[str]:
    """Return what a newcomer needs to know, line by line."""
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
        f"To delete the demo, stop it with Ctrl-C and run: rm -rf {shlex.quote(str(data_dir))}",
        "",
    ]
