"""How reports wait for each other: those of one token do not hold up the reports of others."""

import math
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from flask import Flask

from rules.report_writer import FEW_ROWS, GROUP_ROWS
from sql.database import Connection, rows
from tests.support.races import statuses, wait_for
from tests.support.report_races import LOCK, YES, send, waiting, yes
from tests.support.reports import METRICS, metrics
from tests.support.service import wait_until
from tests.support.world import Caller, World, refused


def test_a_token_has_one_waiting_group_besides_the_open_one(
    app: Flask,
    client: Caller,
    world: World,
    conn: Connection,
    gate: Connection,
    flag: str,
    pool: ThreadPoolExecutor,
) -> None:
    flags = {f"unknown-{number}": YES for number in range(1_200)}
    writer = app.extensions["reports"]
    other = world.api_key("client")
    assert other.post(METRICS, json={}).status_code == 202
    with gate.transaction():
        gate.execute(LOCK)
        reports = [pool.submit(send(client, flag))]
        wait_for(conn, reports)

        def report(caller: Caller, document: dict) -> None:
            reports.append(pool.submit(caller.post, METRICS, json=document))

        for number, is_there in enumerate(
            [
                lambda: len(writer._open.reports) == 1,
                lambda: [len(group.reports) for group in writer._own.values()] == [1],
                # A third one would have to be in another group, in front of the reports of others.
                lambda: len(writer._lock._waiters) == 1,
            ]
        ):
            report(client, metrics(flags | {flag: YES}, app=f"{flag}-{number}"))
            wait_until(is_there, f"report {number} was in its place")
        # That of another instance adds few rows, so it joins. Those of others join the open group.
        report(client, metrics(flags | {flag: YES}, app=f"{flag}-1", instanceId="i-2"))
        wait_until(lambda: [len(group.reports) for group in writer._own.values()] == [2], "it joined the group")
        report(other, metrics({flag: YES}, app=f"{flag}-other"))
        wait_until(lambda: waiting(writer) == 2, "it joined the open group")
    assert statuses([future.result() for future in reports]) == {202: 6}
    assert yes(conn, flag) == 6
    order = """
        SELECT app_name FROM usage_metrics WHERE flag_name = %(f)s ORDER BY xmin::text::bigint, app_name COLLATE "C"
    """
    found = [row["app_name"].removeprefix(flag) for row in rows(conn, order, {"f": flag})]
    assert found[:3] == ["shop", "-0", "-other"]


def test_the_open_group_is_written_before_a_waiting_large_one(
    app: Flask, client: Caller, conn: Connection, gate: Connection, flag: str, pool: ThreadPoolExecutor
) -> None:
    writer = app.extensions["reports"]
    large = {f"unknown-{number}": YES for number in range(GROUP_ROWS)} | {flag: YES}
    with gate.transaction():
        gate.execute(LOCK)
        reports = [pool.submit(send(client, flag))]
        wait_for(conn, reports)
        reports.append(pool.submit(client.post, METRICS, json=metrics(large, app=f"{flag}-large")))
        wait_until(lambda: writer._own, "the large one waited first")
        reports.append(pool.submit(send(client, flag, f"{flag}-small")))
        wait_until(lambda: waiting(writer) == 1, "the small one waited")
    assert statuses([future.result() for future in reports]) == {202: 3}
    order = "SELECT app_name FROM usage_metrics WHERE flag_name = %(f)s ORDER BY xmin::text::bigint"
    assert [row["app_name"] for row in rows(conn, order, {"f": flag})] == ["shop", f"{flag}-small", f"{flag}-large"]


def test_frontend_tokens_get_half_of_the_places_and_one_a_quarter(
    make_app: Callable[..., Flask], url: str, world: World, conn: Connection, gate: Connection, flag: str
) -> None:
    app = make_app(url, THREADS=12, DATABASE_POOL_SIZE=4)
    pages = [Caller(app, world.api_key("frontend").key) for _ in range(3)]
    client, writer = Caller(app, world.api_key("client").key), app.extensions["reports"]
    path, document = "/api/frontend/client/metrics", metrics({flag: YES})
    assert [page.post(path, json={}).status_code for page in pages] == [200] * 3
    assert client.post(METRICS, json={}).status_code == 202
    with ThreadPoolExecutor(5) as pool:
        with gate.transaction():
            gate.execute(LOCK)
            reports = [pool.submit(pages[0].post, path, json=document)]
            wait_for(conn, reports)
            for page, number in ((pages[0], 1), (pages[1], 2), (pages[1], 3)):
                reports.append(pool.submit(page.post, path, json=document))
                wait_until(lambda number=number: waiting(writer) == number, "it waited")
            # Each of the first two has a quarter of 8 places.
            for page in pages:
                message = refused(page.post(path, json=document), 503, "UnavailableError")
                assert message == "Too many reports are waiting. Try again later."
            reports.append(pool.submit(send(client, flag)))
            wait_until(lambda: waiting(writer) == 4, "that of a server waited")
        assert statuses([future.result() for future in reports]) == {200: 4, 202: 1}
    assert yes(conn, flag) == 5
    assert (writer._public, writer._held.total()) == (0, 0)


def test_large_reports_of_a_frontend_token_rest(
    make_app: Callable[..., Flask], url: str, world: World, conn: Connection, flag: str
) -> None:
    app = make_app(url, WAIT_SECONDS=1)
    writer, token = app.extensions["reports"], world.api_key("frontend")
    page, other = Caller(app, token.key), Caller(app, world.api_key("frontend").key)
    path = "/api/frontend/client/metrics"
    large = metrics({f"unknown-{number}": YES for number in range(FEW_ROWS)} | {flag: YES})
    assert page.post(path, json=large).status_code == 200
    assert len(writer._rests) == 1
    writer._rests = dict.fromkeys(writer._rests, math.inf)
    assert refused(page.post(path, json=large), 503, "UnavailableError").startswith("Too many reports of this token")
    # Small reports of the token, and those of others, do not rest.
    assert [page.post(path, json=metrics({flag: YES})).status_code, other.post(path, json=large).status_code] == [
        200,
        200,
    ]
    writer._rests = {}
    assert page.post(path, json=large).status_code == 200
    assert yes(conn, flag) == 4
