"""A receiver, and an instance that may reach it."""

from collections.abc import Callable, Iterator
from ipaddress import ip_network
from typing import Any

import pytest
from flask import Flask

from serving import deliveries
from tests.support.receiver import Receiver, receiving
from tests.support.world import Caller

Send = Callable[[], list[dict[str, Any]]]


@pytest.fixture(autouse=True)
def local(app: Flask) -> Iterator[None]:
    """Integrations may reach this machine."""
    before = app.config["INTEGRATION_NETWORKS"]
    app.config["INTEGRATION_NETWORKS"] = (ip_network("127.0.0.0/8"),)
    yield
    app.config["INTEGRATION_NETWORKS"] = before


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    """A receiver without TLS."""
    with receiving() as receiver:
        yield receiver


@pytest.fixture
def deliver(app: Flask, conn, receiver: Receiver) -> Callable[..., int]:
    """deliver(): sends what is due, and returns how many messages arrived. later=True: also what waits for its time."""

    def run(*, later: bool = False) -> int:
        if later:
            conn.execute("UPDATE deliveries SET next_at = now() WHERE next_at IS NOT NULL")
            conn.execute("UPDATE integrations SET blocked_until = now()")
        before = len(receiver.received)
        with app.app_context():
            while deliveries.run_once():
                pass
        return len(receiver.received) - before

    return run


@pytest.fixture
def subscribe(alice: Caller, receiver: Receiver) -> Callable[..., dict[str, Any]]:
    """subscribe(by=…, parameters…): an integration that Alice creates. Other arguments are fields or parameters."""

    def create(provider: str = "webhook", by: Caller = alice, **fields: Any) -> dict[str, Any]:
        body = {"provider": provider, "enabled": True, "events": ["feature-created", "feature-environment-enabled"]}
        body |= {name: fields.pop(name) for name in ("events", "projects", "environments", "enabled") if name in fields}
        response = by.post("/api/admin/addons", json=body | {"parameters": {"url": receiver.url} | fields})
        assert response.status_code == 201, response.text
        assert response.json is not None
        return response.json

    return create
