"""Log in with OpenID Connect: the way to the identity provider and back, and what goes wrong on it."""

import base64
import hashlib
import hmac
import json
import logging
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Event
from types import SimpleNamespace
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import pytest
from flask import Flask
from joserfc import jwk
from joserfc.util import urlsafe_b64encode

from rules.access import digest
from rules.sign_in import TOO_MANY_GROUPS
from serving import identity_provider as service
from sql import sessions
from sql.database import Connection, rows, value
from tests.support.identity_provider import CLIENT, OTHER_RSA, RSA, SECRET, Browser, IdentityProvider
from tests.support.page import Page
from tests.support.world import Caller, World

LOGIN = "/auth/oidc/login"
DISCOVERY = "/.well-known/openid-configuration"
AWAY = "Acme does not answer. Try again later, or log in with a password."
NOT_SET_UP = "Acme is not set up correctly."
EXPIRED = "This login took too long or was already used. Start again."
UNVERIFIED = "Acme sent a login that cannot be verified."
REFUSED = "Acme refused the login."


def failed(response: Any, status: int, sentence: str) -> Page:
    """Check that a login has failed with this sentence above the login form."""
    page = Page(response)
    assert (response.status_code, page.texts(".//*[@role='alert']")) == (status, [sentence])
    assert page.fields() == {"username": "", "password": ""}
    assert "session=" not in str(response.headers.getlist("Set-Cookie"))
    return page


def logged_in(browser: Browser) -> Any:
    """Return the user of the browser's session."""
    response = browser.client.get("/api/admin/user")
    assert response.status_code == 200, response.text
    return response.json["user"]


@pytest.fixture
def persons(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The persons that logins find."""
    found: list[Any] = []
    find = service.find_person

    def remember(*args: str) -> Any:
        found.append(find(*args))
        return found[-1]

    monkeypatch.setattr("blueprints.pages.sign_in.find_person", remember)
    return found


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """The clock by which the service keeps documents. It stands still."""
    clock = SimpleNamespace(now=time.monotonic(), time=time.time)
    clock.monotonic = lambda: clock.now
    monkeypatch.setattr(service, "time", clock)
    return clock


# --- A login ----------------------------------------------------------------------------------------------------------


def test_login_asks_with_state_nonce_and_pkce(browser: Browser, provider: IdentityProvider) -> None:
    provider.discovery = {"authorization_endpoint": f"{provider.url}/authorize?tenant=a", "userinfo_endpoint": None}
    response = browser.client.get(f"{LOGIN}?next=/search")
    assert (response.status_code, response.headers["Cache-Control"]) == (302, "no-store")
    asked = dict(parse_qsl(urlsplit(response.headers["Location"]).query))
    state, nonce, challenge = (asked.pop(name) for name in ("state", "nonce", "code_challenge"))
    assert [len(text) for text in (state, nonce, challenge)] == [43] * 3
    assert len({state, nonce, challenge}) == 3
    assert asked == {
        "tenant": "a",
        "response_type": "code",
        "client_id": CLIENT,
        "redirect_uri": "http://localhost/auth/oidc/callback",
        "scope": "openid email profile",
        "code_challenge_method": "S256",
    }
    name, *rest = response.headers["Set-Cookie"].split("; ")
    assert name.startswith(f"oidc-{state[:8]}=")
    assert {"HttpOnly", "SameSite=Lax", "Path=/auth/oidc", "Max-Age=600"} <= set(rest)
    assert "Secure" not in rest


def test_callback_begins_a_session_and_opens_the_page(browser: Browser, provider: IdentityProvider) -> None:
    response = browser.log_in(f"{LOGIN}?next=/search?q=a%26b")
    assert (response.status_code, response.headers["Location"]) == (302, "/search?q=a&b")
    cookies = {text.split("=")[0]: text.split("; ") for text in response.headers.getlist("Set-Cookie")}
    assert {"Max-Age=172800", "HttpOnly", "SameSite=Lax", "Path=/"} <= set(cookies.pop("session"))
    # The cookie of the login is deleted.
    [deleted] = cookies.values()
    assert {"Max-Age=0", "Path=/auth/oidc"} <= set(deleted)
    assert logged_in(browser)["email"] == "ada@example.org"
    assert provider.requests == {DISCOVERY: 1, "/token": 1, "/keys": 1}


def test_new_session_replaces_the_one_before(world: World, browser: Browser, conn: Connection) -> None:
    sessions.insert(conn, digest("fixed"), world.user("Mallory").id or 0, 1)
    browser.client.set_cookie("session", "fixed", domain="localhost")
    browser.log_in()
    assert browser.session() not in (None, "fixed")
    assert value(conn, "SELECT count(*) FROM sessions") == 1
    assert logged_in(browser)["name"] == "Ada Lovelace"


def test_two_tabs_log_in_one_after_the_other(browser: Browser) -> None:
    first, second = browser.begin(f"{LOGIN}?next=/events"), browser.begin(f"{LOGIN}?next=/search")
    assert browser.client.get(second).headers["Location"] == "/search"
    assert browser.client.get(first).headers["Location"] == "/events"


@pytest.mark.parametrize("path", ["//evil.example", "/\\evil.example", "/%09/evil.example", "https://evil.example", ""])
def test_login_leads_to_no_other_site(browser: Browser, path: str) -> None:
    assert browser.log_in(f"{LOGIN}?next={path}").headers["Location"] == "/"


def test_long_next_is_dropped_because_its_cookie_would_be(browser: Browser) -> None:
    assert browser.log_in(f"{LOGIN}?next=/{'a' * 1999}").headers["Location"] == f"/{'a' * 1999}"
    assert browser.log_in(f"{LOGIN}?next=/{'a' * 2000}").headers["Location"] == "/"


@pytest.mark.parametrize(
    "methods", [["client_secret_post"], ["client_secret_basic", "client_secret_post"], None], ids=str
)
def test_client_shows_its_secret_as_the_provider_wants(
    browser: Browser, provider: IdentityProvider, methods: list[str] | None
) -> None:
    provider.discovery = {} if methods is None else {"token_endpoint_auth_methods_supported": methods}
    asked: list[tuple[dict[str, str], str]] = []
    answer = provider.token
    provider.token = lambda form, authorization: asked.append((form, authorization)) or answer(form, authorization)
    assert browser.log_in().status_code == 302
    [(form, authorization)] = asked
    assert form.get("client_secret") == (SECRET if methods == ["client_secret_post"] else None)
    assert bool(authorization) == (methods != ["client_secret_post"])


def test_public_client_sends_its_id(
    app: Flask, browser: Browser, provider: IdentityProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(app.config, "OIDC_CLIENT_SECRET", None)
    asked: list[tuple[dict[str, str], str]] = []
    provider.token = lambda form, authorization: asked.append((form, authorization)) or (400, {"error": "stop"})
    failed(browser.log_in(), 400, REFUSED)
    [(form, authorization)] = asked
    assert (form["client_id"], authorization, "client_secret" in form) == (CLIENT, "", False)


@pytest.mark.parametrize("algorithm", ["RS256", "PS256", "ES256", "ES384", "Ed25519"])
def test_algorithm_is_accepted(browser: Browser, provider: IdentityProvider, algorithm: str) -> None:
    kinds: dict[str, Callable[[], Any]] = {
        "ES256": lambda: jwk.ECKey.generate_key("P-256", {"kid": "ec"}),
        "ES384": lambda: jwk.ECKey.generate_key("P-384", {"kid": "ec"}),
        "Ed25519": lambda: jwk.OKPKey.generate_key("Ed25519", {"kid": "ed"}),
    }
    key = kinds.get(algorithm, lambda: RSA)()
    # Keys of unknown kinds, and keys for encryption, do not matter.
    provider.keys = [{"kty": "new", "kid": "new"}, OTHER_RSA.as_dict(private=False) | {"use": "enc"}, key]
    provider.signing_key, provider.header = key, {"alg": algorithm}
    assert browser.log_in().status_code == 302


def test_token_may_carry_a_certificate_and_more_claims(browser: Browser, provider: IdentityProvider) -> None:
    provider.header = {"x5c": ["A" * 4000], "nonce_supported": True}
    provider.claims = {"aud": ["other", CLIENT], "azp": CLIENT, "nbf": int(time.time()), "acr": "1"}
    assert browser.log_in().status_code == 302


def test_key_is_found_without_kid_if_it_is_the_only_one(browser: Browser, provider: IdentityProvider) -> None:
    provider.header = {"kid": None}
    provider.keys = [RSA, OTHER_RSA.as_dict(private=False) | {"use": "enc"}]
    assert browser.log_in().status_code == 302
    provider.keys = [RSA, OTHER_RSA]
    browser.client.application.extensions.pop("oidc")
    failed(browser.log_in(), 400, UNVERIFIED)


# --- What the provider says about a person ----------------------------------------------------------------------------


def test_userinfo_is_asked_only_for_what_the_token_lacks(
    app: Flask, browser: Browser, provider: IdentityProvider, persons: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    browser.log_in()
    assert provider.requests["/userinfo"] == 0
    provider.claims = {"email": None, "email_verified": None, "name": None}
    provider.userinfo = {"email": "grace@example.org", "email_verified": True, "name": "Grace"}
    browser.log_in()
    assert (persons[1].email, persons[1].email_verified, persons[1].name) == ("grace@example.org", True, "Grace")
    # What the token says holds.
    provider.claims = {"email_verified": None, "name": None}
    browser.log_in()
    assert (persons[2].email, persons[2].email_verified, persons[2].name) == ("Ada@Example.org", False, "Grace")
    monkeypatch.setitem(app.config, "OIDC_GROUPS_CLAIM", "groups")
    provider.claims, provider.userinfo = {}, {"groups": ["admins"]}
    browser.log_in()
    assert persons[3].groups == ("admins",)
    # The token has other parts of the same claim.
    monkeypatch.setitem(app.config, "OIDC_GROUPS_CLAIM", "realm_access.roles")
    provider.claims, provider.userinfo = {"realm_access": {}}, {"realm_access": {"roles": ["admins"]}}
    browser.log_in()
    assert persons[4].groups == ("admins",)
    assert provider.requests["/userinfo"] == 4


@pytest.mark.parametrize(
    ("path", "claims", "groups"),
    [
        (None, {"groups": ["a"]}, None),
        ("groups", {"groups": ["a", 7, "b", None]}, ("a", "b")),
        ("groups", {"groups": ["c\0", "\ud800", "x" * 256]}, ("c\0", "\ud800", "x" * 256)),
        ("groups", {"groups": "a"}, ("a",)),
        ("groups", {"groups": {"a": "b"}}, ()),
        ("groups", {}, ()),
        ("realm_access.roles", {"realm_access": {"roles": ["a"]}}, ("a",)),
        ("realm_access.roles", {"realm_access": ["roles"]}, ()),
        ("https://example.org/groups", {"https://example.org/groups": ["a"]}, ("a",)),
    ],
)
def test_groups_claim(
    app: Flask,
    browser: Browser,
    provider: IdentityProvider,
    persons: list[Any],
    monkeypatch: pytest.MonkeyPatch,
    path: str | None,
    claims: dict[str, Any],
    groups: tuple[str, ...] | None,
) -> None:
    monkeypatch.setitem(app.config, "OIDC_GROUPS_CLAIM", path)
    provider.claims = claims
    assert browser.log_in().status_code == 302
    assert [person.groups for person in persons] == [groups]


def test_too_many_groups_for_a_token_of_entra_are_refused(
    app: Flask, browser: Browser, provider: IdentityProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(app.config, "OIDC_GROUPS_CLAIM", "groups")
    provider.claims = {"_claim_names": {"groups": "src1"}, "_claim_sources": {"src1": {"endpoint": "https://…"}}}
    failed(browser.log_in(), 403, TOO_MANY_GROUPS)
    provider.claims = {"_claim_names": 7}
    assert browser.log_in().status_code == 302


def test_claims_that_are_no_text_are_ignored(browser: Browser, provider: IdentityProvider) -> None:
    provider.claims = {"name": ["Ada"], "preferred_username": ["ada"], "email_verified": "true"}
    failed(browser.log_in(), 403, "Acme does not confirm that your e-mail address is yours. Ask an administrator.")
    provider.claims |= {"email_verified": True}
    assert browser.log_in().status_code == 302
    assert "name" not in logged_in(browser)
    for email in (["ada@example.org"], 7, "a\ud800@b.c", "a\0@b.c"):
        provider.claims |= {"sub": "grace", "email": email, "preferred_username": "grace"}
        failed(browser.log_in(), 403, "There is no account for you here.")


# --- Forged logins ----------------------------------------------------------------------------------------------------


def raw(header: dict[str, Any], claims: dict[str, Any], key: bytes | None = None) -> str:
    """Return a token that is not signed, or signed with a secret."""
    signed = b".".join(urlsafe_b64encode(json.dumps(part).encode()) for part in (header, claims))
    signature = hmac.digest(key, signed, "sha256") if key else b""
    return f"{signed.decode()}.{urlsafe_b64encode(signature).decode()}"


FORGED_SIGNATURES: dict[str, dict[str, Any]] = {
    "foreign key with our kid": {"signing_key": jwk.RSAKey.generate_key(2048, {"kid": "first"})},
    "embedded key": {"signing_key": OTHER_RSA, "header": {"kid": "first", "jwk": OTHER_RSA.as_dict(private=False)}},
    "unknown kid": {"header": {"kid": "unknown"}},
}


@pytest.mark.parametrize("name", FORGED_SIGNATURES)
def test_forged_signature_is_refused(browser: Browser, provider: IdentityProvider, name: str) -> None:
    vars(provider).update(FORGED_SIGNATURES[name])
    failed(browser.log_in(), 400, UNVERIFIED)


@pytest.mark.parametrize(
    "header",
    [
        *({"alg": algorithm} for algorithm in ("none", "None", "", "HS256", "RS1", 7)),
        *({"alg": "RS256", **more} for more in ({"kid": 7}, {"kid": "oct"}, {"crit": ["b64x"], "b64x": True})),
        {"alg": "HS256", "kid": "oct"},
    ],
)
def test_token_without_a_private_key_is_refused(
    browser: Browser, provider: IdentityProvider, header: dict[str, Any]
) -> None:
    public = RSA.as_pem(private=False)
    # Not even if the provider publishes a key that is a secret.
    provider.keys = [RSA, {"kty": "oct", "kid": "oct", "k": urlsafe_b64encode(public).decode()}]
    callback = browser.begin()
    claims = provider.claims_for(next(iter(provider.logins.values()))["nonce"])
    provider.id_token = raw({"kid": "first"} | header, claims, public if header["alg"] == "HS256" else None)
    failed(browser.client.get(callback), 400, UNVERIFIED)


@pytest.mark.parametrize("token", ["", "a.b.c", "7", raw({}, {}), "a" * 1_000_000, "..", raw({"alg": 7}, {})])
def test_text_that_is_no_token_is_refused(browser: Browser, provider: IdentityProvider, token: str) -> None:
    provider.token = lambda *_: (200, {"id_token": token})
    failed(browser.log_in(), 400, UNVERIFIED)


WRONG_CLAIMS: dict[str, dict[str, Any]] = {
    "iss of another": {"iss": "https://evil.example"},
    "iss missing": {"iss": None},
    "aud of another": {"aud": "other"},
    "aud without us": {"aud": ["a", "b"]},
    "aud missing": {"aud": None},
    "aud a number": {"aud": 7},
    "azp of another": {"aud": [CLIENT, "other"], "azp": "other"},
    "nonce of another": {"nonce": "other"},
    "nonce missing": {"nonce": None},
    "sub missing": {"sub": None},
    "sub a number": {"sub": 7},
    "azp of several": {"azp": [CLIENT, "other"]},
    "aud of another in an old token": {"aud": "other", "iat": 1000, "exp": 2000},
    "sub empty": {"sub": ""},
    "sub too long": {"sub": "a" * 256},
    "sub with NUL": {"sub": "a\0"},
    "exp missing": {"exp": None},
    "exp a text": {"exp": "2099-01-01"},
    "iat missing": {"iat": None},
    "iat a text": {"iat": "now"},
    "nbf a text": {"nbf": "now"},
    "exp not a number": {"exp": float("nan")},
    "at_hash of another": {"at_hash": "other"},
}


@pytest.mark.parametrize("name", WRONG_CLAIMS)
def test_wrong_claim_is_refused(browser: Browser, provider: IdentityProvider, caplog: Any, name: str) -> None:
    provider.claims = dict(WRONG_CLAIMS[name])
    missing = [claim for claim, content in provider.claims.items() if content is None]
    if missing:
        provider.claims_for = lambda nonce, make=provider.claims_for: {
            claim: content for claim, content in make(nonce).items() if claim not in missing
        }
    failed(browser.log_in(), 400, UNVERIFIED)
    assert f"The claim {name.split(' ')[0]} of the ID token is wrong." in caplog.text


def test_at_hash_of_the_access_token_is_right(browser: Browser, provider: IdentityProvider) -> None:
    access = "access-1"
    half = hashlib.sha256(access.encode()).digest()[:16]
    provider.claims = {"at_hash": base64.urlsafe_b64encode(half).decode().rstrip("=")}
    answer = provider.token
    provider.token = lambda *args: (200, answer(*args)[1] | {"access_token": access})
    assert browser.log_in().status_code == 302
    provider.token = lambda *args: (200, answer(*args)[1] | {"access_token": "access-2"})
    failed(browser.log_in(), 400, UNVERIFIED)


@pytest.mark.parametrize(
    ("times", "status"),
    [
        ({"iat": -93, "exp": -30}, 302),
        ({"iat": -93, "exp": -63}, 400),
        ({"iat": 50, "exp": 350, "nbf": 50}, 302),
        ({"iat": 93, "exp": 393}, 400),
        ({"iat": 93, "exp": 393, "nbf": 93}, 400),
    ],
)
def test_clocks_may_differ_by_a_minute(
    browser: Browser, provider: IdentityProvider, caplog: Any, times: dict[str, int], status: int
) -> None:
    now = int(time.time())
    provider.claims = {name: now + seconds for name, seconds in times.items()}
    assert browser.log_in().status_code == status
    sentences = [
        f"The clocks of this server and the identity provider differ by {seconds} s." for seconds in (92, 93, 94)
    ]
    assert any(sentence in caplog.text for sentence in sentences) == (status == 400)


def test_userinfo_of_somebody_else_is_refused(browser: Browser, provider: IdentityProvider) -> None:
    provider.claims, provider.userinfo = {"name": None}, {"sub": "eve-2"}
    failed(browser.log_in(), 400, UNVERIFIED)


# --- Forged callbacks -------------------------------------------------------------------------------------------------


def test_callback_of_another_browser_is_refused(app: Flask, browser: Browser, provider: IdentityProvider) -> None:
    callback, other = browser.begin(), Browser(app, provider)
    failed(other.client.get(callback), 400, EXPIRED)
    # Its own login has another state.
    other.begin()
    failed(other.client.get(callback), 400, EXPIRED)
    # The name of the cookie has only the beginning of the state.
    failed(browser.client.get(f"{callback}x"), 400, EXPIRED)
    assert provider.requests["/token"] == 0
    assert browser.client.get(browser.begin()).status_code == 302


def test_callback_works_once(browser: Browser, provider: IdentityProvider, conn: Connection) -> None:
    callback = browser.begin()
    [cookie] = [cookie for cookie in browser.client._cookies.values() if cookie.key.startswith("oidc-")]  # pyright: ignore
    assert browser.client.get(callback).status_code == 302
    failed(browser.client.get(callback), 400, EXPIRED)
    assert provider.requests["/token"] == 1
    # With a copy of the cookie, the provider refuses the code.
    browser.client.set_cookie(cookie.key, cookie.value, path="/auth/oidc", domain="localhost")
    failed(browser.client.get(callback), 400, EXPIRED)
    assert value(conn, "SELECT count(*) FROM sessions") == 1


def test_cookie_lasts_ten_minutes_and_cannot_be_forged(browser: Browser, monkeypatch: pytest.MonkeyPatch) -> None:
    callback, forged = browser.begin(), browser.begin()
    key = f"oidc-{dict(parse_qsl(urlsplit(forged).query))['state'][:8]}"
    cookie = browser.client.get_cookie(key, path="/auth/oidc")
    assert cookie
    browser.client.set_cookie(key, f"a{cookie.value}", path="/auth/oidc", domain="localhost")
    failed(browser.client.get(forged), 400, EXPIRED)
    later = time.time() + 601
    monkeypatch.setattr("itsdangerous.timed.time.time", lambda: later)
    failed(browser.client.get(callback), 400, EXPIRED)


@pytest.mark.parametrize(
    "query", ["", "?code=a", "?state=a", "?state=;%0d%0aX:1&code=a", "?state=%ff", "?error=access_denied&state=a"]
)
def test_callback_without_a_login_is_refused(browser: Browser, query: str) -> None:
    failed(browser.client.get(f"/auth/oidc/callback{query}"), 400, EXPIRED)


def test_callback_with_another_issuer_is_refused(browser: Browser, provider: IdentityProvider) -> None:
    assert browser.client.get(f"{browser.begin()}&iss={provider.url}").status_code == 302
    failed(browser.client.get(f"{browser.begin()}&iss=https://evil.example"), 400, UNVERIFIED)
    failed(browser.client.get(f"{browser.begin()}&iss={provider.url}/"), 400, UNVERIFIED)
    assert provider.requests["/token"] == 1
    # A provider that announces the parameter always sends it.
    browser.client.application.extensions.pop("oidc")
    provider.discovery = {"authorization_response_iss_parameter_supported": True}
    failed(browser.log_in(), 400, UNVERIFIED)


@pytest.mark.parametrize(("error", "status"), [("access_denied", 403), ("server_error", 400), ("x\ny" * 99, 400)])
def test_refusal_of_the_provider(browser: Browser, caplog: Any, error: str, status: int) -> None:
    query = {
        name: text
        for name, text in parse_qsl(urlsplit(browser.begin(f"{LOGIN}?next=/events")).query)
        if name == "state"
    }
    query |= {"error": error, "error_description": "<b>Call 555-0100</b>"}
    page = failed(browser.client.get("/auth/oidc/callback", query_string=query), status, REFUSED)
    assert "555" not in page.response.text + caplog.text
    assert error[:12].replace("\n", "\\n") in caplog.text
    assert "\ny" not in caplog.text
    # The form and the button keep the page.
    assert page.all(".//form")[0].get("action") == "/login?next=/events"
    assert "/auth/oidc/login?next=/events" in [link.get("href") for link in page.all(".//a")]


# --- The provider does not answer, or wrongly -------------------------------------------------------------------------


@pytest.mark.parametrize("path", [DISCOVERY, "/token", "/keys", "/userinfo"])
@pytest.mark.parametrize(
    "answer",
    [
        (500, {}),
        (503, b"<html>"),
        (302, {}),
        (200, b"<html>"),
        (200, b"[]"),
        (200, b"[" * 100_000),
        (200, b" " * 2**20 + b"{}"),
    ],
    ids=["500", "503", "redirect", "html", "array", "deep", "long"],
)
def test_provider_that_answers_wrongly(
    browser: Browser, provider: IdentityProvider, path: str, answer: tuple[int, Any]
) -> None:
    provider.claims = {"name": None}
    provider.answers[path] = answer
    if path == DISCOVERY:
        failed(browser.client.get(LOGIN), 503, AWAY)
    else:
        failed(browser.log_in(), 503, AWAY)
    assert provider.requests["/elsewhere"] == 0
    # Afterwards it works at once.
    del provider.answers[path]
    assert browser.log_in().status_code == 302


def test_answer_that_arrives_slowly_is_given_up(
    browser: Browser, provider: IdentityProvider, clock: SimpleNamespace
) -> None:
    def answer() -> tuple[int, Any]:
        clock.now += 11
        return 200, provider.configuration()

    provider.answers[DISCOVERY] = answer
    failed(browser.client.get(LOGIN), 503, AWAY)


def test_provider_that_is_away(app: Flask, browser: Browser, provider: IdentityProvider, caplog: Any) -> None:
    provider.url = app.config["OIDC_ISSUER"] = "http://127.0.0.1:1"
    page = failed(browser.client.get(f"{LOGIN}?next=/events"), 503, AWAY)
    assert "Connection refused" in caplog.text
    assert page.all(".//form")[0].get("action") == "/login?next=/events"


def test_slow_provider_is_given_up_and_is_asked_once_for_all(
    browser: Browser, provider: IdentityProvider, app: Flask, monkeypatch: pytest.MonkeyPatch
) -> None:
    answered = Event()
    monkeypatch.setattr(service, "TIMEOUT_SECONDS", 0.2)
    provider.answers[DISCOVERY] = lambda: (answered.wait(30), (200, {}))[1]
    with app.test_request_context(), ThreadPoolExecutor(4) as pool:

        def discover(_: int) -> str:
            with app.app_context():
                try:
                    service.discovery()
                except service.LoginFailed as error:
                    return str(error.description)
            return "no error"

        assert set(pool.map(discover, range(4))) == {AWAY}
    answered.set()
    assert provider.requests[DISCOVERY] == 1
    assert browser.client.get("/login").status_code == 200


@pytest.mark.parametrize(
    "discovery",
    [
        {"issuer": "https://evil.example"},
        {"issuer": None},
        {"token_endpoint": "http://id.example.org/token"},
        {"jwks_uri": "file:///etc/passwd"},
        {"authorization_endpoint": None},
        {"authorization_endpoint": "javascript:alert(1)"},
        {"userinfo_endpoint": "http://127.0.0.1:80@evil.example/"},
    ],
)
def test_discovery_of_another_or_with_unsafe_endpoints_is_refused(
    browser: Browser, provider: IdentityProvider, caplog: Any, discovery: dict[str, Any]
) -> None:
    provider.discovery = discovery
    page = failed(browser.client.get(LOGIN), 503, NOT_SET_UP)
    assert "evil" not in page.response.text
    if discovery == {"issuer": "https://evil.example"}:
        assert (
            f"The identity provider calls itself https://evil.example, but OIDC_ISSUER is {provider.url}."
            in caplog.text
        )


def test_refused_client_is_an_error_in_the_log(browser: Browser, provider: IdentityProvider, caplog: Any) -> None:
    provider.token = lambda *_: (401, {"error": "invalid_client"})
    failed(browser.log_in(), 400, REFUSED)
    assert "The token request has the error 'invalid_client'." in caplog.text


# --- What a worker remembers ------------------------------------------------------------------------------------------


def test_documents_are_fetched_once_an_hour_and_last_a_day(
    browser: Browser, provider: IdentityProvider, clock: SimpleNamespace
) -> None:
    browser.log_in()
    clock.now += 3599
    browser.log_in()
    assert provider.requests[DISCOVERY] == provider.requests["/keys"] == 1
    clock.now += 2
    browser.log_in()
    assert provider.requests[DISCOVERY] == provider.requests["/keys"] == 2
    # While the provider fails, it is asked once a minute.
    provider.answers[DISCOVERY] = provider.answers["/keys"] = 500, {}
    clock.now += 3601
    for _ in range(3):
        assert browser.log_in().status_code == 302
    assert provider.requests[DISCOVERY] == 3
    clock.now += 61
    browser.log_in()
    assert provider.requests[DISCOVERY] == 4
    clock.now += 86400
    failed(browser.client.get(LOGIN), 503, AWAY)


def test_changed_keys_are_fetched_at_most_once_a_minute(
    browser: Browser, provider: IdentityProvider, clock: SimpleNamespace
) -> None:
    browser.log_in()
    provider.keys = [OTHER_RSA]
    # The old key goes as soon as the keys are fetched.
    assert browser.log_in().status_code == 302
    provider.signing_key = OTHER_RSA
    assert browser.log_in().status_code == 302
    assert provider.requests["/keys"] == 2
    provider.signing_key = RSA
    failed(browser.log_in(), 400, UNVERIFIED)
    assert provider.requests["/keys"] == 2
    provider.keys = [RSA]
    clock.now += 61
    assert browser.log_in().status_code == 302
    assert provider.requests["/keys"] == 3


def test_changed_key_without_kid_is_fetched(browser: Browser, provider: IdentityProvider) -> None:
    provider.header = {"kid": None}
    browser.log_in()
    provider.keys, provider.signing_key = [OTHER_RSA], OTHER_RSA
    assert browser.log_in().status_code == 302


@pytest.mark.parametrize("number", [20, pytest.param(1000, marks=pytest.mark.slow)])
def test_many_callbacks_fetch_the_keys_twice(browser: Browser, provider: IdentityProvider, number: int) -> None:
    provider.header = {"kid": "unknown"}
    cookies = browser.client._cookies  # pyright: ignore
    callback = browser.begin()
    kept = dict(cookies)
    login = dict(provider.logins)
    for _ in range(number):
        provider.logins.update(login)
        cookies.update(kept)
        assert browser.client.get(callback).status_code == 400
    assert provider.requests == {DISCOVERY: 1, "/keys": 2, "/token": number}


# --- Around it --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("is_callback", [False, True])
def test_address_is_throttled(
    app: Flask, browser: Browser, provider: IdentityProvider, monkeypatch: pytest.MonkeyPatch, is_callback: bool
) -> None:
    monkeypatch.setitem(app.config, "LOGIN_ATTEMPTS_PER_MINUTE", 2)
    path = "/auth/oidc/callback" if is_callback else LOGIN
    statuses = [browser.client.get(path).status_code for _ in range(3)]
    assert statuses == [400 if is_callback else 302] * 2 + [429]
    assert browser.client.get(path).headers["Retry-After"].isdecimal()
    # The two do not count for each other.
    assert browser.client.get(LOGIN if is_callback else "/auth/oidc/callback").status_code in (302, 400)
    del provider


def test_no_secret_is_logged_or_stored(
    browser: Browser, provider: IdentityProvider, conn: Connection, caplog: Any, capsys: Any
) -> None:
    caplog.set_level(logging.DEBUG)
    browser.log_in()
    provider.claims = {"nonce": "other"}
    browser.log_in()
    provider.token = lambda *_: (400, {"error": "invalid_grant"})
    browser.log_in()
    cookies = [cookie.value for cookie in browser.client._cookies.values()]  # pyright: ignore
    seen = caplog.text + "".join(capsys.readouterr())
    seen += str(rows(conn, "SELECT * FROM events")) + str(rows(conn, "SELECT * FROM users"))
    assert '"route":"/auth/oidc/callback"' in seen.replace(" ", "")
    assert len(provider.secrets) > 8
    for secret in (*provider.secrets, *cookies, SECRET):
        assert secret not in seen


def test_access_token_with_a_line_break_is_not_logged(
    browser: Browser, provider: IdentityProvider, caplog: Any, capsys: Any
) -> None:
    provider.claims, answer = {"name": None}, provider.token
    provider.token = lambda *form: (200, answer(*form)[1] | {"access_token": "one-half\nother-half"})
    browser.log_in()
    assert provider.requests["/userinfo"] == 1
    assert "half" not in caplog.text + "".join(capsys.readouterr())


def test_without_a_provider_nothing_is_shown(stranger: Caller) -> None:
    assert [stranger.get(path).status_code for path in (LOGIN, "/auth/oidc/callback")] == [404, 404]
    assert [link.get("href") for link in Page(stranger.get("/login")).all(".//a")] == []


def test_button_is_on_the_login_page_and_in_the_401(browser: Browser, stranger: Caller) -> None:
    [button] = Page(stranger.get("/login?next=/search?q=a%26b")).all(".//a")
    assert (button.get("href"), button.text) == ("/auth/oidc/login?next=/search%3Fq%3Da%26b", "Log in with Acme")
    option = {"type": "oidc", "message": "Log in with Acme", "path": LOGIN}
    assert stranger.get("/api/admin/user").json["options"] == [option]
    del browser


def test_logout_leads_to_the_logout_of_the_provider(browser: Browser, provider: IdentityProvider) -> None:
    browser.log_in()
    response = browser.client.post("/logout", headers={"Origin": "http://localhost"})
    assert response.headers["Location"] == "/login?notice=logged-out"
    assert response.headers["Clear-Site-Data"] == '"storage"'
    assert browser.session() is None
    page = Page(browser.client.get("/login?notice=logged-out"))
    assert page.texts(".//*[@role='status']") == ["You are logged out."]
    [link, _] = page.all(".//a")
    url, _, query = (link.get("href") or "").partition("?")
    assert (link.text, url) == ("Log out of Acme too", f"{provider.url}/end")
    assert dict(parse_qsl(query)) == {"client_id": CLIENT, "post_logout_redirect_uri": "http://localhost/login"}


def test_logout_page_works_without_the_provider(browser: Browser, provider: IdentityProvider) -> None:
    provider.answers[DISCOVERY] = 500, {}
    for _ in range(3):
        assert "Log out of" not in browser.client.get("/login?notice=logged-out").text
    # The next visitor does not wait for a provider that has just failed.
    assert provider.requests[DISCOVERY] == 1
    del provider.answers[DISCOVERY]
    browser.begin()
    assert "Log out of" in browser.client.get("/login?notice=logged-out").text


def test_settings_can_be_read_and_not_changed(alice: Caller, app: Flask, monkeypatch: pytest.MonkeyPatch) -> None:
    path = "/api/admin/auth/oidc/settings"
    off = alice.get(path).json
    assert (off["enabled"], off["discoverUrl"], off["clientId"]) == (False, None, None)
    more = {"OIDC_ISSUER": "https://id.example.org/", "OIDC_CLIENT_ID": "flags", "OIDC_GROUPS_CLAIM": "groups"}
    more |= {"OIDC_CLIENT_SECRET": SECRET, "OIDC_EMAIL_DOMAINS": ("a.example", "b.example"), "SSO_ROLE": "editor"}
    for name, setting in more.items():
        monkeypatch.setitem(app.config, name, setting)
    response = alice.get(path)
    assert response.json == {
        "enabled": True,
        "discoverUrl": "https://id.example.org/.well-known/openid-configuration",
        "clientId": "flags",
        "autoCreate": True,
        "defaultRootRole": "editor",
        "defaultRootRoleId": 2,
        "emailDomains": "a.example, b.example",
        "enableGroupSyncing": True,
        "groupJsonPath": "groups",
        "addGroupsScope": False,
        "enableSingleSignOut": False,
        "enablePkce": True,
    }
    assert SECRET not in response.text
    for name in ("oidc", "simple"):
        answer = alice.post(f"/api/admin/auth/{name}/settings", data="anything")
        assert (answer.status_code, answer.json["name"]) == (409, "ConflictError")
        assert answer.json["message"] == "Single sign-on is set by environment variables: OIDC_ISSUER and others."
