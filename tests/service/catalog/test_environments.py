"""Environments: read, created, changed, ordered, cloned and deleted over HTTP."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from uuid import uuid4

import pytest
from flask import Flask

from sql.catalog import environments
from sql.database import Connection, connect, one, rows, value
from sql.people import roles
from tests.support import fixtures
from tests.support.event_log import event, events
from tests.support.races import at_once, at_the_gate, statuses, wait_for
from tests.support.world import Caller, World, refused

URL = "/api/admin/environments"
CLONE = f"{URL}/staging/clone"
STAGING = {"name": "staging", "type": "preproduction", "enabled": True, "protected": False, "sortOrder": 3}
QA = {"name": "qa", "type": "test"}
# Names that would be addresses of other routes.
RESERVED = ("validate", "update", "sort-order", "project")


@pytest.fixture
def staging(conn: Connection) -> str:
    """An environment of no project, behind the two that are there."""
    environments.insert(conn, "staging", "preproduction")
    return "staging"


def stored(conn: Connection, name: str) -> dict[str, Any] | None:
    """The row of an environment, in the form of its record."""
    statement = (
        'SELECT name, type, enabled, protected, sort_order AS "sortOrder" FROM environments WHERE name = %(name)s'
    )
    return one(conn, statement, {"name": name})


def names(conn: Connection) -> list[str]:
    """The names of all environments."""
    return [row["name"] for row in rows(conn, "SELECT name FROM environments ORDER BY name")]


def count(conn: Connection, table: str, environment: str = "staging") -> int:
    """The number of rows of a table that are about an environment."""
    return value(conn, f"SELECT count(*) FROM {table} WHERE environment = %(name)s", {"name": environment})


# --- Reading ----------------------------------------------------------------------------------------------------------


def test_list_has_order_and_counts(world, victor, conn):
    environments.insert(conn, "b-staging", "preproduction", sort_order=1)
    environments.insert(conn, "a-staging", "preproduction", sort_order=1, enabled=False)
    conn.execute("UPDATE environments SET protected = true WHERE name = 'production'")
    world.project("apollo", mode="private")
    world.project("archived", archived_at="2026-01-01T00:00:00Z")
    world.project("gemini", ("production",))
    both = world.flag("both", "apollo", enabled_in=("development", "production"))
    world.flag("one", "gemini", enabled_in=("production",))
    world.flag("old", "gemini", enabled_in=("production",), archived_at="2026-01-01T00:00:00Z")
    # A state in an environment that the project does not have is not counted.
    conn.execute("INSERT INTO flag_environments VALUES (%s, 'a-staging', true)", [both])
    for kind, environment in (("client", "development"), ("frontend", "development"), ("client", "production")):
        world.api_key(kind, environment=environment)
    assert [tuple(environment.values()) for environment in victor.get(URL).json["environments"]] == [
        ("a-staging", "preproduction", False, False, 1, 0, 0, 0),
        ("b-staging", "preproduction", True, False, 1, 0, 0, 0),
        ("development", "development", True, False, 1, 2, 2, 1),
        ("production", "production", True, True, 2, 3, 1, 2),
    ]
    conn.execute("DELETE FROM environments")
    assert victor.get(URL).json == {"version": 1, "environments": []}


@pytest.mark.parametrize("name", ["nowhere", "Staging", "stag%69ng%00", *RESERVED, "a%20b"])
def test_unknown_environment_is_404(alice, staging, name):
    assert alice.get(f"{URL}/{staging}").json == STAGING
    refused(alice.get(f"{URL}/{name}"), 404, "NotFoundError")
    if name == "nowhere":
        for response in (
            alice.put(f"{URL}/update/{name}", json={"type": "test"}),
            alice.post(f"{URL}/{name}/on"),
            alice.post(f"{URL}/{name}/off"),
            alice.post(f"{URL}/{name}/clone", json=QA),
            alice.delete(f"{URL}/{name}"),
        ):
            refused(response, 404, "NotFoundError")


# --- Creating ---------------------------------------------------------------------------------------------------------


def test_environment_is_created(world, alice, conn):
    since = world.last_event_id()
    answer = alice.post(URL, json={"name": "staging", "type": "preproduction"})
    assert (answer.status_code, answer.headers["Location"]) == (201, "environments/staging")
    assert answer.json == STAGING == stored(conn, "staging")
    assert events(world, since) == [event("environment-created", alice, environment="staging", data=STAGING)]
    assert count(conn, "project_environments") == 0
    asked = {"name": "eu~1.a_B", "type": " my type ", "enabled": False, "sortOrder": 0, "requiredApprovals": 3}
    answer = alice.post(URL, json=asked)
    assert (answer.status_code, answer.headers["Location"]) == (201, "environments/eu~1.a_B")
    expected = {"name": "eu~1.a_B", "type": "my type", "enabled": False, "protected": False, "sortOrder": 0}
    assert answer.json == expected == stored(conn, "eu~1.a_B") == alice.get(f"{URL}/eu~1.a_B").json
    # No position is larger.
    for name in ("first", "second"):
        assert alice.post(URL, json={"name": name, "type": "test", "sortOrder": 2**31 - 1}).status_code == 201
    assert alice.post(URL, json={"name": "third", "type": "test"}).json["sortOrder"] == 2**31 - 1


@pytest.mark.parametrize(
    ("asked", "field"),
    [
        ({}, "name"),
        ({"name": "staging"}, "type"),
        ({"type": "test"}, "name"),
        ({"name": "staging", "type": ""}, "type"),
        ({"name": "staging", "type": "x" * 101}, "type"),
        ({"name": "staging", "type": "test", "enabled": "true"}, "enabled"),
        ({"name": "staging", "type": "test", "sortOrder": 2**31}, "sortOrder"),
        ({"name": "staging", "type": "test", "sortOrder": -(2**31) - 1}, "sortOrder"),
        ({"name": "staging", "type": "test", "visible": True}, "visible"),
        *(({"name": name, "type": "test"}, "name") for name in ("..", "a b", "x" * 101, *RESERVED)),
    ],
)
def test_invalid_environment_is_refused(alice, asked, field):
    assert refused(alice.post(URL, json=asked)).startswith(f"{field}: ")


def test_name_is_unique(alice, staging):
    for path, name in ((URL, "production"), (CLONE, "production"), (CLONE, staging), (f"{URL}/validate", staging)):
        body = {"name": name} if path.endswith("validate") else {"name": name, "type": "test"}
        assert refused(alice.post(path, json=body), 409, "NameExistsError").startswith("name: ")
    # Names are case-sensitive.
    assert alice.post(URL, json={"name": "Production", "type": "test"}).status_code == 201


def test_validate_name(alice, conn):
    response = alice.post(f"{URL}/validate", json={"name": "qa"})
    assert (response.status_code, response.text) == (200, "")
    for body in ({}, *({"name": name} for name in ("a b", "validate", "project", "", ".", None))):
        refused(alice.post(f"{URL}/validate", json=body))
    assert names(conn) == ["development", "production"]


def test_number_of_environments_is_limited(alice, app, conn, monkeypatch):
    monkeypatch.setitem(app.config, "MAX_ENVIRONMENTS", 3)
    assert alice.post(URL, json={"name": "third", "type": "test"}).status_code == 201
    for path in (URL, f"{URL}/third/clone"):
        assert "3 environments" in refused(alice.post(path, json=QA))
    assert names(conn) == ["development", "production", "third"]


# --- Changing ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "change", [{"type": "test"}, {"sortOrder": -7}, {"type": "test", "sortOrder": 2**31 - 1, "requiredApprovals": None}]
)
def test_environment_is_changed(world, alice, conn, staging, change):
    since = world.last_event_id()
    expected = STAGING | {key: word for key, word in change.items() if key != "requiredApprovals"}
    # The others change nothing.
    for body in (change, change, {}, {"requiredApprovals": 2}):
        answer = alice.put(f"{URL}/update/{staging}", json=body)
        assert answer.status_code == 200
        assert answer.json == expected == stored(conn, staging)
    updated = event("environment-updated", alice, environment=staging, data=expected, pre_data=STAGING)
    assert events(world, since) == [updated]


@pytest.mark.parametrize(
    "change", [{"type": ""}, {"sortOrder": "3"}, {"sortOrder": 2**31}, {"name": "other"}, {"enabled": False}]
)
def test_invalid_change_is_refused(alice, staging, change):
    assert refused(alice.put(f"{URL}/update/{staging}", json=change)).startswith(f"{next(iter(change))}: ")


def test_environment_is_switched_off_and_on(world, alice, conn):
    world.strategy(world.flag("checkout", enabled_in=("production",)), "production")
    world.api_key("client", environment="production")
    kept = (
        "SELECT (SELECT count(*) FROM strategies), (SELECT count(*) FROM api_keys) AS k, enabled FROM flag_environments"
    )
    before = rows(conn, kept)
    for word, enabled in (("off", False), ("on", True)):
        since = world.last_event_id()
        for _ in range(2):
            answer = alice.post(f"{URL}/production/{word}", data="ignored", content_type="text/plain")
            assert (answer.status_code, answer.text) == (204, "")
        assert stored(conn, "production")["enabled"] is enabled
        change = {"data": {"enabled": enabled}, "pre_data": {"enabled": not enabled}}
        assert events(world, since) == [event("environment-updated", alice, environment="production", **change)]
    assert rows(conn, kept) == before


def test_environments_are_ordered(world, alice, staging):
    since = world.last_event_id()
    order = {staging: 1, "production": 2, "development": 9}
    for body in (order, order, {}, {"production": 2}):
        answer = alice.put(f"{URL}/sort-order", json=body)
        assert (answer.status_code, answer.text) == (200, "")
    listed = {environment["name"]: environment["sortOrder"] for environment in alice.get(URL).json["environments"]}
    assert list(listed.items()) == list(order.items())
    # Production stays where it was.
    moved = (("development", 9, 1), ("staging", 1, 3))
    assert events(world, since) == [
        event("environment-updated", alice, environment=name, data={"sortOrder": new}, pre_data={"sortOrder": old})
        for name, new, old in moved
    ]


@pytest.mark.parametrize(
    "order",
    [
        *({"development": 5, name: 2} for name in ("nowhere", "a\0", "\ud800")),
        *({"development": 5, "production": place} for place in ("1", 1.0, True, None, 2**31, -(2**31) - 1, 2**70)),
        {f"e{number}": 1 for number in range(1001)},
        [],
        [["production", 1]],
        None,
    ],
)
def test_invalid_order_is_refused(alice, conn, order):
    refused(alice.put(f"{URL}/sort-order", json=order))
    assert stored(conn, "development")["sortOrder"] == 1


# --- Cloning ----------------------------------------------------------------------------------------------------------

COLUMNS = "flag_id, name, title, disabled, sort_order, parameters::text, constraints::text"


def strategies_in(conn: Connection, environment: str) -> list[dict[str, Any]]:
    """The strategies of an environment, without what differs in a clone, with their segments and variants."""
    statement = f"""
        SELECT {COLUMNS}, ARRAY(SELECT segment_id FROM strategy_segments WHERE strategy_id = strategies.id) AS segments,
               ARRAY(SELECT name FROM variants WHERE strategy_id = strategies.id ORDER BY name) AS variants
          FROM strategies WHERE environment = %(environment)s ORDER BY flag_id, sort_order
    """
    return rows(conn, statement, {"environment": environment})


@pytest.fixture
def full(world: World, conn: Connection, staging: str) -> str:
    """The environment staging, with a project, two flags, strategies, segments and variants."""
    world.project("apollo", ("staging", "production"))
    fixtures.insert_project(conn, "hermes", "Hermes")
    world.flag("elsewhere")
    segment = value(conn, "INSERT INTO segments (name) VALUES ('a segment') RETURNING id")
    for name in ("checkout", "search"):
        flag = world.flag(name, "apollo", enabled_in=("staging",))
        for number, environment in enumerate(("staging", "staging", "production")):
            strategy = world.strategy(
                flag, environment, title=f"{name} {number}", sort_order=number, disabled=number == 1
            )
            fixtures.add_segment(conn, strategy, segment)
            fixtures.insert_variant(conn, flag, environment, strategy, name=f"blue-{number}", weight=1000)
        fixtures.insert_variant(conn, flag, "staging", None, name="red", weight=1000)
    conn.execute(
        "UPDATE project_environments SET default_strategy = '{\"name\": \"default\"}' WHERE environment = 'staging'"
    )
    return staging


def test_clone_has_strategies_and_variants_and_is_off(world, alice, conn, full):
    since = world.last_event_id()
    response = alice.post(CLONE, json=QA)
    record = {**STAGING, **QA, "sortOrder": 4}
    assert (response.status_code, response.json, stored(conn, "qa")) == (200, record, record)
    assert events(world, since) == [event("environment-created", alice, environment="qa", data=record)]
    assert len(strategies_in(conn, full)) == 4
    assert strategies_in(conn, "qa") == strategies_in(conn, full)
    assert value(conn, "SELECT count(DISTINCT id) FROM strategies WHERE environment IN ('qa', 'staging')") == 8
    links = rows(conn, "SELECT project_id, default_strategy FROM project_environments WHERE environment = 'qa'")
    assert links == [{"project_id": "apollo", "default_strategy": {"name": "default"}}]
    own = "SELECT name FROM variants WHERE environment = 'qa' AND strategy_id IS NULL"
    assert [row["name"] for row in rows(conn, own)] == ["red", "red"]
    for environment, enabled in (("qa", False), ("staging", True)):
        states = rows(conn, "SELECT enabled FROM flag_environments WHERE environment = %(name)s", {"name": environment})
        assert [state["enabled"] for state in states] == [enabled] * 2
    assert alice.post(f"{URL}/{full}/off").status_code == 204
    assert alice.post(CLONE, json=QA | {"name": "off"}).json["enabled"] is False


@pytest.mark.usefixtures("full")
def test_clone_for_projects(world, alice, conn):
    world.project("ares", ("staging",))
    assert alice.post(CLONE, json={**QA, "projects": ["ares", "ares"]}).status_code == 200
    linked = "SELECT project_id FROM project_environments WHERE environment = 'qa'"
    assert rows(conn, linked) == [{"project_id": "ares"}]
    assert strategies_in(conn, "qa") == []
    assert alice.post(CLONE, json={"name": "empty", "type": "test", "projects": []}).status_code == 200
    assert count(conn, "project_environments", "empty") == 0
    message = refused(alice.post(CLONE, json={**QA, "name": "x", "projects": ["nowhere", "apollo", "hermes"]}))
    assert message == "projects: unknown projects, or projects without staging: hermes, nowhere"


@pytest.mark.parametrize(
    ("body", "expected"), [({}, 1), ({"clonePermissions": True}, 1), ({"clonePermissions": False}, 0)]
)
def test_clone_has_permissions(alice, conn, staging, body, expected):
    role = roles.insert(conn, "Tester")
    fixtures.allow(conn, role, "UPDATE_FEATURE_ENVIRONMENT", environment=staging)
    fixtures.allow(conn, role, "CREATE_FEATURE_STRATEGY", environment="production")
    assert alice.post(CLONE, json={**QA, **body}).status_code == 200
    found = rows(conn, "SELECT permission FROM role_permissions WHERE environment = 'qa'")
    assert found == [{"permission": "UPDATE_FEATURE_ENVIRONMENT"}] * expected


@pytest.mark.usefixtures("staging")
@pytest.mark.parametrize(
    "body",
    [{}, {"name": "qa"}, {"type": "test"}, {**QA, "name": "validate"}, {**QA, "projects": "all"}, {**QA, "x": 1}],
)
def test_invalid_clone_is_refused(alice, body):
    refused(alice.post(CLONE, json=body))


# --- Deleting ---------------------------------------------------------------------------------------------------------


def test_environment_is_deleted(world, alice, conn, staging):
    conn.execute("UPDATE environments SET protected = true WHERE name = 'staging'")
    since = world.last_event_id()
    refused(alice.delete(f"{URL}/{staging}"), 409, "ConflictError")
    conn.execute("UPDATE environments SET protected = false WHERE name = 'staging'")
    answer = alice.delete(f"{URL}/{staging}", data="ignored", content_type="text/plain")
    assert (answer.status_code, answer.text) == (200, "")
    assert names(conn) == ["development", "production"]
    assert events(world, since) == [event("environment-deleted", alice, environment="staging", pre_data=STAGING)]


def test_contents_are_deleted_with_their_environment(world, alice, victor, conn, staging):
    world.project("apollo", ("staging", "production"))
    flag = world.flag(
        "checkout", "apollo", enabled_in=("staging", "production"), first_in_production_at="2026-01-01T00:00:00Z"
    )
    segment = value(conn, "INSERT INTO segments (name) VALUES ('a segment') RETURNING id")
    tester = roles.insert(conn, "Tester")
    fixtures.allow(conn, tester, "UPDATE_FEATURE_ENVIRONMENT")
    fixtures.add_project_user(conn, "apollo", victor.id, tester)
    keys, strategy = {}, ""
    for environment in ("production", "staging"):
        strategy = world.strategy(flag, environment)
        fixtures.add_segment(conn, strategy, segment)
        fixtures.insert_variant(conn, flag, environment, strategy, name="blue", weight=1000)
        fixtures.insert_variant(conn, flag, environment, None, name="red", weight=1000)
        keys[environment] = world.api_key("client", environment=environment, projects=["apollo"])
        fixtures.allow(conn, tester, "DELETE_FEATURE_STRATEGY", environment=environment)
    since = world.last_event_id()
    assert alice.delete(f"{URL}/{staging}").status_code == 200
    assert [event["type"] for event in world.events(since)] == ["environment-deleted"]
    for table, kept in {
        "flag_environments": 1,
        "strategies": 1,
        "variants": 2,
        "api_keys": 1,
        "project_environments": 2,
        "role_permissions": 1,
    }.items():
        assert (count(conn, table), count(conn, table, "production")) == (0, kept), table
    for table in ("strategy_segments", "segments", "flags WHERE first_in_production_at IS NOT NULL"):
        assert value(conn, f"SELECT count(*) FROM {table}") == 1, table
    # A permission for the deleted environment is not one for all environments.
    left = rows(conn, "SELECT environment FROM role_permissions WHERE role_id = %(id)s ORDER BY 1", {"id": tester})
    assert [row["environment"] for row in left] == ["production", None]
    place = f"/api/admin/projects/apollo/features/checkout/environments/staging/strategies/{strategy}"
    refused(victor.delete(place), 403, "NoAccessError")
    refused(alice.delete(place), 404, "NotFoundError")
    refused(keys["staging"].get(URL), 401, "AuthenticationRequired")
    refused(keys["production"].get(URL), 403, "NoAccessError")


def test_past_types_are_recorded(alice, conn, staging):
    for change in ({"sortOrder": 8}, {"type": "test"}, {"type": "test"}):
        alice.put(f"{URL}/update/{staging}", json=change)
    alice.post(f"{URL}/{staging}/off")
    alice.delete(f"{URL}/{staging}")
    past = rows(conn, "SELECT environment, type FROM past_environment_types ORDER BY type")
    assert [tuple(row.values()) for row in past] == [("staging", "preproduction"), ("staging", "test")]
    # The insights count the change itself for the type that it ended (decisions.md, Events and insights).
    found = alice.get("/api/admin/insights").json["environmentTypeTrends"]
    assert [(entry["environmentType"], entry["totalUpdates"]) for entry in found] == [("preproduction", 2), ("test", 2)]


# --- Races, on real connections that commit ---------------------------------------------------------------------------


@pytest.fixture(scope="module")
def url(make_database: Callable[..., str]) -> str:
    """The database of the races."""
    return make_database()


@pytest.fixture
def racers(make_app: Callable[..., Flask], url: str) -> Iterator[tuple[World, Connection, Caller]]:
    """A world that commits each statement, a connection that holds the gate, and an admin token."""
    with connect(url) as conn, connect(url) as gate:
        world = World(make_app(url), conn)
        admin = world.api_key()
        # At its first use a token is marked as seen, and its next use would wait for that.
        admin.get(URL)
        yield world, gate, admin


def test_two_creations_at_once(make_database, make_app):
    database = make_database()
    app = make_app(database, MAX_ENVIRONMENTS=4)
    with connect(database) as conn:
        admin = World(app, conn).api_key()
        for pair, expected in ((("staging", "staging"), {201: 1, 409: 1}), (("qa", "load"), {201: 1, 400: 1})):
            bodies = [{"name": name, "type": "test"} for name in pair]
            answers = at_once(*[lambda body=body: admin.post(URL, json=body) for body in bodies])
            assert statuses(answers) == expected
        assert len(names(conn)) == 4
        assert value(conn, "SELECT count(*) FROM events WHERE type = 'environment-created'") == 2


def test_environment_is_deleted_while_a_project_adds_it(racers):
    world, gate, admin = racers
    environments.insert(world.conn, "qa", "test")
    world.project("apollo")
    path = "/api/admin/projects/apollo/environments"
    delete = "DELETE FROM environments WHERE name = 'qa'"
    [answer] = at_the_gate(world.conn, gate, delete, lambda: admin.post(path, json={"environment": "qa"}))
    refused(answer, 404, "NotFoundError")
    assert value(world.conn, "SELECT count(*) FROM events WHERE project = 'apollo'") == 0


@pytest.mark.parametrize(
    "end", ["/api/admin/environments/{}", "/api/admin/projects/{}/environments/{}"], ids=["deleted", "removed"]
)
@pytest.mark.parametrize(
    "held", ["projects WHERE id = %s FOR SHARE", "flags WHERE project_id = %s FOR UPDATE"], ids=["project", "flag"]
)
def test_deletion_waits_for_changes_of_its_flags(racers, end, held):
    world, gate, admin = racers
    name = f"race-{uuid4().hex}"
    environments.insert(world.conn, name, "test")
    flag = world.flag(name, world.project(name, ()))
    fixtures.add_project_environment(world.conn, name, name)
    with ThreadPoolExecutor(1) as thread:
        with gate.transaction():
            gate.execute(f"SELECT FROM {held}", [name])
            ended = thread.submit(admin.delete, end.format(name, name))
            wait_for(world.conn, [ended])
            gate.execute("INSERT INTO flag_environments (flag_id, environment) VALUES (%s, %s)", [flag, name])
        assert ended.result().status_code == 200
    assert value(world.conn, "SELECT count(*) FROM flag_environments WHERE flag_id = %(id)s", {"id": flag}) == 0


def test_two_deletions_at_once(racers):
    world, gate, admin = racers
    environments.insert(world.conn, "load", "test")
    hold = "SELECT FROM environments WHERE name = 'load' FOR UPDATE"
    answers = at_the_gate(world.conn, gate, hold, *[lambda: admin.delete(f"{URL}/load")] * 2)
    assert statuses(answers) == {200: 1, 404: 1}
    deleted = "SELECT count(*) FROM events WHERE type = 'environment-deleted' AND environment = 'load'"
    assert value(world.conn, deleted) == 1
