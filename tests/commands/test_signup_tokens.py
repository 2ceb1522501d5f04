"""flags signup-token: create, list, disable."""

import re
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from sql.database import connect
from tests.support import fixtures
from tests.support.command_line import CommandLine, event, only_line, run_flags
from tests.support.service import Service
from tests.support.signup_tokens import stored

SITE = "https://flags.example.org/unleash"
INVITED = {"email": "new@example.org", "name": "New", "password": "correct horse battery"}


@pytest.fixture(scope="module")
def url(make_database: Callable[..., str]) -> str:
    """A database for these tests."""
    return make_database()


@pytest.fixture(scope="module")
def line(url: str, make_app: Callable[..., Any]) -> Iterator[CommandLine]:
    """The command line on it, under an address with a path."""
    with connect(url) as conn:
        yield CommandLine(make_app(url, BASE_URL=SITE, BASE_PATH="/unleash"), conn)


def newest(line: CommandLine) -> dict[str, Any]:
    """The row of the newest token."""
    return line.rows("SELECT *, iso(expires_at) AS iso FROM signup_tokens ORDER BY id DESC LIMIT 1")[0]


def test_create_prints_a_link_that_works(line: CommandLine) -> None:
    results: list[Any] = []
    events = line.events_of(lambda: results.append(line.run("signup-token", "create", "--name", "All hands")))
    link = results[0].stdout.removesuffix("\n")
    row = newest(line)
    assert re.fullmatch("[0-9a-f]{32}", row["secret"])
    assert link == f"{SITE}/new-user?invite={row['secret']}"
    assert row["secret"] not in results[0].stderr
    assert (row["name"], row["enabled"], row["created_by"], row["root_role_id"]) == ("All hands", True, "system", 3)
    assert abs(row["expires_at"] - datetime.now(UTC) - timedelta(days=7)) < timedelta(minutes=1)
    assert events == [event("public-signup-token-created", data=stored(line.conn, row["secret"]))]
    answer = line.app.test_client().post(f"/unleash/invite/{row['secret']}/signup", json=INVITED)
    assert answer.status_code == 200


def test_the_expiry_can_be_chosen(line: CommandLine) -> None:
    line.does("signup-token", "create", "--name", "until spring", "--expires", "2031-03-20t12:00:00.5-01:00")
    assert newest(line)["iso"] == "2031-03-20T13:00:00.500Z"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--name", ""), "name: must not be empty"),
        (("--name", "x" * 256), "name: must be at most 255 characters long"),
        (("--name", "a\udcff"), "name: must not contain lone surrogates"),
        (
            ("--name", "x", "--expires", "2030-01-01"),
            "expires: must be a date-time with an offset such as 2024-05-31T12:00:00Z",
        ),
        (
            ("--name", "x", "--expires", "2030-02-30T00:00:00Z"),
            "expires: must be a date-time with an offset such as 2024-05-31T12:00:00Z",
        ),
    ],
)
def test_values_that_the_api_refuses_are_refused(line: CommandLine, options: tuple[str, ...], message: str) -> None:
    assert line.refuses("signup-token", "create", *options) == message


def test_list_shows_the_state_of_tokens_newest_first(line: CommandLine) -> None:
    old = datetime(2020, 1, 1, tzinfo=UTC)
    fields = {"created_by": "alice@example.org", "created_at": old}
    fixtures.signup_token(line.conn, name="off", enabled=False, expires_at=datetime(2090, 1, 1, tzinfo=UTC), **fields)
    fixtures.signup_token(line.conn, name="over", expires_at=old, **fields)
    line.does("signup-token", "create", "--name", "first of all")
    entries = line.lists("signup-token")
    secret = newest(line)["secret"]
    created_at = entries[0].pop("createdAt")
    assert datetime.fromisoformat(created_at) > old
    assert entries[0] == {
        "id": newest(line)["id"],
        "name": "first of all",
        "state": "enabled",
        "expiresAt": newest(line)["iso"],
        "createdBy": "system",
        "users": 0,
        "url": f"{SITE}/new-user?invite={secret}",
    }
    assert [(entry["name"], entry["state"], entry["createdBy"]) for entry in entries[-2:]] == [
        ("over", "expired", "alice@example.org"),
        ("off", "disabled", "alice@example.org"),
    ]


def test_list_counts_the_users_of_a_token(line: CommandLine) -> None:
    line.does("signup-token", "create", "--name", "door")
    for name in ("a", "b"):
        body = INVITED | {"email": f"{name}@door.example.org"}
        assert (
            line.app.test_client().post(f"/unleash/invite/{newest(line)['secret']}/signup", json=body).status_code
            == 200
        )
    [entry] = [entry for entry in line.lists("signup-token") if entry["name"] == "door"]
    assert entry["users"] == 2
    lines = line.does("signup-token", "list").splitlines()
    [shown] = [text for text in lines if text.split()[1] == "door"]
    assert shown[lines[0].index("USERS") :].split() == ["2", f"{SITE}/new-user?invite={newest(line)['secret']}"]


def test_disable_ends_signups_and_records_the_change_once(line: CommandLine) -> None:
    line.does("signup-token", "create", "--name", "closed")
    before = newest(line)
    number = str(line.lists("signup-token")[0]["id"])
    [recorded] = line.events_of(lambda: line.does("signup-token", "disable", number))
    assert (recorded["type"], recorded["created_by"]) == ("public-signup-token-updated", "system")
    assert (recorded["pre_data"]["enabled"], recorded["data"]["enabled"]) == (True, False)
    assert line.lists("signup-token")[0]["state"] == "disabled"
    path = f"/unleash/invite/{before['secret']}/signup"
    assert line.app.test_client().post(path, json=INVITED | {"email": "late@example.org"}).status_code == 403
    assert line.events_of(lambda: line.does("signup-token", "disable", number)) == []
    assert line.refuses("signup-token", "disable", "999999") == "No signup token has the id 999999."


@pytest.mark.slow
def test_a_link_has_the_address_at_which_the_service_runs(tmp_path: Path) -> None:
    create = ("signup-token", "create", "--name", "link")
    with Service(DATA_DIR=tmp_path / "data") as service:
        done = run_flags(*create, DATA_DIR=str(tmp_path / "data"))
        assert done.stdout.startswith(f"{service.origin}/new-user?invite=")
        done = run_flags(*create, DATA_DIR=str(tmp_path / "data"), BASE_URL="https://flags.example.org")
        assert done.stdout.startswith("https://flags.example.org/new-user?invite=")
        assert (tmp_path / "data" / "address").stat().st_mode & 0o777 == 0o600
    # Also after the service has stopped.
    done = run_flags("signup-token", "list", DATA_DIR=str(tmp_path / "data"))
    assert done.stdout.count(f"{service.origin}/new-user?invite=") == 2
    assert "BASE_URL" not in done.stderr


@pytest.mark.slow
def test_the_real_program_prints_the_link_alone_on_stdout(line: CommandLine, url: str, tmp_path: Path) -> None:
    # The address of a service with another database.
    (tmp_path / "address").write_text("http://127.0.0.1:9\n")
    done = run_flags("signup-token", "create", "--name", "real", DATABASE_URL=url, DATA_DIR=str(tmp_path))
    assert done.stderr.startswith("BASE_URL is not set, so links begin with http://127.0.0.1:4242.\n")
    assert (done.returncode, done.stdout) == (0, f"http://127.0.0.1:4242/new-user?invite={newest(line)['secret']}\n")
    done = run_flags("signup-token", "create", "--name", "real", "--expires", "soon", DATABASE_URL=url)
    assert (done.returncode, done.stdout) == (1, "")
    assert only_line(done.stderr).startswith("expires: ")
