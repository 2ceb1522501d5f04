"""/metrics: who gets it, what it counts, and that no label contains what a client sent."""

import re
import threading

import psycopg
import pytest
from flask import Flask, g

from rules.sessions import log_login
from sql import database, events
from sql.client import applications, quotas
from sql.database import connect, rolled_back_transaction, schema_version, transaction
from sql.events import Event
from tests.support.instance import ADMIN_KEY, SETTINGS
from tests.support.metrics import BEARER, TOKEN, Scraped, needs_promtool, promtool, read, total
from tests.support.page import send_form
from tests.support.reports import metrics
from tests.support.service import free_port, run, wait_until
from tests.support.world import Caller, refused
from validators.events import TYPES
from validators.integrations import PROVIDERS

ROUTE, OVERVIEW = "/api/admin/projects/<project_id>/overview", "/api/admin/projects/default/overview"
FEATURES = "/api/admin/projects/default/features"
LOGIN = "/auth/simple/login"
OUTCOMES = ("succeeded", "refused", "throttled", "invalid", "unavailable")
DROPPED = ("applications", "instances", "usage_rows")


@pytest.fixture
def scraped(make_app, url) -> Scraped:
    """The service, with metrics."""
    return Scraped(make_app(url, METRICS_TOKEN=TOKEN))


@pytest.fixture(scope="module")
def app_with_token(make_app, url) -> Flask:
    """One service for requests whose metrics do not matter."""
    return make_app(url, METRICS_TOKEN=TOKEN)


# --- Access -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["GET", "HEAD", "POST", "OPTIONS"])
def test_metrics_are_404_without_a_token(make_app, shared_url, method):
    stranger = Caller(make_app(shared_url))
    answers = [stranger.request(method, path, headers=BEARER) for path in ("/metrics", "/absent")]
    assert [(answer.status_code, answer.headers.get("Allow")) for answer in answers] == [(404, None)] * 2
    if method != "HEAD":
        assert refused(answers[0], 404, "NotFoundError") == refused(answers[1], 404, "NotFoundError")


def test_the_library_is_loaded_only_for_metrics():
    create = "import sys, app; app.create_app(); print('prometheus_client' in sys.modules)"
    for settings, is_loaded in (({}, "False"), ({"METRICS_TOKEN": TOKEN}, "True")):
        assert run("-c", create, DATABASE_URL="postgresql://h", **settings).stdout.strip() == is_loaded


@pytest.mark.parametrize("given", [f"Bearer {TOKEN}", f"bearer {TOKEN}", f"BEARER  {TOKEN} "])
def test_the_token_opens_the_metrics(app_with_token, given):
    client = app_with_token.test_client()
    for method in ("GET", "HEAD"):
        answer = client.open("/metrics", method=method, headers={"Authorization": given})
        assert answer.status_code == 200
        assert answer.content_type == "text/plain; version=0.0.4; charset=utf-8"
        assert answer.headers["Cache-Control"] == "no-store"
        assert answer.data.startswith(b"# HELP flags_" if method == "GET" else b"")
        assert bool(answer.data) is (method == "GET")


@pytest.mark.parametrize(
    "given",
    [
        *("", TOKEN, "Bearer", "Bearer ", f"Bearer {TOKEN[:-1]}", f"Bearer {TOKEN}x", f"Bearer {TOKEN.upper()}"),
        *(f"Basic {TOKEN}", f"Bearer {TOKEN} {TOKEN}", "Bearer \xff" + TOKEN, ADMIN_KEY, f"Bearer {ADMIN_KEY}", None),
    ],
)
def test_other_credentials_are_refused(app_with_token, given):
    headers = {} if given is None else {"Authorization": given}
    assert app_with_token.test_client().head("/metrics", headers=headers).status_code == 401
    refused(app_with_token.test_client().get("/metrics", headers=headers), 401, "AuthenticationRequired")


def test_sessions_and_tokens_in_the_query_are_refused(app_with_token):
    client = app_with_token.test_client()
    login = {"username": "admin", "password": SETTINGS["INIT_ADMIN_PASSWORD"]}
    assert client.post(LOGIN, json=login).status_code == 200
    assert client.get("/api/admin/user").status_code == 200
    for path in ("/metrics", f"/metrics?token={TOKEN}", f"/metrics?access_token={TOKEN}"):
        assert client.get(path).status_code == 401


def test_metrics_are_read_only_and_not_in_the_openapi_document(app_with_token):
    for method in ("POST", "PUT", "DELETE", "OPTIONS"):
        response = app_with_token.test_client().open("/metrics", method=method, headers=BEARER)
        assert refused(response, 405, "MethodNotAllowedError")
        assert response.headers["Allow"] == "GET, HEAD"
    assert "/metrics" not in Caller(app_with_token).get("/openapi.json").json["paths"]


# --- What it counts ---------------------------------------------------------------------------------------------------


def test_requests_are_counted_by_route_method_and_status(scraped):
    for path, status in ((OVERVIEW, 200), ("/api/admin/projects/absent/overview", 404), (OVERVIEW, 200)):
        assert scraped.admin.get(path).status_code == status
    assert scraped.stranger.get(OVERVIEW).status_code == 401
    assert scraped.admin.request("HEAD", OVERVIEW).status_code == 200
    assert scraped.log_in("a wrong password") == 401
    found = read(scraped.text)
    counted = {
        status: total(found, "flags_http_requests_total", route=ROUTE, method="GET", status=status)
        for status in ("200", "404", "401")
    }
    assert counted == {"200": 2, "404": 1, "401": 1}
    assert total(found, "flags_http_requests_total", route=ROUTE, method="HEAD", status="200") == 1
    assert total(found, "flags_http_requests_total") == 6
    # A scrape counts from the next one on.
    assert total(found, "flags_http_requests_total", route="/metrics") == 0
    assert scraped.total("http_requests_total", route="/metrics", method="GET", status="200") == 1
    # The durations.
    name = "flags_http_request_duration_seconds"
    assert total(found, f"{name}_count", route=ROUTE, method="GET") == 5
    assert total(found, f"{name}_count") == total(found, f"{name}_bucket", le="+Inf") == 6
    assert 0 < total(found, f"{name}_sum", route=ROUTE) < 60
    edges = {dict(labels)["le"] for series, labels in found if series == f"{name}_bucket"}
    assert edges == {"0.005", "0.01", "0.025", "0.05", "0.1", "0.25", "1.0", "5.0", "+Inf"}


def test_early_refusals_and_bugs_are_counted(make_app, url):
    scraped = Scraped(make_app(url, METRICS_TOKEN=TOKEN, MAX_BODY_BYTES=1024))
    scraped.app.add_url_rule("/broken", view_func=lambda: 1 // 0)
    too_large = {"data": b"x" * 1025, "content_type": "application/json"}
    assert [scraped.stranger.post(path, **too_large).status_code for path in (LOGIN, "/absent")] == [413, 413]
    assert Caller(scraped.app).get("/broken").status_code == 500
    found = read(scraped.text)
    assert total(found, "flags_http_requests_total", status="413", route=LOGIN, method="POST") == 1
    assert total(found, "flags_http_requests_total", status="413", route="none") == 1
    assert total(found, "flags_http_requests_total", status="500", route="/broken") == 1


def connections(scraped: Scraped) -> tuple[float, ...]:
    """Return the connections in use, and the requests that wait and that were refused."""
    found = read(scraped.text)
    names = ("connections_in_use", "requests_waiting", "requests_refused_total")
    return tuple(total(found, f"flags_database_{name}") for name in names)


def test_connections_are_counted_while_they_are_in_use_or_awaited(make_app, url, monkeypatch):
    scraped = Scraped(make_app(url, METRICS_TOKEN=TOKEN, DATABASE_POOL_SIZE=1))
    assert scraped.total("database_connections_max") == 1
    answers: list[int] = []
    waiting = threading.Thread(target=lambda: answers.append(scraped.stranger.get("/ready").status_code))
    with scraped.app.app_context(), database.connection():
        assert connections(scraped) == (1, 0, 0)
        waiting.start()
        wait_until(lambda: connections(scraped) == (1, 1, 0), "the request waited")
    waiting.join()
    assert (answers, connections(scraped)) == ([200], (0, 0, 0))
    monkeypatch.setattr(scraped.app.extensions["database"], "wait", 0.05)
    with scraped.app.app_context(), database.connection():
        assert scraped.stranger.get("/ready").status_code == 503
    assert connections(scraped) == (0, 0, 1)
    with scraped.app.app_context(), pytest.raises(psycopg.OperationalError), database.connection() as conn:
        conn.execute("SELECT pg_terminate_backend(pg_backend_pid())")
    assert connections(scraped) == (0, 0, 1)


def test_requests_without_a_connection_are_counted(make_app):
    scraped = Scraped(make_app(f"postgresql://127.0.0.1:{free_port()}/x", METRICS_TOKEN=TOKEN))
    assert [scraped.stranger.get("/ready").status_code for _ in range(3)] == [503] * 3
    assert connections(scraped) == (0, 0, 3)
    assert scraped.log_in("the right password") == 503
    assert scraped.total("logins_total", outcome="unavailable") == scraped.total("logins_total") == 1


def test_logins_are_counted_by_outcome(make_app, make_database):
    scraped = Scraped(make_app(make_database(), METRICS_TOKEN=TOKEN, LOGIN_FREE_FAILURES=1))
    begun = {("flags_logins_total", frozenset({("outcome", each), ("via", "password")})) for each in OUTCOMES}
    assert begun <= read(scraped.text).keys()
    assert scraped.log_in(str(SETTINGS["INIT_ADMIN_PASSWORD"])) == 200
    assert [scraped.log_in("a wrong password") for _ in range(3)] == [401, 429, 429]
    assert scraped.stranger.post(LOGIN, json={"username": 1}).status_code == 400
    assert scraped.stranger.post(LOGIN, data="x").status_code == 415
    assert scraped.stranger.get(LOGIN).status_code == 405
    found = read(scraped.text)
    assert [total(found, "flags_logins_total", outcome=outcome) for outcome in OUTCOMES] == [1, 1, 2, 2, 0]


def test_logins_by_the_page_and_by_other_ways_are_counted(make_app, make_database):
    scraped = Scraped(make_app(make_database(), METRICS_TOKEN=TOKEN))
    send_form(scraped.stranger, "/login", username="admin", password=str(SETTINGS["INIT_ADMIN_PASSWORD"]))
    assert scraped.total("logins_total", outcome="succeeded", via="password") == 1
    with scraped.app.test_request_context():
        g.request_id = "1"
        log_login("refused", "oidc", "192.0.2.7")
    assert (
        scraped.total("logins_total", outcome="refused", via="oidc") == scraped.total("logins_total", via="oidc") == 1
    )


class Somebody:
    """An author of events."""

    name = "somebody"
    user_id = token_id = undoes = change_request_id = None


def test_events_are_counted_by_type(scraped):
    flag = {"name": "counted", "tags": [{"type": "simple", "value": "beta"}]}
    assert [scraped.admin.post(FEATURES, json=flag).status_code for _ in range(2)] == [201, 409]
    assert scraped.admin.delete(f"{FEATURES}/counted").status_code == 202
    found = read(scraped.text)
    counted = {
        dict(labels)["type"]: value for (name, labels), value in found.items() if name == "flags_events_recorded_total"
    }
    assert counted == {"feature-created": 1, "tag-created": 1, "feature-tagged": 1, "feature-archived": 1}
    # Ended transactions are forgotten.
    assert database._recorded == {}
    with scraped.app.app_context():
        database.database().meter.count_events(["unknown", "another"])
    assert scraped.total("events_recorded_total", type="other") == 2


def test_events_of_a_rolled_back_savepoint_are_not_counted(scraped):
    with scraped.app.app_context(), transaction() as conn:
        events.record(conn, Event("project-created", Somebody()))
        with rolled_back_transaction(conn):
            events.record(conn, Event("project-deleted", Somebody()))
    found = read(scraped.text)
    assert total(found, "flags_events_recorded_total", type="project-created") == 1
    assert total(found, "flags_events_recorded_total", type="project-deleted") == 0


def fail_after_recording(_: Scraped) -> None:
    """Record events, and raise."""
    with transaction() as conn:
        events.record(conn, Event("project-created", Somebody()), Event("project-deleted", Somebody()))
        raise ZeroDivisionError


def lose_the_connection(scraped: Scraped) -> None:
    """Record an event in a transaction whose connection is lost before the commit."""
    with transaction() as conn, connect(scraped.app.config["DATABASE_URL"]) as other:
        events.record(conn, Event("project-created", Somebody()))
        other.execute("SELECT pg_terminate_backend(%s)", [conn.info.backend_pid])


@pytest.mark.parametrize(
    ("change", "error"), [(fail_after_recording, ZeroDivisionError), (lose_the_connection, psycopg.OperationalError)]
)
def test_rolled_back_events_are_not_counted(scraped, change, error):
    with scraped.app.app_context(), pytest.raises(error):
        change(scraped)
    assert scraped.total("events_recorded_total") == 0


def test_events_are_counted_after_the_commit(scraped):
    with scraped.app.app_context(), transaction() as conn:
        events.record(conn, *[Event("project-deleted", Somebody())] * 3)
        assert scraped.total("events_recorded_total") == 0
    assert scraped.total("events_recorded_total", type="project-deleted") == 3


def test_dropped_parts_of_reports_are_counted(make_app, make_database, monkeypatch):
    scraped = Scraped(make_app(make_database(), METRICS_TOKEN=TOKEN))
    monkeypatch.setattr(applications, "MAX_INSTANCES", 0)
    monkeypatch.setattr(applications, "MAX_FRONTEND_APPLICATIONS", 1)
    monkeypatch.setattr(quotas, "MAX_ROWS", 1)
    flags = {name: {"yes": 1, "no": 0} for name in ("f", "g", "h")}
    assert [scraped.admin.post(FEATURES, json={"name": name}).status_code for name in flags] == [201] * 3

    def caller(kind: str) -> Caller:
        token = {"tokenName": kind, "type": kind, "environment": "development"}
        return Caller(scraped.app, scraped.admin.post("/api/admin/api-tokens", json=token).json["secret"])

    page = caller("frontend")
    for app in ("a", "b"):
        assert page.post("/api/frontend/client/metrics", json=metrics(flags, app)).status_code == 200
    assert caller("client").post("/api/client/register", json={"appName": "server"}).status_code == 202
    assert [scraped.total("reports_dropped_total", what=what) for what in DROPPED] == [1, 1, 2]


def test_version_and_start_time(scraped):
    found = read(scraped.text)
    ((labels, value),) = [
        (dict(labels), value) for (name, labels), value in found.items() if name == "flags_build_info"
    ]
    version = scraped.stranger.get("/openapi.json").json["info"]["version"]
    assert (labels, value) == ({"version": version, "schema": str(schema_version.VERSION)}, 1)
    with connect(scraped.app.config["DATABASE_URL"]) as conn:
        now = float(database.value(conn, "SELECT extract(epoch FROM clock_timestamp())"))
    assert abs(total(found, "process_start_time_seconds") - now) < 3600


# --- Labels -----------------------------------------------------------------------------------------------------------

WORD = "h0stile"
METHODS = {"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"}
PATHS = (
    *(f"/{WORD}", f"/{WORD}/%22%7D%0A{WORD}", f"//{WORD}", f"/metrics/{WORD}", f"/invite/{WORD}/validate"),
    *(f"/api/admin/projects/{WORD}/overview", f"/api/admin/tags/{WORD}/{WORD}%0A{WORD}"),
    f"/api/admin/search/events?query={WORD}&type=IS:{WORD}",
)


@pytest.fixture
def hostile(make_app, make_database) -> Scraped:
    """The service after requests with a word at each place where a client can send one."""
    scraped = Scraped(make_app(make_database(), METRICS_TOKEN=TOKEN))
    headers = {"Authorization": f"Bearer {WORD}", "X-Request-ID": WORD, WORD: WORD, "Host": WORD}
    for path in PATHS:
        for method in ("GET", "DELETE", WORD.upper(), f'{WORD}"}}', "TRACE", "CONNECT", "PROPFIND", "get"):
            scraped.app.test_client().open(path, method=method, headers=headers)
    flag = {"type": "release", "description": WORD, "tags": [{"type": "simple", "value": WORD}]}
    for name in (WORD, f"{WORD}-2", f'{WORD}"'):
        scraped.admin.post(FEATURES, json=flag | {"name": name})
    for path, body in {
        FEATURES: {"name": "another", "type": WORD, WORD: WORD},
        "/api/admin/tag-types": {"name": WORD, "description": WORD},
        "/api/admin/events/search": {"type": WORD, "query": WORD},
        "/api/admin/api-tokens": {"tokenName": WORD, "type": WORD},
        LOGIN: {"username": WORD, "password": WORD},
    }.items():
        scraped.admin.post(path, json=body)
    scraped.stranger.post(LOGIN, data=WORD, content_type=WORD)
    return scraped


def test_no_label_contains_client_input(hostile):
    assert hostile.total("events_recorded_total", type="feature-created") == 2
    text = hostile.text
    assert WORD not in text.decode().lower()
    closed = {
        "route": {"none", *(rule.rule for rule in hostile.app.url_map.iter_rules())},
        "method": METHODS | {"other"},
        "outcome": {*OUTCOMES, "accepted", "failed", "delivered"},
        "kind": {"invitation", "reset"},
        "type": TYPES,
        "via": {"password"},
        "what": set(DROPPED),
        "provider": set(PROVIDERS),
    }
    seen: dict[str, set[str]] = {}
    for _, labels in read(text):
        for label, word in labels:
            seen.setdefault(label, set()).add(word)
    assert {label: seen[label] - words for label, words in closed.items()} == {label: set() for label in closed}
    assert seen.keys() == {*closed, "status", "le", "version", "schema"}
    assert all(re.fullmatch(r"[2345]\d\d", status) for status in seen["status"])
    assert {"other", "GET"} <= seen["method"]
    assert "none" in seen["route"]


@needs_promtool
def test_promtool_finds_no_fault(hostile):
    assert promtool("check", "metrics", text=hostile.text) == (0, "")
