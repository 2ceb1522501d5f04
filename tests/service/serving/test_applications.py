"""Applications while the database is away, while it is busy, and when another worker has changed their flags."""

import logging
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
from flask import Flask

from sql.database import connect
from tests.support.clock import stop_clock
from tests.support.instance import ADMIN_KEY
from tests.support.lock_waiters import lock_waiters
from tests.support.metrics import TOKEN, Scraped
from tests.support.pool import MARGIN
from tests.support.service import PATIENCE, wait_until
from tests.support.silent_proxy import Proxy
from tests.support.world import Caller, refused

pytestmark = pytest.mark.slow

FEATURES = "/api/client/features"
FLAGS = "/api/admin/projects/default/features"
STATE = f"{FLAGS}/checkout/environments/development"


@pytest.fixture(scope="module")
def admin(url: str, make_app: Callable[..., Flask]) -> Caller:
    """An administrator at another worker, which always has its database."""
    admin = Caller(make_app(url), ADMIN_KEY)
    assert admin.post(FLAGS, json={"name": "checkout"}).status_code == 201
    return admin


@pytest.fixture
def proxy(url: str) -> Iterator[Proxy]:
    """The way of a worker to the database."""
    with Proxy(url) as proxy:
        yield proxy


def secret_of(admin: Caller, **fields: str) -> str:
    """The secret of a new client token."""
    body = {"type": "client", "tokenName": "test", "environment": "development"} | fields
    return admin.post("/api/admin/api-tokens", json=body).json["secret"]


def is_on(response) -> bool:
    return response.json["features"][0]["enabled"]


def switch(admin: Caller, state: str) -> None:
    assert admin.post(f"{STATE}/{state}").status_code == 200


def from_memory(app: Flask) -> float:
    """Return how many responses with flags from memory the metrics count."""
    return Scraped(app).total("client_responses_from_memory_total")


def test_known_tokens_get_the_last_flags_while_the_database_is_away(proxy, admin, make_app, caplog, monkeypatch):
    switch(admin, "on")
    app = make_app(proxy.url, METRICS_TOKEN=TOKEN)
    known, unknown = Caller(app, secret_of(admin)), Caller(app, secret_of(admin))
    before = known.get(FEATURES)
    assert is_on(before)
    assert "Age" not in before.headers
    proxy.refuse()
    switch(admin, "off")
    with caplog.at_level(logging.WARNING):
        during = known.get(FEATURES)
        assert (during.status_code, during.data) == (200, before.data)
        assert 0 <= int(during.headers["Age"]) < PATIENCE
        unmodified = known.get(FEATURES, headers={"If-None-Match": before.headers["ETag"]})
        assert (unmodified.status_code, "Age" in unmodified.headers) == (304, True)
        warnings = "Applications get flags from memory"
        assert caplog.text.count(warnings) == 1
        assert from_memory(app) == 2
        monkeypatch.setattr("rules.client_access.WARNING_PAUSE", 0.0)
        known.get(FEATURES)
        assert caplog.text.count(warnings) == 2
    # Neither a token that may be valid nor a query that was never asked is refused for ever.
    for caller, path in ((unknown, ""), (Caller(app, "unknown"), ""), (known, "?namePrefix=x"), (known, "/checkout")):
        refused(caller.get(f"{FEATURES}{path}"), 503, "UnavailableError")
    # Without a token, there is nothing to look up.
    refused(Caller(app).get(FEATURES), 401, "AuthenticationRequired")
    proxy.talk()
    wait_until(lambda: "Age" not in known.get(FEATURES).headers, "the database was used again")
    assert not is_on(known.get(FEATURES))
    assert unknown.get(FEATURES).status_code == 200


def test_flags_from_memory_replace_none_that_may_be_newer(proxy, url, admin, make_app):
    switch(admin, "on")
    secret = secret_of(admin)
    behind, ahead = Caller(make_app(proxy.url, METRICS_TOKEN=TOKEN), secret), Caller(make_app(url), secret)
    older = behind.get(FEATURES).headers["ETag"]
    proxy.refuse()
    switch(admin, "off")
    wait_until(lambda: not is_on(ahead.get(FEATURES)), "the other worker had newer flags")
    newer = ahead.get(FEATURES).headers["ETag"]
    refused(behind.get(FEATURES, headers={"If-None-Match": newer}), 503, "UnavailableError")
    assert behind.get(FEATURES, headers={"If-None-Match": older}).status_code == 304
    # A client without flags gets those that there are, and so does a page whose user has changed.
    assert is_on(behind.get(FEATURES))
    assert from_memory(behind.app) == 2
    page = Caller(behind.app, secret_of(admin, type="frontend"))
    proxy.talk()
    wait_until(lambda: page.get("/api/frontend").status_code == 200, "the database was used again")
    proxy.refuse()
    assert page.get("/api/frontend?userId=2", headers={"If-None-Match": '"another"'}).status_code == 200
    proxy.talk()


def test_flags_from_memory_were_current_less_than_their_time_ago(proxy, admin, make_app):
    app = make_app(proxy.url)
    known = Caller(app, secret_of(admin))
    documents = app.extensions["client_documents"]._kept

    def age() -> None:
        """Let the flags have been current two hours ago."""
        next(iter(documents.values())).current_at -= 7200

    assert known.get(FEATURES).status_code == 200
    age()
    # An unchanged revision says that they are still current.
    assert known.get(FEATURES).status_code == 200
    proxy.refuse()
    assert int(known.get(FEATURES).headers["Age"]) < PATIENCE
    age()
    # The token is not too old, because the database knew it a moment ago.
    refused(known.get(FEATURES), 503, "UnavailableError")


@pytest.mark.timing
def test_a_frozen_database_holds_a_known_token_only_for_the_wait(proxy, admin, make_app):
    known = Caller(make_app(proxy.url, WAIT_SECONDS=1), secret_of(admin))
    before = known.get(FEATURES)
    proxy.hush()
    began = time.monotonic()
    during = known.get(FEATURES)
    assert time.monotonic() < began + 1 + MARGIN
    assert (during.status_code, during.data, "Age" in during.headers) == (200, before.data, True)
    proxy.talk()
    wait_until(lambda: "Age" not in known.get(FEATURES).headers, "the database was used again")


@pytest.mark.parametrize(("stale", "expires_in"), [(60, None), (3600, 60), (0, None)])
def test_flags_from_memory_end_with_their_time_and_with_the_token(
    proxy, url, admin, make_app, monkeypatch, stale, expires_in
):
    secret = secret_of(admin)
    caller = Caller(make_app(proxy.url, CLIENT_STALE_SECONDS=stale), secret)
    if expires_in is not None:
        with connect(url) as conn:
            statement = "UPDATE api_keys SET expires_at = now() + make_interval(secs => %s) WHERE secret = %s"
            conn.execute(statement, [expires_in, secret])
    clock = stop_clock(monkeypatch)
    assert caller.get(FEATURES).status_code == 200
    proxy.refuse()
    if stale > 0:
        clock.now += 30
        assert caller.get(FEATURES).status_code == 200
    clock.now += 31
    refused(caller.get(FEATURES), 503, "UnavailableError")


def test_each_worker_sees_a_change_within_the_time_that_it_keeps(url, admin, make_app):
    keep, secret = 0.1, secret_of(admin)
    workers = [Caller(make_app(url, CLIENT_KEEP_MS=100), secret) for _ in range(2)]
    for state in ("on", "off", "on"):
        for worker in workers:
            worker.get(FEATURES)
        switch(admin, state)
        changed_at, late = time.monotonic(), 0
        while late < 2:
            began = time.monotonic()
            current = [is_on(worker.get(FEATURES)) is (state == "on") for worker in workers]
            if began > changed_at + keep:
                assert all(current)
                late += 1


def test_polls_are_not_limited_as_those_of_one_caller(url, admin, make_app):
    secret = secret_of(admin)
    app = make_app(url, DATABASE_POOL_SIZE=2, THREADS=4, WAIT_SECONDS=PATIENCE)
    with ThreadPoolExecutor(20) as pool, connect(url) as conn:
        conn.execute("BEGIN")
        conn.execute("LOCK api_keys IN ACCESS EXCLUSIVE MODE")
        polls = [pool.submit(Caller(app, secret).get, FEATURES) for _ in range(20)]
        wait_until(lambda: lock_waiters(conn), "a poll waited for the lock")
        # The other connection of the pool stays free for people.
        with app.app_context(), app.extensions["database"].connection() as free:
            free.execute("SELECT 1")
        conn.execute("COMMIT")
        assert [poll.result().status_code for poll in polls] == [200] * 20
