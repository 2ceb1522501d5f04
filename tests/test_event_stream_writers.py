"""A stream of events while others write: no event is lost, wherever it was written while the stream passed."""

import json
import random
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import pytest
from flask import Flask
from flask.testing import FlaskClient
from psycopg import Rollback
from werkzeug.test import TestResponse

from sql import Connection, connect, event_stream, events
from sql.bootstrap import System
from tests.conftest import ADMIN_KEY
from tests.test_search_events import PATH

HEADERS = {"Accept": "application/x-ndjson", "Authorization": ADMIN_KEY}


@pytest.fixture
def app(empty_log: str, make_app: Callable[..., Flask]) -> Flask:
    """The service on it."""
    return make_app(empty_log)


@pytest.fixture
def client(app: Flask) -> FlaskClient:
    """Somebody who reads the log."""
    return app.test_client()


@pytest.fixture
def conn(empty_log: str) -> Iterator[Connection]:
    """Somebody who writes, each event for itself."""
    with connect(empty_log) as conn:
        yield conn


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Streams that wait for nobody."""
    monkeypatch.setattr(event_stream, "PATIENCE", 0.0)


def write(conn: Connection, count: int = 1, **fields: Any) -> None:
    """Write events."""
    for _ in range(count):
        events.record(conn, "tag-created", System(), **fields)


@contextmanager
def opened(client: FlaskClient, **query: Any) -> Iterator[tuple[TestResponse, Iterator[bytes]]]:
    """A stream that has begun, and its batches."""
    response = client.get(PATH, query_string=query, headers=HEADERS)
    assert response.status_code == 200
    try:
        yield response, iter(response.response)
    finally:
        response.close()


def ids(text: bytes) -> list[int]:
    """The ids of lines."""
    return [json.loads(line)["id"] for line in text.splitlines()]


def given(client: FlaskClient, **query: Any) -> tuple[list[int], bool]:
    """The ids that a stream gives, and whether it came to its end."""
    text = b""
    try:
        with opened(client, **query) as (_, batches):
            for batch in batches:
                text += batch
    except ConnectionResetError:
        return ids(text), False
    return ids(text), True


@pytest.mark.usefixtures("impatient")
def test_what_an_open_transaction_holds_is_not_passed(client: FlaskClient, conn: Connection, empty_log: str) -> None:
    with connect(empty_log) as other:
        with other.transaction():
            write(conn, 2)
            write(other)
            write(conn, 2)
            # It was there first, and so comes before the one that is seen already.
            assert given(client) == ([1, 2], False)
            assert given(client, after=2) == ([], False)
            # What is asked for lies before it.
            assert given(client, limit=2) == ([1, 2], True)
        assert given(client, after=2) == ([3, 4, 5], True)
        assert given(client) == ([1, 2, 3, 4, 5], True)


@pytest.mark.usefixtures("impatient")
def test_it_is_not_passed_either_when_no_filter_matches_what_is_there(client: FlaskClient, conn: Connection, empty_log: str) -> None:
    with connect(empty_log) as other:
        with other.transaction():
            write(conn, project="default")
            write(other, project="default")
            write(conn, 2)
            assert given(client, project="IS:default") == ([1], False)
        assert given(client, project="IS:default", after=1) == ([2], True)


@pytest.mark.usefixtures("impatient")
def test_an_older_transaction_with_a_younger_event_hides_nothing(client: FlaskClient, empty_log: str) -> None:
    # By their transactions the second event is the older one: a filter by xmin would pass the first.
    with connect(empty_log) as older, connect(empty_log) as younger:
        with younger.transaction():
            with older.transaction():
                older.execute("SELECT pg_current_xact_id()")
                younger.execute("SELECT pg_current_xact_id()")
                write(younger)
                write(older)
            assert given(client) == ([], False)
        assert given(client) == ([1, 2], True)


def test_a_stream_waits_for_a_transaction_that_ends_soon(client: FlaskClient, conn: Connection, empty_log: str) -> None:
    with connect(empty_log) as other, ThreadPoolExecutor(1) as pool:
        other.execute("BEGIN")
        write(conn)
        write(other)
        write(conn)
        with opened(client) as (_, batches):
            assert ids(next(batches)) == [1]
            pool.submit(other.execute, "COMMIT")
            assert ids(b"".join(batches)) == [2, 3]


@pytest.mark.usefixtures("impatient")
def test_an_id_that_nobody_holds_is_passed(client: FlaskClient, conn: Connection, empty_log: str) -> None:
    write(conn)
    with conn.transaction():
        write(conn)
        raise Rollback
    write(conn)
    assert given(client) == ([1, 3], True)
    # Nor does anybody wait for who does something else, or writes what comes later.
    with connect(empty_log) as other, other.transaction():
        other.execute("SELECT count(*) FROM events")
        other.execute("UPDATE users SET name = name")
        assert given(client) == ([1, 3], True)
    with connect(empty_log) as other, other.transaction():
        write(other)
        assert given(client, after=2) == ([3], True)


@pytest.mark.usefixtures("impatient")
def test_the_log_line_says_that_a_stream_was_held_up(client: FlaskClient, conn: Connection, empty_log: str, capsys: Any) -> None:
    with connect(empty_log) as other, other.transaction():
        write(conn)
        write(other)
        write(conn)
        capsys.readouterr()
        assert given(client) == ([1], False)
    line = json.loads(capsys.readouterr().out)
    assert (line["status"], line["events"], line["cut"]) == (200, 1, "held")


def test_a_statement_that_fails_cuts_the_stream_and_the_log_line_says_where(
    client: FlaskClient, conn: Connection, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    write(conn, 2, data={"secret": "not for this log"})
    monkeypatch.setattr(event_stream, "MOST_LINES", 1)
    with opened(client, query="secret") as (_, batches):
        assert ids(next(batches)) == [1]
        conn.execute("ALTER TABLE events RENAME TO elsewhere")
        with pytest.raises(ConnectionResetError):
            next(batches)
    line = json.loads(capsys.readouterr().out)
    assert (line["status"], line["events"], line["cut"]) == (200, 1, "failed")
    assert line["error"].startswith("psycopg.errors.UndefinedTable (SQLSTATE 42P01)")
    assert "not for this log" not in str(line)


def test_only_a_quarter_of_the_threads_may_stream(empty_log: str, conn: Connection, make_app: Callable[..., Flask]) -> None:
    write(conn)
    client = make_app(empty_log, THREADS=8).test_client()
    with opened(client):
        with opened(client):
            refusal = client.get(PATH, headers=HEADERS)
            assert (refusal.status_code, refusal.json["name"], refusal.headers["Retry-After"]) == (503, "UnavailableError", "1")
            assert client.head(PATH, headers=HEADERS).status_code == 200
        assert given(client) == ([1], True)


def test_large_events_come_in_small_batches(client: FlaskClient, conn: Connection, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(40):
        write(conn, data={"much": "x" * 100_000, "number": number})
    monkeypatch.setattr(event_stream, "MOST_BYTES", 250_000)
    with opened(client) as (_, batches):
        found = list(batches)
    # The statement is given up as soon as there is enough, and the connection goes on to serve.
    assert [len(ids(batch)) for batch in found] == [3] * 13 + [1]
    assert ids(b"".join(found)) == list(range(1, 41))


@pytest.mark.slow
def test_a_reader_who_follows_the_log_gets_every_event_once(client: FlaskClient, empty_log: str) -> None:
    def write_for_a_while(seed: int) -> None:
        chance = random.Random(seed)
        with connect(empty_log) as conn:
            for _ in range(150):
                with conn.transaction():
                    for _ in range(chance.randint(1, 4)):
                        write(conn)
                        conn.execute("SELECT pg_sleep(%s)", [chance.choice([0, 0, 0.001, 0.02])])
                    if chance.random() < 0.2:
                        raise Rollback

    followed: list[int] = []
    with ThreadPoolExecutor(6) as pool:
        writing = [pool.submit(write_for_a_while, seed) for seed in range(6)]
        are_done = False
        while not are_done:
            are_done = all(one.done() for one in writing)
            found, is_whole = given(client, after=followed[-1] if followed else 0)
            assert is_whole
            followed += found
        for one in writing:
            one.result()
    with connect(empty_log) as conn:
        written = [row["id"] for row in conn.execute("SELECT id FROM events ORDER BY id")]
    assert len(written) > 1000
    assert followed == written
