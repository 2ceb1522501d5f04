"""Environments: listed, read, made, changed, switched and put in order."""

import pytest

from sql.database import rows
from sql.vocabulary import environments
from tests.support.environments import STAGING, URL, logged, names, stored
from tests.support.races import at_once, statuses
from tests.support.world import World, refused

# --- Reading ----------------------------------------------------------------------------------------------------------


def test_environments_are_listed_in_their_order_with_their_counts(world, victor, conn):
    environments.insert(conn, "b-staging", "preproduction", sort_order=1)
    environments.insert(conn, "a-staging", "preproduction", sort_order=1, enabled=False)
    conn.execute("UPDATE environments SET protected = true WHERE name = 'production'")
    world.project("apollo", mode="private")
    world.project("archived", archived_at="2026-01-01T00:00:00Z")
    world.project("gemini", ("production",))
    both = world.flag("both", "apollo", enabled_in=("development", "production"))
    world.flag("one", "gemini", enabled_in=("production",))
    world.flag("old", "gemini", enabled_in=("production",), archived_at="2026-01-01T00:00:00Z")
    # A state that was left behind where the project has no such environment is none.
    conn.execute("INSERT INTO flag_environments VALUES (%s, 'a-staging', true)", [both])
    world.api_key("client")
    world.api_key("frontend")
    world.api_key("client", environment="production")
    answer = victor.get(URL)
    assert answer.status_code == 200
    keys = ("name", "type", "enabled", "protected", "sortOrder", "projectCount", "apiTokenCount", "enabledToggleCount")
    assert list(answer.json) == ["version", "environments"]
    assert [tuple(environment) for environment in answer.json["environments"]] == [keys] * 4
    assert answer.json["version"] == 1
    assert [tuple(environment.values()) for environment in answer.json["environments"]] == [
        ("a-staging", "preproduction", False, False, 1, 0, 0, 0),
        ("b-staging", "preproduction", True, False, 1, 0, 0, 0),
        ("development", "development", True, False, 1, 2, 2, 1),
        ("production", "production", True, True, 2, 3, 1, 2),
    ]


def test_the_list_is_empty_without_environments(victor, conn):
    conn.execute("DELETE FROM environments")
    assert victor.get(URL).json == {"version": 1, "environments": []}


def test_an_environment_is_read(victor, staging):
    answer = victor.get(f"{URL}/{staging}")
    assert answer.status_code == 200
    assert answer.json == STAGING


@pytest.mark.parametrize(
    "name", ["nowhere", "Staging", "stag%69ng%00", "validate", "update", "sort-order", "project", "a%20b"]
)
def test_an_unknown_environment_is_404(victor, staging, name):  # noqa: ARG001
    refused(victor.get(f"{URL}/{name}"), 404, "NotFoundError")


# --- Making -----------------------------------------------------------------------------------------------------------


def test_an_environment_is_made_behind_the_last_and_linked_to_no_project(world, alice, conn):
    since = world.last_event_id()
    answer = alice.post(URL, json={"name": "staging", "type": "preproduction"})
    assert answer.status_code == 201
    assert answer.json == STAGING == stored(conn, "staging")
    assert answer.headers["Location"] == "environments/staging"
    assert logged(world, since, alice) == [("environment-created", "staging", STAGING, None)]
    assert rows(conn, "SELECT project_id FROM project_environments WHERE environment = 'staging'") == []
    assert alice.get(f"{URL}/staging").json == answer.json


def test_an_environment_is_created_with_all_fields_of_the_body(alice, conn):
    asked = {"name": "eu~1.a_B", "type": " my type ", "enabled": False, "sortOrder": 0, "requiredApprovals": 3}
    answer = alice.post(URL, json=asked)
    assert answer.status_code == 201
    expected = {"name": "eu~1.a_B", "type": "my type", "enabled": False, "protected": False, "sortOrder": 0}
    assert answer.json == expected == stored(conn, "eu~1.a_B")
    assert answer.headers["Location"] == "environments/eu~1.a_B"
    assert alice.get(f"{URL}/eu~1.a_B").json == expected


def test_behind_the_largest_position_there_is_none_larger(alice):
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
        *(({"name": name, "type": "test"}, "name") for name in ("..", "a b", "x" * 101)),
        *(({"name": name, "type": "test"}, "name") for name in ("validate", "update", "sort-order", "project")),
    ],
)
def test_an_invalid_body_creates_no_environment(world, alice, conn, asked, field):
    since, before = world.last_event_id(), names(conn)
    assert refused(alice.post(URL, json=asked)).startswith(f"{field}: ")
    assert (names(conn), world.events(since)) == (before, [])


def test_a_name_is_given_once(world, alice, conn):
    since = world.last_event_id()
    message = refused(alice.post(URL, json={"name": "production", "type": "test"}), 409, "NameExistsError")
    assert message.startswith("name: ")
    assert stored(conn, "production")["type"] == "production"
    assert world.events(since) == []
    # Names are case-sensitive.
    assert alice.post(URL, json={"name": "Production", "type": "test"}).status_code == 201


def test_the_number_of_environments_is_limited(world, alice, app, conn, monkeypatch):
    monkeypatch.setitem(app.config, "MAX_ENVIRONMENTS", 3)
    assert alice.post(URL, json={"name": "third", "type": "test"}).status_code == 201
    since = world.last_event_id()
    assert "3 environments" in refused(alice.post(URL, json={"name": "fourth", "type": "test"}))
    assert names(conn) == ["development", "production", "third"]
    assert world.events(since) == []


def test_two_creations_at_once_get_one_name_and_one_place(make_database, make_app):
    app = make_app(make_database(), MAX_ENVIRONMENTS=4)
    with app.app_context():
        from_sql = app.extensions["database"]
        with from_sql.connection() as conn:
            admin = World(app, conn).api_key()
            asked = [{"name": "staging", "type": "test"}] * 2
            answers = at_once(*[lambda body=body: admin.post(URL, json=body) for body in asked])
            assert statuses(answers) == {201: 1, 409: 1}
            asked = [{"name": name, "type": "test"} for name in ("qa", "load")]
            assert statuses(at_once(*[lambda body=body: admin.post(URL, json=body) for body in asked])) == {
                201: 1,
                400: 1,
            }
            assert len(names(conn)) == 4
            assert len(rows(conn, "SELECT FROM events WHERE type = 'environment-created'")) == 2


# --- Changing ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "change", [{"type": "test"}, {"sortOrder": -7}, {"type": "test", "sortOrder": 2**31 - 1, "requiredApprovals": None}]
)
def test_an_environment_is_changed_in_what_is_named(world, alice, conn, staging, change):
    since = world.last_event_id()
    answer = alice.put(f"{URL}/update/{staging}", json=change)
    expected = STAGING | {key: word for key, word in change.items() if key != "requiredApprovals"}
    assert answer.status_code == 200
    assert answer.json == expected == stored(conn, staging)
    assert logged(world, since, alice) == [("environment-updated", staging, expected, STAGING)]


@pytest.mark.parametrize("change", [{}, {"requiredApprovals": 2}, {"type": "preproduction"}, {"sortOrder": 3}])
def test_a_change_that_changes_nothing_is_no_event(world, alice, staging, change):
    since = world.last_event_id()
    answer = alice.put(f"{URL}/update/{staging}", json=change)
    assert (answer.status_code, answer.json) == (200, STAGING)
    assert world.events(since) == []


@pytest.mark.parametrize(
    "change",
    [{"type": ""}, {"sortOrder": "3"}, {"sortOrder": 2**31}, {"name": "other"}, {"enabled": False}],
)
def test_a_change_that_does_not_fit_is_refused(world, alice, conn, staging, change):
    since = world.last_event_id()
    assert refused(alice.put(f"{URL}/update/{staging}", json=change)).startswith(f"{next(iter(change))}: ")
    assert (stored(conn, staging), world.events(since)) == (STAGING, [])


def test_an_unknown_environment_cannot_be_changed(world, alice):
    since = world.last_event_id()
    refused(alice.put(f"{URL}/update/nowhere", json={"type": "test"}), 404, "NotFoundError")
    for change in ("on", "off"):
        refused(alice.post(f"{URL}/nowhere/{change}"), 404, "NotFoundError")
    assert world.events(since) == []


def test_an_environment_is_switched_off_and_on_and_keeps_its_contents(world, alice, conn):
    flag = world.flag("checkout", enabled_in=("production",))
    world.strategy(flag, "production")
    world.api_key("client", environment="production")
    kept = (
        "SELECT (SELECT count(*) FROM strategies) AS s, (SELECT count(*) "
        "FROM api_keys) AS k, enabled FROM flag_environments"
    )
    before = rows(conn, kept)
    for word, enabled in (("off", False), ("on", True)):
        for repeat in (False, True):
            since = world.last_event_id()
            answer = alice.post(f"{URL}/production/{word}", data="ignored", content_type="text/plain")
            assert (answer.status_code, answer.text) == (204, "")
            assert stored(conn, "production")["enabled"] is enabled
            event = ("environment-updated", "production", {"enabled": enabled}, {"enabled": not enabled})
            assert logged(world, since, alice) == ([] if repeat else [event])
    assert rows(conn, kept) == before


# --- The order --------------------------------------------------------------------------------------------------------


def test_environments_are_put_in_order(world, alice, conn, staging):
    since = world.last_event_id()
    answer = alice.put(f"{URL}/sort-order", json={staging: 1, "production": 2, "development": 9})
    assert (answer.status_code, answer.text) == (200, "")
    assert [environment["name"] for environment in alice.get(URL).json["environments"]] == [
        "staging",
        "production",
        "development",
    ]
    assert stored(conn, "development")["sortOrder"] == 9
    # Production stays where it was.
    assert logged(world, since, alice) == [
        ("environment-updated", "development", {"sortOrder": 9}, {"sortOrder": 1}),
        ("environment-updated", "staging", {"sortOrder": 1}, {"sortOrder": 3}),
    ]


@pytest.mark.parametrize("order", [{}, {"production": 2}])
def test_an_order_that_changes_nothing_is_no_event(world, alice, order):
    since = world.last_event_id()
    assert alice.put(f"{URL}/sort-order", json=order).status_code == 200
    assert world.events(since) == []


@pytest.mark.parametrize(
    "order",
    [
        {"production": 1, "nowhere": 2},
        {"production": 1, "a\0": 2},
        {"production": 1, "\ud800": 2},
        {"development": 5, "production": "1"},
        {"development": 5, "production": 1.0},
        {"development": 5, "production": True},
        {"development": 5, "production": None},
        {"development": 5, "production": 2**31},
        {"development": 5, "production": -(2**31) - 1},
        {"development": 5, "production": 2**70},
        {f"e{number}": 1 for number in range(1001)},
        [],
        [["production", 1]],
        None,
    ],
)
def test_an_order_that_does_not_fit_changes_nothing(world, alice, conn, order):
    since, before = world.last_event_id(), [stored(conn, name) for name in names(conn)]
    refused(alice.put(f"{URL}/sort-order", json=order))
    assert ([stored(conn, name) for name in names(conn)], world.events(since)) == (before, [])
