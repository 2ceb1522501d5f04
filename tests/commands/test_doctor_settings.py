"""flags doctor: what it says of settings, invalid ones and unsafe ones."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from sql.database import connect
from tests.support.command_line import CommandLine, run_flags
from tests.support.doctor import SUBJECTS, about, examine, parsed, with_settings

Maker = Callable[..., Any]


@pytest.fixture(scope="module")
def line(make_database: Maker, make_app: Maker) -> Iterator[CommandLine]:
    """The command line on a database that is set up; who changes it changes it back."""
    url = make_database()
    with connect(url) as conn:
        yield CommandLine(make_app(url, BCRYPT_ROUNDS=12), conn)


@pytest.mark.parametrize(
    ("settings", "named"),
    [
        ({"BASE_URL": "http://flags.example.org"}, "BASE_URL is http://flags.example.org"),
        ({"BASE_URL": "http://192.0.2.1:4242"}, "BASE_URL"),
        ({"BASE_URL": "http://0.0.0.0:4242"}, "BASE_URL is http://0.0.0.0:4242: links with it work"),
        ({"BASE_URL": "http://[::]:4242"}, "BASE_URL is http://[::]:4242: links with it work"),
        ({"BASE_URL": "https://flags.example.org"}, "TRUSTED_PROXIES is 0"),
        ({"HOST": "0.0.0.0"}, "HOST is 0.0.0.0"),
        ({"BASE_URL": "http://localhost", "TRUSTED_PROXIES": 1}, "TRUSTED_PROXIES is 1"),
        ({"BCRYPT_ROUNDS": 11}, "BCRYPT_ROUNDS is 11"),
        ({"INIT_ADMIN_PASSWORD": "Unleash4all"}, "INIT_ADMIN_PASSWORD is easy to guess"),
        (
            {"INIT_ADMIN_PASSWORD": "AdaLovelace1815", "INIT_ADMIN_USERNAME": "adalovelace1815"},
            "INIT_ADMIN_PASSWORD is easy to guess",
        ),
        ({"INIT_ADMIN_PASSWORD": "eleven_long"}, "INIT_ADMIN_PASSWORD is easy to guess"),
        ({"INIT_ADMIN_PASSWORD": "Administrator"}, "INIT_ADMIN_PASSWORD is easy to guess"),
        ({"INIT_ADMIN_API_TOKENS": ("*:*.unleash-insecure-admin-api-token",)}, "INIT_ADMIN_API_TOKENS contains"),
        ({"INIT_ADMIN_API_TOKENS": ("x" * 40, "y" * 31)}, "INIT_ADMIN_API_TOKENS contains"),
    ],
)
def test_a_weak_setting_is_a_warning(line: CommandLine, make_app: Maker, settings: dict[str, Any], named: str) -> None:
    status, grade, sentence = about(with_settings(line, make_app, **settings), "settings")
    assert (status, grade) == (0, "warn")
    assert sentence.startswith(named)
    assert not any(secret in sentence for secret in ("nleash4all", "eleven_long", "y" * 31, "unleash-insecure"))


@pytest.mark.parametrize(
    "settings",
    [
        {"BASE_URL": "http://127.0.0.5:4242"},
        {"BASE_URL": "http://[::1]:4242"},
        {"BASE_URL": "http://unleash.localhost"},
        {"BASE_URL": "https://flags.example.org", "TRUSTED_PROXIES": 1},
        {"HOST": "0.0.0.0", "BASE_URL": "https://flags.example.org", "TRUSTED_PROXIES": 3},
        {"HOST": "::1"},
        {"BCRYPT_ROUNDS": 13},
        {"INIT_ADMIN_PASSWORD": "twelve__long", "INIT_ADMIN_API_TOKENS": ("x" * 32,)},
        {"INIT_ADMIN_PASSWORD": None, "INIT_ADMIN_API_TOKENS": None},
    ],
)
def test_a_good_setting_is_none(line: CommandLine, make_app: Maker, settings: dict[str, Any]) -> None:
    assert about(with_settings(line, make_app, **settings), "settings") == (0, "ok", "All settings are valid.")


def test_every_invalid_setting_is_named(line: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, text in {
        "PORT": "x",
        "THREADS": "0",
        "PASSWORD_MIN_LENGTH": "30",
        "INIT_ADMIN_PASSWORD": "too short",
        "HOST": "::1",
    }.items():
        monkeypatch.setenv(name, text)
    status, found = examine(line)
    assert status == 1
    assert [(grade, sentence) for grade, subject, sentence in found if subject == "settings"] == [
        ("FAIL", "The setting PORT must be a whole number from 1 to 65535."),
        ("FAIL", "The setting THREADS must be a whole number from 1 to 512."),
        ("FAIL", "The setting INIT_ADMIN_PASSWORD must be at least 30 characters long."),
    ]
    assert [subject for _, subject, _ in found if subject != "settings"] == SUBJECTS[1:]


def test_a_password_is_measured_by_the_length_that_is_set(line: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PASSWORD_MIN_LENGTH", "5")
    monkeypatch.setenv("INIT_ADMIN_PASSWORD", "12345")
    assert about(line, "settings") == (0, "ok", "All settings are valid.")


def test_an_address_that_makes_no_sense_is_not_tried(line: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DATABASE_URL", "mysql://root:the-secret@127.0.0.1")
    status, found = examine(line)
    assert (status, [(grade, subject) for grade, subject, _ in found]) == (1, [("FAIL", "settings")])
    assert "the-secret" not in str(found)


@pytest.mark.slow
def test_the_real_program_names_invalid_settings(line: CommandLine) -> None:
    done = run_flags("doctor", DATABASE_URL=line.app.config["DATABASE_URL"], PORT="x", BASE_URL="y")
    assert (done.returncode, done.stderr) == (1, "")
    found = parsed(done.stdout)
    assert [(grade, sentence[:20]) for grade, subject, sentence in found if subject == "settings"] == [
        ("FAIL", "The setting PORT mus"),
        ("FAIL", "The setting BASE_URL"),
    ]
    assert [subject for _, subject, _ in found][2:] == SUBJECTS[1:]


def test_a_misspelt_setting_is_a_warning(line: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DATABSE_URL", "x")
    assert "warn  settings        DATABSE_URL is not a setting. Did you mean DATABASE_URL?" in line.run("doctor").stdout
