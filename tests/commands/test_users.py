"""flags user: create, list, reset-password, unlock, set-role, delete."""

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from rules.login import name_digest
from rules.passwords import PasswordHasher
from sql.database import connect
from sql.people import roles
from tests.support.command_line import CommandLine, event, only_line, run_flags
from tests.support.users_command import PASSWORD, make_user


@pytest.fixture(scope="module")
def url(make_database: Callable[..., str]) -> str:
    """A database for these tests."""
    return make_database()


@pytest.fixture(scope="module")
def line(url: str, make_app: Callable[..., Any]) -> Iterator[CommandLine]:
    """The command line on it."""
    with connect(url) as conn:
        yield CommandLine(make_app(url), conn)


def test_create_makes_a_row_an_event_and_a_login(line: CommandLine, password_file: str) -> None:
    args = (
        "--username",
        "ada",
        "--email",
        "Ada@Example.org",
        "--name",
        "Ada L.",
        "--role",
        "editor",
        "--password-file",
        password_file,
    )
    events = line.events_of(lambda: line.does("user", "create", *args))
    [row] = line.rows("SELECT * FROM users WHERE username = 'ada'")
    assert (row["name"], row["email"], row["root_role_id"], row["account_type"]) == (
        "Ada L.",
        "ada@example.org",
        2,
        "User",
    )
    assert PasswordHasher(4, queue=1).matches(PASSWORD, row["password_hash"])
    data = {"id": row["id"], "name": "Ada L.", "username": "ada", "email": "ada@example.org", "rootRole": 2}
    assert events == [event("user-created", data=data)]
    assert line.log_in("ada@example.org", PASSWORD).status_code == 200


def test_a_user_needs_no_name_and_only_one_to_log_in_by(line: CommandLine, password_file: str) -> None:
    events = line.events_of(
        lambda: line.does("user", "create", "--email", "only@example.org", "--password-file", password_file)
    )
    assert list(events[0]["data"]) == ["id", "email", "rootRole"]
    line.does("user", "create", "--username", "only", "--password-file", password_file)
    assert line.rows("SELECT email, root_role_id FROM users WHERE username = 'only'") == [
        {"email": None, "root_role_id": 3}
    ]


def test_the_role_may_be_a_custom_root_role_in_any_case(line: CommandLine, password_file: str) -> None:
    role = roles.insert(line.conn, "Release managers", type="root-custom")
    make_user(line, "rhea", password_file, "--role", "release MANAGERS")
    assert line.rows("SELECT root_role_id FROM users WHERE username = 'rhea'") == [{"root_role_id": role}]


@pytest.mark.parametrize("role", ["Owner", "nobody", "", "Admin\n"])
def test_a_role_that_is_no_root_role_is_refused(line: CommandLine, role: str) -> None:
    assert line.refuses("user", "create", "--username", "x", "--role", role, "--generate").startswith(
        "role: unknown root role"
    )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ((), "username: is required, unless email is given"),
        (("--email", "ada"), "email: must be an email address such as ada@example.org"),
        (("--email", "a b@example.org"), "email: must be an email address such as ada@example.org"),
        (("--username", "a@b"), "username: must not contain @"),
        (("--username", " a"), "username: must not begin or end with a space"),
        (("--username", ""), "username: must not be empty"),
        (("--username", "a" * 256), "username: must be at most 255 characters long"),
        (("--username", "a\udcff"), "username: must not contain lone surrogates"),
        (("--username", "x", "--name", ""), "name: must not be empty"),
        (("--username", "x", "--role", "a\udcff"), "role: must not contain lone surrogates"),
    ],
)
def test_values_that_the_api_refuses_are_refused(line: CommandLine, options: tuple[str, ...], message: str) -> None:
    assert line.refuses("user", "create", *options, "--generate") == message


def test_a_name_that_is_taken_is_refused(line: CommandLine, password_file: str) -> None:
    make_user(line, "first", password_file)
    message = line.refuses("user", "create", "--username", "first", "--generate")
    assert message == "username: a user with this user name already exists"
    message = line.refuses("user", "create", "--email", "FIRST@example.org", "--generate")
    assert message == "email: a user with this email already exists"


def test_list_shows_users_in_aligned_columns_of_any_width(line: CommandLine, password_file: str) -> None:
    wide = "日本" * 50
    make_user(line, "wide", password_file, "--name", wide)
    make_user(line, "sly", password_file, "--name", "two\nlines \x1b[31mred")
    lines = line.does("user", "list").splitlines()
    assert lines[0].startswith("ID  USER NAME")
    assert lines[0].rstrip().endswith("CREATED")
    [of_wide] = [text for text in lines if wide in text]
    # Each of these characters takes two columns.
    assert of_wide.index("Viewer") + 100 == lines[0].index("ROLE")
    assert any(r"two\nlines \x1b[31mred" in text and text.index("Viewer") == lines[0].index("ROLE") for text in lines)
    assert len(lines) == 1 + len(line.lists("user"))


def test_list_as_json_has_all_columns_of_the_table(line: CommandLine, password_file: str) -> None:
    user_id = make_user(line, "json", password_file, "--name", "Джейсон", "--role", "admin")
    line.log_in("json", "wrong password")
    [entry] = [entry for entry in line.lists("user") if entry["id"] == user_id]
    [row] = line.rows("SELECT iso(created_at) AS at FROM users WHERE id = %s", user_id)
    expected = {"id": user_id, "username": "json", "email": "json@example.org", "name": "Джейсон", "role": "Admin"}
    assert entry == expected | {"seenAt": None, "loginAttempts": 1, "createdAt": row["at"]}
    line.log_in("json", PASSWORD)
    [entry] = [entry for entry in line.lists("user") if entry["id"] == user_id]
    assert entry["seenAt"] is not None


def test_list_leaves_out_service_accounts_and_the_deleted(line: CommandLine, password_file: str) -> None:
    make_user(line, "gone", password_file)
    make_user(line, "robot", password_file)
    line.conn.execute("UPDATE users SET deleted_at = now() WHERE username = 'gone'")
    line.conn.execute("UPDATE users SET account_type = 'Service Account' WHERE username = 'robot'")
    assert {"gone", "robot"}.isdisjoint(entry["username"] for entry in line.lists("user"))
    for name in ("gone", "robot@example.org"):
        assert (
            line.refuses("user", "reset-password", name, "--generate") == f"No user has the user name or email {name}."
        )


@pytest.mark.parametrize("command", [("reset-password", "--generate"), ("unlock",)])
@pytest.mark.parametrize("name", ["nobody", "nobody@example.org", "", "ADMIN", "two\nlines"])
def test_an_unknown_user_is_refused(line: CommandLine, command: tuple[str, ...], name: str) -> None:
    assert line.refuses("user", *command, name).startswith("No user has the user name or email")


def test_a_name_that_is_not_text_is_refused(line: CommandLine) -> None:
    assert line.refuses("user", "unlock", "a\udcff") == "user: must not contain lone surrogates"


@pytest.mark.parametrize("by", ["username", "email"])
def test_unlock_works_for_both_names_of_a_user(line: CommandLine, password_file: str, by: str) -> None:
    names = {"username": f"locked-{by}", "email": f"locked-{by}@example.org"}
    user_id = make_user(line, names["username"], password_file)
    address = f"192.0.2.{10 if by == 'email' else 11}"
    for name in names.values():
        while line.log_in(name, "wrong password", address).status_code != 429:
            pass
    assert line.log_in("somebody else", "wrong password", address).status_code in (401, 429)
    assert line.events_of(lambda: line.does("user", "unlock", names[by])) == []
    assert line.rows("SELECT login_attempts FROM users WHERE id = %s", user_id) == [{"login_attempts": 0}]
    known = {bytes(row["name_digest"]) for row in line.rows("SELECT name_digest FROM login_throttle")}
    assert name_digest("somebody else") in known
    assert known.isdisjoint(map(name_digest, names.values()))
    assert [line.log_in(name, PASSWORD, address).status_code for name in names.values()] == [200, 200]


@pytest.mark.slow
def test_the_real_program_reports_an_error_in_one_line(url: str) -> None:
    for args in (("--email", "ada", "--generate"), ("--username", "admin", "--generate"), ("--username", "x")):
        done = run_flags("user", "create", *args, DATABASE_URL=url)
        assert (done.returncode, done.stdout) == (1, "")
        only_line(done.stderr)


def test_set_role_changes_the_role_and_records_it(line: CommandLine, password_file: str) -> None:
    number = make_user(line, "riser", password_file)
    [recorded] = line.events_of(lambda: line.does("user", "set-role", "Riser@example.org", "editor"))
    assert line.rows("SELECT root_role_id FROM users WHERE id = %s", number) == [{"root_role_id": 2}]
    assert (recorded["type"], recorded["created_by"], recorded["created_by_user_id"]) == (
        "user-updated",
        "system",
        None,
    )
    assert (recorded["pre_data"]["rootRole"], recorded["data"]["rootRole"]) == (3, 2)
    assert line.events_of(lambda: line.does("user", "set-role", "riser", "Editor")) == []
    assert line.refuses("user", "set-role", "riser", "king") == "role: unknown root role king"
    assert line.refuses("user", "set-role", "carl?", "admin") == "No user has the user name or email carl?."


def test_delete_ends_sessions_and_records_it(line: CommandLine, password_file: str) -> None:
    number = make_user(line, "leaver", password_file)
    assert line.log_in("leaver", PASSWORD).status_code == 200
    data = {"id": number, "username": "leaver", "email": "leaver@example.org", "rootRole": 3}
    assert line.events_of(lambda: line.does("user", "delete", "leaver")) == [event("user-deleted", pre_data=data)]
    assert line.rows("SELECT FROM sessions WHERE user_id = %s", number) == []
    assert line.log_in("leaver", PASSWORD, "192.0.2.9").status_code == 401
    assert line.refuses("user", "delete", "leaver") == "No user has the user name or email leaver."


def test_the_last_administrator_keeps_the_role_and_the_account(line: CommandLine) -> None:
    admin, *others = line.rows(
        "SELECT coalesce(username, email) AS name FROM users WHERE root_role_id = %s AND deleted_at IS NULL",
        roles.ADMIN,
    )
    for other in others:
        line.does("user", "set-role", other["name"], "viewer")
    message = "This user is the last administrator. Make another user an administrator first."
    assert line.refuses("user", "delete", admin["name"]) == message
    assert line.refuses("user", "set-role", admin["name"], "viewer") == message


@pytest.mark.slow
def test_the_real_program_lists_json_in_any_encoding(line: CommandLine, url: str, password_file: str) -> None:
    make_user(line, "latin", password_file, "--name", "日本 é")
    done = run_flags("user", "list", "--json", DATABASE_URL=url, PYTHONIOENCODING="ascii")
    assert "日本 é" in [entry["name"] for entry in json.loads(done.stdout)]
    done = run_flags("user", "list", DATABASE_URL=url, PYTHONIOENCODING="ascii")
    assert (done.returncode, done.stderr) == (0, "")
    assert "?? ?" in done.stdout
