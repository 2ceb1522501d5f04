"""Reports at once, on connections that commit: they are written together, and none is lost or counted twice."""

import random
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor

import pytest
from flask import Flask

from rules.report_writer import GROUP_ROWS
from sql.database import Connection, value
from tests.support.lock_waiters import lock_waiters
from tests.support.races import at_once, statuses, wait_for
from tests.support.report_races import LOCK, YES, send, waiting, yes
from tests.support.reports import BULK, METRICS, REGISTER, metrics
from tests.support.service import wait_until
from tests.support.world import Caller, World, refused


def cancel_waiting_statement(conn: Connection) -> None:
    """Cancel the one statement in the database that waits for a lock."""
    [pid] = lock_waiters(conn)
    assert value(conn, "SELECT pg_cancel_backend(%(pid)s)", {"pid": pid})


def test_reports_that_arrive_during_a_write_go_together(
    app: Flask, client: Caller, conn: Connection, gate: Connection, flag: str, pool: ThreadPoolExecutor
) -> None:
    writer = app.extensions["reports"]
    with gate.transaction():
        gate.execute(LOCK)
        first = pool.submit(send(client, flag, f"{flag}-first"))
        wait_for(conn, [first])
        others = [pool.submit(send(client, flag, f"{flag}-{number % 10}")) for number in range(19)]
        wait_until(lambda: waiting(writer) == 19, "all reports were in the next group")
        assert len(lock_waiters(conn)) == 1
        # None is acknowledged before its commit.
        assert not any(future.done() for future in [first, *others])
    assert statuses([future.result() for future in [first, *others]]) == {202: 20}
    assert yes(conn, flag) == 20
    transactions = "SELECT count(DISTINCT xmin::text) FROM usage_metrics WHERE flag_name = %(f)s"
    assert value(conn, transactions, {"f": flag}) == 2


def test_a_failure_fails_all_reports_of_the_group_and_no_other(
    app: Flask, client: Caller, conn: Connection, gate: Connection, flag: str, pool: ThreadPoolExecutor
) -> None:
    writer = app.extensions["reports"]
    with gate.transaction():
        gate.execute(LOCK)
        first = pool.submit(send(client, flag))
        wait_for(conn, [first])
        group = [pool.submit(send(client, flag)) for _ in range(5)]
        wait_until(lambda: waiting(writer) == 5, "all reports were in the next group")
        cancel_waiting_statement(conn)
        refused(first.result(), 503, "UnavailableError")
        wait_for(conn, [Future()])
        last = pool.submit(send(client, flag))
        wait_until(lambda: waiting(writer) == 1, "the report was in the group after that")
        cancel_waiting_statement(conn)
        assert statuses([future.result() for future in group]) == {503: 5}
    assert last.result().status_code == 202
    assert yes(conn, flag) == 1


def test_a_large_report_that_fails_counts_nothing_and_its_retry_counts_once(
    client: Caller, world: World, conn: Connection, gate: Connection, flag: str, pool: ThreadPoolExecutor
) -> None:
    last = f"{flag}-last"
    world.flag(last)
    assert send(client, last)().status_code == 202
    # In the order of the names, because the test client sorts them.
    document = metrics({flag: YES} | {f"{flag}-between-{number}": YES for number in range(GROUP_ROWS)} | {last: YES})
    with gate.transaction():
        gate.execute("SELECT FROM usage_metrics WHERE flag_name = %s FOR UPDATE", [last])
        report = pool.submit(client.post, METRICS, json=document)
        wait_for(conn, [report])
        cancel_waiting_statement(conn)
        refused(report.result(), 503, "UnavailableError")
    assert client.post(METRICS, json=document).status_code == 202
    assert (yes(conn, flag), yes(conn, last)) == (1, 2)


def test_a_report_whose_turn_does_not_come_is_taken_back(
    make_app: Callable[..., Flask], url: str, world: World, conn: Connection, gate: Connection, flag: str
) -> None:
    app = make_app(url, WAIT_SECONDS=0.2)
    client = Caller(app, world.api_key("client").key)
    assert client.post(METRICS, json={}).status_code == 202
    with ThreadPoolExecutor(1) as pool:
        with gate.transaction():
            gate.execute(LOCK)
            first = pool.submit(send(client, flag))
            wait_for(conn, [first])
            message = refused(send(client, flag)(), 503, "UnavailableError")
            assert message == "Too many reports are being written. Try again later."
        assert first.result().status_code == 202
    assert send(client, flag)().status_code == 202
    assert yes(conn, flag) == 2


def test_a_committed_report_is_acknowledged_although_its_turn_did_not_come(
    make_app: Callable[..., Flask], url: str, world: World, flag: str
) -> None:
    app = make_app(url, WAIT_SECONDS=0.5)
    client = Caller(app, world.api_key("client").key)
    assert client.post(METRICS, json={}).status_code == 202
    writer = app.extensions["reports"]
    with ThreadPoolExecutor(1) as pool, writer._writing:
        report = pool.submit(send(client, flag))
        wait_until(lambda: waiting(writer) == 1, "it waited")
        group = writer._open
        writer._close(group)
        group.error = None
        # Otherwise the SDK would send it again, and it would be counted twice.
        assert report.result().status_code == 202


def test_waiting_reports_leave_threads_to_other_requests(
    make_app: Callable[..., Flask], url: str, world: World, conn: Connection, gate: Connection, flag: str
) -> None:
    app = make_app(url, THREADS=6, DATABASE_POOL_SIZE=4)
    client = Caller(app, world.api_key("client").key)
    assert client.post(METRICS, json={}).status_code == 202
    with ThreadPoolExecutor(3) as pool:
        with gate.transaction():
            gate.execute(LOCK)
            waiting = [pool.submit(send(client, flag))]
            wait_for(conn, waiting)
            waiting += [pool.submit(send(client, flag)) for _ in range(2)]
            wait_until(lambda: app.extensions["reports"]._held.total() == 3, "three reports had places")
            # Before the body is read. Reading a large one takes long.
            for path in (METRICS, BULK, REGISTER):
                message = refused(client.post(path, data=b"{"), 503, "UnavailableError")
                assert message == "Too many reports are waiting. Try again later."
        assert statuses([future.result() for future in waiting]) == {202: 3}
    assert send(client, flag)().status_code == 202
    assert yes(conn, flag) == 4


def test_reports_of_one_application_are_one_group_because_they_write_the_same_rows(
    app: Flask, client: Caller, conn: Connection, gate: Connection, flag: str, pool: ThreadPoolExecutor
) -> None:
    flags = {f"unknown-{number}": YES for number in range(900)} | {flag: YES | {"variants": {"disabled": 1}}}
    writer = app.extensions["reports"]
    with gate.transaction():
        gate.execute(LOCK)
        first = pool.submit(send(client, flag))
        wait_for(conn, [first])
        documents = [metrics(flags, instanceId=f"i-{number}") for number in range(8)]
        others = [pool.submit(client.post, METRICS, json=document) for document in documents]
        wait_until(lambda: waiting(writer) == 8, "all reports were in the next group")
    assert statuses([first.result(), *(future.result() for future in others)]) == {202: 9}
    assert yes(conn, flag) == 9
    assert value(conn, "SELECT count FROM usage_variants WHERE flag_name = %(f)s", {"f": flag}) == 8


def test_workers_do_not_wait_for_each_other_in_a_circle(
    make_app: Callable[..., Flask], url: str, world: World, conn: Connection, name: str
) -> None:
    flags = [f"{name}-{number}" for number in range(100)]
    for flag in flags:
        world.flag(flag)
    key = world.api_key("client").key
    # Few connections, and many reports of one token.
    workers = [Caller(make_app(url, DATABASE_POOL_SIZE=2, THREADS=32), key) for _ in range(3)]
    sent = random.Random(7)

    def call(number: int) -> Callable:
        some = {flag: YES for flag in sent.sample(flags, 60)} | {f"{name}-unknown-{number % 5}": YES}
        document = metrics(some, app=f"{name}-{sent.randrange(4)}", connectionId=f"c-{number % 7}")
        path = sent.choice([METRICS, METRICS, REGISTER])
        return lambda: workers[number % 3].post(path, json=document | {"strategies": [str(number)]})

    for _ in range(5):
        assert statuses(at_once(*map(call, range(30)))) == {202: 30}
    created = "SELECT count(*) FROM events WHERE type = 'application-created' AND data ->> 'appName' LIKE %(p)s || '%%'"
    assert value(conn, created, {"p": name}) == 4


def test_the_last_free_places_are_given_once(
    make_app: Callable[..., Flask], url: str, world: World, conn: Connection, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    room = "SELECT (SELECT count(*) FROM {}) + 3"
    for limit, table in (
        ("sql.client.applications.MAX_APPLICATIONS", "applications"),
        ("sql.client.applications.MAX_INSTANCES", "application_instances"),
        ("sql.client.reports.MAX_UNKNOWN", "unknown_flags"),
    ):
        monkeypatch.setattr(limit, value(conn, room.format(table)))  # pyright: ignore
    count = (
        "SELECT (SELECT count(*) FROM applications) + (SELECT count(*) FROM application_instances)"
        " + (SELECT count(*) FROM unknown_flags)"
    )
    before = value(conn, count)
    key = world.api_key("client").key
    workers = [Caller(make_app(url), key) for _ in range(4)]
    calls = [
        lambda number=number: workers[number % 4].post(
            METRICS, json=metrics({f"{name}-{number}": YES}, app=f"{name}-{number}")
        )
        for number in range(12)
    ]
    assert statuses(at_once(*calls)) == {202: 12}
    assert value(conn, count) == before + 9
