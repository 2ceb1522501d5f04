"""One caller holds at most half of a worker's database connections, so that others are answered."""

import json
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime, timedelta
from threading import Semaphore
from time import monotonic
from uuid import uuid4

import pytest
from flask import Flask, request
from werkzeug.test import TestResponse

from rules.access import require
from sql import sessions
from sql.access import digest
from sql.database import connect, connection
from sql.people import personal_tokens
from tests.support.instance import ADMIN_KEY
from tests.support.lock_waiters import lock_waiters
from tests.support.service import PATIENCE, wait_until
from tests.support.world import Caller, World, refused

TAG_TYPES = "/api/admin/tag-types"
OTHER = "/api/admin/context"
WAIT = 0.5


@pytest.fixture(scope="module")
def app(make_app: Callable[..., Flask], url: str) -> Flask:
    """A service with 4 connections, so 2 for each caller, and 12 threads, so 6 requests of each."""
    return make_app(url, DATABASE_POOL_SIZE=4, THREADS=12, WAIT_SECONDS=WAIT)


@pytest.fixture(scope="module")
def cast(app: Flask, url: str) -> tuple[Caller, Caller]:
    """Victor and Vera."""
    with connect(url) as conn:
        world = World(app, conn)
        victor, vera = world.user("Victor"), world.user("Vera")
        sessions.insert(conn, digest("victors-session"), victor.id or 0, 1)
    # Marked as seen today.
    assert [one.get(path).status_code for one in (victor, vera) for path in (TAG_TYPES, OTHER)] == [200] * 4
    return victor, vera


@pytest.fixture
def pool() -> Iterator[ThreadPoolExecutor]:
    """Threads for clients."""
    with ThreadPoolExecutor(20) as pool:
        yield pool


@contextmanager
def locked(url: str, table: str) -> Iterator[Callable[[int], None]]:
    """Block reads of the table. Yield a function that returns when so many requests wait."""
    with connect(url) as conn, conn.transaction(), connect(url) as observer:
        conn.execute(f"LOCK TABLE {table} IN ACCESS EXCLUSIVE MODE")  # pyright: ignore
        yield lambda count: wait_until(lambda: len(lock_waiters(observer)) == count, f"{count} requests waited")


def statuses(sent: list[Future[TestResponse]]) -> list[int]:
    """Return the statuses of requests of other threads, sorted."""
    return sorted(one.result().status_code for one in sent)


def is_limited(response: TestResponse) -> bool:
    """Whether it is the refusal of this limit."""
    assert "at the same time" in refused(response, 429, "RateLimitError")
    return response.headers["Retry-After"] == "1"


def test_requests_beyond_the_share_wait_and_are_refused(app, url, cast, pool, capsys):
    victor, vera = cast
    with locked(url, "tag_types") as wait_for:
        held = [pool.submit(victor.get, TAG_TYPES) for _ in range(2)]
        wait_for(2)
        began = monotonic()
        # A session and a token of one user are one caller.
        assert is_limited(Caller(app).get(OTHER, headers={"Cookie": "session=victors-session"}))
        assert monotonic() - began >= WAIT
        assert json.loads(capsys.readouterr().out)["caller"] == f"session:{victor.id}"
        assert vera.get(OTHER).status_code == 200
        assert Caller(app, ADMIN_KEY).get(OTHER).status_code == 200
    assert statuses(held) == [200] * 2
    assert victor.get(OTHER).status_code == 200


def test_callers_wait_for_a_place_without_a_connection(make_app, url, cast, pool):
    app = make_app(url, DATABASE_POOL_SIZE=4, THREADS=12, WAIT_SECONDS=600)
    victor, vera = cast
    with connect(url) as conn:
        tomorrow = datetime.now(UTC) + timedelta(days=1)
        # The worker does not know the caller of these yet.
        keys = [personal_tokens.insert(conn, victor.id or 0, str(uuid4()), tomorrow) for _ in range(4)]
    limit = app.extensions["caller_limit"]
    assert Caller(app, victor.key).get(OTHER).status_code == 200
    [caller] = limit.known.values()
    with app.test_request_context(), ExitStack() as places:
        for _ in range(2):
            places.enter_context(limit.place(caller))
        sent = [pool.submit(Caller(app, key).get, OTHER) for key in keys]
        wait_until(lambda: len(limit.known) == 5, "the worker knew all of them")
        assert pool.submit(Caller(app, vera.key).get, OTHER).result(PATIENCE).status_code == 200
    assert statuses(sent) == [200] * 4


def test_one_caller_holds_at_most_half_of_the_threads(make_app, url, cast, pool):
    patient = Caller(make_app(url, DATABASE_POOL_SIZE=4, THREADS=12, WAIT_SECONDS=60), cast[0].key)
    with locked(url, "tag_types") as wait_for:
        held = [pool.submit(patient.get, TAG_TYPES) for _ in range(2)]
        wait_for(2)
        sent = [pool.submit(patient.get, OTHER) for _ in range(5)]
        # Six are there, and one is too many. It does not wait.
        [refusal], _ = wait(sent, timeout=PATIENCE, return_when=FIRST_COMPLETED)
        assert is_limited(refusal.result())
    assert statuses(held) == [200] * 2
    assert statuses(sent) == [200] * 4 + [429]


@pytest.mark.parametrize("query", ["", "?fail"])
def test_a_caller_keeps_their_place_until_the_response_is_built(make_app, url, cast, pool, query):
    app = make_app(url, DATABASE_POOL_SIZE=4, THREADS=12, WAIT_SECONDS=WAIT)
    running, may_end = Semaphore(0), Semaphore(0)

    def render() -> str:
        """Borrow two connections, one inside the other and one after both, and then build the response for a while."""
        with connection() as conn, connection():
            require(conn)
        with connection():
            pass
        running.release()
        assert may_end.acquire(timeout=PATIENCE)
        if "fail" in request.args:
            raise RuntimeError
        return "rendered"

    app.add_url_rule("/rendering", view_func=render)
    victor, vera = (Caller(app, one.key) for one in cast)
    for _ in range(3):
        get = app.test_client().get
        held = [pool.submit(get, f"/rendering{query}", headers={"Authorization": victor.key}) for _ in range(2)]
        for _ in held:
            assert running.acquire(timeout=PATIENCE)
        assert is_limited(victor.get(OTHER))
        assert vera.get(OTHER).status_code == 200
        may_end.release(2)
        assert statuses(held) == [500 if query else 200] * 2
    assert statuses([pool.submit(victor.get, OTHER) for _ in range(2)]) == [200] * 2


@pytest.mark.parametrize("table", ["login_addresses", "api_keys"])
def test_strangers_and_wrong_credentials_count_by_their_address(app, url, pool, table):
    def send(address: str = "127.0.0.1") -> TestResponse:
        """Log in with a wrong password, or send an unknown token, another one each time."""
        given = {"environ_base": {"REMOTE_ADDR": address}}
        if table == "api_keys":
            return Caller(app, f"*:*.a-wrong-key-{uuid4()}").get(OTHER, **given)
        return Caller(app).post("/auth/simple/login", json={"username": "nobody", "password": "wrong"}, **given)

    with locked(url, table) as wait_for:
        held = [pool.submit(send) for _ in range(2)]
        wait_for(2)
        assert is_limited(send())
        assert Caller(app).get("/ready").status_code == 200
        held.append(pool.submit(send, "192.0.2.1"))
        wait_for(3)
    assert statuses(held) == [401] * 3


def test_one_caller_has_at_most_half_of_the_streams(app, url, cast, pool):
    path, lines = "/api/admin/search/events", {"Accept": "application/x-ndjson"}
    victor, vera = cast
    # Of 12 threads, 3 serve streams. This one goes on until it is closed.
    running = app.test_client().get(path, headers=lines | {"Authorization": victor.key or ""})
    assert running.headers["X-Accel-Buffering"] == "no"
    session = Caller(app).get(path, headers=lines | {"Cookie": "session=victors-session"})
    assert "event streams" in refused(session, 429, "RateLimitError")
    assert vera.get(path, headers=lines).status_code == 200
    # The stream holds no place between its batches.
    with locked(url, "tag_types") as wait_for:
        held = [pool.submit(victor.get, TAG_TYPES) for _ in range(2)]
        wait_for(2)
    assert statuses(held) == [200] * 2
    assert victor.get(path).status_code == 200
    running.close()
    assert victor.get(path, headers=lines).status_code == 200


def test_reports_of_applications_need_no_place(app: Flask, url: str) -> None:
    with connect(url) as conn:
        token = World(app, conn).api_key("client").key or ""
    limit, headers = app.extensions["caller_limit"], {"Authorization": token}
    report = {"appName": "a", "bucket": {"start": "2026-05-31T12:00:00Z", "toggles": {"f": {"yes": 1, "no": 0}}}}
    with app.test_request_context(environ_base={"REMOTE_ADDR": "127.0.0.1"}), ExitStack() as places:
        for _ in range(2):
            places.enter_context(limit.place(None))
        # A thread of its own, as a worker has one for each request.
        with ThreadPoolExecutor(1) as thread:
            send = app.test_client().post
            response = thread.submit(send, "/api/client/metrics", json=report, headers=headers).result()
    assert response.status_code == 202
