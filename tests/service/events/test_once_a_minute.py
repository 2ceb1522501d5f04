"""Events that a viewer could repeat without end: favourites and exports are recorded once a minute."""

from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from flask import Flask

from sql.database import Connection, connect, value
from tests.support.races import at_once, statuses
from tests.support.world import Caller, World

FLAG = "/api/admin/projects/default/features/f/favorites"
PROJECT = "/api/admin/projects/default/favorites"
EXPORT = "/api/admin/features-batch/export"


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


@pytest.mark.parametrize(
    ("path", "other", "kind", "table"),
    [
        (FLAG, FLAG.replace("/f/", "/g/"), "feature", "flag_favorites"),
        (PROJECT, PROJECT.replace("default", "other"), "project", "project_favorites"),
    ],
)
def test_favourite_is_recorded_once_a_minute(
    conn: Connection, world: World, victor: Caller, alice: Caller, path: str, other: str, kind: str, table: str
) -> None:
    world.project("other")
    world.flag("f")
    world.flag("g")
    since = world.last_event_id()
    both = [f"{kind}-favorited", f"{kind}-unfavorited"]
    for _ in range(3):
        assert victor.post(path).status_code == 200
        assert value(conn, f"SELECT count(*) FROM {table}") == 1  # pyright: ignore
        assert victor.delete(path).status_code == 200
        assert value(conn, f"SELECT count(*) FROM {table}") == 0  # pyright: ignore
    assert types(world, since) == both
    # Those of other users, flags and projects are events of their own.
    assert alice.post(path).status_code == victor.post(other).status_code == 200
    recorded = [*both, both[0], both[0]]
    for age, more in ((55, []), (61, both)):
        date_back(conn, since, age)
        victor.post(path)
        victor.delete(path)
        assert types(world, since) == [*recorded, *more]


def test_exports_are_recorded_once_a_minute_by_author_and_environment(
    conn: Connection, world: World, victor: Caller, alice: Caller
) -> None:
    world.flag("f")
    since = world.last_event_id()
    for _ in range(2):
        export(victor)
        export(victor, features=["f"])
    assert [event["data"]["features"] for event in world.events(since)] == [["f"]]
    # A key can have the name of a user, or of another key.
    key, *others = (world.api_key(name=name) for name in ("victor@example.org", "deploy", "deploy"))
    for caller in (alice, key, *others, key, *others):
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
        ("deploy", None, "development"),
        ("victor@example.org", None, "production"),
    ]
    date_back(conn, since, 61)
    export(victor)
    export(key)
    assert len(world.events(since)) == len(authors) + 2


@pytest.fixture(scope="module")
def committed(make_app: Callable[..., Flask], make_database: Callable[..., str]) -> Iterator[World]:
    """The service on a database of its own."""
    url = make_database()
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
    found = Counter(types(committed, since))
    assert found.pop("features-exported") == 1
    assert max(found.values()) == 1
