"""Refusals of OFREP, whose error bodies have its form too."""

import pytest
from flask import Flask

from tests.support.world import Caller, World, refused

PATH = "/ofrep/v1/evaluate/flags"


@pytest.fixture
def app_token(world: World) -> Caller:
    """An application with a client token for development."""
    return world.api_key("client")


@pytest.mark.parametrize("path", [PATH, f"{PATH}/f"])
@pytest.mark.parametrize(
    ("body", "code"),
    [
        (b"", "PARSE_ERROR"),
        (b"{", "PARSE_ERROR"),
        (b"\xff", "PARSE_ERROR"),
        (b"[]", "INVALID_CONTEXT"),
        (b'{"context": "x"}', "INVALID_CONTEXT"),
        (b'{"context": {"a": "%s"}}' % (b"x" * 1001), "INVALID_CONTEXT"),
        (b'{"context": {"\\ud800": "x"}}', "INVALID_CONTEXT"),
    ],
)
def test_an_invalid_body_is_refused_in_the_form_of_ofrep(app_token: Caller, path: str, body: bytes, code: str) -> None:
    response = app_token.post(path, data=body, content_type="application/json")
    refused(response)
    assert response.json["errorCode"] == code
    assert response.json.get("key") == ("f" if path != PATH else None)


def test_other_refusals_have_the_form_of_ofrep_too(app: Flask, alice: Caller, app_token: Caller) -> None:
    for response, status, name in (
        (Caller(app).post(f"{PATH}/f", json={}), 401, "AuthenticationRequired"),
        (
            Caller(app).post(f"{PATH}/f", json={}, headers={"X-API-Key": "unknown-token-1234"}),
            401,
            "AuthenticationRequired",
        ),
        (alice.post(f"{PATH}/f", json={}), 403, "NoAccessError"),
        (app_token.post(f"{PATH}/f", data=b"x"), 415, "ContentTypeError"),
    ):
        refused(response, status, name)
        assert (response.json["key"], response.json["errorCode"]) == ("f", "GENERAL")


@pytest.mark.parametrize(("path", "key"), [(PATH, None), (f"{PATH}/f", "f"), (f"{PATH}/a%20b", "a b")])
def test_another_method_is_refused_in_the_form_of_ofrep(app_token: Caller, path: str, key: str | None) -> None:
    response = app_token.get(path)
    refused(response, 405, "MethodNotAllowedError")
    assert (response.json.get("key"), response.json["errorCode"]) == (key, "GENERAL")
