"""A stream of events while others write: no event is lost, in whatever order the writers commit."""

import json
import random
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from typing import Any

import pytest
from flask import Flask
from flask.testing import FlaskClient
from psycopg import Rollback
from werkzeug.test import TestResponse

from rules.access import SYSTEM
from sql import event_stream, events
from sql.database import Connection, connect
from sql.events import Event
from sql.tokens import api_tokens
from tests.support.event_search import PATH
from tests.support.instance import ADMIN_KEY
from tests.support.service import wait_until

HEADERS = {"Accept": "application/x-ndjson", "Authorization": ADMIN_KEY}
HELD_UP = (
    "An open transaction in PostgreSQL can still write events with lower ids than the newest event. Try "
    "again after it has ended."
)


@pytest.fixture
def client(empty_log: str, make_app: Callable[..., Flask]) -> FlaskClient:
    """A reader of the log. Other tests on the same server may have transactions open, which are waited for."""
    return make_app(empty_log, WAIT_SECONDS=30).test_client()


@pytest.fixture
def impatient(empty_log: str, make_app: Callable[..., Flask]) -> FlaskClient:
    """The same reader, at a service that waits half a second for open transactions, with one stream at a time."""
    return make_app(empty_log, WAIT_SECONDS=0.5, THREADS=4).test_client()


@pytest.fixture
def conn(empty_log: str) -> Iterator[Connection]:
    """A writer that commits each event."""
    with connect(empty_log) as conn:
        yield conn


def write(conn: Connection, count: int = 1, **fields: Any) -> None:
    """Write events."""
    for _ in range(count):
        events.record(conn, Event(fields.get("type", "tag-created"), SYSTEM, data=fields.get("data")))


@contextmanager
def opened(client: FlaskClient, **query: Any) -> Iterator[tuple[TestResponse, Iterator[bytes]]]:
    """A stream that has begun, and its batches."""
    response = client.get(PATH, query_string=query, headers=HEADERS)
    assert response.status_code == 200, response.text
    try:
        yield response, iter(response.response)
    finally:
        response.close()


def ids(text: bytes) -> list[int]:
    """The ids of lines."""
    return [json.loads(line)["id"] for line in text.splitlines()]


def given(client: FlaskClient, **query: Any) -> list[int]:
    """The ids of a whole stream."""
    with opened(client, **query) as (_, batches):
        return ids(b"".join(batches))


def is_held_up(client: FlaskClient, **query: Any) -> bool:
    """Whether a stream is refused because of an open transaction."""
    response = client.get(PATH, query_string=query, headers=HEADERS)
    response.close()
    if response.status_code == 200:
        return False
    assert (response.status_code, response.json["name"], response.json["message"]) == (503, "UnavailableError", HELD_UP)
    assert response.headers["Retry-After"] == "1"
    return True


def test_event_that_is_not_committed_is_waited_for(
    client: FlaskClient, impatient: FlaskClient, conn: Connection, empty_log: str
) -> None:
    with connect(empty_log) as other:
        with other.transaction():
            write(conn, 2)
            write(other)
            write(conn, 2)
            assert is_held_up(impatient)
            assert is_held_up(impatient, after=2)
            # A reader of existing events does not wait for later ones.
            assert given(impatient, after=5) == []
        assert given(client, after=2) == [3, 4, 5]
        assert given(client) == [1, 2, 3, 4, 5]


def test_writers_that_commit_in_reverse_order_are_all_read(
    client: FlaskClient, impatient: FlaskClient, empty_log: str
) -> None:
    writers = [connect(empty_log) for _ in range(4)]
    for writer in writers:
        writer.execute("BEGIN")
        write(writer)
    followed: list[int] = []
    for writer in reversed(writers):
        # Nothing is given as long as an event with a lower id can follow.
        assert followed == []
        writer.execute("COMMIT")
        if writer is not writers[0]:
            assert is_held_up(impatient)
        else:
            followed += given(client)
        writer.close()
    assert followed == [1, 2, 3, 4]


def test_older_transaction_with_a_later_event_hides_nothing(
    client: FlaskClient, impatient: FlaskClient, conn: Connection, empty_log: str
) -> None:
    # The event with the higher id has the older transaction, which is the newest one that has ended: neither xmin of
    # the rows nor pg_snapshot_xmax() shows that an event with a lower id is to come. (The first request is a
    # transaction too: it notes the key's use.)
    assert given(client) == []
    with connect(empty_log) as older, connect(empty_log) as younger:
        with younger.transaction():
            with older.transaction():
                older.execute("SELECT pg_current_xact_id()")
                younger.execute("SELECT pg_current_xact_id()")
                write(younger)
                write(older)
            assert is_held_up(impatient)
        assert given(client) == [1, 2]
    swapped = "SELECT (xmin::text::bigint > lead(xmin::text::bigint) OVER (ORDER BY id)) AS swapped FROM events"
    assert conn.execute(swapped).fetchone() == {"swapped": True}


def test_writer_has_a_transaction_id_before_its_event_has_an_id(
    client: FlaskClient, impatient: FlaskClient, conn: Connection, empty_log: str
) -> None:
    # While a row trigger waits, the event has its id, and the row is not written yet. It is not the first event,
    # because PostgreSQL logs every 32nd id of a sequence, which takes a transaction id.
    write(conn)
    conn.execute(
        "CREATE FUNCTION wait() RETURNS trigger LANGUAGE plpgsql"
        " AS $$BEGIN PERFORM pg_advisory_xact_lock(1); RETURN new; END$$;"
        "CREATE TRIGGER wait BEFORE INSERT ON events FOR EACH ROW"
        " WHEN (new.type = 'tag-deleted') EXECUTE FUNCTION wait()"
    )
    with connect(empty_log) as other, connect(empty_log) as slow, ThreadPoolExecutor(1) as pool:
        with other.transaction():
            other.execute("SELECT pg_advisory_xact_lock(1)")
            writing = pool.submit(write, slow, type="tag-deleted")
            waiting = "SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event = 'advisory'"
            wait_until(lambda: conn.execute(waiting).fetchall(), "the writer waited")
            write(conn)
            assert is_held_up(impatient)
        writing.result()
    assert given(client) == [1, 2, 3]


def test_stream_waits_for_a_transaction_that_ends_soon(client: FlaskClient, conn: Connection, empty_log: str) -> None:
    looked = "SELECT FROM pg_stat_activity WHERE datname = current_database() AND query = %s"
    with connect(empty_log) as other, ThreadPoolExecutor(1) as pool:
        with other.transaction():
            write(other)
            write(conn)
            reading = pool.submit(given, client)
            sent = event_stream.HAVE_ENDED.replace("%(next_transaction)s", "$1")
            wait_until(lambda: conn.execute(looked, [sent]).fetchall(), "the stream had looked at the transaction")
        assert reading.result() == [1, 2]


def test_ids_of_changes_that_were_rolled_back_hold_nothing_up(
    client: FlaskClient, conn: Connection, empty_log: str
) -> None:
    write(conn)
    with conn.transaction():
        write(conn)
        raise Rollback
    write(conn)
    assert given(client) == [1, 3]
    # A transaction that only reads has no transaction id, however old it is.
    with connect(empty_log) as other, other.transaction():
        other.execute("SELECT count(*) FROM events")
        write(conn)
        assert given(client) == [1, 3, 4]


def test_writing_transaction_in_any_database_delays_a_stream(
    client: FlaskClient, impatient: FlaskClient, conn: Connection, shared_url: str, capsys: Any
) -> None:
    write(conn)
    with connect(shared_url) as foreign, foreign.transaction():
        foreign.execute("SELECT pg_current_xact_id()")
        capsys.readouterr()
        assert is_held_up(impatient)
        line = json.loads(capsys.readouterr().out)
        assert (line["status"], "sql.event_stream.OpenTransaction" in line["error"]) == (503, True)
    assert given(client) == [1]


def test_failing_statement_cuts_the_stream_and_is_logged(
    client: FlaskClient, conn: Connection, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    write(conn, 2, data={"secret": "not for this log"})
    monkeypatch.setattr(event_stream, "MAX_LINES", 1)
    with opened(client, query="secret") as (_, batches):
        assert ids(next(batches)) == [1]
        conn.execute("ALTER TABLE events RENAME TO elsewhere")
        with pytest.raises(ConnectionResetError):
            next(batches)
    line = json.loads(capsys.readouterr().out)
    assert (line["status"], line["events"], line["cut"]) == (200, 1, "failed")
    assert line["error"].startswith("psycopg.errors.UndefinedTable (SQLSTATE 42P01)")
    assert "not for this log" not in str(line)


def test_quarter_of_the_threads_at_most_may_stream(
    empty_log: str, conn: Connection, make_app: Callable[..., Flask]
) -> None:
    write(conn)
    client = make_app(empty_log, THREADS=8, WAIT_SECONDS=30).test_client()
    # One caller has at most half of the streams: these are three callers.
    second, third = (HEADERS | {"Authorization": f"*:*.the-key-of-caller-{name}"} for name in ("two", "three"))
    for headers in (second, third):
        api_tokens.insert(conn, headers["Authorization"], name="a caller")
    with opened(client):
        with closing(client.get(PATH, headers=second)) as other:
            assert other.status_code == 200
            refusal = client.get(PATH, headers=third)
            found = (refusal.status_code, refusal.json["name"], refusal.headers["Retry-After"])
            assert found == (503, "UnavailableError", "1")
            assert client.head(PATH, headers=HEADERS).status_code == 200
        with closing(client.get(PATH, headers=third)) as other:
            assert other.status_code == 200


def test_large_events_come_in_small_batches(
    client: FlaskClient, conn: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(40):
        write(conn, data={"much": "x" * 100_000, "number": number})
    monkeypatch.setattr(event_stream, "MAX_BYTES", 250_000)
    with opened(client) as (_, batches):
        found = list(batches)
    # The statement is cancelled as soon as there is enough, and the connection can still be used.
    assert [len(ids(batch)) for batch in found] == [3] * 13 + [1]
    assert ids(b"".join(found)) == list(range(1, 41))


@pytest.mark.slow
def test_reader_that_follows_the_log_gets_every_event_once(client: FlaskClient, empty_log: str) -> None:
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
            followed += given(client, after=followed[-1] if followed else 0)
        for one in writing:
            one.result()
    with connect(empty_log) as conn:
        written = [row["id"] for row in conn.execute("SELECT id FROM events ORDER BY id")]
    assert len(written) > 1000
    assert followed == written
