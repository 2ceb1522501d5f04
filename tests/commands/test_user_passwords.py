"""flags user create and reset-password: where a password comes from, and which are valid."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from sql.database import connect
from tests.support.command_line import CommandLine, event, run_flags_at_terminal
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


def test_a_generated_password_stands_alone_on_stdout_and_works(line: CommandLine) -> None:
    result = line.run("user", "create", "--username", "grace", "--generate")
    assert result.stdout.count("\n") == 1
    assert len(result.stdout.strip()) == 20
    assert result.stdout.strip() not in result.stderr
    assert line.log_in("grace", result.stdout.strip()).status_code == 200


def test_a_generated_password_is_as_long_as_the_settings_ask(
    url: str, make_app: Callable[..., Any], line: CommandLine
) -> None:
    strict = CommandLine(make_app(url, PASSWORD_MIN_LENGTH=72), line.conn)
    assert len(strict.does("user", "create", "--username", "long", "--generate").strip()) == 72


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"short", "password: must be at least 8 characters long"),
        (b"", "password: must be at least 8 characters long"),
        (b"x" * 73, "password: must be at most 72 bytes long"),
        (b"x" * 100_000, "password: must be at most 72 bytes long"),
        (b"Username-Is-This", "password: must not be the user's own name, user name or email"),
        (b"one line\nand another", "The password file must have exactly one line."),
        (b"gr\xfcn und blau", "The password file must be UTF-8 text."),
    ],
)
def test_a_password_that_the_api_refuses_is_refused(
    line: CommandLine, tmp_path: Path, text: bytes, message: str
) -> None:
    (tmp_path / "password").write_bytes(text)
    args = ("--username", "username-is-this", "--password-file", str(tmp_path / "password"))
    assert line.refuses("user", "create", *args) == message


def test_a_password_comes_from_standard_input_when_asked(line: CommandLine) -> None:
    line.does("user", "create", "--username", "piped", "--password-file", "-", input=f"  {PASSWORD}\r\n")
    assert line.log_in("piped", f"  {PASSWORD}").status_code == 200


def test_two_sources_of_a_password_are_a_mistake(line: CommandLine, password_file: str) -> None:
    for command in (("create", "--username", "two"), ("reset-password", "admin")):
        before = line.everything()
        result = line.run("user", *command, "--generate", "--password-file", password_file)
        assert (result.exit_code, line.everything()) == (2, before)


def test_no_option_takes_a_password(line: CommandLine) -> None:
    result = line.run("user", "create", "--username", "x", "--password", PASSWORD)
    assert result.exit_code == 2
    assert "No such option" in result.stderr


def test_a_command_without_a_terminal_does_not_ask(line: CommandLine) -> None:
    message = line.refuses("user", "create", "--username", "x", input=f"{PASSWORD}\n{PASSWORD}\n")
    assert message == "No terminal to ask for the password. Use --password-file or --generate."


def test_a_terminal_asks_twice_and_never_shows_the_password(line: CommandLine, url: str) -> None:
    twice: list[tuple[str, str | None]] = [("Password: ", PASSWORD), ("Repeat the password: ", PASSWORD)]
    typed = [("Password: ", PASSWORD), ("Repeat the password: ", "other words"), *twice]
    status, screen = run_flags_at_terminal(
        "user", "create", "--username", "typist", typed=typed, DATABASE_URL=url, BCRYPT_ROUNDS="10"
    )
    assert status == 0, screen
    assert "do not match" in screen
    assert PASSWORD not in screen
    assert line.log_in("typist", PASSWORD).status_code == 200


@pytest.mark.parametrize("by", ["username", "email"])
def test_reset_password_ends_the_sessions_of_that_user(line: CommandLine, password_file: str, by: str) -> None:
    username = f"olive-{by}"
    names = {"username": username, "email": f"{username}@EXAMPLE.org"}
    user_id = make_user(line, username, password_file, "--name", "Olive")
    other_id = make_user(line, f"{username}-2", password_file)
    assert [line.log_in(name, PASSWORD).status_code for name in (*names.values(), f"{username}-2")] == [200, 200, 200]
    output: list[str] = []
    events = line.events_of(lambda: output.append(line.does("user", "reset-password", names[by], "--generate")))
    data = {"id": user_id, "name": "Olive", "username": username, "email": f"{username}@example.org", "rootRole": 3}
    assert events == [event("user-updated", data=data, pre_data=data)]
    sessions = "SELECT count(*) AS number FROM sessions WHERE user_id = %s"
    assert line.rows(sessions, user_id) == [{"number": 0}]
    assert line.rows(sessions, other_id) == [{"number": 1}]
    assert line.log_in(username, PASSWORD).status_code == 401
    assert line.log_in(username, output[0].strip()).status_code == 200


def test_reset_password_obeys_the_rules_of_passwords(line: CommandLine, password_file: str, tmp_path: Path) -> None:
    make_user(line, "patricia", password_file)
    for text in ("PATRICIA", "patricia@EXAMPLE.org", "short"):
        (tmp_path / "new").write_text(text)
        message = line.refuses("user", "reset-password", "patricia", "--password-file", str(tmp_path / "new"))
        assert message.startswith("password: must ")
