"""Events that a viewer could repeat without end: favourites and exports are recorded once a minute."""

from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from flask import Flask

from sql.database import Connection, connect, rows, value
from tests.support.races import at_once, statuses
from tests.support.world import Caller, World

FLAG = "/api/admin/projects/default/features/f/favorites"
PROJECT = "/api/admin/projects/default/favorites"
EXPORT = "/api/admin/features-batch/export"
FAVORITES = [(FLAG, "feature", "flag_favorites"), (PROJECT, "project", "project_favorites")]


def types(world: World, since: int) -> list[str]:
    """The types of the events since then."""
    return [event["type"] for event in world.events(since)]


def date_back(conn: Connection, since: int, seconds: int) -> None:
    """Let the events since then be this old."""
    conn.execute(
        "UPDATE events SET created_at = clock_timestamp() - make_interval(secs => %s) WHERE id > %s", [seconds, since]
    )


def export(caller: Caller, environment: str = "development", **selector: Any) -> None:
    """Export flags."""
    assert caller.post(EXPORT, json={"environment": environment} | (selector or {"features": []})).status_code == 200


@pytest.mark.parametrize(("path", "kind", "table"), FAVORITES)
def test_a_favourite_that_goes_on_and_off_is_recorded_once_a_minute(
    conn: Connection, world: World, victor: Caller, alice: Caller, path: str, kind: str, table: str
) -> None:
    world.flag("f")
    since = world.last_event_id()
    both = [f"{kind}-favorited", f"{kind}-unfavorited"]
    for _ in range(3):
        assert victor.post(path).status_code == 200
        assert value(conn, f"SELECT count(*) FROM {table}") == 1  # pyright: ignore
        assert victor.delete(path).status_code == 200
        assert value(conn, f"SELECT count(*) FROM {table}") == 0  # pyright: ignore
    assert types(world, since) == both
    assert alice.post(path).status_code == 200
    assert types(world, since) == [*both, both[0]]
    date_back(conn, since, 55)
    victor.post(path)
    victor.delete(path)
    assert types(world, since) == [*both, both[0]]
    date_back(conn, since, 61)
    victor.post(path)
    victor.delete(path)
    assert types(world, since) == [*both, both[0], *both]


def test_a_favourite_of_another_flag_or_project_is_an_event_of_its_own(world: World, victor: Caller) -> None:
    world.project("other")
    for name, project in (("f", "default"), ("g", "default"), ("h", "other")):
        world.flag(name, project)
    since = world.last_event_id()
    paths = [
        FLAG,
        FLAG.replace("/f/", "/g/"),
        "/api/admin/projects/other/features/h/favorites",
        PROJECT,
        "/api/admin/projects/other/favorites",
    ]
    for path in paths:
        assert victor.post(path).status_code == 200
    assert types(world, since) == ["feature-favorited"] * 3 + ["project-favorited"] * 2


def test_exports_are_recorded_once_a_minute_by_author_and_environment(
    conn: Connection, world: World, victor: Caller, alice: Caller
) -> None:
    world.flag("f")
    since = world.last_event_id()
    for _ in range(2):
        export(victor)
        export(victor, features=["f"])
    assert [event["data"]["features"] for event in world.events(since)] == [["f"]]
    # A key can have the name of a user.
    key, other = world.api_key(name="victor@example.org"), world.api_key(name="deploy")
    for caller in (alice, key, other, key, other):
        export(caller)
    export(key, "production")
    authors = [
        (event["created_by"], event["created_by_user_id"], event["data"]["environment"])
        for event in world.events(since)
    ]
    assert authors == [
        ("victor@example.org", victor.id, "development"),
        ("alice@example.org", alice.id, "development"),
        ("victor@example.org", None, "development"),
        ("deploy", None, "development"),
        ("victor@example.org", None, "production"),
    ]
    date_back(conn, since, 61)
    export(victor)
    export(key)
    assert len(world.events(since)) == len(authors) + 2


@pytest.fixture(scope="module")
def url(make_database: Callable[..., str]) -> str:
    """The database of the races."""
    return make_database()


@pytest.fixture(scope="module")
def committed(make_app: Callable[..., Flask], url: str) -> Iterator[World]:
    """The service on it."""
    with connect(url) as conn:
        yield World(make_app(url), conn)


@pytest.mark.parametrize("number", range(3))
def test_eight_at_once_write_one_event(committed: World, number: int) -> None:
    user = committed.user(f"Ada-{number}")
    committed.flag(f"f-{number}")
    assert user.get("/api/admin/projects").status_code == 200
    since = committed.last_event_id()
    path = FLAG.replace("/f/", f"/f-{number}/")
    calls = [lambda: user.post(EXPORT, json={"environment": "development", "features": []})] * 8
    calls += [lambda: user.post(path), lambda: user.delete(path)] * 4
    assert statuses(at_once(*calls)) == {200: 16}
    found = Counter(
        row["type"] for row in rows(committed.conn, "SELECT type FROM events WHERE id > %(id)s", {"id": since})
    )
    assert found.pop("features-exported") == 1
    assert max(found.values()) == 1
