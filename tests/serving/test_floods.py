"""Many connections that post large lists, while another user works."""

from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Event

import pytest
from flask import Flask

from sql.database import connect
from tests.support.service import Service
from tests.support.world import World

pytestmark = pytest.mark.slow

# A JSON list of empty lists in nearly a megabyte.
LISTS = b"[" + b"[]," * 330_000 + b"[]]"
# The caller, the path, and the body around the lists.
FLOODS = [
    ("stranger", "/auth/simple/login", b'{"username":%s,"password":"x"}'),
    ("frontend", "/api/frontend", b'{"context":{"userId":"7","x":%s}}'),
    ("client", "/api/client/metrics", b'{"appName":"a","bucket":%s}'),
    ("viewer", "/api/admin/user/tokens", b'{"description":%s}'),
    ("viewer", "/api/admin/features-batch/validate", b'{"project":"default","data":{"features":%s}}'),
]


def test_large_lists_cause_no_errors_for_others(make_database: Callable[..., str], shared_app: Flask) -> None:
    url = make_database()
    with connect(url) as conn:
        world = World(shared_app, conn)
        callers = {"client": world.api_key("client"), "frontend": world.api_key("frontend")}
        callers |= {"viewer": world.user("Victor"), "vera": world.user("Vera")}
    keys = {name: {"Authorization": caller.key or ""} for name, caller in callers.items()} | {"stranger": {}}
    with Service(url, WEB_CONCURRENCY=2) as service, ThreadPoolExecutor(8) as pool:
        for caller, path, body in FLOODS:
            stop, statuses = Event(), Counter[int]()

            def flood(caller=caller, path=path, body=body % LISTS, stop=stop, statuses=statuses) -> None:
                headers = keys[caller] | {"Content-Type": "application/json"}
                while not stop.is_set():
                    statuses[service.request("POST", path, body=body, headers=headers).status] += 1

            running = [pool.submit(flood) for _ in range(8)]
            try:
                while statuses.total() < 40:
                    assert service.get("/api/admin/projects/default/overview", headers=keys["vera"]).status == 200
            finally:
                stop.set()
            for one in running:
                one.result()
            assert not [status for status in statuses if status >= 500 and status != 503], (path, statuses)
