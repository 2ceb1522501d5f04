"""Everything that the demo has can be sent back to its PUT, which changes nothing."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from flask import Flask

from sql.database import connect
from tests.support.demo import fill
from tests.support.fingerprint import fingerprint
from tests.support.instance import ADMIN_KEY
from tests.support.world import Caller

pytestmark = pytest.mark.slow


def records(caller: Caller) -> Iterator[tuple[str, Any]]:
    """Yield each record as its GETs return it, with the path of its PUT."""

    def get(path: str) -> Any:
        response = caller.get(f"/api/admin/{path}")
        assert response.status_code == 200, response.text
        return response.get_json()

    def items(path: str, key: str, put: str) -> Iterator[tuple[str, Any]]:
        for item in get(path)[key]:
            yield put.format(**item), item

    yield from ((f"context/{item['name']}", item) for item in get("context"))
    yield from items("tag-types", "tagTypes", "tag-types/{name}")
    yield from items("environments", "environments", "environments/update/{name}")
    yield from items("segments", "segments", "segments/{id}")
    yield from items("feature-types", "types", "feature-types/{id}/lifetime")
    yield from items("user-admin", "users", "user-admin/{id}")
    yield from items("groups", "groups", "groups/{id}")
    yield from items("service-account", "serviceAccounts", "service-account/{id}")
    # Built-in strategy types and predefined roles are 409.
    yield from (
        (path, item) for path, item in items("strategies", "strategies", "strategies/{name}") if item["editable"]
    )
    for path, role in items("roles", "roles", "roles/{id}"):
        if role["type"] not in ("root", "project"):
            yield from ((path, role), (path, get(path)))
    for path, project in items("projects", "projects", "projects/{id}"):
        forms = (project, get(path), get(f"{path}/overview"), get(f"{path}/health-report"))
        yield from ((target, form) for form in forms for target in (path, f"{path}/settings"))
        for flag_path, flag in items(f"{path}/features", "features", f"{path}/features/{{name}}"):
            whole = get(flag_path)
            yield from ((flag_path, flag), (flag_path, whole))
            for environment in whole["environments"]:
                for strategy in environment["strategies"]:
                    yield f"{flag_path}/environments/{environment['name']}/strategies/{strategy['id']}", strategy


def test_what_the_demo_returns_can_be_sent_back(
    make_database: Callable[..., str], make_app: Callable[..., Flask]
) -> None:
    url = make_database()
    assert fill(url).returncode == 0
    caller = Caller(make_app(url), ADMIN_KEY)
    with connect(url) as conn:
        before = fingerprint(conn)
        found = list(records(caller))
        refused = []
        for path, record in found:
            response = caller.put(f"/api/admin/{path}", json=record)
            if response.status_code not in (200, 204):
                refused.append((path, response.get_json()["message"]))
        assert (len(found) > 500, refused) == (True, [])
        assert fingerprint(conn) == before
