"""Run commands in this process, in a process of their own, or at a terminal."""

import json
import os
import pty
import select
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from click.testing import Result
from flask import Flask
from werkzeug.test import TestResponse

from operations.commands import program
from sql.database import Connection

ROOT = Path(__file__).parents[2]
# What ./flags runs, with the Python of the tests.
FLAGS = (sys.executable, str(ROOT / "operations/flags.py"))
TABLES = "users sessions login_throttle api_keys api_key_projects signup_tokens events schema_version".split()
PATIENCE = 60


class CommandLine:
    """The commands on one database, and a connection that sees what they did."""

    def __init__(self, app: Flask, conn: Connection) -> None:
        self.app = app
        self.conn = conn

    def run(self, *args: str, **kwargs: Any) -> Result:
        """Run a command in this process. Unexpected exceptions are raised."""
        return self.app.test_cli_runner().invoke(program, args, catch_exceptions=False, **kwargs)

    def does(self, *args: str, **kwargs: Any) -> str:
        """Run a command, assert that it succeeds, and return its stdout."""
        result = self.run(*args, **kwargs)
        assert result.exit_code == 0, result.output
        return result.stdout

    def lists(self, noun: str) -> list[dict[str, Any]]:
        """Return the output of `<noun> list --json`, parsed."""
        return json.loads(self.does(noun, "list", "--json"))

    def refuses(self, *args: str, **kwargs: Any) -> str:
        """Run a command, assert that it fails with status 1 and changes nothing, and return its line on stderr."""
        before = self.everything()
        result = self.run(*args, **kwargs)
        assert (result.exit_code, result.stdout) == (1, "")
        assert self.everything() == before
        return only_line(result.stderr)

    def everything(self) -> list[Any]:
        """Return all rows that a command could change."""
        return [self.rows(f"SELECT to_json(t)::text AS row FROM {table} AS t ORDER BY 1") for table in TABLES]

    def rows(self, statement: str, *params: Any) -> list[dict[str, Any]]:
        return self.conn.execute(statement, params).fetchall()  # pyright: ignore

    @contextmanager
    def altered(self, change: str, undo: str) -> Iterator[None]:
        """Change the database during the block. undo: the statement that restores it."""
        self.conn.execute(change)  # pyright: ignore
        try:
            yield
        finally:
            self.conn.execute(undo)  # pyright: ignore

    def alter_database(self, change: str) -> None:
        name = self.conn.info.dbname
        self.conn.execute(f'ALTER DATABASE "{name}" {change}')  # pyright: ignore

    def events_of(self, action: Callable[[], Any]) -> list[dict[str, Any]]:
        """Return the events that the action records, without their ids and instants."""
        known = self.rows("SELECT coalesce(max(id), 0) AS id FROM events")[0]["id"]
        action()
        return self.rows(
            "SELECT type, created_by, created_by_user_id, project, environment, feature_name, data, pre_data, tags"
            "  FROM events WHERE id > %s ORDER BY id",
            known,
        )

    def log_in(self, name: str, password: str, address: str = "192.0.2.1") -> TestResponse:
        body = {"username": name, "password": password}
        client = self.app.test_client(use_cookies=False)
        return client.post("/auth/simple/login", json=body, environ_base={"REMOTE_ADDR": address})


def event(type: str, **fields: Any) -> dict[str, Any]:
    """Return an event whose author is the service itself, as events_of() returns it."""
    empty = dict.fromkeys(("created_by_user_id", "project", "environment", "feature_name", "data", "pre_data"))
    return {"type": type, "created_by": "system", "tags": []} | empty | fields


def only_line(text: str) -> str:
    """Return the text after 'Error: '. Assert that there is only one line."""
    assert text.startswith("Error: ")
    assert text.count("\n") == 1
    return text.removeprefix("Error: ").rstrip("\n")


def install(folder: Path) -> Path:
    """Install the program with the packages of the tests in a folder, and return its path."""
    (folder / ".venv").symlink_to(sys.prefix)
    (folder / "operations").symlink_to(ROOT / "operations")
    return Path(shutil.copy(ROOT / "flags", folder))


def run_flags(*args: str, **environ: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*FLAGS, *args], cwd=ROOT, env=clean(environ), capture_output=True, text=True, timeout=PATIENCE
    )


def run_flags_at_terminal(*args: str, typed: list[tuple[str, str | None]], **environ: str) -> tuple[int, str]:
    """Run the real program at a terminal, and return its exit status and the text on the screen.

    typed: pairs of a prompt and the answer to type. None instead of an answer: send SIGTERM.
    """
    ours, theirs = pty.openpty()
    with subprocess.Popen(
        [*FLAGS, *args],
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
    """Return the text on a terminal up to this ending. None: up to the end."""
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
    """Return an environment with PATH and HOME of this process, and these variables."""
    return {"PATH": os.environ["PATH"], "HOME": os.environ.get("HOME", "/"), "LANG": "C.UTF-8"} | environ
