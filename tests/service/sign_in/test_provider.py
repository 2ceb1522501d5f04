"""A whole login with a provider that is not ours (oidc-provider-mock), in a process of its own."""

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPConnection
from pathlib import Path
from typing import Any
from urllib.parse import urlencode, urlsplit

import pytest
from flask import Flask
from werkzeug.test import TestResponse

from tests.support.page import Page
from tests.support.program import Program
from tests.support.service import free_port, run

ADA = {"sub": "ada-1", "name": "Ada Lovelace", "email": "ada@example.org", "email_verified": True}


@contextmanager
def provider(folder: Path, port: int) -> Iterator[str]:
    """Run the provider, and yield its address. Its keys are new at each start."""
    command = [sys.executable, "-W", "ignore", "-m", "oidc_provider_mock", "--port", str(port)]
    program = Program([*command, "--user-claims", json.dumps(ADA)], folder / "log")
    try:
        yield (program.ready(port), f"http://127.0.0.1:{port}")[1]
    finally:
        program.kill()


def authorize(url: str, **form: str) -> str:
    """Press the button of the provider, and return the address to which it sends the browser."""
    parts = urlsplit(url)
    connection = HTTPConnection("127.0.0.1", parts.port or 80)
    headers = {"Content-Type": "application/x-www-form-urlencoded"}
    connection.request("POST", f"{parts.path}?{parts.query}", urlencode(form), headers)
    response = connection.getresponse()
    assert response.status == 302, response.read()
    connection.close()
    return response.headers["Location"].removeprefix("http://localhost")


def log_in(client: Any, **form: str) -> TestResponse:
    """Return the response of the callback."""
    begun = client.get("/auth/oidc/login?next=/search")
    assert begun.status_code == 302, Page(begun).text
    return client.get(authorize(begun.headers["Location"], **form))


def test_service_without_single_sign_on_needs_no_package() -> None:
    code = """
import importlib.util, sys
find = importlib.util.find_spec
importlib.util.find_spec = lambda name, *more: None if name == "joserfc" else find(name, *more)
from app import create_app
create_app(environ={"DATABASE_URL": "postgresql://127.0.0.1/none"})
assert {"joserfc", "cryptography"}.isdisjoint(sys.modules)
create_app(environ={"OIDC_ISSUER": "https://id.example.org", "OIDC_CLIENT_ID": "flags"})
"""
    result = run("-c", code)
    command = f"{sys.executable} -m pip install joserfc"
    needed = f"SettingError: The setting OIDC_ISSUER needs the package joserfc. Install it: {command}"
    assert result.stderr.splitlines()[-1].endswith(needed)


def test_login_with_userinfo_changed_keys_and_refusal(
    app: Flask, conn: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    app.extensions.pop("oidc", None)
    port, client = free_port(), app.test_client()
    settings = {"OIDC_ISSUER": f"http://127.0.0.1:{port}", "OIDC_CLIENT_ID": "flags", "OIDC_CLIENT_SECRET": "a secret"}
    for name, setting in settings.items():
        monkeypatch.setitem(app.config, name, setting)
    with provider(tmp_path, port):
        response = log_in(client, sub="ada-1")
        assert (response.status_code, response.headers["Location"]) == (302, "/search")
        user = client.get("/api/admin/user").json["user"]
        assert (user["name"], user["email"]) == ("Ada Lovelace", "ada@example.org")
        denied = log_in(app.test_client(), action="deny")
        assert (denied.status_code, Page(denied).texts(".//*[@role='alert']")) == (
            403,
            ["single sign-on refused the login."],
        )
        assert client.get("/login?notice=logged-out").status_code == 303
        link = Page(app.test_client().get("/login?notice=logged-out")).all(".//a")[0].get("href") or ""
        assert link.startswith(f"http://127.0.0.1:{port}/oauth2/end_session?")
    # Its tokens have no kid.
    with provider(tmp_path, port):
        assert log_in(app.test_client(), sub="ada-1").status_code == 302
    assert (
        conn.execute("SELECT count(*) AS number FROM users WHERE email = 'ada@example.org'").fetchone()["number"] == 1
    )
    app.extensions.pop("oidc", None)
