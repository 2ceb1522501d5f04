"""/metrics: who gets it, what it counts, and that nothing in it is what somebody sent."""

import threading

import psycopg
import pytest
from flask import Flask

from sql import database, events
from sql.database import connect, transaction
from sql.events import Event
from tests.support.instance import ADMIN_KEY, SETTINGS
from tests.support.metrics import BEARER, TOKEN, Scraped, read, total
from tests.support.service import free_port, run, wait_until
from tests.support.world import Caller, refused

OVERVIEW = "/api/admin/projects/<project_id>/overview"
FEATURES = "/api/admin/projects/default/features"


@pytest.fixture(scope="module")
def url(make_database) -> str:
    """A database for those that commit."""
    return make_database()


@pytest.fixture
def scraped(make_app, url) -> Scraped:
    """The service, with metrics."""
    return Scraped(make_app(url, METRICS_TOKEN=TOKEN))


@pytest.fixture(scope="module")
def app_with_token(make_app, url) -> Flask:
    """One service for those who only knock."""
    return make_app(url, METRICS_TOKEN=TOKEN)


# Access


@pytest.mark.parametrize("given", [{}, {"METRICS_PORT": 9100}], ids=["off", "on a port of its own"])
@pytest.mark.parametrize("method", ["GET", "HEAD", "POST", "OPTIONS"])
def test_the_address_is_not_found_without_the_setting(make_app, shared_url, given, method):
    stranger = Caller(make_app(shared_url, **given))
    answers = [stranger.request(method, path, headers=BEARER) for path in ("/metrics", "/absent")]
    assert [(answer.status_code, answer.headers.get("Allow")) for answer in answers] == [(404, None)] * 2
    if method != "HEAD":
        assert refused(answers[0], 404, "NotFoundError") == refused(answers[1], 404, "NotFoundError")


LOADED = "import sys, app; app.create_app(); print('prometheus_client' in sys.modules); "
LOADED += "app.create_app({'METRICS_PORT': 9100}); print('prometheus_client' in sys.modules)"


def test_the_library_is_not_loaded_without_metrics():
    assert run("-c", LOADED, DATABASE_URL="postgresql://h").stdout.split() == ["False", "True"]


@pytest.mark.parametrize("given", [f"Bearer {TOKEN}", f"bearer {TOKEN}", f"BEARER  {TOKEN} "])
def test_the_token_opens_the_metrics(app_with_token, given):
    answers = [
        app_with_token.test_client().open("/metrics", method=method, headers={"Authorization": given})
        for method in ("GET", "HEAD")
    ]
    for answer in answers:
        assert answer.status_code == 200
        assert answer.content_type == "text/plain; version=0.0.4; charset=utf-8"
        assert answer.headers["Cache-Control"] == "no-store"
    assert answers[0].data.startswith(b"# HELP flags_")
    assert answers[1].data == b""


WRONG = [
    "",
    TOKEN,
    "Bearer",
    "Bearer ",
    f"Bearer {TOKEN[:-1]}",
    f"Bearer {TOKEN}x",
    f"Bearer {TOKEN.upper()}",
    f"Basic {TOKEN}",
]


@pytest.mark.parametrize(
    "given", [*WRONG, f"Bearer {TOKEN} {TOKEN}", "Bearer \xff" + TOKEN, ADMIN_KEY, f"Bearer {ADMIN_KEY}", None]
)
def test_other_callers_are_refused(app_with_token, given):
    headers = {} if given is None else {"Authorization": given}
    for method in ("GET", "HEAD"):
        response = app_with_token.test_client().open("/metrics", method=method, headers=headers)
        assert response.status_code == 401
    refused(app_with_token.test_client().get("/metrics", headers=headers), 401, "AuthenticationRequired")


def test_a_session_or_a_token_in_the_query_is_worth_nothing(app_with_token):
    client = app_with_token.test_client()
    assert (
        client.post(
            "/auth/simple/login", json={"username": "admin", "password": SETTINGS["INIT_ADMIN_PASSWORD"]}
        ).status_code
        == 200
    )
    assert client.get("/api/admin/user").status_code == 200
    for path in ("/metrics", f"/metrics?token={TOKEN}", f"/metrics?access_token={TOKEN}"):
        assert client.get(path).status_code == 401


def test_metrics_are_read_only_and_not_in_the_openapi_document(app_with_token):
    for method in ("POST", "PUT", "DELETE", "OPTIONS"):
        response = app_with_token.test_client().open("/metrics", method=method, headers=BEARER)
        assert refused(response, 405, "MethodNotAllowedError")
        assert response.headers["Allow"] == "GET, HEAD"
    assert "/metrics" not in Caller(app_with_token).get("/openapi.json").json["paths"]


# What it counts


def test_requests_are_counted_by_route_method_and_status(scraped):
    for path, status in (("default", 200), ("absent", 404), ("default", 200)):
        assert scraped.admin.get(f"/api/admin/projects/{path}/overview").status_code == status
    assert scraped.stranger.get("/api/admin/projects/default/overview").status_code == 401
    assert scraped.admin.request("HEAD", "/api/admin/projects/default/overview").status_code == 200
    found = read(scraped.text)
    counted = {
        status: total(found, "flags_http_requests_total", route=OVERVIEW, method="GET", status=status)
        for status in ("200", "404", "401")
    }
    assert counted == {"200": 2, "404": 1, "401": 1}
    assert total(found, "flags_http_requests_total", route=OVERVIEW, method="HEAD", status="200") == 1
    assert total(found, "flags_http_requests_total") == 5


def test_a_scrape_counts_as_a_request_from_the_next_one_on(scraped):
    assert scraped.total("http_requests_total", route="/metrics") == 0
    assert scraped.total("http_requests_total", route="/metrics", method="GET", status="200") == 1


def test_every_answer_is_counted_whatever_was_refused_first(make_app, url):
    scraped = Scraped(make_app(url, METRICS_TOKEN=TOKEN, MAX_BODY_BYTES=1024))
    scraped.app.add_url_rule("/broken", view_func=lambda: 1 // 0)
    too_large = {"data": b"x" * 1025, "content_type": "application/json"}
    assert scraped.stranger.request("POST", "/auth/simple/login", **too_large).status_code == 413
    assert scraped.stranger.request("POST", "/absent", **too_large).status_code == 413
    assert Caller(scraped.app).get("/broken").status_code == 500
    found = read(scraped.text)
    assert total(found, "flags_http_requests_total", status="413", route="/auth/simple/login", method="POST") == 1
    assert total(found, "flags_http_requests_total", status="413", route="none") == 1
    assert total(found, "flags_http_requests_total", status="500", route="/broken") == 1


def test_the_time_to_each_answer_is_counted_by_route(scraped):
    for method in ("GET", "GET", "HEAD"):
        scraped.admin.request(method, "/api/admin/projects/default/overview")
    assert scraped.log_in("a wrong password") == 401
    found, name = read(scraped.text), "flags_http_request_duration_seconds"
    assert total(found, f"{name}_count", route=OVERVIEW, method="GET") == 3
    assert total(found, f"{name}_count") == 4
    assert 0 < total(found, f"{name}_sum", route=OVERVIEW) < 60
    edges = {dict(labels)["le"] for series, labels in found if series == f"{name}_bucket"}
    assert edges == {"0.005", "0.01", "0.025", "0.05", "0.1", "0.25", "1.0", "5.0", "+Inf"}
    assert total(found, f"{name}_bucket", le="+Inf") == 4


def test_connections_are_counted_while_they_are_held_or_waited_for(make_app, url, monkeypatch):
    scraped = Scraped(make_app(url, METRICS_TOKEN=TOKEN, DATABASE_POOL_SIZE=1))
    assert scraped.total("database_connections_max") == 1
    answers: list[int] = []
    waiting = threading.Thread(target=lambda: answers.append(scraped.stranger.get("/ready").status_code))
    with scraped.app.app_context(), database.connection():
        assert (scraped.total("database_connections_in_use"), scraped.total("database_requests_waiting")) == (1, 0)
        waiting.start()
        wait_until(lambda: scraped.total("database_requests_waiting") == 1, "the request waited")
        assert scraped.total("database_connections_in_use") == 1
    waiting.join()
    assert answers == [200]
    assert (scraped.total("database_connections_in_use"), scraped.total("database_requests_waiting")) == (0, 0)
    assert scraped.total("database_requests_refused_total") == 0
    monkeypatch.setattr(scraped.app.extensions["database"], "wait", 0.05)
    with scraped.app.app_context(), database.connection():
        assert scraped.stranger.get("/ready").status_code == 503
    assert (scraped.total("database_connections_in_use"), scraped.total("database_requests_waiting")) == (0, 0)
    assert scraped.total("database_requests_refused_total") == 1


def test_requests_without_a_connection_are_counted(make_app):
    scraped = Scraped(make_app(f"postgresql://127.0.0.1:{free_port()}/x", METRICS_TOKEN=TOKEN))
    assert [scraped.stranger.get("/ready").status_code for _ in range(3)] == [503] * 3
    assert scraped.total("database_requests_refused_total") == 3
    assert scraped.log_in("the right password") == 503
    assert scraped.total("logins_total", outcome="unavailable") == scraped.total("logins_total") == 1
    assert (scraped.total("database_connections_in_use"), scraped.total("database_requests_waiting")) == (0, 0)


def test_a_connection_that_fails_is_not_held_any_more(scraped):
    with scraped.app.app_context(), pytest.raises(psycopg.OperationalError), database.connection() as conn:
        conn.execute("SELECT pg_terminate_backend(pg_backend_pid())")
    assert scraped.total("database_connections_in_use") == 0


def test_logins_are_counted_by_their_outcome(make_app, make_database):
    scraped = Scraped(make_app(make_database(), METRICS_TOKEN=TOKEN, LOGIN_FREE_FAILURES=1))
    outcomes = ("succeeded", "refused", "throttled", "invalid", "unavailable")
    labels = [frozenset({("outcome", outcome)}) for outcome in outcomes]
    assert {("flags_logins_total", label) for label in labels} <= read(scraped.text).keys()
    assert scraped.log_in(str(SETTINGS["INIT_ADMIN_PASSWORD"])) == 200
    assert [scraped.log_in("a wrong password") for _ in range(3)] == [401, 429, 429]
    assert scraped.stranger.post("/auth/simple/login", json={"username": 1}).status_code == 400
    assert scraped.stranger.post("/auth/simple/login", data="x").status_code == 415
    assert scraped.stranger.get("/auth/simple/login").status_code == 405
    found = read(scraped.text)
    assert {outcome: total(found, "flags_logins_total", outcome=outcome) for outcome in outcomes} == {
        "succeeded": 1,
        "refused": 1,
        "throttled": 2,
        "invalid": 2,
        "unavailable": 0,
    }


class Somebody:
    """An author of events."""

    name = "somebody"
    user_id = token_id = None


def test_events_are_counted_by_type_when_they_are_in_the_log(scraped):
    assert (
        scraped.admin.post(
            FEATURES, json={"name": "counted", "tags": [{"type": "simple", "value": "beta"}]}
        ).status_code
        == 201
    )
    assert scraped.admin.post(FEATURES, json={"name": "counted"}).status_code == 409
    assert scraped.admin.delete(f"{FEATURES}/counted").status_code == 202
    found = read(scraped.text)
    counted = {
        dict(labels)["type"]: value for (name, labels), value in found.items() if name == "flags_events_recorded_total"
    }
    assert counted == {"feature-created": 1, "tag-created": 1, "feature-tagged": 1, "feature-archived": 1}


def fail_after_recording(_it: Scraped) -> None:
    """A view that records events and then changes its mind."""
    with transaction() as conn:
        events.record(conn, Event("project-created", Somebody()))
        events.record(conn, Event("project-deleted", Somebody()))
        raise ZeroDivisionError


def lose_the_connection(scraped: Scraped) -> None:
    """A change whose commit is not acknowledged, because the connection is lost."""
    with transaction() as conn, connect(scraped.app.config["DATABASE_URL"]) as other:
        events.record(conn, Event("project-created", Somebody()))
        other.execute("SELECT pg_terminate_backend(%s)", [conn.info.backend_pid])


@pytest.mark.parametrize(
    ("change", "error"), [(fail_after_recording, ZeroDivisionError), (lose_the_connection, psycopg.OperationalError)]
)
def test_events_that_were_rolled_back_are_not_counted(scraped, change, error):
    with scraped.app.app_context(), pytest.raises(error):
        change(scraped)
    assert scraped.total("events_recorded_total") == 0


def test_events_are_not_counted_before_the_commit(scraped):
    with scraped.app.app_context(), transaction() as conn:
        events.record(conn, *[Event("project-deleted", Somebody())] * 3)
        assert scraped.total("events_recorded_total") == 0
    assert scraped.total("events_recorded_total", type="project-deleted") == 3


def test_ended_transactions_are_forgotten(scraped):
    assert scraped.admin.post(FEATURES, json={"name": "remembered"}).status_code == 201
    assert database._recorded == {}


def test_the_metrics_show_version_and_start_time(scraped):
    found = read(scraped.text)
    ((labels, value),) = [
        (dict(labels), value) for (name, labels), value in found.items() if name == "flags_build_info"
    ]
    assert (labels, value) == (
        {
            "version": scraped.stranger.get("/openapi.json").json["info"]["version"],
            "schema": str(database.migrate.VERSION),
        },
        1,
    )
    assert abs(total(found, "process_start_time_seconds") - now(scraped)) < 3600


def now(scraped: Scraped) -> float:
    """The present instant of the database, which is on this machine."""
    with connect(scraped.app.config["DATABASE_URL"]) as conn:
        return float(database.value(conn, "SELECT extract(epoch FROM clock_timestamp())"))
