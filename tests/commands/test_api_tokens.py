"""flags api-token: create, list, revoke."""

import hashlib
import re
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from datetime import UTC, datetime
from typing import Any

import pytest

from sql.database import connect
from tests.support import fixtures
from tests.support.command_line import CommandLine, event, only_line, run_flags
from tests.support.races import wait_for
from tests.support.world import Caller


@pytest.fixture(scope="module")
def url(make_database: Callable[..., str]) -> str:
    """A database for these tests, with projects apollo and gemini."""
    url = make_database()
    with connect(url) as conn:
        fixtures.insert_project(conn, "apollo", "Apollo")
        fixtures.insert_project(conn, "gemini", "Gemini")
    return url


@pytest.fixture(scope="module")
def line(url: str, make_app: Callable[..., Any]) -> Iterator[CommandLine]:
    """The command line on it."""
    with connect(url) as conn:
        yield CommandLine(make_app(url), conn)


def newest(line: CommandLine) -> dict[str, Any]:
    """The row of the newest key, with its projects."""
    return line.rows(
        "SELECT *, ARRAY(SELECT project_id FROM api_key_projects WHERE api_key_id = id ORDER BY 1) AS projects"
        "  FROM api_keys ORDER BY id DESC LIMIT 1"
    )[0]


def described(name: str, kind: str, environment: str, *scope: str) -> dict[str, Any]:
    """What the log says of a key, but for its dates."""
    of_key = {"tokenName": name, "username": name, "type": kind, "environment": environment}
    return of_key | {"project": ",".join(scope), "projects": list(scope)}


def dates(row: dict[str, Any]) -> dict[str, Any]:
    """What the log says of the dates of a key that has not been used."""
    created, ends = (
        at and at.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        for at in (row["created_at"], row["expires_at"])
    )
    return {"createdAt": created, "expiresAt": ends, "seenAt": None, "alias": None}


def test_an_admin_key_works_and_is_kept_as_a_digest_alone(line: CommandLine) -> None:
    results: list[Any] = []
    events = line.events_of(
        lambda: results.append(line.run("api-token", "create", "--name", "deploy", "--type", "admin"))
    )
    key = results[0].stdout.removesuffix("\n")
    assert re.fullmatch(r"\*:\*\.[0-9a-f]{64}", key)
    assert key not in results[0].stderr
    row = newest(line)
    assert (row["name"], row["kind"], row["environment"], row["projects"]) == ("deploy", "admin", None, [])
    assert (row["secret"], bytes(row["digest"]), row["expires_at"]) == (
        None,
        hashlib.sha256(key.encode()).digest(),
        None,
    )
    assert events == [
        event(
            "api-token-created", project="*", environment="*", data=described("deploy", "admin", "*", "*") | dates(row)
        )
    ]
    assert Caller(line.app, key).get("/api/admin/projects/default/overview").status_code == 200


@pytest.mark.parametrize("kind", ["client", "frontend", "CLIENT"])
def test_other_tokens_default_to_development_and_all_projects(line: CommandLine, kind: str) -> None:
    events = line.events_of(lambda: line.does("api-token", "create", "--name", "sdk", "--type", kind))
    row = newest(line)
    assert (row["kind"], row["environment"], row["projects"]) == (kind.lower(), "development", [])
    assert re.fullmatch(r"\*:development\.[0-9a-f]{64}", row["secret"])
    data = described("sdk", kind.lower(), "development", "*") | dates(row)
    assert events == [event("api-token-created", project="*", environment="development", data=data)]


@pytest.mark.parametrize(
    ("asked", "kept", "prefix"),
    [
        (["apollo"], ["apollo"], "apollo:production."),
        (["gemini", "apollo", "gemini"], ["gemini", "apollo"], "[]:production."),
        (["apollo", "*"], [], "*:production."),
    ],
)
def test_a_key_can_be_limited_to_projects(line: CommandLine, asked: list[str], kept: list[str], prefix: str) -> None:
    options = [word for project in asked for word in ("--project", project)]
    args = ("api-token", "create", "--name", "sdk", "--type", "client", "--environment", "production", *options)
    events = line.events_of(lambda: line.does(*args))
    row = newest(line)
    assert (row["environment"], row["projects"]) == ("production", sorted(kept))
    assert row["secret"].startswith(prefix)
    data = described("sdk", "client", "production", *(sorted(kept) or ["*"])) | dates(newest(line))
    assert events == [event("api-token-created", project=data["project"], environment="production", data=data)]


def test_a_key_can_expire(line: CommandLine) -> None:
    done = line.run(
        "api-token", "create", "--name", "brief", "--type", "admin", "--expires", "2031-02-03T04:05:06+02:00"
    )
    row = newest(line)
    assert row["expires_at"] == datetime(2031, 2, 3, 2, 5, 6, tzinfo=UTC)
    until = "which is valid until 2031-02-03T02:05:06.000Z"
    assert done.stderr == f"Created admin token {row['id']}, {until}. It is shown only once:\n"


def test_the_limit_for_tokens_holds_for_commands(url: str, make_app: Callable[..., Any]) -> None:
    with connect(url) as conn:
        limited = CommandLine(make_app(url, MAX_API_TOKENS=1), conn)
        message = limited.refuses("api-token", "create", "--name", "x", "--type", "client")
    assert message.startswith("There can be at most 1 API token in this instance.")


def test_a_key_that_expired_yesterday_does_not_work(line: CommandLine) -> None:
    key = line.does(
        "api-token", "create", "--name", "late", "--type", "admin", "--expires", "2020-01-01T00:00:00Z"
    ).strip()
    assert Caller(line.app, key).get("/api/admin/insights").status_code == 401


NO_DATE_TIME = "expires: must be a date-time with an offset such as 2024-05-31T12:00:00Z"


@pytest.mark.parametrize(
    ("kind", "options", "message"),
    [
        (
            "admin",
            ("--environment", "development"),
            "environment: must be omitted: admin tokens are for all environments",
        ),
        ("admin", ("--project", "default"), "projects: must be omitted: admin tokens are for all projects"),
        ("client", ("--environment", "moon"), "environment: must be an existing environment"),
        ("client", ("--environment", "*"), "environment: must be an existing environment"),
        ("client", ("--environment", "Production"), "environment: must be an existing environment"),
        ("client", ("--environment", "a\udcff"), "environment: must not contain lone surrogates"),
        (
            "frontend",
            ("--project", "x\n", "--project", "default", "--project", "moon"),
            r"projects: unknown projects: x\n, moon",
        ),
        ("client", ("--project", "a\udcff"), "projects.0: must not contain lone surrogates"),
        ("client", ("--expires", "2030-01-01"), NO_DATE_TIME),
        ("client", ("--expires", "tomorrow"), NO_DATE_TIME),
    ],
)
def test_a_key_that_cannot_be_is_refused(line: CommandLine, kind: str, options: tuple[str, ...], message: str) -> None:
    assert line.refuses("api-token", "create", "--name", "x", "--type", kind, *options) == message


@pytest.mark.parametrize(
    ("name", "message"),
    [("", "name: must not be empty"), ("x" * 256, "name: must be at most 255 characters long")],
)
def test_a_name_that_the_api_refuses_is_refused(line: CommandLine, name: str, message: str) -> None:
    assert line.refuses("api-token", "create", "--name", name, "--type", "admin") == message


def test_an_admin_token_may_name_all_projects_and_environments(line: CommandLine) -> None:
    line.does("api-token", "create", "--name", "all", "--type", "admin", "--environment", "*", "--project", "*")
    assert (newest(line)["environment"], newest(line)["projects"]) == (None, [])


@pytest.mark.parametrize("args", [("--name", "x"), ("--type", "admin"), ("--name", "x", "--type", "root")])
def test_an_option_that_is_missing_or_unknown_is_a_mistake(line: CommandLine, args: tuple[str, ...]) -> None:
    before = line.everything()
    assert line.run("api-token", "create", *args).exit_code == 2
    assert line.everything() == before


def test_list_shows_everything_but_the_secret(line: CommandLine) -> None:
    options = ("--project", "gemini", "--project", "apollo", "--expires", "2031-01-01T00:00:00Z")
    key = line.does("api-token", "create", "--name", "shown", "--type", "client", *options).strip()
    row = newest(line)
    line.conn.execute("UPDATE api_keys SET seen_at = '2026-05-04T03:02:01Z' WHERE id = %s", [row["id"]])
    entry = line.lists("api-token")[-1]
    created_at = entry.pop("createdAt")
    assert datetime.fromisoformat(created_at) == row["created_at"].replace(
        microsecond=row["created_at"].microsecond // 1000 * 1000
    )
    assert entry == {
        "id": row["id"],
        "tokenName": "shown",
        "username": "shown",
        "type": "client",
        "environment": "development",
        "project": "apollo,gemini",
        "projects": ["apollo", "gemini"],
        "alias": None,
        "expiresAt": "2031-01-01T00:00:00.000Z",
        "seenAt": "2026-05-04T03:02:01.000Z",
    }
    for form in ([], ["--json"]):
        assert key.split(".")[1] not in line.does("api-token", "list", *form)


def test_list_shows_keys_in_columns(line: CommandLine) -> None:
    line.does("api-token", "create", "--name", "a name of many words", "--type", "frontend", "--project", "apollo")
    lines = line.does("api-token", "list").splitlines()
    assert lines[0].split("  ")[0] == "ID"
    for heading, cell in {
        "NAME": "a name",
        "TYPE": "frontend",
        "ENVIRONMENT": "development",
        "PROJECTS": "apollo",
        "EXPIRES": "-",
    }.items():
        assert lines[-1][lines[0].index(heading) :].startswith(cell)
    assert len(lines) == 1 + len(line.lists("api-token"))


LIMITED = ("client", "--project", "gemini", "--project", "apollo")


@pytest.mark.parametrize(
    ("options", "data"),
    [
        (LIMITED, described("brief", "client", "development", "apollo", "gemini")),
        (("admin",), described("brief", "admin", "*", "*")),
    ],
)
def test_revoke_ends_a_key(line: CommandLine, options: tuple[str, ...], data: dict[str, Any]) -> None:
    key = line.does("api-token", "create", "--name", "brief", "--type", *options).strip()
    row = newest(line)
    key_id = row["id"]
    events = line.events_of(lambda: line.does("api-token", "revoke", str(key_id)))
    assert line.rows("SELECT FROM api_keys WHERE id = %s", key_id) == []
    assert line.rows("SELECT FROM api_key_projects WHERE api_key_id = %s", key_id) == []
    assert events == [
        event("api-token-deleted", project=data["project"], environment=data["environment"], pre_data=data | dates(row))
    ]
    assert Caller(line.app, key).get("/api/admin/insights").status_code == 401
    assert line.refuses("api-token", "revoke", str(key_id)) == f"No API token has the id {key_id}."


def test_a_token_deleted_meanwhile_is_not_revoked(line: CommandLine, url: str) -> None:
    line.does("api-token", "create", "--name", "brief", "--type", "admin")
    key_id = newest(line)["id"]

    is_going = threading.Event()

    def others_delete() -> None:
        with connect(url) as other, other.transaction():
            other.execute("DELETE FROM api_keys WHERE id = %s", [key_id])
            is_going.set()
            wait_for(line.conn, [Future()])

    def revoke() -> None:
        with ThreadPoolExecutor(1) as others:
            deletion = others.submit(others_delete)
            assert is_going.wait(20)
            assert (
                only_line(line.run("api-token", "revoke", str(key_id)).stderr) == f"No API token has the id {key_id}."
            )
            deletion.result()

    assert line.events_of(revoke) == []


@pytest.mark.parametrize("key_id", ["999999", "9" * 30])
def test_an_unknown_key_is_refused(line: CommandLine, key_id: str) -> None:
    assert line.refuses("api-token", "revoke", key_id) == f"No API token has the id {key_id}."


@pytest.mark.parametrize("key_id", ["0", "-1", "x", "1.5"])
def test_an_invalid_id_is_refused(line: CommandLine, key_id: str) -> None:
    before = line.everything()
    assert line.run("api-token", "revoke", "--", key_id).exit_code == 2
    assert line.everything() == before


@pytest.mark.slow
def test_the_real_program_prints_the_key_alone_on_stdout(line: CommandLine, url: str) -> None:
    done = run_flags("api-token", "create", "--name", "ci", "--type", "admin", DATABASE_URL=url)
    assert done.returncode == 0
    assert Caller(line.app, done.stdout.removesuffix("\n")).get("/api/admin/insights").status_code == 200
    done = run_flags(
        "api-token", "create", "--name", "ci", "--type", "client", "--environment", "moon", DATABASE_URL=url
    )
    assert (done.returncode, done.stdout) == (1, "")
    assert only_line(done.stderr) == "environment: must be an existing environment"
