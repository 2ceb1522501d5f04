"""The headers for browsers, in every answer: of a view, a refusal, a stream, or gunicorn itself.

None names a version.
"""

from collections.abc import Callable, Iterator, Mapping

import pytest
from flask import Flask

from serving import browser_headers as browser_rules
from tests.support.instance import ADMIN_KEY
from tests.support.login import ada, log_in
from tests.support.service import Service
from tests.support.world import Caller, World

HTTPS = "https://flags.example.org"
AUTHORIZED = {"Authorization": ADMIN_KEY}
# Written out, so that a rule that is dropped is missed.
EVERYWHERE = {"X-Content-Type-Options": "nosniff", "X-Frame-Options": "DENY"}
ELSEWHERE = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
    "Referrer-Policy": "no-referrer",
}
SECURE = {"Strict-Transport-Security": "max-age=31536000"}


def headers_of(headers: Mapping[str, str]) -> dict[str, str]:
    """Those of an answer's headers that are such rules."""
    names = {*EVERYWHERE, *ELSEWHERE, *SECURE}
    return {name: text for name, text in headers.items() if name in names}


def test_every_answer_has_them_and_only_https_asks_for_https(make_app: Callable[..., Flask], shared_url: str):
    for base_url, rules in (("http://localhost", EVERYWHERE | ELSEWHERE), (HTTPS, EVERYWHERE | ELSEWHERE | SECURE)):
        app = make_app(shared_url, BASE_URL=base_url)
        app.add_url_rule("/broken", view_func=lambda: 1 // 0)
        answers = {
            200: ("GET", "/api/admin/insights", {"headers": AUTHORIZED}),
            400: ("GET", "/api/admin/search/events?limit=x", {"headers": AUTHORIZED}),
            401: ("GET", "/api/admin/user", {}),
            404: ("GET", "/absent", {}),
            405: ("POST", "/health", {}),
            413: ("POST", "/auth/simple/login", {"data": b"x" * (app.config["MAX_BODY_BYTES"] + 1)}),
            415: ("POST", "/auth/simple/login", {"data": b"{}"}),
            500: ("GET", "/broken", {}),
        }
        for status, (method, path, given) in answers.items():
            for one in {method, "HEAD"} if method == "GET" else {method}:
                answer = app.test_client().open(path, method=one, **given)
                assert (answer.status_code, headers_of(answer.headers)) == (status, rules)


def test_a_stream_a_logout_and_a_login_have_them_too(world: World, stranger: Caller, alice: Caller):
    ada(world)
    login = log_in(stranger, "ada")
    cookie = {"Cookie": login.headers["Set-Cookie"].partition(";")[0]}
    stream = alice.get("/api/admin/search/events", headers={"Accept": "application/x-ndjson"})
    logout = stranger.post("/logout", headers=cookie)
    assert [answer.status_code for answer in (login, stream, logout)] == [200, 200, 302]
    assert stream.mimetype == "application/x-ndjson"
    for answer in (login, stream, logout):
        assert headers_of(answer.headers) == EVERYWHERE | ELSEWHERE


@pytest.mark.parametrize("path", ["/docs", "/openapi.json", "/docs/rapidoc-9.3.8.min.js"])
def test_a_page_that_holds_nothing_of_anybodys_may_be_kept(stranger: Caller, path: str):
    answer = stranger.get(path)
    assert answer.status_code == 200
    assert EVERYWHERE.items() <= headers_of(answer.headers).items()
    assert "no-store" not in answer.headers["Cache-Control"]
    policy = answer.headers["Content-Security-Policy"]
    assert "default-src 'none'" in policy
    assert "frame-ancestors 'none'" in policy
    assert ("script-src 'self'" in policy) == (path == "/docs")


@pytest.fixture(scope="module")
def service(make_database: Callable[..., str]) -> Iterator[Service]:
    """The real service, which users reach by https."""
    with Service(make_database(), BASE_URL=HTTPS) as service:
        yield service


HEAD = b"GET / HTTP/1.1\r\nHost: x\r\n"
MALFORMED = [
    b"\x16\x03\x01\x02\x00\r\n\r\n",
    b"GET /" + b"x" * 9000 + b" HTTP/1.1\r\n\r\n",
    HEAD + b"".join(b"X-%d: y\r\n" % number for number in range(200)) + b"\r\n",
    HEAD + b"Content-Length: 1\r\nContent-Length: 2\r\n\r\nxy",
]


def test_responses_of_the_real_service_have_them_and_name_no_version(service: Service):
    answers = [service.raw(malformed) for malformed in MALFORMED]
    answers += [service.get("/health"), service.get("/absent"), service.request("POST", "/health")]
    lines = {"Accept": "application/x-ndjson", **AUTHORIZED}
    answers.append(service.get("/api/admin/search/events", headers=lines))
    assert [answer.status for answer in answers] == [400, 400, 400, 400, 200, 404, 405, 200]
    for answer in answers:
        assert headers_of(answer.headers) == EVERYWHERE | ELSEWHERE | SECURE
        assert answer.headers.get("Server", "gunicorn") == "gunicorn"
        assert "X-Powered-By" not in answer.headers


def test_the_rules_are_those_that_the_whole_suite_asks_for():
    assert (browser_rules.ALWAYS, browser_rules.DEFAULTS) == (EVERYWHERE, ELSEWHERE)
