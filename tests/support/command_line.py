"""The command line as tests use it: run in this process, by a program of its own, or with somebody at a terminal."""

import json
import os
import pty
import select
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from click.testing import Result
from flask import Flask
from werkzeug.test import TestResponse

from sql.database import Connection

FLASK = Path(sys.executable).with_name("flask")
ROOT = Path(__file__).parents[2]
TABLES = (
    "users",
    "sessions",
    "login_throttle",
    "api_keys",
    "api_key_projects",
    "signup_tokens",
    "events",
    "schema_version",
)
PATIENCE = 60


class CommandLine:
    """The commands on one database, and a connection that sees what they did."""

    def __init__(self, app: Flask, conn: Connection) -> None:
        self.app = app
        self.conn = conn

    def run(self, *args: str, **kwargs: Any) -> Result:
        """Run a command in this process; a bug is raised here."""
        return self.app.test_cli_runner().invoke(args=args, catch_exceptions=False, **kwargs)

    def does(self, *args: str, **kwargs: Any) -> str:
        """What a command that succeeds prints on stdout."""
        result = self.run(*args, **kwargs)
        assert result.exit_code == 0, result.output
        return result.stdout

    def lists(self, noun: str) -> list[dict[str, Any]]:
        """What `<noun> list --json` holds."""
        return json.loads(self.does(noun, "list", "--json"))

    def refuses(self, *args: str, **kwargs: Any) -> str:
        """The one line on stderr of a command that ends with status 1 and has changed nothing."""
        before = self.everything()
        result = self.run(*args, **kwargs)
        assert (result.exit_code, result.stdout) == (1, "")
        assert self.everything() == before
        return only_line(result.stderr)

    def everything(self) -> list[Any]:
        """All rows that a command could change."""
        return [self.rows(f"SELECT to_json(t)::text AS row FROM {table} AS t ORDER BY 1") for table in TABLES]

    def rows(self, statement: str, *params: Any) -> list[dict[str, Any]]:
        """The rows of a statement."""
        return self.conn.execute(statement, params).fetchall()  # pyright: ignore

    @contextmanager
    def altered(self, change: str, undo: str) -> Iterator[None]:
        """Another state of the database while the block lasts."""
        self.conn.execute(change)  # pyright: ignore
        try:
            yield
        finally:
            self.conn.execute(undo)  # pyright: ignore

    def alter_database(self, change: str) -> None:
        """ALTER DATABASE, for this one."""
        name = self.conn.info.dbname
        self.conn.execute(f'ALTER DATABASE "{name}" {change}')  # pyright: ignore

    def events_of(self, action: Callable[[], Any]) -> list[dict[str, Any]]:
        """The events that the action wrote, without what every event has."""
        known = self.rows("SELECT coalesce(max(id), 0) AS id FROM events")[0]["id"]
        action()
        return self.rows(
            "SELECT type, created_by, created_by_user_id, project, environment, feature_name, data, pre_data, tags"
            "  FROM events WHERE id > %s ORDER BY id",
            known,
        )

    def log_in(self, name: str, password: str, address: str = "192.0.2.1") -> TestResponse:
        """Try to log in over HTTP."""
        body = {"username": name, "password": password}
        client = self.app.test_client(use_cookies=False)
        return client.post("/auth/simple/login", json=body, environ_base={"REMOTE_ADDR": address})


def event(type: str, **fields: Any) -> dict[str, Any]:
    """What the log holds of something that the service itself did."""
    empty = {
        "created_by_user_id": None,
        "project": None,
        "environment": None,
        "feature_name": None,
        "data": None,
        "pre_data": None,
    }
    return {"type": type, "created_by": "system", "tags": []} | empty | fields


def only_line(text: str) -> str:
    """The text behind 'Error: ', which has to be one line."""
    assert text.startswith("Error: ")
    assert text.count("\n") == 1
    return text.removeprefix("Error: ").rstrip("\n")


def flask(*args: str, **environ: str) -> subprocess.CompletedProcess[str]:
    """Run the real program, with no settings but these."""
    return subprocess.run(
        [FLASK, "--app", "app", *args], cwd=ROOT, env=clean(environ), capture_output=True, text=True, timeout=PATIENCE
    )


def flask_at_terminal(*args: str, typed: list[tuple[str, str | None]], **environ: str) -> tuple[int, str]:
    """Exit status and screen of the real program at a terminal where somebody answers each prompt;

    None: ends it by SIGTERM.
    """
    ours, theirs = pty.openpty()
    with subprocess.Popen(
        [FLASK, "--app", "app", *args],
        cwd=ROOT,
        env=clean(environ),
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        start_new_session=True,
    ) as process:
        os.close(theirs)
        screen = ""
        for prompt, answer in typed:
            shown = read_until(ours, prompt)
            screen += shown
            if answer is None:
                process.terminate()
            else:
                os.write(ours, f"{answer}\n".encode())
        screen += read_until(ours, None)
        status = process.wait(PATIENCE)
    os.close(ours)
    return status, screen


def read_until(fd: int, ending: str | None) -> str:
    """What appears on a terminal up to this text; None: up to the end."""
    shown = ""
    while ending is None or not shown.endswith(ending):
        assert select.select([fd], [], [], PATIENCE)[0], f"waited for {ending!r}, saw {shown!r}"
        try:
            more = os.read(fd, 1000).decode()
        except OSError:  # the program has gone
            more = ""
        if not more:
            break
        shown += more
    assert ending is None or shown.endswith(ending), shown
    return shown


def clean(environ: dict[str, str]) -> dict[str, str]:
    """An environment with nothing of the caller's but the way to programs."""
    return {"PATH": os.environ["PATH"], "HOME": os.environ.get("HOME", "/"), "LANG": "C.UTF-8"} | environ
