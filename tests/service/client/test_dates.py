"""Dates in constraints have the one form that all SDKs can read, however they were written (faults of 0.2.0)."""

import json
from typing import Any

import pytest

from sql.database import Connection
from tests.support import fixtures
from tests.support.documents import bring_in, document, place, strategy
from tests.support.world import Caller, World, refused

STRATEGIES = "/api/admin/projects/default/features/f/environments/development/strategies"
DEFAULT = "/api/admin/projects/default/environments/development/default-strategy"
SEGMENTS = "/api/admin/segments"
FEATURES = "/api/client/features"
FORMS = {
    "2024-05-31T12:00:00Z": "2024-05-31T12:00:00.000Z",
    "2024-05-31T12:00:00.000Z": "2024-05-31T12:00:00.000Z",
    "2024-05-31T14:00:00+02:00": "2024-05-31T12:00:00.000Z",
    "2024-05-31t12:00:00z": "2024-05-31T12:00:00.000Z",
    "2024-05-31T12:00:00.1Z": "2024-05-31T12:00:00.100Z",
    "2024-05-31T12:00:00.12-00:00": "2024-05-31T12:00:00.120Z",
    "2024-05-31T12:00:00.123456+00:00": "2024-05-31T12:00:00.123Z",
    "2024-05-31T12:00:00.123999999Z": "2024-05-31T12:00:00.123Z",
    "2024-12-31T23:59:59.9-23:59": "2025-01-01T23:58:59.900Z",
    "0001-01-01T00:00:00Z": "0001-01-01T00:00:00.000Z",
    "9999-12-31T23:59:59.9999Z": "9999-12-31T23:59:59.999Z",
}


def after(date: str) -> dict[str, Any]:
    """A constraint on the time."""
    return {"contextName": "currentTime", "operator": "DATE_AFTER", "value": date}


def dates(record: dict[str, Any]) -> list[str]:
    """The values of the constraints of a record."""
    return [constraint["value"] for constraint in record["constraints"]]


@pytest.mark.parametrize(
    "date",
    [
        # A leap second, years that SDKs do not have, and no RFC 3339.
        "2016-12-31T23:59:60Z",
        "0000-01-01T00:00:00Z",
        "0001-01-01T00:00:00+00:01",
        "9999-12-31T23:59:59-00:01",
        "2024-05-31 12:00:00Z",
        "2024-05-31T12:00:00,5Z",
    ],
)
def test_other_dates_are_refused(world: World, alice: Caller, date: str) -> None:
    world.flag("f")
    message = refused(alice.post(STRATEGIES, json={"name": "default", "constraints": [after(date)]}))
    assert message == "constraints.0.value: must be a date-time with an offset such as 2024-05-31T12:00:00Z"


@pytest.mark.parametrize(("given", "kept"), FORMS.items())
def test_date_is_kept_in_utc_with_milliseconds(world: World, alice: Caller, given: str, kept: str) -> None:
    world.flag("f")
    constraints = [after(given), {"contextName": "userId", "operator": "IN", "values": ["x"], "value": given}]
    body = {"name": "default", "constraints": constraints}
    added = alice.post(STRATEGIES, json=body).json
    assert dates(added) == [kept, given]
    patch = [{"op": "replace", "path": "/constraints/0/value", "value": given}]
    path = f"{STRATEGIES}/{added['id']}"
    for response in (alice.put(path, json=body), alice.request("PATCH", path, json=patch)):
        assert dates(response.json) == [kept, given]
    assert dates(alice.post(SEGMENTS, json={"name": "s", "constraints": constraints}).json) == [kept, given]
    rollout = {"name": "flexibleRollout", "constraints": constraints}
    assert dates(alice.post(DEFAULT, json=rollout).json) == [kept, given]
    bring_in(alice, document("g", featureStrategies=[strategy("g", constraints=constraints)]))
    assert dates(place(world, "g")["strategies"][0]) == [kept, given]


def test_older_dates_are_served_as_sdks_can_read_them(world: World, conn: Connection) -> None:
    stored = [after(given) | {"values": [], "inverted": False, "caseInsensitive": False} for given in FORMS]
    # An older version, or somebody with SQL, may have written another order of keys and what is no date.
    stored += [dict(reversed(stored[1].items())), after("2024-02-30T00:00:00Z") | {"values": []}]
    flag = world.flag("f", enabled_in=("development",))
    payload = {"type": "string", "value": "2024-05-31T12:00:00Z"}
    columns = {"payload_type": "string", "payload_value": payload["value"]}
    strategy_id = world.strategy(flag, name="default", constraints=stored)
    fixtures.insert_variant(conn, flag, "development", None, name="v", weight=1000, **columns)
    segment_id = fixtures.insert(conn, "segments", name="s", constraints=json.dumps(stored[2:3]))["id"]
    conn.execute("INSERT INTO strategy_segments (strategy_id, segment_id) VALUES (%s, %s)", [strategy_id, segment_id])
    conn.execute("SET CONSTRAINTS ALL IMMEDIATE")
    app = world.api_key("client")
    expected = [*FORMS.values(), "2024-05-31T12:00:00.000Z", "2024-02-30T00:00:00Z"]
    whole = app.get(FEATURES, headers={"Unleash-Client-Spec": "5.2.0"}).json
    [feature] = whole["features"]
    assert dates(feature["strategies"][0]) == expected
    assert dates(whole["segments"][0]) == ["2024-05-31T12:00:00.000Z"]
    assert feature["variants"][0]["payload"] == payload
    for inline in (app.get(FEATURES).json["features"][0], app.get(f"{FEATURES}/f").json):
        assert dates(inline["strategies"][0]) == [*expected, "2024-05-31T12:00:00.000Z"]
