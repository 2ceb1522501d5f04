"""The records as JSON Schemas are whole and closed, and the oracle that every answer is held against bites."""

import json
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import Any

import pytest
from flask import Flask
from werkzeug.test import TestResponse

from contract.routes import is_page
from serving.contract import CONTRACTS
from serving.errors import NAMES
from tests.support import records
from tests.support.world import Caller, World
from validators.errors import NameExists
from validators.events import TYPES


def parts(schema: Any, path: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    """Every schema inside a schema, with the way to it."""
    if isinstance(schema, dict):
        yield path, schema
        for key, inner in schema.items():
            if key not in ("examples", "enum", "const", "required"):
                yield from parts(inner, f"{path}/{key}")
    if isinstance(schema, list):
        for number, inner in enumerate(schema):
            yield from parts(inner, f"{path}/{number}")


ALL_PARTS = [(name + path, schema) for name in records.SCHEMAS for path, schema in parts(records.SCHEMAS[name])]


@pytest.mark.parametrize("name", records.SCHEMAS)
def test_each_record_is_a_json_schema(name: str) -> None:
    records.Validator.check_schema(records.SCHEMAS[name])


def test_every_record_that_a_view_names_is_there_and_every_record_is_used() -> None:
    named = {
        "error",
        "loginRequired",
        "ofrepError",
        *(contract.record for contract in CONTRACTS.values() if contract.record),
    }
    used, found = set(), named
    while found:
        used |= found
        found = {
            part["$ref"].removesuffix(".json")
            for name in found
            for _, part in parts(records.SCHEMAS[name])
            if "$ref" in part
        } - used
    assert used == set(records.SCHEMAS)


def test_every_object_is_closed() -> None:
    described = {path: part for path, part in ALL_PARTS if isinstance(part.get("properties"), dict) and "type" in part}
    assert len(described) > len(records.SCHEMAS) - 3
    assert [path for path, part in described.items() if part.get("additionalProperties") is not False] == []


def test_every_property_has_a_description() -> None:
    properties = {
        f"{path}/{name}": inner for path, part in ALL_PARTS for name, inner in part.get("properties", {}).items()
    }
    silent = [path for path, inner in properties.items() if not {"description", "$ref", "const"} & set(inner)]
    assert silent == []


def test_every_date_time_is_in_utc_with_milliseconds() -> None:
    instants = {path: part for path, part in ALL_PARTS if part.get("format") == "date-time"}
    assert len(instants) >= 17
    assert {part["pattern"] for part in instants.values()} == {r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$"}


def test_every_example_fits_its_own_schema() -> None:
    shown = [
        (path, part, example)
        for path, part in ALL_PARTS
        if isinstance(part.get("examples"), list)
        for example in part["examples"]
    ]
    assert len(shown) > 100
    for path, part, example in shown:
        assert records.Validator(part, registry=records.REGISTRY).is_valid(example), path


def test_the_event_types_are_those_of_the_validators() -> None:
    listed = records.SCHEMAS["eventType"]["enum"]
    assert len(listed) == len(set(listed))
    assert set(listed) == TYPES


def test_the_error_names_are_those_of_the_validators() -> None:
    assert set(records.SCHEMAS["error"]["properties"]["name"]["enum"]) == {*NAMES.values(), NameExists.error_name}


def test_every_view_has_a_contract_whose_refusals_have_a_name(app: Flask) -> None:
    views = {view for endpoint, view in app.view_functions.items() if not is_page(endpoint)}
    assert views == set(CONTRACTS)
    for contract in CONTRACTS.values():
        assert set(contract.refuses) <= set(NAMES)


# --- The oracle bites -------------------------------------------------------------------------------------------------


def tampered(response: TestResponse, change: Callable[[Any], None]) -> TestResponse:
    """The same answer with another body."""
    body = json.loads(response.get_data())
    change(body)
    response.set_data(json.dumps(body))
    return response


def put(path: str, found: Any) -> Callable[[Any], None]:
    """A change that puts something at a place such as stats.health of a body."""

    def change(body: Any) -> None:
        *way, last = path.split(".")
        for step in way:
            body = body[step]
        body[last] = found

    return change


OVERVIEW_CHANGES = {
    "an extra key": put("id", "default"),
    "an extra key further in": put("stats.flags", 1),
    "a missing key": lambda body: body.pop("favorite"),
    "null where that is not allowed": put("name", None),
    "a text for a number": put("members", "3"),
    "a number for a boolean": put("favorite", 0),
    "a fraction for an integer": put("featureLimit", 5.0),
    "a boolean for an integer": put("members", True),
    "a date without milliseconds": put("createdAt", "2026-05-31T09:30:00Z"),
    "a date with an offset": put("createdAt", "2026-05-31T09:30:00.000+00:00"),
    "a date that does not exist": put("createdAt", "2026-13-31T09:30:00.000Z"),
    "a number out of its range": put("health", 101),
    "a word that is not in the list": put("mode", "secret"),
    "a status of onboarding that does not exist": put("onboardingStatus.status", "done"),
    "a feature where there is none to name": put("onboardingStatus.feature", "a"),
    "another version": put("version", 2),
}


@pytest.mark.parametrize("change", OVERVIEW_CHANGES.values(), ids=OVERVIEW_CHANGES)
def test_a_body_that_does_not_fit_its_record_fails(app: Flask, victor: Caller, change: Callable[[Any], None]) -> None:
    answer = victor.get("/api/admin/projects/default/overview")
    assert answer.status_code == 200
    with pytest.raises(
        AssertionError, match=r"projects\.get_project_overview: 200 does not fit contract/records/projectOverview\.json"
    ):
        records.check(app, tampered(answer, change))


ERROR_CHANGES = {
    "a fourth key": put("details", []),
    "no id": lambda body: body.pop("id"),
    "an id that is no UUID": put("id", "1"),
    "an unknown name": put("name", "Forbidden"),
    "no message": put("message", ""),
}


@pytest.mark.parametrize("change", ERROR_CHANGES.values(), ids=ERROR_CHANGES)
def test_an_error_without_exactly_its_three_keys_fails(
    app: Flask, stranger: Caller, change: Callable[[Any], None]
) -> None:
    for path in ("/api/admin/insights", "/nowhere"):
        with pytest.raises(AssertionError, match=r"does not fit contract/records/error\.json"):
            records.check(app, tampered(stranger.get(path), change))


def test_a_status_that_is_not_documented_fails(app: Flask, stranger: Caller) -> None:
    refused = stranger.get("/api/admin/insights")
    refused.status_code = 409
    with pytest.raises(AssertionError, match=r"insights\.get_insights: 409 is a status that is not documented"):
        records.check(app, refused)
    unknown = stranger.get("/nowhere")
    unknown.status_code = 409
    with pytest.raises(AssertionError, match="at no route: 409 is a status that is not documented"):
        records.check(app, unknown)


def test_a_body_where_none_is_documented_fails(app: Flask, world: World, alice: Caller) -> None:
    strategy = world.strategy(world.flag("a-flag"))
    answer = alice.delete(f"/api/admin/projects/default/features/a-flag/environments/development/strategies/{strategy}")
    assert (answer.status_code, answer.get_data()) == (200, b"")
    answer.set_data("{}")
    with pytest.raises(AssertionError, match="has a body, and none is documented"):
        records.check(app, answer)


def test_a_content_type_without_a_body_fails(app: Flask, world: World, alice: Caller) -> None:
    strategy = world.strategy(world.flag("a-flag"))
    path = "/api/admin/projects/default/features/a-flag"
    empty, json = (
        alice.post(f"{path}/favorites"),
        alice.delete(f"{path}/environments/development/strategies/{strategy}"),
    )
    assert ("Content-Type" in empty.headers, json.content_type) == (False, "application/json")
    empty.mimetype = "application/json"
    del json.headers["Content-Type"]
    for answer in (empty, json):
        with pytest.raises(AssertionError, match="has no body, and its Content-Type is not"):
            records.check(app, answer)


def test_a_body_that_is_not_declared_as_json_fails(app: Flask, stranger: Caller) -> None:
    answer = stranger.get("/health")
    answer.mimetype = "text/plain"
    with pytest.raises(AssertionError, match="is of type text/plain"):
        records.check(app, answer)


def test_a_key_that_stands_twice_fails(app: Flask, stranger: Caller) -> None:
    answer = stranger.get("/health")
    answer.set_data('{"health":"BAD","health":"GOOD"}')
    with pytest.raises(AssertionError, match="a key stands twice"):
        records.check(app, answer)


def test_a_body_with_keys_in_another_order_fails(app: Flask, victor: Caller) -> None:
    answer = victor.get("/api/admin/projects/default/overview")
    answer.set_data(
        answer.get_data()
        .replace(b'"createdCurrentWindow"', b'"x"')
        .replace(b'"createdPastWindow"', b'"createdCurrentWindow"')
        .replace(b'"x"', b'"createdPastWindow"')
    )
    with pytest.raises(AssertionError, match="not in the order"):
        records.check(app, answer)


def test_a_body_without_the_spaces_of_postgresql_fails(app: Flask, victor: Caller) -> None:
    answer = victor.get("/api/admin/projects/default/overview")
    answer.set_data(answer.get_data().replace(b" : ", b": "))
    with pytest.raises(AssertionError, match="no space before its first colon"):
        records.check(app, answer)


def test_an_answer_without_a_promised_header_fails(app: Flask, alice: Caller) -> None:
    for header in ("X-Request-ID", "Deprecation", "Link"):
        answer = alice.post("/api/admin/events/search", json={})
        del answer.headers[header]
        with pytest.raises(AssertionError, match=header):
            records.check(app, answer)


def test_the_caller_holds_every_answer_against_the_record(alice: Caller, world: World) -> None:
    created = datetime(2026, 5, 31, tzinfo=UTC)
    world.conn.execute(
        "INSERT INTO events (type, created_by, created_at) VALUES ('flag-frobbed', 'nobody', %s)", [created]
    )
    with pytest.raises(AssertionError, match=r"events\.search_events: 200 .*'flag-frobbed' is not one of"):
        alice.get("/api/admin/search/events")
