"""The worker that serves clients: who is too slow for it, what it keeps for them, and what it says of its own failures."""

import json
import socket
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import ExitStack
from threading import Event, Thread
from typing import Any

import pytest
from gunicorn.config import Config
from gunicorn.glogging import Logger

import worker
from blueprints import stopping
from sql.threads import Threads
from worker import MOST_KEPT, Client, Connection, Worker

# More than the kernel takes for a client that reads nothing.
MUCH = b"x" * (4 << 20)


@pytest.fixture
def ours() -> Iterator[Worker]:
    """A worker that has a second for each client."""
    config = Config()
    made = Worker(0, 0, [], None, 0, config, Logger(config))
    made.patience = 1.0
    yield made
    made.tmp.close()


@pytest.fixture
def other(ours: Worker) -> Iterator[tuple[Client, socket.socket]]:
    """A client as the worker has it, and his own end."""
    here, there = socket.socketpair()
    client = Client(ours, here)
    yield client, there
    client.give_up()
    client.close()
    there.close()
    assert ours.kept == 0


def seconds_until_given_up(client: Client, *data: bytes) -> float:
    """How long the client was waited for: until it takes this, or sends something."""
    began = time.monotonic()
    with pytest.raises(ConnectionResetError):
        client.sendall(*data) if data else client.recv(10)
    return time.monotonic() - began


def test_who_sends_nothing_is_given_up(other):
    client, _ = other
    client.begin()
    assert 1 <= seconds_until_given_up(client) < 10


def test_who_sends_byte_by_byte_is_given_up_as_soon(other):
    client, there = other
    client.begin()
    began = time.monotonic()
    with pytest.raises(ConnectionResetError):
        drip(client, there)
    assert 1 <= time.monotonic() - began < 10


def drip(client: Client, there: socket.socket) -> None:
    """A byte comes now and then."""
    while True:
        there.sendall(b"x")
        assert client.recv(10) == b"x"
        time.sleep(0.05)


def test_who_sends_much_has_more_time(other, monkeypatch):
    monkeypatch.setattr(worker, "LEAST_RATE", 1000)
    client, there = other
    client.begin()
    there.sendall(b"x" * 1000)
    assert len(client.recv(1000)) == 1000
    assert 1.9 <= seconds_until_given_up(client) < 10


def test_who_takes_nothing_is_given_up(other, monkeypatch):
    monkeypatch.setattr(worker, "LEAST_RATE", len(MUCH))
    client, _ = other
    assert 2 <= seconds_until_given_up(client, MUCH) < 10


def test_who_takes_it_slowly_gets_all_of_it(ours, other):
    client, there = other
    sending = Thread(target=client.sendall, args=(MUCH,))
    sending.start()
    left = len(MUCH)
    assert there.recv(1)
    while left > 1:
        left -= len(there.recv(100_000))
        assert ours.kept <= len(MUCH)
    sending.join()
    assert ours.kept == 0


def test_slow_clients_have_little_time_while_much_is_kept_for_others(ours, other, monkeypatch):
    monkeypatch.setattr(worker, "HURRY", 0.1)
    monkeypatch.setattr(worker, "HURRIED_RATE", 100 * len(MUCH))
    ours.patience = 1000
    client, _ = other
    ours.kept = MOST_KEPT + 1
    assert seconds_until_given_up(client, MUCH) < 10
    client.begin()
    assert seconds_until_given_up(client) < 10
    ours.kept = 0


def test_slow_clients_have_little_time_when_the_process_stops(ours, other, monkeypatch):
    monkeypatch.setattr(stopping, "PATIENCE", 0.1)
    monkeypatch.setattr(stopping, "_began", time.monotonic())
    ours.patience = 1000
    client, _ = other
    assert seconds_until_given_up(client) < 10
    assert seconds_until_given_up(client, MUCH) < 10


def answer_briefly(environ: dict[str, Any], start_response: Callable[..., Any]) -> list[bytes]:
    """An application that takes a body in."""
    environ["wsgi.input"].read()
    start_response("204 No Content", [])
    return []


def test_nothing_is_kept_for_a_client_between_two_requests(ours, other):
    ours.wsgi = answer_briefly
    client, there = other
    conn = Connection(ours.cfg, client, ("", 1), ("", 2))
    conn.data_ready = True
    for _ in range(2):
        there.sendall(b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n" + b"x" * 1000)
        assert ours.handle(conn) is True
        assert ours.kept == 0
        assert there.recv(1000).startswith(b"HTTP/1.1 204 No Content\r\n")


def answer_at_once(_environ: dict[str, Any], start_response: Callable[..., Any]) -> list[bytes]:
    """An application that takes no body in."""
    start_response("204 No Content", [])
    return []


def test_who_still_sends_when_he_is_answered_is_not_cut_off(ours, other):
    ours.wsgi = answer_at_once
    client, there = other
    with ThreadPoolExecutor(1) as pool:
        there.sendall(b"POST / HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: 1000\r\n\r\n")
        handling = pool.submit(ours.handle, Connection(ours.cfg, client, ("", 1), ("", 2)))
        assert b"".join(iter(lambda: there.recv(1000), b"")).startswith(b"HTTP/1.1 204 No Content\r\n")
        assert wait([handling], timeout=0.2).not_done
        there.sendall(b"x" * 1000)
        there.shutdown(socket.SHUT_WR)
        assert handling.result(10) is False


def test_who_does_not_hang_up_is_not_waited_for_long(ours, other, monkeypatch):
    ours.patience = 1000
    client, there = other
    monkeypatch.setattr(worker, "LINGER", 0.1)
    began = time.monotonic()
    client.linger()
    assert 0.1 <= time.monotonic() - began < 10
    assert (client.fileno(), there.recv(10)) == (-1, b"")


def test_of_who_sends_for_ever_little_is_read(ours, monkeypatch):
    ours.patience = 1000
    monkeypatch.setattr(worker, "LINGER", 1000)
    here, there = socket.socketpair()
    with there:
        there.sendall(b"x" * worker.LAST_BYTES)
        Client(ours, here).linger()
    assert ours.kept == 0


def test_nobody_waits_in_the_main_thread_for_a_client_to_hang_up(ours, other):
    client, _ = other
    began = time.monotonic()
    Connection(ours.cfg, client, ("", 1), ("", 2)).close(graceful=True)
    assert time.monotonic() - began < 1
    assert client.fileno() == -1


def test_who_finds_no_thread_of_his_own_waits_for_one_that_gets_free():
    with Threads(100) as pool, ExitStack() as stack:
        go_on = Event()
        stack.callback(go_on.set)
        first = pool.submit(go_on.wait)
        stack.callback(threading.stack_size, threading.stack_size())
        # No machine has the memory for another one.
        threading.stack_size(1 << 60)
        others = [pool.submit(int, text) for text in "12"]
        assert not any(one.done() for one in others)
        go_on.set()
        assert [one.result(10) for one in (first, *others)] == [True, 1, 2]


@pytest.fixture
def door(ours: Worker) -> Iterator[socket.socket]:
    """The port of the worker, at which it is ready to take clients on."""
    ours.wsgi = answer_briefly
    ours.tpool = ours.get_thread_pool()
    ours.method_queue.init()
    with socket.create_server(("127.0.0.1", 0), backlog=100) as listener:
        listener.setblocking(False)
        ours.sockets = [listener]
        yield listener
    ours.tpool.shutdown()
    ours.method_queue.close()


def test_who_connects_and_says_nothing_has_no_more_time_than_others(ours, door, monkeypatch):
    monkeypatch.setattr(worker, "LINGER", 10.0)
    with socket.create_connection(door.getsockname(), timeout=10) as client:
        began = time.monotonic()
        assert ours.accept(door)
        ours.tpool.shutdown()
        assert 1 <= time.monotonic() - began < 4
        ours.method_queue.run_callbacks(None)
        assert client.recv(10) == b""


def test_who_stops_takes_on_as_many_as_the_kernel_keeps_and_no_more(ours, door):
    ours.cfg.set("backlog", 2)
    with ExitStack() as stack:
        clients = [stack.enter_context(socket.create_connection(door.getsockname(), timeout=10)) for _ in range(5)]
        for client in clients:
            client.sendall(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
        ours.alive = False
        ours.set_accept_enabled(False)
        assert [answered(client) for client in clients] == [True] * 3 + [False] * 2


def answered(client: socket.socket) -> bool:
    """Whether there is an answer, not a reset."""
    try:
        return client.recv(1000).startswith(b"HTTP/1.1 204 No Content\r\n")
    except ConnectionResetError:
        return False


def test_a_failure_outside_the_application_is_told_with_where_it_came_from(ours, other, capsys):
    client, there = other
    broken = ValueError("a secret that the message quotes")
    try:
        raise broken
    except ValueError as error:
        ours.handle_error(None, client, ("", 0), error)
    head, _, body = there.recv(10_000).decode().partition("\r\n\r\n")
    assert head.startswith("HTTP/1.1 500 Internal Server Error\r\nConnection: close\r\n")
    out, err = capsys.readouterr()
    line = json.loads(out)
    assert (line["status"], line["errorId"]) == (500, json.loads(body)["id"])
    assert line["error"].startswith("builtins.ValueError\n")
    assert "test_worker.py" in line["error"]
    assert "secret" not in body + out + err
