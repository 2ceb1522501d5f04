"""Changes of a flag that come at the same moment: one order, nothing twice, no limit passed.

On real connections that commit.
"""

from collections import Counter
from collections.abc import Callable

import pytest
from werkzeug.test import TestResponse

from sql.database import Connection, rows, value
from tests.support.races import at_once, at_the_gate, statuses
from tests.support.world import Caller, World


def path(flag: str, what: str) -> str:
    """The address of something of a flag in project default's development."""
    return f"/api/admin/projects/default/features/{flag}/environments/development{what}"


def is_on(conn: Connection, flag: int) -> bool:
    """Whether the flag is on in development."""
    return value(
        conn,
        "SELECT enabled FROM flag_environments WHERE flag_id = %(id)s AND environment = 'development'",
        {"id": flag},
    )


def types(world: World, since: int) -> list[str]:
    """The types of the events since then."""
    return [event["type"] for event in world.events(since)]


def test_eight_switch_on_and_one_strategy_is_added(world, admin, conn, name):
    flag, since = world.flag(name), world.last_event_id()
    assert statuses(at_once(*[lambda: admin.post(path(name, "/on"))] * 8)) == {200: 8}
    assert types(world, since) == ["feature-strategy-add", "feature-environment-enabled"]
    assert is_on(conn, flag)


def test_eight_add_strategies_and_no_limit_is_passed(world, admin, conn, name):
    flag = world.flag(name)
    for place in range(27):
        world.strategy(flag, sort_order=place)
    since = world.last_event_id()
    answers = at_once(*[lambda: admin.post(path(name, "/strategies"), json={"name": "default"})] * 8)
    assert statuses(answers) == {200: 3, 400: 5}
    assert sorted(answer.json["sortOrder"] for answer in answers if answer.status_code == 200) == [27, 28, 29]
    assert types(world, since) == ["feature-strategy-add"] * 3
    places = [
        row["sort_order"]
        for row in rows(conn, "SELECT sort_order FROM strategies WHERE flag_id = %(id)s ORDER BY 1", {"id": flag})
    ]
    assert places == list(range(30))


@pytest.mark.parametrize("how", ["put", "delete", "both"])
def test_the_last_two_strategies_go_and_the_flag_goes_off_once(world, admin, conn, name, how):
    flag = world.flag(name, enabled_in=("development",))
    one, two = world.strategy(flag), world.strategy(flag)
    since = world.last_event_id()
    calls = {
        "put": lambda strategy: admin.put(path(name, f"/strategies/{strategy}"), json={"disabled": True}),
        "delete": lambda strategy: admin.delete(path(name, f"/strategies/{strategy}")),
    }
    first, second = calls["put" if how == "both" else how], calls["delete" if how == "both" else how]
    assert statuses(at_once(lambda: first(one), lambda: second(two))) == {200: 2}
    assert not is_on(conn, flag)
    assert Counter(types(world, since))["feature-environment-disabled"] == 1
    assert types(world, since)[1] == "feature-environment-disabled"


def test_deleting_the_last_strategy_never_enables_all_users(world, admin, conn, name):
    flag = world.flag(name)
    strategy = world.strategy(flag)
    calls = [lambda: admin.post(path(name, "/on")), lambda: admin.delete(path(name, f"/strategies/{strategy}"))]
    assert statuses(at_once(*calls)) == {200: 2}
    left = value(conn, "SELECT count(*) FROM strategies WHERE flag_id = %(id)s AND NOT disabled", {"id": flag})
    assert left > 0 or not is_on(conn, flag)


def test_eight_sets_of_variants_follow_one_another(world, admin, name):
    world.flag(name)
    since = world.last_event_id()
    calls = [
        lambda n=n: admin.put(
            path(name, "/variants"), json=[{"name": f"v{n}", "weight": 1}, {"name": "all", "weight": 1}]
        )
        for n in range(8)
    ]
    assert statuses(at_once(*calls)) == {200: 8}
    events = world.events(since)
    assert [event["pre_data"] for event in events] == [{"variants": []}, *(event["data"] for event in events[:-1])]


def test_a_waiting_change_sees_the_earlier_change(world, admin, conn, gate, name):
    strategy = world.strategy(world.flag(name), title="old")
    since = world.last_event_id()
    calls = [
        lambda n=n: admin.put(
            path(name, f"/strategies/{strategy}"), json={"title": f"new {n}", "variants": variants(n)}
        )
        for n in range(4)
    ]
    answers = at_the_gate(conn, gate, f"SELECT FROM flags WHERE name = '{name}' FOR UPDATE", *calls)
    assert statuses(answers) == {200: 4}
    events = world.events(since)
    assert [event["pre_data"] for event in events[1:]] == [event["data"] for event in events[:-1]]


def variants(number: int) -> list[dict[str, object]]:
    """The one variant of a number."""
    return [{"name": f"v{number}", "weight": 1000, "weightType": "variable", "stickiness": "default"}]


CHANGES = [("POST", "/on", None), ("POST", "/strategies", {"name": "default"}), ("PUT", "/variants", [])]


@pytest.mark.parametrize("what", ["archive the flag", "take the environment out"])
def test_a_change_that_waits_while_its_flag_or_environment_is_removed_is_404(world, admin, conn, gate, name, what):
    project = world.project(name)
    flag = world.flag(name, project)
    strategy = world.strategy(flag)
    calls = [
        lambda method=method, way=way, body=body: admin.request(
            method, path(name, way).replace("default", project), **({} if body is None else {"json": body})
        )
        for method, way, body in (
            *CHANGES,
            ("PUT", f"/strategies/{strategy}", {}),
            ("DELETE", f"/strategies/{strategy}", None),
        )
    ]
    since = world.last_event_id()
    statement = {
        "archive the flag": f"UPDATE flags SET archived_at = now() WHERE name = '{name}'",
        "take the environment out": (
            f"DELETE FROM project_environments WHERE project_id = '{project}' AND environment = 'development'"
        ),
    }
    assert statuses(at_the_gate(conn, gate, statement[what], *calls)) == {404: 5}
    assert types(world, since) == []


def test_two_bulks_in_opposite_orders_do_not_wait_for_each_other_for_ever(world, admin, name):
    names = [f"{name}-{number}" for number in range(6)]
    for flag in names:
        world.flag(flag)
    since = world.last_event_id()
    bulk = "/api/admin/projects/default/bulk_features/environments/development/on"
    calls = [lambda order=order: admin.post(bulk, json={"features": order}) for order in (names, names[::-1]) * 4]
    assert statuses(at_once(*calls)) == {200: 8}
    assert Counter(types(world, since)) == {"feature-strategy-add": 6, "feature-environment-enabled": 6}


def depend(admin: Caller, child: str, parent: str) -> Callable[[], TestResponse]:
    """A call that lets one flag depend on another."""
    return lambda: admin.post(f"/api/admin/projects/default/features/{child}/dependencies", json={"feature": parent})


@pytest.mark.parametrize("links", [("ab", "ba"), ("ab", "bc"), ("ab", "bc", "ca")], ids=str)
def test_no_flag_becomes_parent_and_child(world, admin, conn, name, links):
    for letter in "abc":
        world.flag(f"{name}-{letter}")
    since = world.last_event_id()
    answers = at_once(*[depend(admin, f"{name}-{child}", f"{name}-{parent}") for child, parent in links * 2])
    middle = """
        SELECT count(*)
          FROM flag_dependencies AS up
          JOIN flag_dependencies AS down ON up.child_id = down.parent_id
    """
    assert value(conn, middle) == 0
    assert set(statuses(answers)) == {200, 409}
    # The first caller got it twice, and the log once.
    assert types(world, since) == ["feature-dependency-added"]


def test_a_parent_archived_meanwhile_is_409(world, admin, conn, gate, name):
    world.flag(name)
    world.flag(f"{name}-child")
    statement = f"UPDATE flags SET archived_at = now() WHERE name = '{name}'"
    assert statuses(at_the_gate(conn, gate, statement, depend(admin, f"{name}-child", name))) == {409: 1}


def test_of_eight_equal_changes_one_is_recorded(world, admin, name):
    world.flag(name)
    world.flag(f"{name}-child")
    since = world.last_event_id()
    assert statuses(at_once(*[depend(admin, f"{name}-child", name)] * 8)) == {200: 8}
    assert types(world, since) == ["feature-dependency-added"]
    remove = f"/api/admin/projects/default/features/{name}-child/dependencies"
    since = world.last_event_id()
    assert statuses(at_once(*[lambda: admin.delete(remove)] * 8)) == {200: 8}
    assert types(world, since) == ["feature-dependencies-removed"]
