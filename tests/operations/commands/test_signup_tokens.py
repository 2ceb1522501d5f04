"""flags signup-token: create, list, disable."""

import re
from datetime import UTC, datetime, timedelta

import pytest

from sql.database import connect
from tests.support import fixtures
from tests.support.command_line import CommandLine, event, run_flags
from tests.support.service import Service
from tests.support.signup_tokens import stored

SITE = "https://flags.example.org/unleash"
INVITED = {"email": "new@example.org", "name": "New", "password": "correct horse battery"}
CREATE = ("signup-token", "create", "--name")


@pytest.fixture(scope="module")
def line(make_database, make_app):
    """The command line on a database of its own, with an address that has a path."""
    url = make_database()
    with connect(url) as conn:
        yield CommandLine(make_app(url, BASE_URL=SITE, BASE_PATH="/unleash"), conn)


def newest(line):
    """The row of the newest token."""
    return line.rows("SELECT *, iso(expires_at) AS iso FROM signup_tokens ORDER BY id DESC LIMIT 1")[0]


def sign_up(line, row, email):
    """The status of a signup with a token."""
    path = f"/unleash/invite/{row['secret']}/signup"
    return line.app.test_client().post(path, json=INVITED | {"email": email}).status_code


def test_create_prints_a_link_that_works(line):
    results = []
    events = line.events_of(lambda: results.append(line.run(*CREATE, "All hands")))
    row = newest(line)
    assert re.fullmatch("[0-9a-f]{32}", row["secret"])
    assert results[0].stdout == f"{SITE}/new-user?invite={row['secret']}\n"
    assert row["secret"] not in results[0].stderr
    assert (row["name"], row["enabled"], row["created_by"], row["root_role_id"]) == ("All hands", True, "system", 3)
    assert abs(row["expires_at"] - datetime.now(UTC) - timedelta(days=7)) < timedelta(minutes=1)
    assert events == [event("public-signup-token-created", data=stored(line.conn, row["secret"]))]
    assert sign_up(line, row, "new@example.org") == 200


def test_the_expiry_can_be_chosen(line):
    line.does(*CREATE, "until spring", "--expires", "2099-03-20t12:00:00.5-01:00")
    assert newest(line)["iso"] == "2099-03-20T13:00:00.500Z"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("",), "name: must not be empty"),
        (("x" * 256,), "name: must be at most 255 characters long"),
        (("a\udcff",), "name: must not contain lone surrogates"),
        (
            ("x", "--expires", "2030-02-30T00:00:00Z"),
            "expires: must be a date-time with an offset such as 2024-05-31T12:00:00Z",
        ),
    ],
)
def test_an_invalid_token_is_refused(line, options, message):
    assert line.refuses(*CREATE, *options) == message


def test_list_shows_tokens_with_state_and_users_newest_first(line):
    old = datetime(2020, 1, 1, tzinfo=UTC)
    fields = {"created_by": "alice@example.org", "created_at": old}
    fixtures.signup_token(line.conn, name="off", enabled=False, expires_at=datetime(2090, 1, 1, tzinfo=UTC), **fields)
    fixtures.signup_token(line.conn, name="over", expires_at=old, **fields)
    line.does(*CREATE, "door")
    row = newest(line)
    for name in ("a", "b"):
        assert sign_up(line, row, f"{name}@door.example.org") == 200
    url = f"{SITE}/new-user?invite={row['secret']}"
    entries = line.lists("signup-token")
    assert datetime.fromisoformat(entries[0].pop("createdAt")) > old
    assert entries[0] == {
        "id": row["id"],
        "name": "door",
        "state": "enabled",
        "expiresAt": row["iso"],
        "createdBy": "system",
        "users": 2,
        "url": url,
    }
    assert [(entry["name"], entry["state"], entry["createdBy"]) for entry in entries[-2:]] == [
        ("over", "expired", "alice@example.org"),
        ("off", "disabled", "alice@example.org"),
    ]
    lines = line.does("signup-token", "list").splitlines()
    assert lines[1][lines[0].index("USERS") :].split() == ["2", url]


def test_disable_ends_signups_and_records_the_change_once(line):
    line.does(*CREATE, "closed")
    row = newest(line)
    disable = ("signup-token", "disable", str(row["id"]))
    [recorded] = line.events_of(lambda: line.does(*disable))
    assert (recorded["type"], recorded["created_by"]) == ("public-signup-token-updated", "system")
    assert (recorded["pre_data"]["enabled"], recorded["data"]["enabled"]) == (True, False)
    assert line.lists("signup-token")[0]["state"] == "disabled"
    assert sign_up(line, row, "late@example.org") == 403
    assert line.events_of(lambda: line.does(*disable)) == []
    assert line.refuses("signup-token", "disable", "999999") == "No signup token has the id 999999."


@pytest.mark.slow
def test_a_link_has_the_address_at_which_the_service_runs(tmp_path):
    data = {"DATA_DIR": str(tmp_path / "data")}
    with Service(DATA_DIR=tmp_path / "data") as service:
        assert run_flags(*CREATE, "link", **data).stdout.startswith(f"{service.origin}/new-user?invite=")
        done = run_flags(*CREATE, "link", **data, BASE_URL="https://flags.example.org")
        assert done.stdout.startswith("https://flags.example.org/new-user?invite=")
        assert (tmp_path / "data" / "address").stat().st_mode & 0o777 == 0o600
    # Also after the service has stopped.
    done = run_flags("signup-token", "list", **data)
    assert done.stdout.count(f"{service.origin}/new-user?invite=") == 2
    assert "BASE_URL" not in done.stderr
    # Settings of the command come first.
    done = run_flags("signup-token", "list", **data, PORT="4600")
    assert done.stdout.count("http://127.0.0.1:4600/new-user?invite=") == 2


@pytest.mark.slow
def test_without_an_address_a_link_has_the_default_one(line, url, tmp_path):
    # The address of a service with another database.
    (tmp_path / "address").write_text("http://127.0.0.1:9\n")
    done = run_flags(*CREATE, "real", DATABASE_URL=url, DATA_DIR=str(tmp_path))
    assert done.stderr.startswith("BASE_URL is not set, so links begin with http://127.0.0.1:4242.\n")
    assert (done.returncode, done.stdout) == (0, f"http://127.0.0.1:4242/new-user?invite={newest(line)['secret']}\n")
