"""A small identity provider whose answers a test can falsify, and a browser that goes through a login."""

import base64
import hashlib
import json
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any
from urllib.parse import parse_qs, parse_qsl, urlencode, urlsplit

from flask import Flask
from joserfc import jwk, jws
from werkzeug.test import Client, TestResponse

CLIENT = "flags of the tests"
SECRET = "the secret: of + this client"
REGISTRY = jws.JWSRegistry(
    algorithms=["RS256", "PS256", "ES256", "ES384", "Ed25519", "HS256", "none"], strict_check_header=False
)
REGISTRY.max_header_length = 16384
RSA = jwk.RSAKey.generate_key(2048, {"kid": "first"})
OTHER_RSA = jwk.RSAKey.generate_key(2048, {"kid": "second"})


class IdentityProvider:
    """Answers as a provider does, unless a test changes its attributes.

    answers: what it sends from a path instead, as a status and a body or a function. claims: those of all tokens, None
    removes one. people: the claims of one login, by nonce. app: the service. requests: how often each path was asked.
    """

    def __init__(self) -> None:
        self.url = ""
        self.app: Flask | None = None
        self.keys: list[Any] = [RSA]
        self.discovery: dict[str, Any] = {}
        self.answers: dict[str, Any] = {}
        self.claims: dict[str, Any] = {}
        self.people: dict[str, dict[str, Any]] = {}
        self.userinfo: dict[str, Any] = {}
        self.header: dict[str, Any] = {}
        self.signing_key: Any = RSA
        self.id_token: str | None = None
        self.logins: dict[str, dict[str, str]] = {}
        self.requests: Counter[str] = Counter()
        self.secrets: set[str] = set()

    @property
    def settings(self) -> dict[str, Any]:
        """The settings of a service that uses this provider."""
        return {"OIDC_ISSUER": self.url, "OIDC_CLIENT_ID": CLIENT, "OIDC_CLIENT_SECRET": SECRET, "OIDC_NAME": "Acme"}

    def configuration(self) -> dict[str, Any]:
        paths = {"authorization_endpoint": "/authorize", "token_endpoint": "/token", "jwks_uri": "/keys"}
        paths |= {"userinfo_endpoint": "/userinfo", "end_session_endpoint": "/end"}
        return {"issuer": self.url} | {name: self.url + path for name, path in paths.items()} | self.discovery

    def authorize(self, url: str, claims: dict[str, Any]) -> str:
        """Return the query of a callback for the address to which the service sent the browser of a person."""
        asked = dict(parse_qsl(urlsplit(url).query))
        self.people[asked["nonce"]] = claims
        code = f"code-{len(self.logins)}-{time.monotonic_ns()}"
        self.logins[code] = asked
        self.secrets |= {code, asked["state"], asked["nonce"]}
        return urlencode({"code": code, "state": asked["state"]})

    def token(self, form: dict[str, str], authorization: str) -> tuple[int, Any]:
        """Answer a token request. A code works once, with the right client, verifier and redirect_uri."""
        login = self.logins.pop(form["code"], None)
        challenge = hashlib.sha256(form["code_verifier"].encode()).digest()
        if login is None or login["code_challenge"] != base64.urlsafe_b64encode(challenge).decode().rstrip("="):
            return 400, {"error": "invalid_grant", "error_description": "<b>no such code</b>"}
        pair = base64.b64decode(authorization.removeprefix("Basic ")).decode()
        secret = {"flags+of+the+tests:the+secret%3A+of+%2B+this+client": SECRET}.get(pair) or form.get("client_secret")
        if secret != SECRET or login["redirect_uri"] != form["redirect_uri"]:
            return 401, {"error": "invalid_client"}
        access = f"access-{time.monotonic_ns()}"
        token = self.id_token or self.sign(self.claims_for(login["nonce"]))
        self.secrets |= {form["code_verifier"], access, token}
        return 200, {"access_token": access, "token_type": "Bearer", "id_token": token, "expires_in": 300}

    def claims_for(self, nonce: str) -> dict[str, Any]:
        now = int(time.time())
        claims = {"iss": self.url, "sub": "ada-1", "aud": CLIENT, "nonce": nonce, "iat": now, "exp": now + 300}
        claims |= {"name": "Ada Lovelace", "email": "Ada@Example.org", "email_verified": True} | self.claims
        claims |= self.people.get(nonce, {})
        return {name: value for name, value in claims.items() if value is not None}

    def sign(self, claims: dict[str, Any]) -> str:
        header = {"alg": "RS256", "kid": self.signing_key.kid} | self.header
        header = {name: value for name, value in header.items() if value is not None}
        return jws.serialize_compact(header, json.dumps(claims), self.signing_key, registry=REGISTRY)

    def answer(self, path: str, form: dict[str, str], authorization: str) -> tuple[int, Any]:
        """Return the status and the body for a request."""
        if path in self.answers:
            answer = self.answers[path]
            return answer() if callable(answer) else answer
        if path == "/.well-known/openid-configuration":
            return 200, self.configuration()
        if path == "/keys":
            return 200, {"keys": [key if isinstance(key, dict) else key.as_dict(private=False) for key in self.keys]}
        if path == "/token":
            return self.token(form, authorization)
        if path == "/userinfo" and authorization.startswith("Bearer access-"):
            return 200, {"sub": "ada-1"} | self.userinfo
        return 404, {}


@contextmanager
def provider_of(app: Flask) -> Iterator[IdentityProvider]:
    """Run a provider that a service uses. The service has not asked it anything."""
    config = app.config.copy()
    with identity_provider() as provider:
        provider.app = app
        app.config.update(provider.settings, LOGIN_ATTEMPTS_PER_MINUTE=100_000)
        yield provider
    app.config.update(config)
    app.extensions.pop("oidc", None)


@contextmanager
def identity_provider(port: int = 0) -> Iterator[IdentityProvider]:
    """Run a provider on 127.0.0.1."""
    provider = IdentityProvider()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            provider.requests[self.path] += 1
            text = self.rfile.read(int(self.headers["Content-Length"] or 0)).decode()
            form = {name: values[0] for name, values in parse_qs(text).items()}
            status, body = provider.answer(self.path, form, self.headers["Authorization"] or "")
            data = body if isinstance(body, bytes) else json.dumps(body).encode()
            self.send_response(status)
            self.send_header("Location", f"{provider.url}/elsewhere")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        do_POST = do_GET

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", port), Handler)
    provider.url = f"http://127.0.0.1:{server.server_port}"
    thread = Thread(target=server.serve_forever, args=(0.02,))
    thread.start()
    try:
        yield provider
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


class Browser:
    """A browser that keeps cookies, at the address of the service."""

    def __init__(self, app: Flask, provider: IdentityProvider) -> None:
        self.client: Client = app.test_client()
        self.provider = provider

    def begin(self, path: str = "/auth/oidc/login", **claims: Any) -> str:
        """Begin a login of a person, and return the address of the callback to which the provider sends the browser."""
        response = self.client.get(path)
        assert response.status_code == 302, response.text
        return f"/auth/oidc/callback?{self.provider.authorize(response.headers['Location'], claims)}"

    def log_in(self, path: str = "/auth/oidc/login", **claims: Any) -> TestResponse:
        """Log in a person, and return the response of the callback."""
        return self.client.get(self.begin(path, **claims))

    def session(self) -> str | None:
        cookie = self.client.get_cookie("session")
        return cookie and cookie.value
