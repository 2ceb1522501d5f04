"""Behind nginx as docs/how-to/proxy.md sets it up: at the root, under a path that nginx passes on, and under one that
it removes.
"""

import json
import re
import socket
import ssl
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from http.client import HTTPConnection, IncompleteRead
from pathlib import Path
from typing import Any
from urllib.parse import quote, urljoin, urlsplit

import psycopg
import pytest

from tests.support import nginx
from tests.support.certificate import OPENSSL
from tests.support.instance import ADMIN_KEY, SETTINGS
from tests.support.nginx import Nginx
from tests.support.program import changed
from tests.support.push import read_event
from tests.support.service import PATIENCE, Answer, Service, free_port, send, wait_until

KEY = {"Authorization": ADMIN_KEY}
LOGIN = {"username": "admin", "password": SETTINGS["INIT_ADMIN_PASSWORD"]}
pytestmark = pytest.mark.slow

WAYS = ("a name of its own", "a path that is passed on", "a path that is taken off")


@dataclass
class Site:
    """A proxy with a service behind it. base: the address of the service as users see it."""

    proxy: Nginx
    service: Service
    base: str
    database: str
    plain_port: int

    @property
    def path(self) -> str:
        """The path of the base."""
        return urlsplit(self.base).path

    def ask(
        self, method: str, path: str, json: Any = None, headers: dict[str, str] | None = None, **kwargs: Any
    ) -> Answer:
        """Request a path of the service, or an address from a response."""
        return self.proxy.request(method, path if "://" in path else f"{self.base}{path}", json, headers, **kwargs)

    def log_in(self, **headers: str) -> dict[str, str]:
        """Return the headers of a browser that is logged in, on a page of the service."""
        answer = self.ask("POST", "/auth/simple/login", LOGIN, headers)
        assert answer.status == 200, answer
        cookie, *attributes = answer.headers["Set-Cookie"].split("; ")
        assert {"Secure", "HttpOnly", "SameSite=Lax", f"Path={self.path or '/'}"} < set(attributes)
        return {"Cookie": cookie, "Origin": urljoin(self.base, "/").rstrip("/"), "Sec-Fetch-Site": "same-origin"}


@pytest.fixture(scope="module", params=WAYS)
def site(request: pytest.FixtureRequest, make_database: Callable[..., str]) -> Iterator[Site]:
    """The service behind such a proxy."""
    if not nginx.PROGRAM or not OPENSSL:
        pytest.skip("needs nginx and openssl (on Debian: apt-get install nginx-light openssl)")
    port, plain_port, database = free_port(), free_port(), make_database()
    own_name, kept, stripped = nginx.blocks()
    texts = (own_name, nginx.under_a_path(kept), nginx.under_a_path(stripped))
    # As nginx has it from 1.29.7 on.
    keepalive = {"4242;": "4242; keepalive 32;", "version 1.1;": 'version 1.1; proxy_set_header Connection "";'}
    text = changed(texts[WAYS.index(request.param)], keepalive)
    base = f"https://localhost:{port}{'' if request.param == WAYS[0] else '/flags'}"
    with (
        Service(database, BASE_URL=base, TRUSTED_PROXIES=1) as service,
        Nginx(text, port, plain_port, service.port) as proxy,
    ):
        yield Site(proxy, service, base, database, plain_port)


def test_every_address_in_responses_leads_back(site: Site):
    browser, tokens = site.log_in(), "/api/admin/invite-link/tokens"
    created = site.ask("POST", tokens, {"name": "a", "expiresAt": "2099-01-01T00:00:00Z"}, browser)
    # A Location is relative to the address of the request.
    place = urljoin(f"{site.base}{tokens}", created.headers["Location"])
    assert (created.status, site.ask("GET", place, headers=browser).json) == (201, created.json)
    assert created.json["url"] == f"{site.base}/new-user?invite={created.json['secret']}"
    # The page about the API, and what it loads.
    page = site.ask("GET", "/docs")
    assert page.status == 200
    for address in re.findall(r'(?:src|href|spec-url)="([^"d][^"]*|docs/[^"]*)"', page.body.decode()):
        # The link back to the pages leads visitors to the login form.
        expected = 302 if address == "./" else 200
        assert site.ask("GET", urljoin(f"{site.base}/docs", address)).status == expected, address
    assert site.ask("GET", "/openapi.json").json["servers"] == [{"url": site.base}]
    old = site.ask("POST", "/api/admin/events/search", {}, browser)
    (link,) = re.findall(r'^<(.*)>; rel="successor-version"$', old.headers["Link"])
    assert site.ask("GET", link, headers=browser).status == 200
    out = site.ask("POST", "/logout", None, browser)
    assert (out.status, urljoin(f"{site.base}/logout", out.headers["Location"])) == (302, f"{site.base}/")
    assert f"Path={site.path or '/'}" in out.headers["Set-Cookie"].split("; ")
    assert site.ask("GET", "/api/admin/user", headers=browser).status == 401


def test_a_change_from_another_site_is_refused(site: Site):
    browser, port = site.log_in(), site.proxy.port
    change = ("PUT", "/api/admin/invite-link/tokens/absent", {"enabled": False})
    assert site.ask(*change, browser).status == 404
    origins = ("https://evil.example", "null", "http://localhost", f"http://localhost:{port}")
    for origin in (*origins, f"https://localhost:{port + 1}"):
        assert site.ask(*change, browser | {"Origin": origin}).status == 403, origin
    assert site.ask(*change, browser | {"Sec-Fetch-Site": "cross-site"}).status == 403


def test_the_address_of_the_client_is_the_one_that_the_proxy_saw(site: Site):
    for claim in ("192.0.2.1", "192.0.2.1, 192.0.2.2", "127.0.0.1", ""):
        site.log_in(**{"X-Forwarded-For": claim, "X-Real-IP": claim, "Forwarded": f"for={claim}"})
    with psycopg.connect(site.database) as conn:
        assert conn.execute("SELECT address FROM login_addresses").fetchall() == [("127.0.0.2",)]


def test_names_and_slashes_arrive_as_they_were_written(site: Site):
    assert site.ask("POST", "/api/admin/projects/default/features", {"name": "flag"}, KEY).status == 201
    tags = "/api/admin/features/flag/tags"
    for value in ("a b", "a/b", "/a//b/", "ü?#&=", "100%25", "..x", "a+b", "a;b", "%2F"):
        assert site.ask("POST", tags, {"type": "simple", "value": value}, KEY).status == 201
        assert site.ask("DELETE", f"{tags}/simple/{quote(value, safe='')}", headers=KEY).status == 200, value
    assert site.ask("GET", tags, headers=KEY).json["tags"] == []
    assert site.ask("GET", "/api/admin/user", headers=KEY).status == 200
    # An encoded slash separates no segments.
    encoded = ("/api%2fadmin%2fuser", "/api%2Fadmin/user", "/api/admin%2Fuser", "/api/admin/user%2F")
    extra = ("/api//admin/projects", "/api/admin/projects/", "//api/admin/projects")
    for path in (*encoded, "/api%252Fadmin/user", *extra):
        assert site.ask("GET", path, headers=KEY).status == 404, path
    # Extra slashes are ignored for applications only.
    token = {"tokenName": "shop", "type": "client", "environment": "development"}
    shop = {"Authorization": site.ask("POST", "/api/admin/api-tokens", token, KEY).json["secret"]}
    usual = site.ask("GET", "/api/client/features", headers=shop).body
    for path in ("/api//client/features", "/api/client/features/", "//api/client//features"):
        response = site.ask("GET", path, headers=shop)
        assert (response.status, response.body) == (200, usual), path


def test_refusals_and_streams_are_those_of_the_service(site: Site):
    large = site.ask("POST", "/api/admin/events/search", body=b"x" * (1048576 + 1), headers=KEY)
    assert (large.status, large.json["name"]) == (413, "PayloadTooLargeError")
    absent = site.ask("GET", "/absent")
    assert (absent.status, absent.json["name"]) == (404, "NotFoundError")
    lines = site.ask("GET", "/api/admin/search/events", headers=KEY | {"Accept": "application/x-ndjson"})
    assert [json.loads(line)["type"] for line in lines.body.splitlines()][:2] == ["user-created", "api-token-created"]
    for answer in (large, absent, lines):
        rules = ("X-Content-Type-Options", "Cache-Control", "Content-Security-Policy", "Strict-Transport-Security")
        assert [len(answer.headers.get_all(name, [])) for name in rules] == [1] * 4


@pytest.mark.parametrize("site", WAYS[:2], indirect=True)
def test_a_stream_comes_line_by_line_and_one_that_is_cut_looks_so(site: Site):
    token = {"tokenName": "reader", "type": "admin"}
    secret = site.ask("POST", "/api/admin/api-tokens", token, KEY).json["secret"]
    with psycopg.connect(site.database) as conn:
        # More than all the buffers on the way hold.
        conn.execute(
            "INSERT INTO events (type, created_by, data) SELECT 'user-updated', 'large',"
            " json_build_object('x', repeat('y', 1000000)) FROM generate_series(1, 40)"
        )
    with closing(site.proxy.connect()) as connection:
        headers = {"Authorization": secret, "Accept": "application/x-ndjson"}
        connection.request("GET", f"{site.path}/api/admin/search/events", headers=headers)
        answer = connection.getresponse()
        assert json.loads(answer.readline())["type"] == "user-created"
        assert site.ask("DELETE", f"/api/admin/api-tokens/{secret}", headers=KEY).status == 200
        with pytest.raises(IncompleteRead):
            answer.read()
    wait_until(lambda: [line for line in site.service.lines if line.get("cut") == "refused"], "the stream was cut")


def connections(site: Site) -> int:
    """Return how many connections nginx has to the service."""
    rows = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    return sum(row[2].endswith(f":{site.service.port:04X}") and row[3] == "01" for row in rows)


def test_event_streams_arrive_at_once_and_end_with_the_client(site: Site):
    place = "/api/admin/projects/default/features"
    token = {"tokenName": "shop", "environment": "development"}
    client, page = (
        site.ask("POST", "/api/admin/api-tokens", token | {"type": kind}, KEY).json["secret"]
        for kind in ("client", "frontend")
    )
    flags = site.ask("POST", "/ofrep/v1/evaluate/flags", {"context": {}}, {"Authorization": page}).json
    (advertised,) = flags["eventStreams"]
    with closing(site.proxy.connect()) as sdk, closing(site.proxy.connect()) as browser:
        sdk.request("GET", f"{site.path}/api/client/streaming", headers={"Authorization": client})
        changes = sdk.getresponse()
        # The SDK joins this address to the origin only.
        browser.request("GET", advertised["endpoint"]["requestUri"])
        refetches = browser.getresponse()
        assert (changes.status, refetches.status) == (200, 200)
        first = read_event(changes)
        assert first["event"] == "unleash-connected"
        etag = read_event(refetches)["id"]
        assert site.ask("POST", place, {"name": "pushed"}, KEY).status == 201
        pushed = read_event(changes)
        (event,) = json.loads(pushed["data"])["events"]
        assert (pushed["event"], event["type"]) == ("unleash-updated", "feature-updated")
        assert event["feature"]["name"] == "pushed"
        refetch = json.loads(read_event(refetches)["data"])
        assert refetch["type"] == "refetchEvaluation"
        assert refetch["etag"] != etag
        # nginx may still have idle connections.
        wait_until(lambda: connections(site) == 2, "only the streams were open")
    wait_until(lambda: connections(site) == 0, "nginx had closed both streams")


def test_browsers_get_http_2(site: Site):
    """A browser opens six connections over HTTP/1.1, so a seventh page with an event stream would wait."""
    with socket.create_connection(("localhost", site.proxy.port), timeout=PATIENCE) as plain:
        context = ssl._create_unverified_context()
        context.set_alpn_protocols(["h2", "http/1.1"])
        with context.wrap_socket(plain) as secure:
            assert secure.selected_alpn_protocol() == "h2"


@pytest.mark.timing
def test_no_upstream_connection_can_end_while_in_use(site: Site):
    assert site.ask("GET", "/health").status == 200
    began = time.monotonic()
    wait_until(lambda: not connections(site), "nginx had hung up")
    # gunicorn would do so after five.
    assert time.monotonic() - began < 4


def test_other_addresses_are_redirected_or_not_found(site: Site):
    # Whatever host they name.
    connection = HTTPConnection("127.0.0.1", site.plain_port, timeout=PATIENCE)
    answer = send(connection, "GET", "/flags/docs", headers={"Host": "evil.example"})
    assert (answer.status, answer.headers["Location"]) == (301, "https://localhost/flags/docs")
    for path in ("/", "/health", "/flagshealth", "/flags", "/flags//health") if site.path else ():
        answer = site.ask("GET", urljoin(site.base, path))
        assert answer.status in (301, 404), answer
        assert b"GOOD" not in answer.body
