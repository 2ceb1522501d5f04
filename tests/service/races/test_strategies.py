"""Changes of strategies, variants and dependencies at once, on connections that commit."""

from collections import Counter

import pytest

from sql.database import rows, value
from tests.support.races import at_once, statuses

FEATURES = "/api/admin/projects/default/features"
STOPPED = [*["feature-strategy-remove"] * 7, "feature-environment-disabled", "feature-strategy-remove"]


@pytest.fixture
def path(name):
    """The address of the flag in development."""
    return f"{FEATURES}/{name}/environments/development"


def is_on(conn, flag):
    """Whether the flag is on in development."""
    statement = "SELECT enabled FROM flag_environments WHERE flag_id = %(id)s AND environment = 'development'"
    return value(conn, statement, {"id": flag})


def test_eight_switch_on_and_one_strategy_is_added(world, admin, conn, name, path, types):
    flag = world.flag(name)
    assert statuses(at_once(*[lambda: admin.post(f"{path}/on")] * 8)) == {200: 8}
    assert types() == ["feature-strategy-add", "feature-environment-enabled"]
    assert is_on(conn, flag)


def test_eight_new_strategies_keep_the_limit(world, admin, conn, name, path, types):
    flag = world.flag(name)
    for place in range(27):
        world.strategy(flag, sort_order=place)
    answers = at_once(*[lambda: admin.post(f"{path}/strategies", json={"name": "default"})] * 8)
    assert statuses(answers) == {200: 3, 400: 5}
    assert sorted(answer.get_json()["sortOrder"] for answer in answers if answer.status_code == 200) == [27, 28, 29]
    assert types() == ["feature-strategy-add"] * 3
    found = rows(conn, "SELECT sort_order FROM strategies WHERE flag_id = %(id)s ORDER BY 1", {"id": flag})
    assert [row["sort_order"] for row in found] == list(range(30))


@pytest.mark.parametrize("how", ["put", "delete", "both"])
def test_the_last_two_strategies_go_and_the_flag_goes_off_once(world, admin, conn, name, path, types, how):
    flag = world.flag(name, enabled_in=("development",))
    one, two = world.strategy(flag), world.strategy(flag)
    calls = {
        "put": lambda strategy: admin.put(f"{path}/strategies/{strategy}", json={"disabled": True}),
        "delete": lambda strategy: admin.delete(f"{path}/strategies/{strategy}"),
    }
    first, second = calls["put" if how == "both" else how], calls["delete" if how == "both" else how]
    assert statuses(at_once(lambda: first(one), lambda: second(two))) == {200: 2}
    assert not is_on(conn, flag)
    assert [number for number, type in enumerate(types()) if type == "feature-environment-disabled"] == [1]


def test_deleting_the_last_strategy_never_enables_all_users(world, admin, conn, name, path):
    flag = world.flag(name)
    strategy = world.strategy(flag)
    calls = [lambda: admin.post(f"{path}/on"), lambda: admin.delete(f"{path}/strategies/{strategy}")]
    assert statuses(at_once(*calls)) == {200: 2}
    left = value(conn, "SELECT count(*) FROM strategies WHERE flag_id = %(id)s AND NOT disabled", {"id": flag})
    assert left > 0 or not is_on(conn, flag)


@pytest.mark.parametrize("table", ["flag_environments", "strategies"])
def test_one_of_eight_deletions_that_wait_for_the_row_succeeds(world, admin, queue, name, path, types, table):
    flag = world.flag(name)
    strategy = world.strategy(flag)
    lock = f"SELECT FROM {table} WHERE flag_id = {flag} FOR UPDATE"
    assert statuses(queue(lock, *[lambda: admin.delete(f"{path}/strategies/{strategy}")] * 8)) == {200: 1, 404: 7}
    assert types() == ["feature-strategy-remove"]


def test_eight_deletions_of_eight_strategies_switch_off_once(world, admin, conn, queue, name, path, log, types):
    flag = world.flag(name, enabled_in=("development",))
    ids = [world.strategy(flag) for _ in range(8)]
    calls = [lambda strategy=strategy: admin.delete(f"{path}/strategies/{strategy}") for strategy in ids]
    lock = f"SELECT FROM flag_environments WHERE flag_id = {flag} FOR UPDATE"
    assert statuses(queue(lock, *calls)) == {200: 8}
    assert types() == STOPPED
    assert not is_on(conn, flag)
    assert {event["pre_data"]["id"] for event in log() if event["pre_data"]} == set(ids)


def test_eight_sets_of_variants_follow_one_another(world, admin, name, path, log):
    world.flag(name)
    sets = [[{"name": f"v{n}", "weight": 1}, {"name": "all", "weight": 1}] for n in range(8)]
    calls = [lambda variants=variants: admin.put(f"{path}/variants", json=variants) for variants in sets]
    assert statuses(at_once(*calls)) == {200: 8}
    events = log()
    assert [event["pre_data"] for event in events] == [{"variants": []}, *(event["data"] for event in events[:-1])]


def test_a_waiting_change_sees_the_earlier_change(world, admin, queue, name, path, log):
    strategy = world.strategy(world.flag(name), title="old")
    variant = {"weight": 1000, "weightType": "variable", "stickiness": "default"}
    changes = [{"title": f"new {n}", "variants": [variant | {"name": f"v{n}"}]} for n in range(4)]
    calls = [lambda change=change: admin.put(f"{path}/strategies/{strategy}", json=change) for change in changes]
    assert statuses(queue(f"SELECT FROM flags WHERE name = '{name}' FOR UPDATE", *calls)) == {200: 4}
    events = log()
    assert [event["pre_data"] for event in events[1:]] == [event["data"] for event in events[:-1]]


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE flags SET archived_at = now() WHERE name = '{}'",
        "DELETE FROM project_environments WHERE project_id = '{}' AND environment = 'development'",
    ],
)
def test_a_change_of_a_flag_or_environment_being_removed_is_404(world, admin, queue, project, path, types, statement):
    strategy = world.strategy(world.flag(project, project))
    path = path.replace("default", project)
    answers = queue(
        statement.format(project),
        lambda: admin.post(f"{path}/on"),
        lambda: admin.post(f"{path}/strategies", json={"name": "default"}),
        lambda: admin.put(f"{path}/variants", json=[]),
        lambda: admin.put(f"{path}/strategies/{strategy}", json={}),
        lambda: admin.delete(f"{path}/strategies/{strategy}"),
    )
    assert statuses(answers) == {404: 5}
    assert types() == []


def test_two_bulks_in_opposite_orders_do_not_deadlock(world, admin, name, types):
    names = [f"{name}-{number}" for number in range(6)]
    for flag in names:
        world.flag(flag)
    bulk = "/api/admin/projects/default/bulk_features/environments/development/on"
    calls = [lambda order=order: admin.post(bulk, json={"features": order}) for order in (names, names[::-1]) * 4]
    assert statuses(at_once(*calls)) == {200: 8}
    assert Counter(types()) == {"feature-strategy-add": 6, "feature-environment-enabled": 6}


def depend(admin, child, parent):
    """A call that lets one flag depend on another."""
    return lambda: admin.post(f"{FEATURES}/{child}/dependencies", json={"feature": parent})


@pytest.mark.parametrize("links", [("ab", "ba"), ("ab", "bc"), ("ab", "bc", "ca")], ids=str)
def test_no_flag_becomes_parent_and_child(world, admin, conn, name, types, links):
    for letter in "abc":
        world.flag(f"{name}-{letter}")
    answers = at_once(*[depend(admin, f"{name}-{child}", f"{name}-{parent}") for child, parent in links * 2])
    middle = """
        SELECT count(*)
          FROM flag_dependencies AS up
          JOIN flag_dependencies AS down ON up.child_id = down.parent_id
    """
    assert value(conn, middle) == 0
    assert set(statuses(answers)) == {200, 409}
    # The first caller got it twice, and the log once.
    assert types() == ["feature-dependency-added"]


def test_a_parent_being_archived_is_409(world, admin, queue, name):
    world.flag(name)
    world.flag(f"{name}-child")
    statement = f"UPDATE flags SET archived_at = now() WHERE name = '{name}'"
    assert statuses(queue(statement, depend(admin, f"{name}-child", name))) == {409: 1}


def test_of_eight_equal_changes_one_is_recorded(world, admin, name, types):
    world.flag(name)
    world.flag(f"{name}-child")
    assert statuses(at_once(*[depend(admin, f"{name}-child", name)] * 8)) == {200: 8}
    remove = f"{FEATURES}/{name}-child/dependencies"
    assert statuses(at_once(*[lambda: admin.delete(remove)] * 8)) == {200: 8}
    assert types() == ["feature-dependency-added", "feature-dependencies-removed"]
