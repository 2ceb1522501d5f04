"""The records as JSON Schemas are whole and closed, and every response is compared with them."""

import json
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import Any

import pytest
from flask import Flask
from werkzeug.test import TestResponse

from contract.routes import is_page
from serving.errors import NAMES
from serving.operation import CONTRACTS
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


# The oracle notices each of these changes


def put(path: str, found: Any) -> Callable[[TestResponse], None]:
    """Put something at a place such as stats.health of a body, or remove it if it is ..."""

    def change(response: TestResponse) -> None:
        body = json.loads(response.get_data())
        *way, last = path.split(".")
        inner = body
        for step in way:
            inner = inner[step]
        if found is ...:
            del inner[last]
        else:
            inner[last] = found
        response.set_data(json.dumps(body))

    return change


def replace(*pairs: tuple[bytes, bytes]) -> Callable[[TestResponse], None]:
    """Replace parts of the text of a body, one after the other."""

    def change(response: TestResponse) -> None:
        for old, new in pairs:
            response.set_data(response.get_data().replace(old, new))

    return change


def drop(header: str) -> Callable[[TestResponse], None]:
    """Remove a header."""
    return lambda response: response.headers.remove(header)


def declare(**attributes: Any) -> Callable[[TestResponse], None]:
    """Set attributes of the response, such as its status."""

    def change(response: TestResponse) -> None:
        for name, found in attributes.items():
            setattr(response, name, found)

    return change


FLAG = "/api/admin/projects/default/features/a-flag"
OVERVIEW = "GET /api/admin/projects/default/overview"
INSIGHTS = "GET /api/admin/insights"
SEARCH = "POST /api/admin/events/search"
MISFIT = r"projects\.get_project_overview: 200 does not fit contract/records/projectOverview\.json"
NO_ERROR = r"does not fit contract/records/error\.json"
NO_BODY = "has no body, and its Content-Type is not"
SWAP = ((b'"createdCurrentWindow"', b'"x"'), (b'"createdPastWindow"', b'"createdCurrentWindow"'))
CHANGES: dict[str, tuple[str, Callable[[TestResponse], None], str]] = {
    "an extra key": (OVERVIEW, put("id", "default"), MISFIT),
    "an extra key further in": (OVERVIEW, put("stats.flags", 1), MISFIT),
    "a missing key": (OVERVIEW, put("favorite", ...), MISFIT),
    "null where that is not allowed": (OVERVIEW, put("name", None), MISFIT),
    "a text for a number": (OVERVIEW, put("members", "3"), MISFIT),
    "a number for a boolean": (OVERVIEW, put("favorite", 0), MISFIT),
    "a fraction for an integer": (OVERVIEW, put("featureLimit", 5.0), MISFIT),
    "a boolean for an integer": (OVERVIEW, put("members", True), MISFIT),
    "a date without milliseconds": (OVERVIEW, put("createdAt", "2026-05-31T09:30:00Z"), MISFIT),
    "a date with an offset": (OVERVIEW, put("createdAt", "2026-05-31T09:30:00.000+00:00"), MISFIT),
    "a date that does not exist": (OVERVIEW, put("createdAt", "2026-13-31T09:30:00.000Z"), MISFIT),
    "a number out of its range": (OVERVIEW, put("health", 101), MISFIT),
    "a word that is not in the list": (OVERVIEW, put("mode", "secret"), MISFIT),
    "an unknown status of onboarding": (OVERVIEW, put("onboardingStatus.status", "done"), MISFIT),
    "another version": (OVERVIEW, put("version", 2), MISFIT),
    "keys in another order": (OVERVIEW, replace(*SWAP, (b'"x"', b'"createdPastWindow"')), "not in the order"),
    "no spaces of PostgreSQL": (OVERVIEW, replace((b" : ", b": ")), "no space before its first colon"),
    "a fourth key of an error": (INSIGHTS, put("details", []), NO_ERROR),
    "an error without an id": (INSIGHTS, put("id", ...), NO_ERROR),
    "an id that is no UUID": ("GET /nowhere", put("id", "1"), NO_ERROR),
    "an unknown name of an error": ("GET /nowhere", put("name", "Forbidden"), NO_ERROR),
    "an empty message": (INSIGHTS, put("message", ""), NO_ERROR),
    "an undocumented status": (
        INSIGHTS,
        declare(status_code=409),
        r"insights\.get_insights: 409 is a status that is not",
    ),
    "an undocumented status of no route": ("GET /nowhere", declare(status_code=409), "at no route: 409 is a status"),
    "a body where none is documented": (f"DELETE {FLAG}/favorites", declare(data="{}"), "has a body, and none is"),
    "a type without a body": (f"POST {FLAG}/favorites", declare(mimetype="application/json"), NO_BODY),
    "a deleted strategy without a type": ("DELETE strategy", drop("Content-Type"), NO_BODY),
    "another type than JSON": ("GET /health", declare(mimetype="text/plain"), "is of type text/plain"),
    "a key twice": ("GET /health", replace((b"{", b'{"health":"BAD",')), "a key stands twice"),
    **{f"no {name}": (SEARCH, drop(name), name) for name in ("X-Request-ID", "Deprecation", "Link")},
}


@pytest.mark.parametrize(("operation", "change", "message"), CHANGES.values(), ids=CHANGES)
def test_a_response_that_does_not_fit_fails(
    app: Flask,
    world: World,
    alice: Caller,
    stranger: Caller,
    operation: str,
    change: Callable[[TestResponse], None],
    message: str,
) -> None:
    strategy = world.strategy(world.flag("a-flag"))
    method, path = operation.split(" ")
    path = path if path.startswith("/") else f"{FLAG}/environments/development/strategies/{strategy}"
    caller = stranger if operation in (INSIGHTS, "GET /nowhere") else alice
    response = caller.request(method, path, **({"json": {}} if operation == SEARCH else {}))
    records.check(app, response)
    change(response)
    with pytest.raises(AssertionError, match=message):
        records.check(app, response)


def test_the_caller_checks_every_response(alice: Caller, world: World) -> None:
    created = datetime(2026, 5, 31, tzinfo=UTC)
    world.conn.execute(
        "INSERT INTO events (type, created_by, created_at) VALUES ('flag-frobbed', 'nobody', %s)", [created]
    )
    with pytest.raises(AssertionError, match=r"events\.search_events: 200 .*'flag-frobbed' is not one of"):
        alice.get("/api/admin/search/events")
