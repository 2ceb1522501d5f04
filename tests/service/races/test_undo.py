"""Undo at once, on connections that commit."""

import pytest

from tests.support.races import at_once, statuses

PROJECT = "/api/admin/projects/default"


@pytest.fixture
def path(world, name):
    """The address of a flag with a strategy."""
    world.strategy(world.flag(name), title="old")
    return f"{PROJECT}/features/{name}"


@pytest.fixture
def change(admin, path, name):
    """Makes each change that can race, and returns the path of its undo."""
    strategies = f"{path}/environments/development/strategies"
    [strategy] = [each["id"] for each in admin.get(strategies).get_json()]
    segment = admin.post("/api/admin/segments", json={"name": name, "constraints": []}).get_json()["id"]
    rollout = {"name": "flexibleRollout", "parameters": {"rollout": "10", "stickiness": "default", "groupId": name}}
    changes = {
        "update": ("PUT", f"{strategies}/{strategy}", {"title": "new"}),
        "remove": ("DELETE", f"{strategies}/{strategy}", None),
        "archive": ("DELETE", path, None),
        "tag": ("POST", f"/api/admin/features/{name}/tags", {"type": "simple", "value": name[:50]}),
        "segment": ("DELETE", f"/api/admin/segments/{segment}", None),
        "project": ("PUT", f"{PROJECT}/settings", {"featureLimit": 1000}),
        "default": ("POST", f"{PROJECT}/environments/development/default-strategy", rollout),
    }

    def made(what):
        method, place, body = changes[what]
        response = admin.request(method, place, **({} if body is None else {"json": body}))
        return f"/api/admin/events/{response.headers['Event-Id']}/undo"

    return made


@pytest.mark.parametrize("what", ["update", "remove", "archive", "tag", "segment", "project", "default"])
def test_of_eight_undos_at_once_one_succeeds(admin, types, change, what):
    undo = change(what)
    before = len(types())
    assert statuses(at_once(*[lambda: admin.post(undo)] * 8)) == {200: 1, 409: 7}
    assert len(types()) == before + 1


def test_an_undo_and_a_change_at_once_lose_no_change(admin, path, change):
    undo = change("update")
    strategies = f"{path}/environments/development/strategies"
    [strategy] = [each["id"] for each in admin.get(strategies).get_json()]
    undone, changed = at_once(
        lambda: admin.post(undo), lambda: admin.put(f"{strategies}/{strategy}", json={"title": "later"})
    )
    assert (undone.status_code in (200, 409), changed.status_code) == (True, 200)
    assert admin.get(f"{strategies}/{strategy}").get_json()["title"] == "later"
