"""What evaluations by OFREP leave in usage."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from flask import Flask

from rules import ofrep_usage
from sql.database import Connection, value
from tests.support import fixtures
from tests.support.evaluation import one_of, rollout, switched_on
from tests.support.reports import counts, hour, names, unknown, usage, variants
from tests.support.world import Caller, World

PATH = "/ofrep/v1/evaluate/flags"
HOUR = hour()
READ_TODAY = "SELECT count(*) FROM api_keys WHERE bulk_read_on = (now() AT TIME ZONE 'UTC')::date"


@pytest.fixture
def write(app: Flask, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[], None]]:
    """Write what the tests of this file have evaluated, as workers do every 10 seconds. All is of one hour."""
    ofrep_usage.init_app(app)
    monkeypatch.setattr(ofrep_usage, "hour_of", lambda *_: HOUR.isoformat())

    def write() -> None:
        with app.app_context():
            ofrep_usage.ofrep_usage().write()

    yield write
    ofrep_usage.init_app(app)


def evaluate(caller: Caller, name: str = "f", status: int = 200, **context: Any) -> None:
    response = caller.post(f"{PATH}/{name}", json={"context": context})
    assert response.status_code == status, response.text


def test_an_evaluation_is_one_use(world: World, conn: Connection, write: Callable[[], None]) -> None:
    switched_on(world, strategy=one_of("userId", "7"))
    caller = world.api_key("client")
    for key in ("7", "7", "8"):
        evaluate(caller, targetingKey=key, appName="shop")
    assert (usage(conn), names(conn)) == ([], [])
    write()
    write()
    assert usage(conn) == [("f", "development", "shop", HOUR, 2, 1)]
    assert names(conn) == ["shop"]
    assert value(conn, "SELECT count(*) FROM flag_sightings WHERE last_at = now()") == 1


def test_its_variant_counts(world: World, conn: Connection, write: Callable[[], None]) -> None:
    flag = switched_on(world)
    for name in ("a", "b"):
        fixtures.insert_variant(conn, flag, "development", None, name=name, weight=1000 if name == "b" else 0)
    evaluate(world.api_key("frontend"), targetingKey="7")
    write()
    assert variants(conn) == [("f", "b", 1)]


@pytest.mark.parametrize("app_name", [None, "", "n" * 256])
def test_an_application_without_a_name_is_ofrep(
    world: World, conn: Connection, write: Callable[[], None], app_name: str | None
) -> None:
    switched_on(world)
    evaluate(world.api_key("client"), appName=app_name)
    write()
    assert names(conn) == ["ofrep"]


def test_evaluations_without_a_result_count_as_off(world: World, conn: Connection, write: Callable[[], None]) -> None:
    switched_on(world, strategy=rollout(50, "userId"))
    world.flag("gone", archived_at="now")
    caller = world.api_key("client")
    evaluate(caller, "f", 400)
    evaluate(caller, "gone", 404)
    evaluate(caller, "mistyped", 404)
    evaluate(caller, "n" * 101, 404)
    write()
    assert counts(conn) == {"f": (0, 1), "gone": (0, 1)}
    assert unknown(conn) == [("mistyped", "ofrep", "development")]


def test_a_bulk_read_and_its_304_are_no_use_but_their_day_is_kept(
    world: World, conn: Connection, write: Callable[[], None]
) -> None:
    switched_on(world)
    caller = world.api_key("frontend")
    headers = {}
    for status in (200, 304):
        conn.execute("UPDATE api_keys SET bulk_read_on = '2026-01-01' WHERE kind = 'frontend'")
        response = caller.post(PATH, json={}, headers=headers)
        assert response.status_code == status
        headers = {"If-None-Match": response.headers["ETag"]}
        write()
        assert value(conn, READ_TODAY) == 1
    assert (usage(conn), names(conn)) == ([], [])


def test_usage_waits_while_it_cannot_be_written(
    world: World, conn: Connection, write: Callable[[], None], caplog: pytest.LogCaptureFixture
) -> None:
    switched_on(world)
    evaluate(world.api_key("client"))
    world.api_key("frontend").post(PATH, json={})
    for table in ("api_keys", "usage_metrics"):
        conn.execute(f"ALTER TABLE {table} RENAME TO away")  # pyright: ignore
        write()
        write()
        conn.execute(f"ALTER TABLE away RENAME TO {table}")  # pyright: ignore
    assert [record.getMessage() for record in caplog.records] == [
        "Usage of OFREP waits, because it cannot be written: UndefinedTable"
    ]
    write()
    assert counts(conn) == {"f": (1, 0)}
    assert value(conn, READ_TODAY) == 1


def test_a_token_does_not_wait_for_another(world: World, conn: Connection, write: Callable[[], None]) -> None:
    switched_on(world)
    evaluate(world.api_key("frontend"), appName="web")
    evaluate(world.api_key("client"), appName="shop")
    # Only frontend tokens need this table.
    conn.execute("ALTER TABLE frontend_additions RENAME TO away")
    write()
    assert names(conn) == ["shop"]
    conn.execute("ALTER TABLE away RENAME TO frontend_additions")
    write()
    assert names(conn) == ["shop", "web"]


def test_a_worker_keeps_a_number_of_different_counts(
    world: World, conn: Connection, write: Callable[[], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ofrep_usage, "MAX_ENTRIES", 2)
    switched_on(world)
    caller = world.api_key("client")
    for app in ("a", "b", "c", "a"):
        evaluate(caller, appName=app)
    evaluate(world.api_key("client"), appName="d")
    write()
    assert [(row[2], row[4]) for row in usage(conn)] == [("a", 2), ("b", 1), ("d", 1)]
