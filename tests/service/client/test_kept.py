"""What a worker keeps of applications: their tokens and their flags, and when it asks the database again."""

import json
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from dataclasses import replace
from typing import Any

import pytest
from flask import Flask

from rules import client_access
from rules.access import digest
from rules.client_features import ClientDocuments, ClientQuery
from rules.shared_calls import SharedCalls
from sql.database import Connection, connect, database
from tests.support.clock import stop_clock
from tests.support.instance import ADMIN_KEY
from tests.support.service import PATIENCE, wait_until
from tests.support.wire import watched
from tests.support.world import Caller

FEATURES = "/api/client/features"
NEW = {"Unleash-Client-Spec": "5.2.0"}
FLAGS = "/api/admin/projects/default/features"
STATE = f"{FLAGS}/checkout/environments/development"


@pytest.fixture(scope="module")
def url(make_database: Callable[..., str]) -> str:
    """The address of a database of its own, with a flag that is off."""
    return make_database()


@pytest.fixture(scope="module")
def worker(url: str, make_app: Callable[..., Flask]) -> Flask:
    """A worker that asks the database at each request, with a single connection."""
    return make_app(url, DATABASE_POOL_SIZE=1)


@pytest.fixture(scope="module")
def token(worker: Flask) -> str:
    """A client token."""
    admin = Caller(worker, ADMIN_KEY)
    assert admin.post(FLAGS, json={"name": "checkout"}).status_code == 201
    body = {"type": "client", "tokenName": "test", "environment": "development"}
    return admin.post("/api/admin/api-tokens", json=body).json["secret"]


@pytest.fixture
def application(worker: Flask, token: str) -> Iterator[Caller]:
    """An application whose flag is off, which it knows."""
    admin = Caller(worker, ADMIN_KEY)
    # The first time that a flag is switched on, it gets a strategy.
    for state in ("on", "off"):
        assert admin.post(f"{STATE}/{state}").status_code == 200
    caller = Caller(worker, token)
    caller.get(FEATURES)
    return caller


def pool_of(app: Flask) -> Connection:
    """The only connection of an app."""
    with app.app_context(), database().connection() as conn:
        return conn


def test_unchanged_flags_are_not_read_again(application: Caller, url: str, make_app: Callable[..., Flask]) -> None:
    with watched(pool_of(application.app)) as wire:
        first, second = application.get(FEATURES), application.get(FEATURES)
    assert first.data == second.data
    # Another process gives the same.
    assert Caller(make_app(url), application.key).get(FEATURES).headers["ETag"] == first.headers["ETag"]
    assert [statement.split()[0] for statement in wire.statements] == ["SELECT", "SELECT"]


def test_change_is_in_the_next_response(application: Caller) -> None:
    admin = Caller(application.app, ADMIN_KEY)
    before = application.get(FEATURES)
    assert admin.post(f"{STATE}/on").status_code == 200
    after = application.get(FEATURES, headers={"If-None-Match": before.headers["ETag"]})
    assert (after.status_code, after.json["features"][0]["enabled"]) == (200, True)
    assert after.json["meta"]["revisionId"] > before.json["meta"]["revisionId"]
    assert admin.post(f"{STATE}/off").status_code == 200
    # The same flags have the same ETag, whatever happened in between.
    assert application.get(FEATURES).headers["ETag"] == before.headers["ETag"]
    # Applications do not see tags, so the document stays.
    kept = application.get(FEATURES)
    assert admin.post("/api/admin/features/checkout/tags", json={"type": "simple", "value": "beta"}).status_code == 201
    assert application.get(FEATURES).data == kept.data


def test_revision_that_is_reached_again_shows_the_flags_of_now(application: Caller, url: str) -> None:
    admin = Caller(application.app, ADMIN_KEY)
    admin.post(FLAGS, json={"name": "later"})
    with connect(url) as conn:
        conn.execute("CREATE TEMPORARY TABLE old_client_revisions AS TABLE client_revisions")
        admin.post(f"{STATE}/on")
        before = application.get(FEATURES).json
        # A standby that has not received that change is promoted.
        with conn.transaction():
            conn.execute("TRUNCATE client_revisions")
            conn.execute("INSERT INTO client_revisions TABLE old_client_revisions")
            conn.execute("UPDATE flag_environments SET enabled = false")
    assert admin.post(f"{FLAGS}/later/environments/development/on").status_code == 200
    after = application.get(FEATURES).json
    assert after["meta"]["revisionId"] == before["meta"]["revisionId"]
    assert [{flag["name"]: flag["enabled"] for flag in found["features"]} for found in (before, after)] == [
        {"checkout": True, "later": False},
        {"checkout": False, "later": True},
    ]
    assert admin.post(f"{FLAGS}/later/environments/development/off").status_code == 200


def test_token_is_remembered_for_a_while(url: str, token: str, make_app: Callable[..., Flask]) -> None:
    app = make_app(url, DATABASE_POOL_SIZE=1, CLIENT_KEEP_MS=60_000)
    caller = Caller(app, token)
    with watched(pool_of(app)) as wire:
        assert caller.get(FEATURES).status_code == 200
    # The limit of each caller does not look the token up too.
    assert not any(statement.startswith("WITH credential") for statement in wire.statements), wire.statements
    with watched(pool_of(app)) as wire:
        assert caller.get(FEATURES).status_code == 200
    assert wire.statements == []
    # A token of the wrong kind is remembered too, and an unknown one is not.
    assert Caller(app, "unknown").get(FEATURES).status_code == 401
    assert Caller(app, "unknown").get(FEATURES).status_code == 401


def test_token_expires_although_it_is_remembered(
    url: str, worker: Flask, make_app: Callable[..., Flask], monkeypatch: pytest.MonkeyPatch
) -> None:
    body = {"type": "client", "tokenName": "short", "environment": "development"}
    secret = Caller(worker, ADMIN_KEY).post("/api/admin/api-tokens", json=body).json["secret"]
    caller = Caller(make_app(url, CLIENT_KEEP_MS=60_000), secret)
    clock = stop_clock(monkeypatch)
    expire = "UPDATE api_keys SET expires_at = now() + make_interval(secs => %s) WHERE secret = %s"
    with connect(url) as conn:
        conn.execute(expire, [50, secret])
        assert caller.get(FEATURES).status_code == 200
        # The worker has not seen that the token expires sooner now.
        conn.execute(expire, [0, secret])
    assert caller.get(FEATURES).status_code == 200
    clock.now += 50
    assert caller.get(FEATURES).status_code == 401


def test_without_keeping_a_request_does_not_use_an_earlier_look_at_the_token(application: Caller) -> None:
    running = application.app.extensions["client_access"]._calls._running
    # Another request that never ends.
    running[digest(application.key or "")] = time.monotonic(), Future()
    assert "Age" not in application.get(FEATURES).headers
    assert running == {}


def test_token_is_known_while_it_is_looked_up_again(application: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    known, key = application.app.extensions["client_access"]._known, digest(application.key or "")
    seen = []

    def look(*args: Any) -> client_access.ClientToken:
        # What another thread finds now, if the database does not respond to it.
        seen.append(key in known)
        return as_token(*args)

    as_token = client_access.as_token
    monkeypatch.setattr(client_access, "as_token", look)
    assert application.get(FEATURES).status_code == 200
    assert seen == [True]


def test_many_threads_share_one_call() -> None:
    calls: SharedCalls[int] = SharedCalls()
    made, returned, may_end = [], [], threading.Event()

    def function() -> int:
        made.append(1)
        may_end.wait(PATIENCE)
        return 7

    def call(since: float) -> threading.Thread:
        thread = threading.Thread(target=lambda: returned.append(calls.call("key", function, since, PATIENCE)))
        thread.start()
        return thread

    threads = [call(0.0)]
    wait_until(lambda: made, "the first thread calls")
    waiting = calls._running["key"][1]._condition._waiters  # pyright: ignore
    threads += [call(0.0) for _ in range(7)]
    wait_until(lambda: len(waiting) == 7, "the others wait")
    # A thread that needs a later result does not wait for this one.
    threads.append(call(time.monotonic()))
    wait_until(lambda: len(made) == 2, "it calls too")
    may_end.set()
    for thread in threads:
        thread.join()
    assert (len(made), returned, calls._running) == (2, [7] * 9, {})
    with pytest.raises(ZeroDivisionError):
        calls.call("key", lambda: 1 // 0, 0.0, PATIENCE)
    assert calls._running == {}


@pytest.mark.parametrize(
    "end",
    [
        lambda admin, secret: admin.delete(f"/api/admin/api-tokens/{secret}"),
        lambda admin, secret: admin.put(f"/api/admin/api-tokens/{secret}", json={"expiresAt": "2020-01-01T00:00:00Z"}),
        lambda admin, _: admin.delete("/api/admin/environments/test"),
    ],
    ids=["deleted", "expired", "environment deleted"],
)
def test_token_ends(worker: Flask, end: Callable[[Caller, str], Any]) -> None:
    admin = Caller(worker, ADMIN_KEY)
    admin.post("/api/admin/environments", json={"name": "test", "type": "test"})
    body = {"type": "client", "tokenName": "short", "environment": "test"}
    secret = admin.post("/api/admin/api-tokens", json=body).json["secret"]
    caller = Caller(worker, secret)
    assert caller.get(FEATURES).status_code == 200
    assert end(admin, secret).status_code == 200
    assert caller.get(FEATURES).status_code == 401


def test_token_of_two_projects_outlives_one_of_them(worker: Flask) -> None:
    admin = Caller(worker, ADMIN_KEY)
    for project in ("one", "two"):
        admin.post("/api/admin/projects", json={"id": project, "name": project})
        admin.post(f"/api/admin/projects/{project}/features", json={"name": f"of-{project}"})
    body = {"type": "client", "tokenName": "both", "environment": "development", "projects": ["one", "two"]}
    caller = Caller(worker, admin.post("/api/admin/api-tokens", json=body).json["secret"])

    def names() -> list[str]:
        return [flag["name"] for flag in caller.get(FEATURES).json["features"]]

    assert names() == ["of-one", "of-two"]
    admin.delete("/api/admin/projects/one/features/of-one")
    assert names() == ["of-two"]
    assert admin.post("/api/admin/projects/archive/one").status_code == 200
    assert names() == ["of-two"]
    assert admin.delete("/api/admin/projects/one").status_code == 200
    assert names() == ["of-two"]


def test_documents_that_were_used_least_recently_are_forgotten(
    application: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    app = application.app
    kept: ClientDocuments = app.extensions["client_documents"]
    queries = [f"?namePrefix={number}" for number in range(3)]
    for query in queries:
        application.get(f"{FEATURES}{query}")
    application.get(f"{FEATURES}{queries[0]}")
    size = next(reversed(kept._kept.values())).document.size
    monkeypatch.setattr("rules.client_features.MAX_BYTES", 3 * size + 10)
    application.get(f"{FEATURES}?namePrefix=last")
    assert [key[0].prefix for key in kept._kept] == ["2", "0", "last"]
    monkeypatch.setattr("rules.client_features.MAX_DOCUMENTS", 2)
    application.get(f"{FEATURES}?namePrefix=later")
    assert [key[0].prefix for key in kept._kept] == ["last", "later"]


def test_flags_are_compiled_once_and_reused(application: Caller) -> None:
    kept: ClientDocuments = application.app.extensions["client_documents"]
    admin = Caller(application.app, ADMIN_KEY)
    admin.post(FLAGS, json={"name": "other"})

    def document() -> Any:
        application.get(FEATURES, headers=NEW)
        return next(held.document for key, held in kept._kept.items() if key[0] == ClientQuery("development"))

    first = document()
    assert first.flags is first.flags
    assert list(first.flags.flags) == [flag["name"] for flag in json.loads(first.text)["features"]]
    admin.post(f"{STATE}/on")
    second = document()
    assert second.flags.flags["other"] is first.flags.flags["other"]
    assert second.flags.flags["checkout"] is not first.flags.flags["checkout"]
    assert second.flags.evaluate("checkout", {}).enabled


def test_query_is_its_values() -> None:
    query = ClientQuery("development", ("a",))
    assert query == replace(query)
    assert query.digest == ClientQuery("development", ("a",)).digest
