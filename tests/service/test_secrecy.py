"""What tests/support/secrecy.py notices in an answer, and what it lets pass."""

import hashlib
from typing import Any

import bcrypt
import pytest
from flask import Flask, Response, request

from tests.support.secrecy import API_TOKENS, RESET_TOKENS, SIGNUP_TOKENS, SecretLeaked, Vault
from tests.support.world import Caller

SECRET = "the-secret-of-somebody"
# Path, body and headers of a request that carries it.
SENT: dict[str, tuple[str, Any, list[tuple[str, str]]]] = {
    "password": ("/x", {"oldPassword": SECRET}, []),
    "key": ("/x", None, [("Authorization", SECRET)]),
    "bearer": ("/x", None, [("authorization", f"Bearer  {SECRET} ")]),
    "session": ("/x", None, [("Cookie", f"a=b; session={SECRET}")]),
    "invitation": (f"/invite/{SECRET}/signup", None, []),
}
# Path, headers and body of an answer that gives it out.
GIVEN = {
    "session": ("/x", [("Set-Cookie", f"session={SECRET}; Path=/")], b""),
    "personal token": ("/x", [], f'{{"secret": "{SECRET}"}}'.encode()),
    "admin key": (API_TOKENS, [], f'{{"secret": "{SECRET}", "type": "admin"}}'.encode()),
    "invitation": (SIGNUP_TOKENS, [], f'{{"secret": "{SECRET}"}}'.encode()),
    "link": (RESET_TOKENS, [], f'{{"resetPasswordUrl": "https://example.org/reset-password?token={SECRET}"}}'.encode()),
}


def tells(vault: Vault, text: str, path: str = "/y") -> bool:
    """Whether it is noticed that an answer has this text, in its body and in a header."""
    noticed = []
    for headers, body in (([], f"so {text} it is".encode()), ([("X-Any", text)], b"")):
        try:
            vault.look(path, None, [], headers, body)
            noticed.append(False)
        except SecretLeaked:
            noticed.append(True)
    assert noticed[0] == noticed[1]
    return noticed[0]


@pytest.mark.parametrize("way", SENT)
def test_a_secret_of_a_request_is_noticed_in_its_response_and_later(way: str) -> None:
    path, body, headers = SENT[way]
    vault = Vault()
    assert not tells(vault, SECRET)
    with pytest.raises(SecretLeaked):
        vault.look(path, body, headers, [], SECRET.encode())
    assert tells(vault, SECRET)
    # The digest of an invitation is kept nowhere but beside itself.
    assert tells(vault, hashlib.sha256(SECRET.encode()).hexdigest()) == (way != "invitation")


@pytest.mark.parametrize("way", GIVEN)
def test_a_new_secret_may_be_returned_once(way: str) -> None:
    path, headers, body = GIVEN[way]
    vault = Vault()
    vault.look(path, None, [], headers, body)
    assert tells(vault, SECRET)
    assert tells(vault, SECRET, path) == (way not in ("invitation", "link"))


def test_sdk_tokens_may_be_listed_with_secrets() -> None:
    vault = Vault()
    vault.look("/x", None, [("Authorization", SECRET)], [], b"")
    token = f'{{"secret": "{SECRET}", "type": "client"}}'
    vault.look(API_TOKENS, None, [], [], f'{{"tokens": [{token}]}}'.encode())
    assert tells(vault, token)


def test_every_password_hash_is_noticed() -> None:
    assert tells(Vault(), bcrypt.hashpw(b"x", bcrypt.gensalt(4)).decode())


def test_the_client_of_the_suite_looks_at_every_answer(app: Flask, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(
        app.view_functions, "health.get_health", lambda: Response(f"Who is {request.headers['Authorization']}?")
    )
    with pytest.raises(SecretLeaked):
        Caller(app, SECRET).get("/health")
