"""Context fields: made, read, changed and removed over HTTP."""

from collections.abc import Callable
from typing import Any

import pytest

from sql.database import as_json
from sql.vocabulary import segments
from tests.support import fixtures
from tests.support.event_log import event, events
from tests.support.fingerprint import fingerprint
from tests.support.world import Caller, World, refused

PATH = "/api/admin/context"
COUNTRY = {
    "name": "country",
    "description": "Wo der Nutzer wohnt",
    "stickiness": True,
    "sortOrder": 3,
    "legalValues": [{"value": "NO", "description": "Norge"}, {"value": "SE"}],
}
BUILT_IN = ["environment", "userId", "appName", "currentTime", "sessionId"]


def names(caller: Caller) -> list[str]:
    """The names of all context fields, in their order."""
    return [field["name"] for field in caller.get(PATH).json]


def make(caller: Caller, **body: Any) -> dict[str, Any]:
    """The record of a field that a caller makes."""
    response = caller.post(PATH, json=COUNTRY | body)
    assert response.status_code == 201, response.text
    assert response.headers["Location"] == f"context/{response.json['name']}"
    return response.json


def test_an_installation_has_five_fields(alice: Caller) -> None:
    found = {
        field["name"]: (field["sortOrder"], field["stickiness"], field["legalValues"]) for field in alice.get(PATH).json
    }
    sticky = ("userId", "sessionId")
    assert found == {name: (place, name in sticky, []) for place, name in enumerate(BUILT_IN)}
    assert names(alice) == BUILT_IN


def test_a_field_is_created_and_recorded(world: World, eve: Caller) -> None:
    since = world.last_event_id()
    created = make(eve)
    assert created == COUNTRY | {"createdAt": created["createdAt"]}
    assert eve.get(f"{PATH}/country").json == created
    assert events(world, since) == [event("context-field-created", eve, data=created)]


def test_a_field_needs_nothing_but_a_name(alice: Caller) -> None:
    response = alice.post(PATH, json={"name": "plan", "project": "ignored"})
    assert response.status_code == 201
    created = {key: word for key, word in response.json.items() if key != "createdAt"}
    assert created == {"name": "plan", "description": None, "stickiness": False, "sortOrder": 10, "legalValues": []}
    assert names(alice) == [*BUILT_IN, "plan"]
    make(alice, name="aaa", sortOrder=10)
    make(alice, name="first", sortOrder=-(2**31))
    assert names(alice) == ["first", *BUILT_IN, "aaa", "plan"]


def test_a_name_is_there_once(world: World, alice: Caller) -> None:
    make(alice)
    since = world.last_event_id()
    assert "name" in refused(alice.post(PATH, json=COUNTRY), 409, "NameExistsError")
    assert "name" in refused(alice.post(f"{PATH}/validate", json={"name": "country"}), 409, "NameExistsError")
    assert alice.post(f"{PATH}/validate", json={"name": "Country"}).status_code == 200
    assert world.events(since) == []


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        ({"name": ""}, "name"),
        ({"name": "a b"}, "name"),
        ({"name": ".."}, "name"),
        ({"name": "x" * 101}, "name"),
        ({"description": "x" * 251}, "description"),
        ({"stickiness": 1}, "stickiness"),
        ({"sortOrder": 1.0}, "sortOrder"),
        ({"sortOrder": -(2**31) - 1}, "sortOrder"),
        ({"sortOrder": 2**31}, "sortOrder"),
        ({"legalValues": ["NO"]}, "legalValues.0"),
        ({"legalValues": [{"value": ""}]}, "legalValues.0.value"),
        ({"legalValues": [{"value": "x" * 101}]}, "legalValues.0.value"),
        ({"legalValues": [{"value": "NO", "description": "x" * 251}]}, "legalValues.0.description"),
        (
            {"legalValues": [{"value": "NO"}, {"value": "NO", "description": "twice"}]},
            "legalValues: must not contain a value twice",
        ),
        ({"other": 1}, "other"),
    ],
)
def test_an_invalid_field_is_refused(world: World, alice: Caller, body: dict[str, Any], problem: str) -> None:
    since = world.last_event_id()
    assert problem in refused(alice.post(PATH, json=COUNTRY | body))
    assert (names(alice), world.events(since)) == (BUILT_IN, [])


def test_a_change_keeps_the_fields_that_the_body_omits(world: World, eve: Caller) -> None:
    before = make(eve)
    since = world.last_event_id()
    after = before | {"stickiness": False, "legalValues": [{"value": "DK"}]}
    assert eve.put(f"{PATH}/country", json={"stickiness": False, "legalValues": [{"value": "DK"}]}).status_code == 200
    assert eve.get(f"{PATH}/country").json == after
    assert events(world, since) == [event("context-field-updated", eve, data=after, pre_data=before)]
    assert eve.put(f"{PATH}/country", json={"description": None, "sortOrder": 0}).status_code == 200
    assert eve.get(f"{PATH}/country").json == after | {"description": None, "sortOrder": 0}


def test_a_change_without_effect_is_not_recorded(world: World, alice: Caller) -> None:
    before = make(alice)
    since = world.last_event_id()
    for body in ({}, {key: COUNTRY[key] for key in COUNTRY if key != "name"}):
        assert alice.put(f"{PATH}/country", json=body).status_code == 200
    assert alice.get(f"{PATH}/country").json == before
    assert world.events(since) == []


IN = [{"contextName": "country", "operator": "IN", "values": ["NO"]}]
STICKY = {"rollout": "50", "stickiness": "country", "groupId": "f"}
VARIANT = {"name": "v", "weight": 1000, "weightType": "variable", "stickiness": "country"}


def as_default(world: World, **default: Any) -> None:
    """Set the default strategy of project default in development."""
    default = {"name": "flexibleRollout", "parameters": {}, "constraints": [], "variants": [], "segments": []} | default
    statement = "UPDATE project_environments SET default_strategy = %s WHERE environment = 'development'"
    world.conn.execute(statement, [as_json(default)])


# For each place, what uses the field there and how a message names the place.
USES: dict[str, Callable[[World], Any]] = {
    "flag f in development": lambda world: world.strategy(world.flag("f"), constraints=IN),
    "flag sticky in production": lambda world: world.strategy(world.flag("sticky"), "production", parameters=STICKY),
    "archived flag old in development": lambda world: world.strategy(
        world.flag("old", archived_at="2026-01-01T00:00:00Z"), constraints=IN
    ),
    "flag v in development": lambda world: fixtures.insert_variant(
        world.conn, world.flag("v"), "development", None, name="v", weight=1000, stickiness="country"
    ),
    "flag w in development": lambda world: fixtures.insert_variant(
        world.conn,
        (flag := world.flag("w")),
        "development",
        world.strategy(flag),
        name="v",
        weight=1000,
        stickiness="country",
    ),
    "flag o in development": lambda world: fixtures.insert_variant(
        world.conn,
        world.flag("o"),
        "development",
        None,
        name="v",
        weight=1000,
        overrides=as_json([{"contextName": "country", "values": ["NO"]}]),
    ),
    "segment Nordic": lambda world: segments.insert(world.conn, "Nordic", IN),
    "default strategy of project default in development": lambda world: as_default(world, constraints=IN),
    "default strategy of project default in development ": lambda world: as_default(world, parameters=STICKY),
    "default strategy of project default in development  ": lambda world: as_default(world, variants=[VARIANT]),
    "default stickiness of project default": lambda world: world.conn.execute(
        "UPDATE projects SET default_stickiness = 'country' WHERE id = 'default'"
    ),
}


@pytest.mark.parametrize("place", USES)
def test_a_field_in_use_cannot_be_deleted(world: World, alice: Caller, place: str) -> None:
    make(alice)
    USES[place](world)
    before, since = fingerprint(world.conn), world.last_event_id()
    message = refused(alice.delete(f"{PATH}/country"), 409, "ConflictError")
    assert message == f"The context field is used by {place.rstrip()}. Remove it there first."
    assert (fingerprint(world.conn), world.events(since)) == (before, [])


def test_five_of_many_places_are_named(world: World, alice: Caller) -> None:
    make(alice)
    for number in range(7):
        world.strategy(world.flag(f"f{number}"), constraints=IN * 2)
    message = refused(alice.delete(f"{PATH}/country"), 409, "ConflictError")
    named = ", ".join(f"flag f{number} in development" for number in range(5))
    assert message == f"The context field is used by {named}, 2 more places. Remove it there first."


def test_a_field_that_nothing_uses_any_more_can_be_deleted(world: World, alice: Caller) -> None:
    before = make(alice)
    strategy = world.strategy(world.flag("f"), constraints=IN)
    world.strategy(world.flag("g"), constraints=[{"contextName": "userId", "operator": "IN", "values": ["country"]}])
    refused(alice.delete(f"{PATH}/country"), 409, "ConflictError")
    world.conn.execute("DELETE FROM strategies WHERE id = %s", [strategy])
    since = world.last_event_id()
    assert alice.delete(f"{PATH}/country").status_code == 200
    assert events(world, since) == [event("context-field-deleted", alice, pre_data=before)]
    assert names(alice) == BUILT_IN


def test_a_field_that_is_not_there_is_404(world: World, alice: Caller) -> None:
    since = world.last_event_id()
    path = f"{PATH}/Country"
    for response in (alice.get(path), alice.put(path, json={}), alice.delete(path), alice.get(f"{path}/strategies")):
        refused(response, 404, "NotFoundError")
    assert world.events(since) == []


def test_the_use_of_a_field_counts_live_flags_and_their_projects(world: World, alice: Caller, apollo: str) -> None:
    make(alice)
    asked = [
        {"contextName": "country", "operator": "IN", "values": ["NO"]},
        {"contextName": "country", "operator": "NOT_IN", "values": []},
    ]
    twice, once, hidden = world.flag("a"), world.flag("b"), world.flag("c", apollo)
    for flag, environment in (
        (twice, "development"),
        (twice, "production"),
        (once, "production"),
        (hidden, "production"),
    ):
        world.strategy(flag, environment, constraints=asked)
    world.strategy(world.flag("d"), constraints=[{"contextName": "userId", "operator": "IN", "values": ["country"]}])
    world.strategy(world.flag("e"), constraints=asked)
    world.conn.execute("UPDATE flags SET archived_at = now() WHERE name = 'e'")
    used = {field["name"]: (field["usedInFeatures"], field["usedInProjects"]) for field in alice.get(PATH).json}
    assert used == dict.fromkeys(BUILT_IN, (0, 0)) | {"userId": (1, 1), "country": (3, 2)}


@pytest.mark.parametrize("place", [place for place in USES if place.startswith("flag")])
def test_a_field_is_used_as_stickiness_and_in_overrides_too(world: World, alice: Caller, place: str) -> None:
    make(alice)
    USES[place](world)
    [field] = [field for field in alice.get(PATH).json if field["name"] == "country"]
    assert (field["usedInFeatures"], field["usedInProjects"], field["usedInSegments"]) == (1, 1, 0)


def test_a_field_of_a_segment_is_counted(world: World, alice: Caller) -> None:
    make(alice)
    segments.insert(world.conn, "Nordic", IN * 2)
    segments.insert(world.conn, "Other", IN)
    [field] = [field for field in alice.get(PATH).json if field["name"] == "country"]
    assert (field["usedInFeatures"], field["usedInProjects"], field["usedInSegments"]) == (0, 0, 2)


def test_the_strategies_of_a_field_are_those_of_live_flags_that_the_caller_may_see(
    world: World, alice: Caller, victor: Caller, max: Caller, apollo: str
) -> None:
    make(alice)
    asked = [{"contextName": "country", "operator": "IN", "values": ["NO"]}]
    shown = world.strategy(world.flag("b"), "production", constraints=asked * 2)
    hidden = world.strategy(world.flag("a", apollo), constraints=asked)
    world.strategy(world.flag("c"), constraints=asked)
    world.conn.execute("UPDATE flags SET archived_at = now() WHERE name = 'c'")
    use = {
        "id": shown,
        "projectId": "default",
        "featureName": "b",
        "strategyName": "flexibleRollout",
        "environment": "production",
    }
    secret = {
        "id": hidden,
        "projectId": apollo,
        "featureName": "a",
        "strategyName": "flexibleRollout",
        "environment": "development",
    }
    for caller, found in ((alice, [secret, use]), (max, [secret, use]), (victor, [use])):
        assert caller.get(f"{PATH}/country/strategies").json == {"strategies": found}
    assert alice.get(f"{PATH}/userId/strategies").json == {"strategies": []}


def test_responses_have_the_fields_that_terraform_needs(alice: Caller) -> None:
    make(alice)
    field = alice.get(f"{PATH}/country").json
    assert isinstance(field["stickiness"], bool)
    assert [legal["value"] for legal in field["legalValues"]] == ["NO", "SE"]
    assert "description" not in field["legalValues"][1]
