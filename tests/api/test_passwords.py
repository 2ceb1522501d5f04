"""Passwords: which are valid at signup, and that none is left in the database or the log."""

import pytest

from sql.database import rows
from tests.support.login import log_in
from tests.support.signup import counts, invitation, sign_up
from tests.support.world import refused

LONGEST = "x" * 72


def everything(conn) -> dict[str, str]:
    """All rows of each table as text."""
    tables = [row["tablename"] for row in rows(conn, "SELECT tablename FROM pg_tables WHERE schemaname = 'public'")]
    return {
        table: conn.execute(f"SELECT string_agg(t::text, ' ') AS text FROM {table} t").fetchone()["text"] or ""
        for table in tables
    }


@pytest.mark.parametrize(
    "password",
    [
        "12345678",
        "aaaaaaaa",
        "        ",
        " spaces around ",
        "éèêëàâäü",
        "пароль и пароль",
        "🐘🐘🐘🐘🐘🐘🐘🐘",
        LONGEST,
        "é" * 36,
        "🐘" * 18,
        "Ada Lovelace!",
        'quote " and \\ and \n newline',
    ],
)
def test_passwords_of_valid_length_are_stored_unchanged(world, stranger, password):
    secret = invitation(world)
    assert sign_up(stranger, secret, password=password).status_code == 200
    assert log_in(stranger, "grace", password).status_code == 200
    for other in (password + "!", password[:-1], " " + password):
        assert log_in(stranger, "grace", other).status_code == 401


@pytest.mark.parametrize(
    ("password", "reason"),
    [
        ("", "at least 8 characters"),
        ("1234567", "at least 8 characters"),
        ("🐘" * 7, "at least 8 characters"),
        ("x" * 73, "at most 72 bytes"),
        ("é" * 36 + "x", "at most 72 bytes"),
        ("é" * 37, "at most 72 bytes"),
        ("🐘" * 18 + "x", "at most 72 bytes"),
        ("x" * 10_000, "at most 72 bytes"),
        ("with a\0NUL", "NUL"),
        (12345678, "string"),
        (None, "null"),
        (["12345678"], "string"),
    ],
)
def test_an_invalid_password_is_refused(world, stranger, password, reason):
    secret = invitation(world)
    before, since = counts(world), world.last_event_id()
    response = sign_up(stranger, secret, password=password)
    refused(response, 400, "ValidationError")
    assert response.json["message"].startswith("password: ")
    assert reason in response.json["message"]
    assert counts(world) == before
    assert world.events(since) == []


@pytest.mark.parametrize(
    "password",
    [
        "Grace Hopper",
        "grace hopper",
        "GRACE HOPPER",
        "grace.hopper",
        "Grace.Hopper",
        "grace@example.org",
        "GRACE@Example.org",
    ],
)
def test_a_password_cannot_be_public_data_of_the_user(world, stranger, password):
    secret = invitation(world)
    before, since = counts(world), world.last_event_id()
    response = sign_up(stranger, secret, username="grace.hopper", password=password)
    refused(response, 400, "ValidationError")
    assert "password: must not be" in response.json["message"]
    assert password not in response.json["message"]
    assert counts(world) == before
    assert world.events(since) == []


def test_the_case_of_letters_is_that_of_all_languages(world, stranger):
    refused(sign_up(stranger, invitation(world), name="Jörg Strauß", password="JÖRG STRAUSS"), 400, "ValidationError")


def test_the_least_length_is_a_setting(app, world, stranger, monkeypatch):
    monkeypatch.setitem(app.config, "PASSWORD_MIN_LENGTH", 12)
    secret = invitation(world)
    response = sign_up(stranger, secret, password="elevenchars")
    refused(response, 400, "ValidationError")
    assert "at least 12 characters" in response.json["message"]
    assert sign_up(stranger, secret, password="twelve chars").status_code == 200


def test_passwords_and_token_secrets_are_not_stored_or_logged(world, stranger, conn, capsys):
    secret = invitation(world)
    password = "a password like no other"
    answers = [
        sign_up(stranger, secret, password=password),
        sign_up(stranger, secret, password=password),
        sign_up(stranger, secret, password=password, email="nonsense"),
        log_in(stranger, "grace", password),
        log_in(stranger, "ida", password),
    ]
    assert [answer.status_code for answer in answers] == [200, 409, 400, 200, 401]
    kept = everything(conn)
    assert [table for table, text in kept.items() if password in text] == []
    assert [table for table, text in kept.items() if secret in text] == ["signup_tokens"]
    written = capsys.readouterr().out
    for answer in answers:
        body = answer.get_data(as_text=True)
        assert "$2b$" not in body
        assert password not in body + written
        assert secret not in body + written
    assert written.count("/invite/<token>/signup") == 3
