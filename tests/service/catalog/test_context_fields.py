"""Context fields: created, read, changed and deleted over HTTP."""

from collections.abc import Callable
from typing import Any

import pytest

from sql.catalog import segments
from sql.database import as_json
from tests.support import fixtures
from tests.support.event_log import event, events
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
    """Create a field, and return its record."""
    response = caller.post(PATH, json=COUNTRY | body)
    assert response.status_code == 201, response.text
    assert response.headers["Location"] == f"context/{response.json['name']}"
    return response.json


def uses(caller: Caller, name: str = "country") -> tuple[int, int, int]:
    """How many flags, projects and segments use a field, as the list counts."""
    [field] = [field for field in caller.get(PATH).json if field["name"] == name]
    return field["usedInFeatures"], field["usedInProjects"], field["usedInSegments"]


def test_built_in_fields(alice):
    found = [
        (field["name"], field["sortOrder"], field["stickiness"], field["legalValues"]) for field in alice.get(PATH).json
    ]
    assert found == [(name, place, name in ("userId", "sessionId"), []) for place, name in enumerate(BUILT_IN)]


def test_fields_of_a_project(alice):
    path = "/api/admin/projects/default/context"
    assert alice.get(path).json == []
    assert alice.get(f"{path}?include=root").json == alice.get(PATH).json != []


def test_field_is_created(world, eve):
    since = world.last_event_id()
    created = make(eve)
    assert created == COUNTRY | {"createdAt": created["createdAt"]}
    assert eve.get(f"{PATH}/country").json == created
    assert events(world, since) == [event("context-field-created", eve, data=created)]


def test_defaults_and_order(alice):
    created = alice.post(PATH, json={"name": "plan", "project": "ignored"}).json
    assert created == {
        "name": "plan",
        "description": None,
        "stickiness": False,
        "sortOrder": 10,
        "legalValues": [],
        "createdAt": created["createdAt"],
    }
    make(alice, name="aaa", sortOrder=10)
    make(alice, name="first", sortOrder=-(2**31))
    assert names(alice) == ["first", *BUILT_IN, "aaa", "plan"]


def test_name_is_unique(alice):
    make(alice)
    for path, body in ((PATH, COUNTRY), (f"{PATH}/validate", {"name": "country"})):
        message = refused(alice.post(path, json=body), 409, "NameExistsError")
        assert message == "name: a context field with this name already exists"
    assert alice.post(f"{PATH}/validate", json={"name": "Country"}).status_code == 200


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        *(({"name": name}, "name") for name in ("", "a b", "..", "x" * 101)),
        ({"description": "x" * 251}, "description"),
        ({"stickiness": 1}, "stickiness"),
        *(({"sortOrder": number}, "sortOrder") for number in (1.0, -(2**31) - 1, 2**31)),
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
def test_invalid_field_is_refused(alice, body, problem):
    assert problem in refused(alice.post(PATH, json=COUNTRY | body))


def test_field_is_changed(world, eve):
    before = make(eve)
    since = world.last_event_id()
    change = {"stickiness": False, "legalValues": [{"value": "DK"}]}
    for body in ({}, change, change):
        assert eve.put(f"{PATH}/country", json=body).status_code == 200
    after = before | change
    assert eve.get(f"{PATH}/country").json == after
    assert events(world, since) == [event("context-field-updated", eve, data=after, pre_data=before)]
    assert eve.put(f"{PATH}/country", json={"description": None, "sortOrder": 0}).status_code == 200
    assert eve.get(f"{PATH}/country").json == after | {"description": None, "sortOrder": 0}


def test_legal_value_is_added_replaced_and_deleted(world, eve):
    before = make(eve)
    since = world.last_event_id()
    added = before | {"legalValues": [*COUNTRY["legalValues"], {"value": "DK/x\ny"}]}
    for _ in range(2):
        assert eve.post(f"{PATH}/country/legal-values", json={"value": "DK/x\ny"}).status_code == 200
    replaced = before | {"legalValues": [{"value": "NO"}, {"value": "SE"}, {"value": "DK/x\ny"}]}
    assert eve.post(f"{PATH}/country/legal-values", json={"value": "NO"}).status_code == 200
    assert eve.get(f"{PATH}/country").json == replaced
    deleted = before | {"legalValues": [{"value": "NO"}, {"value": "SE"}]}
    for value in ("DK%2Fx%0Ay", "DK%2Fx%0Ay", "dk"):
        assert eve.delete(f"{PATH}/country/legal-values/{value}").status_code == 200
    assert eve.get(f"{PATH}/country").json == deleted
    assert events(world, since) == [
        event("context-field-updated", eve, data=data, pre_data=pre_data)
        for pre_data, data in ((before, added), (added, replaced), (replaced, deleted))
    ]


def test_at_most_10000_legal_values(alice):
    make(alice, legalValues=[{"value": str(number)} for number in range(10_000)])
    message = refused(alice.post(f"{PATH}/country/legal-values", json={"value": "NO"}))
    assert message == "legalValues: must have at most 10000 items"
    assert alice.post(f"{PATH}/country/legal-values", json={"value": "7", "description": "x"}).status_code == 200
    assert alice.delete(f"{PATH}/country/legal-values/NO").status_code == 200


IN = [{"contextName": "country", "operator": "IN", "values": ["NO"]}]
OTHER = [{"contextName": "userId", "operator": "IN", "values": ["country"]}]
STICKY = {"rollout": "50", "stickiness": "country", "groupId": "f"}
VARIANT = {"name": "v", "weight": 1000, "weightType": "variable", "stickiness": "country"}


def as_default(world: World, **default: Any) -> None:
    """Set the default strategy of project default in development."""
    default = {"name": "flexibleRollout", "parameters": {}, "constraints": [], "variants": [], "segments": []} | default
    statement = "UPDATE project_environments SET default_strategy = %s WHERE environment = 'development'"
    world.conn.execute(statement, [as_json(default)])


def vary(world: World, flag: str, *, in_strategy: bool = False, **fields: Any) -> None:
    """A flag with a variant of its own, or of its strategy."""
    flag_id = world.flag(flag)
    strategy = world.strategy(flag_id) if in_strategy else None
    fixtures.insert_variant(world.conn, flag_id, "development", strategy, name="v", weight=1000, **fields)


ARCHIVED = "2026-01-01T00:00:00Z"
# How messages name a place, and what uses the field there.
USES: list[tuple[str, Callable[[World], Any]]] = [
    ("flag f in development", lambda world: world.strategy(world.flag("f"), constraints=IN)),
    ("flag s in production", lambda world: world.strategy(world.flag("s"), "production", parameters=STICKY)),
    ("flag v in development", lambda world: vary(world, "v", stickiness="country")),
    ("flag w in development", lambda world: vary(world, "w", stickiness="country", in_strategy=True)),
    ("flag o in development", lambda world: vary(world, "o", overrides=as_json(IN))),
    (
        "archived flag old in development",
        lambda world: world.strategy(world.flag("old", archived_at=ARCHIVED), constraints=IN),
    ),
    ("segment Nordic", lambda world: segments.insert(world.conn, "Nordic", IN)),
    ("default strategy of project default in development", lambda world: as_default(world, constraints=IN)),
    ("default strategy of project default in development", lambda world: as_default(world, parameters=STICKY)),
    ("default strategy of project default in development", lambda world: as_default(world, variants=[VARIANT])),
    (
        "default stickiness of project default",
        lambda world: world.conn.execute("UPDATE projects SET default_stickiness = 'country' WHERE id = 'default'"),
    ),
]


@pytest.mark.parametrize(("place", "use"), USES)
def test_used_field_is_counted_and_not_deleted(alice, world, place, use):
    make(alice)
    use(world)
    in_flag, in_segment = place.startswith("flag"), place.startswith("segment")
    assert uses(alice) == (int(in_flag), int(in_flag), int(in_segment))
    message = refused(alice.delete(f"{PATH}/country"), 409, "ConflictError")
    assert message == f"The context field is used by {place}. Remove it there first."


def test_five_of_many_places_are_named(world, alice):
    make(alice)
    for number in range(7):
        world.strategy(world.flag(f"f{number}"), constraints=IN * 2)
    message = refused(alice.delete(f"{PATH}/country"), 409, "ConflictError")
    named = ", ".join(f"flag f{number} in development" for number in range(5))
    assert message == f"The context field is used by {named}, 2 more places. Remove it there first."


def test_unused_field_is_deleted(world, alice):
    before = make(alice)
    world.strategy(world.flag("g"), constraints=OTHER)
    since = world.last_event_id()
    assert alice.delete(f"{PATH}/country").status_code == 200
    assert events(world, since) == [event("context-field-deleted", alice, pre_data=before)]
    assert names(alice) == BUILT_IN


def test_unknown_field_is_404(alice):
    path = f"{PATH}/Country"
    for response in (alice.get(path), alice.put(path, json={}), alice.delete(path), alice.get(f"{path}/strategies")):
        refused(response, 404, "NotFoundError")
    refused(alice.post(f"{path}/legal-values", json={"value": "NO"}), 404, "NotFoundError")
    refused(alice.delete(f"{path}/legal-values/NO"), 404, "NotFoundError")


def test_uses_are_counted_by_live_flag_and_project(world, alice, apollo):
    make(alice)
    asked = [*IN, {"contextName": "country", "operator": "NOT_IN", "values": []}]
    twice, once, hidden = world.flag("a"), world.flag("b"), world.flag("c", apollo)
    for flag, environment in (
        (twice, "development"),
        (twice, "production"),
        (once, "production"),
        (hidden, "production"),
    ):
        world.strategy(flag, environment, constraints=asked)
    world.strategy(world.flag("d"), constraints=OTHER)
    world.strategy(world.flag("e", archived_at=ARCHIVED), constraints=asked)
    segments.insert(world.conn, "Nordic", IN * 2)
    segments.insert(world.conn, "Other", IN)
    assert (uses(alice), uses(alice, "userId"), uses(alice, "appName")) == ((3, 2, 2), (1, 1, 0), (0, 0, 0))


def test_strategies_of_a_field(world, alice, victor, max, apollo):
    make(alice)
    shown = world.strategy(world.flag("b"), "production", constraints=IN * 2)
    hidden = world.strategy(world.flag("a", apollo), constraints=IN)
    world.strategy(world.flag("c", archived_at=ARCHIVED), constraints=IN)
    use = {
        "id": shown,
        "projectId": "default",
        "featureName": "b",
        "strategyName": "flexibleRollout",
        "environment": "production",
    }
    secret = use | {"id": hidden, "projectId": apollo, "featureName": "a", "environment": "development"}
    for caller, found in ((alice, [secret, use]), (max, [secret, use]), (victor, [use])):
        assert caller.get(f"{PATH}/country/strategies").json == {"strategies": found}
    assert alice.get(f"{PATH}/userId/strategies").json == {"strategies": []}
