"""Reports at once, on connections that commit: they are written together, none is lost or counted twice, and those of
one token do not hold up the reports of others.
"""

import math
import random
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager

import pytest

from rules.report_writer import FEW_ROWS, GROUP_ROWS
from sql.database import rows, value
from tests.support.lock_waiters import lock_waiters
from tests.support.races import at_once, statuses, wait_for
from tests.support.reports import BULK, METRICS, REGISTER, metrics
from tests.support.service import wait_until
from tests.support.world import Caller, refused

YES = {"yes": 1, "no": 0}
FULL = "Too many reports are waiting. Try again later."
FRONTEND = "/api/frontend/client/metrics"
ORDER = 'SELECT app_name FROM usage_metrics WHERE flag_name = %(f)s ORDER BY xmin::text::bigint, app_name COLLATE "C"'


@pytest.fixture
def writer(app):
    """The report writer of the service."""
    return app.extensions["reports"]


@pytest.fixture
def locked(conn, gate):
    """Hold a lock that all reports need. locked(): the block in which it is held."""

    @contextmanager
    def locked(first):
        """Yield the future of a first call, which waits for the lock."""
        with ThreadPoolExecutor(1) as thread, gate.transaction():
            gate.execute("LOCK TABLE flag_sightings IN EXCLUSIVE MODE")
            future = thread.submit(first)
            wait_for(conn, [future])
            yield future

    return locked


@pytest.fixture
def cancel(conn):
    """cancel(): cancel the one statement in the database that waits for a lock."""

    def cancel():
        [pid] = lock_waiters(conn)
        assert value(conn, "SELECT pg_cancel_backend(%(pid)s)", {"pid": pid})

    return cancel


@pytest.fixture
def small(make_app, url, world):
    """small(**settings): the report writer of another service, and a client of it that was used just now."""

    def small(**settings):
        app = make_app(url, **settings)
        client = Caller(app, world.api_key("client").key)
        assert client.post(METRICS, json={}).status_code == 202
        return app.extensions["reports"], client

    return small


def send(client, flag, app="shop"):
    """Return a call that reports one evaluation of a flag."""
    return lambda: client.post(METRICS, json=metrics({flag: YES}, app=app))


def yes(conn, flag):
    """Return how often a flag was reported as on."""
    return value(conn, "SELECT coalesce(sum(yes), 0)::bigint FROM usage_metrics WHERE flag_name = %(f)s", {"f": flag})


def waiting(writer):
    """Return how many reports wait in the open group."""
    return len(writer._open.reports)


def test_reports_that_arrive_during_a_write_go_together(writer, client, conn, locked, flag, pool):
    with locked(send(client, flag, f"{flag}-first")) as first:
        others = [pool.submit(send(client, flag, f"{flag}-{number % 10}")) for number in range(19)]
        wait_until(lambda: waiting(writer) == 19, "all reports were in the next group")
        assert len(lock_waiters(conn)) == 1
        # None is acknowledged before its commit.
        assert not any(future.done() for future in [first, *others])
    assert statuses([future.result() for future in [first, *others]]) == {202: 20}
    assert yes(conn, flag) == 20
    transactions = "SELECT count(DISTINCT xmin::text) FROM usage_metrics WHERE flag_name = %(f)s"
    assert value(conn, transactions, {"f": flag}) == 2


def test_a_failure_fails_all_reports_of_the_group_and_no_other(writer, client, conn, locked, cancel, flag, pool):
    with locked(send(client, flag)) as first:
        group = [pool.submit(send(client, flag)) for _ in range(5)]
        wait_until(lambda: waiting(writer) == 5, "all reports were in the next group")
        cancel()
        refused(first.result(), 503, "UnavailableError")
        wait_for(conn, [Future()])
        last = pool.submit(send(client, flag))
        wait_until(lambda: waiting(writer) == 1, "the report was in the group after that")
        cancel()
        assert statuses([future.result() for future in group]) == {503: 5}
    assert last.result().status_code == 202
    assert yes(conn, flag) == 1


def test_a_large_report_that_fails_counts_nothing_and_its_retry_counts_once(
    client, world, conn, gate, cancel, flag, pool
):
    last = f"{flag}-last"
    world.flag(last)
    assert send(client, last)().status_code == 202
    # In the order of the names, because the test client sorts them.
    document = metrics({flag: YES} | {f"{flag}-between-{number}": YES for number in range(GROUP_ROWS)} | {last: YES})
    with gate.transaction():
        gate.execute("SELECT FROM usage_metrics WHERE flag_name = %s FOR UPDATE", [last])
        report = pool.submit(client.post, METRICS, json=document)
        wait_for(conn, [report])
        cancel()
        refused(report.result(), 503, "UnavailableError")
    assert client.post(METRICS, json=document).status_code == 202
    assert (yes(conn, flag), yes(conn, last)) == (1, 2)


def test_a_report_that_waits_too_long_is_not_counted(small, conn, locked, flag):
    _, client = small(WAIT_SECONDS=0.2)
    with locked(send(client, flag)) as first:
        message = refused(send(client, flag)(), 503, "UnavailableError")
        assert message == "Too many reports are being written. Try again later."
    assert first.result().status_code == 202
    assert send(client, flag)().status_code == 202
    assert yes(conn, flag) == 2


def test_a_committed_report_that_waited_too_long_is_acknowledged(small, flag, pool):
    writer, client = small(WAIT_SECONDS=0.5)
    with writer._writing:
        report = pool.submit(send(client, flag))
        wait_until(lambda: waiting(writer) == 1, "it waited")
        group = writer._open
        writer._close(group)
        group.error = None
        # Otherwise the SDK would send it again, and it would be counted twice.
        assert report.result().status_code == 202


def test_waiting_reports_leave_threads_to_other_requests(small, conn, locked, flag, pool):
    writer, client = small(THREADS=6, DATABASE_POOL_SIZE=4)
    with locked(send(client, flag)) as first:
        others = [pool.submit(send(client, flag)) for _ in range(2)]
        wait_until(lambda: writer._held.total() == 3, "three reports had places")
        # Before the body is read. Reading a large one takes long.
        for path in (METRICS, BULK, REGISTER):
            assert refused(client.post(path, data=b"{"), 503, "UnavailableError") == FULL
    assert statuses([future.result() for future in [first, *others]]) == {202: 3}
    assert send(client, flag)().status_code == 202
    assert yes(conn, flag) == 4


def test_reports_of_one_application_are_one_group_because_they_write_the_same_rows(
    writer, client, conn, locked, flag, pool
):
    flags = {f"unknown-{number}": YES for number in range(900)} | {flag: YES | {"variants": {"disabled": 1}}}
    with locked(send(client, flag)) as first:
        documents = [metrics(flags, instanceId=f"i-{number}") for number in range(8)]
        others = [pool.submit(client.post, METRICS, json=document) for document in documents]
        wait_until(lambda: waiting(writer) == 8, "all reports were in the next group")
    assert statuses([first.result(), *(future.result() for future in others)]) == {202: 9}
    assert yes(conn, flag) == 9
    assert value(conn, "SELECT count FROM usage_variants WHERE flag_name = %(f)s", {"f": flag}) == 8


def test_workers_do_not_deadlock(make_app, url, world, conn, name):
    flags = [f"{name}-{number}" for number in range(100)]
    for flag in flags:
        world.flag(flag)
    key = world.api_key("client").key
    # Few connections, and many reports of one token.
    workers = [Caller(make_app(url, DATABASE_POOL_SIZE=2, THREADS=32), key) for _ in range(3)]
    sent = random.Random(7)

    def call(number):
        some = {flag: YES for flag in sent.sample(flags, 60)} | {f"{name}-unknown-{number % 5}": YES}
        document = metrics(some, app=f"{name}-{sent.randrange(4)}", connectionId=f"c-{number % 7}")
        path = sent.choice([METRICS, METRICS, REGISTER])
        return lambda: workers[number % 3].post(path, json=document | {"strategies": [str(number)]})

    for _ in range(5):
        assert statuses(at_once(*map(call, range(30)))) == {202: 30}
    created = "SELECT count(*) FROM events WHERE type = 'application-created' AND data ->> 'appName' LIKE %(p)s || '%%'"
    assert value(conn, created, {"p": name}) == 4


def test_the_last_free_places_are_given_once(make_app, url, world, conn, name, monkeypatch):
    limits = {
        "sql.client.applications.MAX_APPLICATIONS": "applications",
        "sql.client.applications.MAX_INSTANCES": "application_instances",
        "sql.client.reports.MAX_UNKNOWN": "unknown_flags",
    }

    def count(table):
        return value(conn, f"SELECT count(*) FROM {table}")  # pyright: ignore

    before = {table: count(table) for table in limits.values()}
    for limit, table in limits.items():
        monkeypatch.setattr(limit, before[table] + 3)
    key = world.api_key("client").key
    workers = [Caller(make_app(url), key) for _ in range(4)]
    names = [f"{name}-{number}" for number in range(12)]
    calls = [send(workers[number % 4], each, app=each) for number, each in enumerate(names)]
    assert statuses(at_once(*calls)) == {202: 12}
    assert {table: count(table) for table in limits.values()} == {table: was + 3 for table, was in before.items()}


def test_a_report_does_not_deadlock_with_the_deletion_of_its_application(admin, client, conn, queue, flag):
    document = metrics({flag: YES}, app=flag)
    assert client.post(METRICS, json=document).status_code == 202
    conn.execute("UPDATE flag_sightings SET last_at = now() - interval '1 hour', first_at = now() - interval '1 hour'")
    answers = queue(
        "LOCK TABLE application_instances IN EXCLUSIVE MODE",
        # The sightings are written, the application is not, because it was seen just now. The instance is new.
        lambda: client.post(METRICS, json=document | {"connectionId": "new"}),
        lambda: admin.delete(f"/api/admin/metrics/applications/{flag}"),
    )
    assert [answer.status_code for answer in answers] == [202, 200]
    assert yes(conn, flag) == 2


def test_a_token_has_one_waiting_group_besides_the_open_one(writer, client, world, conn, locked, flag, pool):
    flags = {f"unknown-{number}": YES for number in range(1_200)} | {flag: YES}
    other = world.api_key("client")
    assert other.post(METRICS, json={}).status_code == 202
    with locked(send(client, flag)) as first:
        reports = [first]
        for number, is_there in enumerate(
            [
                lambda: len(writer._open.reports) == 1,
                lambda: [len(group.reports) for group in writer._own.values()] == [1],
                # A third one would have to be in another group, in front of the reports of others.
                lambda: len(writer._lock._waiters) == 1,
            ]
        ):
            reports.append(pool.submit(client.post, METRICS, json=metrics(flags, app=f"{flag}-{number}")))
            wait_until(is_there, f"report {number} was in its place")
        # That of another instance adds few rows, so it joins. Those of others join the open group.
        again = metrics(flags, app=f"{flag}-1", instanceId="i-2")
        reports.append(pool.submit(client.post, METRICS, json=again))
        wait_until(lambda: [len(group.reports) for group in writer._own.values()] == [2], "it joined the group")
        reports.append(pool.submit(send(other, flag, f"{flag}-other")))
        wait_until(lambda: waiting(writer) == 2, "it joined the open group")
    assert statuses([future.result() for future in reports]) == {202: 6}
    assert yes(conn, flag) == 6
    found = [row["app_name"].removeprefix(flag) for row in rows(conn, ORDER, {"f": flag})]
    assert found[:3] == ["shop", "-0", "-other"]


def test_the_open_group_is_written_before_a_waiting_large_one(writer, client, conn, locked, flag, pool):
    large = {f"unknown-{number}": YES for number in range(GROUP_ROWS)} | {flag: YES}
    with locked(send(client, flag)) as first:
        reports = [first, pool.submit(client.post, METRICS, json=metrics(large, app=f"{flag}-large"))]
        wait_until(lambda: writer._own, "the large one waited first")
        reports.append(pool.submit(send(client, flag, f"{flag}-small")))
        wait_until(lambda: waiting(writer) == 1, "the small one waited")
    assert statuses([future.result() for future in reports]) == {202: 3}
    assert [row["app_name"] for row in rows(conn, ORDER, {"f": flag})] == ["shop", f"{flag}-small", f"{flag}-large"]


def test_frontend_tokens_get_half_of_the_places_and_one_a_quarter(small, world, conn, locked, flag, pool):
    writer, client = small(THREADS=12, DATABASE_POOL_SIZE=4)
    pages = [Caller(client.app, world.api_key("frontend").key) for _ in range(3)]
    assert [page.post(FRONTEND, json={}).status_code for page in pages] == [200] * 3
    document = metrics({flag: YES})
    with locked(lambda: pages[0].post(FRONTEND, json=document)) as first:
        reports = [first]
        for page, number in ((pages[0], 1), (pages[1], 2), (pages[1], 3)):
            reports.append(pool.submit(page.post, FRONTEND, json=document))
            wait_until(lambda number=number: waiting(writer) == number, "it waited")
        # Each of the first two has a quarter of 8 places.
        for page in pages:
            assert refused(page.post(FRONTEND, json=document), 503, "UnavailableError") == FULL
        reports.append(pool.submit(send(client, flag)))
        wait_until(lambda: waiting(writer) == 4, "that of a server waited")
    assert statuses([future.result() for future in reports]) == {200: 4, 202: 1}
    assert yes(conn, flag) == 5
    assert (writer._public, writer._held.total()) == (0, 0)


def test_large_reports_of_a_frontend_token_rest(small, world, conn, flag):
    writer, client = small(WAIT_SECONDS=1)
    page, other = (Caller(client.app, world.api_key("frontend").key) for _ in range(2))
    large = metrics({f"unknown-{number}": YES for number in range(FEW_ROWS)} | {flag: YES})
    assert page.post(FRONTEND, json=large).status_code == 200
    assert len(writer._rests) == 1
    writer._rests = dict.fromkeys(writer._rests, math.inf)
    message = refused(page.post(FRONTEND, json=large), 503, "UnavailableError")
    assert message.startswith("Too many reports of this token")
    # Small reports of the token, and those of others, do not rest.
    assert page.post(FRONTEND, json=metrics({flag: YES})).status_code == 200
    assert other.post(FRONTEND, json=large).status_code == 200
    writer._rests = {}
    assert page.post(FRONTEND, json=large).status_code == 200
    assert yes(conn, flag) == 4
