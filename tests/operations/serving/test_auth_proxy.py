"""Log in by a proxy: nginx with the configuration of docs/how-to/sign-in-by-proxy.md, and gunicorn without a proxy."""

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from urllib.parse import quote

import pytest

from tests.support import nginx
from tests.support.certificate import OPENSSL
from tests.support.nginx import Nginx
from tests.support.program import changed
from tests.support.service import PATIENCE, ROOT, Answer, Service, free_port

pytestmark = pytest.mark.slow

PAGE = ROOT / "docs" / "how-to" / "sign-in-by-proxy.md"
SECRET = "0123456789abcdef"
SETTINGS = {
    **{f"AUTH_PROXY_{name}_HEADER": f"Remote-{name.title()}" for name in ("EMAIL", "NAME", "GROUPS")},
    "AUTH_PROXY_HEADER": "Remote-User",
    "AUTH_PROXY_NETWORKS": "127.0.0.1/32",
    "AUTH_PROXY_CREATE_USERS": "on",
    "TRUSTED_PROXIES": 1,
}


class Portal(BaseHTTPRequestHandler):
    """Answers auth_request as Authelia does. The cookie is the name of the person."""

    def do_GET(self) -> None:
        name = re.search(r"portal=([^;]*)", self.headers.get("Cookie", ""))
        assert self.path == "/api/authz/auth-request"
        assert self.headers["X-Original-URL"].startswith("https://localhost")
        self.send_response(200 if name else 401)
        if name:
            self.send_header("Remote-User", name[1])
            self.send_header("Remote-Name", "Jörg".encode().decode("latin-1"))
        self.send_header("Location", "https://auth.example.org/")
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture(scope="module")
def service(make_database: Callable[..., str]) -> Iterator[Service]:
    """gunicorn that trusts 127.0.0.1."""
    with Service(make_database(), **SETTINGS) as service:
        yield service


def ask(
    service: Service, headers: Sequence[tuple[str, str]], path: str = "/login", source: str = "127.0.0.1"
) -> tuple[int, dict[str, str]]:
    """Send headers as they are, repeated ones too, from an address of this machine."""
    with closing(HTTPConnection("127.0.0.1", service.port, PATIENCE, source_address=(source, 0))) as conn:
        conn.putrequest("GET", path)
        for name, value in headers:
            conn.putheader(name, value.encode())
        conn.endheaders()
        response = conn.getresponse()
        response.read()
        return response.status, dict(response.headers)


def test_gunicorn_sees_the_address_of_the_connection(service: Service) -> None:
    user = ("Remote-User", "ida")
    assert ask(service, [user])[0] == 303
    assert ask(service, [("REMOTE-USER", "ida")])[0] == 303
    for header in (("X-Forwarded-For", "127.0.0.1"), ("X-Real-IP", "127.0.0.1"), ("Forwarded", "for=127.0.0.1")):
        assert ask(service, [user, header], source="127.0.0.2")[0] == 200, header
    assert ask(service, [user, ("X-Forwarded-For", "127.0.0.2")])[0] == 303


def test_gunicorn_joins_repeated_headers_and_drops_underscores(service: Service) -> None:
    assert ask(service, [("Remote-User", "ida"), ("Remote-User", "admin")])[0] == 403
    assert ask(service, [("Remote-User", "ida"), ("remote-user", "ida")])[0] == 403
    assert ask(service, [("Remote_User", "admin")])[0] == 200
    assert ask(service, [("Remote-User", "")])[0] == 403


def test_session_ends_when_the_proxy_names_somebody_else(service: Service) -> None:
    cookie = ("Cookie", ask(service, [("Remote-User", "Jörg")])[1]["Set-Cookie"].split(";")[0])
    path = "/api/admin/user"
    assert ask(service, [cookie], path)[0] == 200
    assert ask(service, [cookie, ("Remote-User", "bob")], path, "127.0.0.2")[0] == 200
    assert ask(service, [cookie, ("Remote-User", "bob")], path)[0] == 401
    assert ask(service, [cookie], path)[0] == 401


@pytest.fixture(scope="module")
def proxy(make_database: Callable[..., str]) -> Iterator[Nginx]:
    """nginx as the page sets it up, with a portal and the service behind it."""
    if not nginx.PROGRAM or not OPENSSL:
        pytest.skip("needs nginx and openssl (on Debian: apt-get install nginx-light openssl)")
    block = re.findall(r"^```nginx\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)[0]
    with ThreadingHTTPServer(("127.0.0.1", 0), Portal) as portal:
        Thread(target=portal.serve_forever, daemon=True).start()
        own = {"127.0.0.1:9091": f"127.0.0.1:{portal.server_port}", "the content of /etc/flags/proxy-secret": SECRET}
        first = "    location / {"
        site = changed(nginx.blocks()[0], {first: f"{changed(block, own)}\n{first}"})
        port, base = free_port(), "https://localhost"
        settings = SETTINGS | {"AUTH_PROXY_SECRET": SECRET, "BASE_URL": f"{base}:{port}"}
        with (
            Service(make_database(), **settings) as service,
            Nginx(site, port, free_port(), service.port) as proxy,
        ):
            proxy.service = service  # pyright: ignore
            yield proxy
        portal.shutdown()


def get(proxy: Nginx, path: str, **headers: str) -> Answer:
    """Ask the proxy for a path. The underscore of a header is a hyphen."""
    return proxy.request("GET", path, headers={name.replace("_", "-"): text for name, text in headers.items()})


def test_nginx_logs_in_whom_the_portal_knows(proxy: Nginx) -> None:
    visitor = get(proxy, "/login")
    assert (visitor.status, visitor.headers["Location"]) == (302, "https://auth.example.org/")
    response = get(proxy, f"/login?next={quote('/events?days=7')}", Cookie="portal=ida")
    assert (response.status, response.headers["Location"]) == (303, "/events?days=7")
    user = get(proxy, "/api/admin/user", Cookie=response.headers["Set-Cookie"].split(";")[0]).json["user"]
    assert user["name"] == "Jörg"


def test_nginx_removes_the_headers_of_clients(proxy: Nginx) -> None:
    forged = {"Remote_User": "admin", "Remote_Groups": "flags-admins", "X_Auth_Proxy_Secret": SECRET}
    assert get(proxy, "/login", **forged).status == 302
    response = get(proxy, "/login", Cookie="portal=ida", **forged)
    cookie = response.headers["Set-Cookie"].split(";")[0]
    # Outside of /login, nginx sends no name. So the session does not end.
    answer = get(proxy, "/api/admin/user", Cookie=cookie, **forged)
    assert (answer.status, answer.json["user"]["name"]) == (200, "Jörg")


def test_nginx_does_not_log_in_after_a_logout(proxy: Nginx) -> None:
    cookie = get(proxy, "/login", Cookie="portal=ida").headers["Set-Cookie"].split(";")[0]
    out = get(proxy, "/logout", Cookie=f"{cookie}; portal=ida", Sec_Fetch_Site="same-origin")
    assert (out.status, out.headers["Location"]) == (302, "/login?notice=logged-out")
    page = get(proxy, out.headers["Location"], Cookie="portal=ida")
    assert (page.status, "Set-Cookie" in page.headers) == (200, False)
    # Around the proxy, the secret is missing.
    assert ask(proxy.service, [("Remote-User", "ida")])[0] == 200  # pyright: ignore
