"""Deliveries of real services: once and in order, and again after a crash."""

import json
import os
import signal
from collections.abc import Callable, Iterator
from threading import Event
from typing import Any

import pytest

from tests.support.instance import ADMIN_KEY
from tests.support.receiver import Receiver, receiving, status
from tests.support.service import Service, wait_until

pytestmark = pytest.mark.slow

FEATURES = "/api/admin/projects/default/features"


@pytest.fixture
def services(make_database: Callable[..., str]) -> Iterator[list[Service]]:
    """Two services on one database. Both are stopped at the end."""
    url = make_database()
    services = [Service(url, INTEGRATION_NETWORKS="127.0.0.0/8", WEB_CONCURRENCY=2).start() for _ in range(2)]
    try:
        yield [service.ready() for service in services]
    finally:
        for service in services:
            service.end()


def ask(service: Service, method: str, path: str, body: Any = None) -> Any:
    """What a service answers the administrator."""
    answer = service.request(method, path, body, {"Authorization": ADMIN_KEY})
    assert answer.status in (200, 201), answer.body
    return answer.json


def subscribe(service: Service, receiver: Receiver) -> str:
    """Create an integration, and return the path of its log."""
    body = {"provider": "webhook", "enabled": True, "events": ["feature-created"], "parameters": {"url": receiver.url}}
    return f"/api/admin/addons/{ask(service, 'POST', '/api/admin/addons', body)['id']}/events"


def names(receiver: Receiver) -> list[str]:
    return [json.loads(body)["featureName"] for body in receiver.bodies]


def test_each_event_arrives_once_and_in_order(services: list[Service]):
    with receiving() as receiver:
        log = subscribe(services[0], receiver)
        flags = [f"flag-{number}" for number in range(120)]
        for number, name in enumerate(flags):
            ask(services[number % 2], "POST", FEATURES, {"name": name})
            if number == 60:
                # Workers that stop finish what they send.
                services[0].reload()
        wait_until(lambda: len(receiver.received) >= len(flags), "all events arrived")
        wait_until(lambda: len(ask(services[0], "GET", log)["integrationEvents"]) == 50, "the log was written")
        for service in services:
            service.end()
        assert names(receiver) == flags


def test_event_that_was_sent_by_a_killed_worker_is_sent_again(services: list[Service]):
    one, other = services
    arrived, over = Event(), Event()

    def kill_all(handler: Any) -> None:
        arrived.set()
        over.wait(30)
        status(200)(handler)

    with receiving() as receiver:
        subscribe(one, receiver)
        receiver.answers = [kill_all]
        ask(one, "POST", FEATURES, {"name": "checkout"})
        assert arrived.wait(30)
        for worker in one.workers | other.workers:
            os.kill(worker, signal.SIGKILL)
        over.set()
        wait_until(lambda: len(receiver.received) == 2, "the event arrived again", patience=90)
        assert len({request.headers["webhook-id"] for request in receiver.received}) == 1


def test_slow_receiver_delays_no_change(services: list[Service]):
    over = Event()

    def hang(_handler: Any) -> None:
        over.wait(10)

    with receiving() as receiver, receiving() as quick:
        receiver.answers = [hang]
        subscribe(services[0], receiver)
        subscribe(services[0], quick)
        for number in range(20):
            ask(services[0], "POST", FEATURES, {"name": f"flag-{number}"})
        wait_until(lambda: len(quick.received) == 20, "the other integration got its events")
        assert len(receiver.received) == 1
        over.set()
