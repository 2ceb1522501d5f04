"""The OpenAPI document says what the code does: its routes, its statuses, and what each parameter and body may be."""

import json
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from flask import Flask
from openapi_spec_validator import validate
from referencing import Registry, Resource
from referencing.jsonschema import DRAFT202012

from blueprints.contract import ALWAYS, CONTRACTS, Operation
from blueprints.documentation import DOCS
from tests import openapi, records
from tests.openapi_words import BODIES, BODY_EXAMPLES, PARAMETERS, SPECIAL_REFUSALS
from tests.world import Caller

WRITTEN = (DOCS / "openapi.json").read_text(encoding="utf-8")
DOCUMENT = json.loads(WRITTEN)
REGISTRY: Registry = Registry().with_resource("openapi.json", Resource(contents=DOCUMENT, specification=DRAFT202012))
OPERATIONS = {(method, path): operation for path, methods in DOCUMENT["paths"].items() for method, operation in methods.items()}


def target(node: dict[str, Any]) -> dict[str, Any]:
    """What a node of the document says, its reference followed."""
    while "$ref" in node:
        found: Any = DOCUMENT
        for step in node["$ref"].removeprefix("#/").split("/"):
            found = found[step]
        node = found
    return node


def routes(app: Flask) -> Iterator[tuple[str, str, Operation, str]]:
    """Every operation of the service: method, path as the document writes it, contract, endpoint."""
    for rule in app.url_map.iter_rules():
        for method in (rule.methods or set()) - {"HEAD"}:
            yield method.lower(), openapi.path_of(rule), CONTRACTS[app.view_functions[rule.endpoint]], rule.endpoint


def component(name: str) -> dict[str, str]:
    """A schema among the components, seen from outside of the document."""
    return {"$ref": f"openapi.json#/components/schemas/{name}"}


def fits(schema: dict[str, Any], found: Any) -> bool:
    """Whether something fits a schema."""
    return records.Validator(schema, registry=REGISTRY).is_valid(found)


# --- The document as a whole ----------------------------------------------------------------------------------------------------------


def test_the_document_is_freshly_generated() -> None:
    assert openapi.generate() == WRITTEN, "run make generate"


def test_the_document_is_valid() -> None:
    assert DOCUMENT["openapi"].startswith("3.1.")
    validate(DOCUMENT)


def test_every_route_is_documented_and_nothing_else(app: Flask) -> None:
    assert {(method, path) for method, path, _, _ in routes(app)} == set(OPERATIONS)


def test_every_status_is_documented_and_nothing_else(app: Flask) -> None:
    for method, path, contract, _ in routes(app):
        expected = {contract.status, *contract.refuses, *ALWAYS}
        assert {int(status) for status in OPERATIONS[method, path]["responses"]} == expected, path


def test_every_refusal_has_the_error_body(app: Flask) -> None:
    error = {"$ref": "#/components/schemas/errorSchema"}
    for operation in OPERATIONS.values():
        for status, response in operation["responses"].items():
            if int(status) >= 400:
                content = target(response)["content"]["application/json"]
                assert content["schema"] == error
                assert fits(component("errorSchema"), content["examples"]["usual"]["value"])
    assert {endpoint for endpoint, _ in SPECIAL_REFUSALS} <= set(app.view_functions)


def test_every_success_has_its_record_or_its_content_or_no_body(app: Flask) -> None:
    for method, path, contract, _ in routes(app):
        good = OPERATIONS[method, path]["responses"][str(contract.status)]
        if contract.record:
            schema = {"$ref": f"#/components/schemas/{contract.record}Schema"}
            assert good["content"] == {"application/json": {"schema": schema}}
        else:
            assert list(good.get("content", {})) == ([contract.content] if contract.content else [])


def test_the_headers_are_those_that_every_answer_is_held_against(app: Flask) -> None:
    for method, path, contract, endpoint in routes(app):
        for status, response in OPERATIONS[method, path]["responses"].items():
            assert sorted(target(response)["headers"]) == sorted(records.headers(endpoint, contract, int(status)))


def test_who_must_authenticate_and_what_is_deprecated(app: Flask) -> None:
    assert set(DOCUMENT["components"]["securitySchemes"]) == {"apiKey", "session"}
    for method, path, contract, _ in routes(app):
        operation = OPERATIONS[method, path]
        assert operation["security"] == ([] if contract.public else [{"apiKey": []}, {"session": []}])
        assert operation.get("deprecated", False) is contract.deprecated
        assert (401 in contract.refuses) is (not contract.public or path == "/auth/simple/login")


def test_every_operation_has_a_tag_a_summary_and_a_description() -> None:
    tags = [tag["name"] for tag in DOCUMENT["tags"]]
    assert len(tags) == len(set(tags))
    for operation in OPERATIONS.values():
        assert set(operation["tags"]) <= set(tags)
        assert operation["summary"]
        assert not operation["summary"].endswith(".")
        assert operation["description"]
    assert {tag for operation in OPERATIONS.values() for tag in operation["tags"]} == set(tags)


def test_every_parameter_of_a_path_is_documented_in_its_order() -> None:
    for (_, path), operation in OPERATIONS.items():
        documented = [parameter["name"] for parameter in operation["parameters"] if parameter["in"] == "path"]
        assert documented == re.findall(r"{([A-Za-z]+)}", path)


def test_no_words_are_left_of_what_is_no_more(app: Flask) -> None:
    contracts = [contract for _, _, contract, _ in routes(app)]
    schemas = [schema for contract in contracts for schema in (contract.body, contract.query) if schema]
    fields = {(schema.__name__, field.data_key or name) for schema in schemas for name, field in schema().fields.items()}
    in_paths = {("path", word) for _, path in OPERATIONS for word in re.findall(r"{([A-Za-z]+)}", path)}
    assert set(PARAMETERS) == fields | in_paths
    assert set(BODIES) == {contract.body for contract in contracts if contract.body}


def test_nothing_of_the_specification_or_of_a_machine_is_left_in_the_words() -> None:
    assert not re.search(r"api\.md|decisions\.md|neighbours\.md|/work/|/home/", WRITTEN)


# --- What parameters and bodies may be ------------------------------------------------------------------------------------------------

WORDS = ["", "a", "abc", " a", "a ", "a b", "a@b", "a@b.c", "@", "a@", "@b", "a@b@c", "é", "日本", "x" * 255, "x" * 256, "a@" + "x" * 253]
VALUES = [*WORDS, "12345678", None, True, False, 0, 1, -1, 100, 101, 5.5, 2**63 - 1, [], {}, ["a"], "feature-created", "Feature-Created"]
INSTANTS = ["2026-05-31T12:00:00Z", "2026-05-31T12:00:00.123+02:00"]
TEXTS = [
    *("", "IS", "IS:", "IS:a", "IS:a,b", "IS:1", "IS:1,2", "IS_ANY_OF:1", "is:1", " IS:1", "IS :1", "IS_ALL_OF:1"),
    *("2026-05-31", "IS:2026-05-31", "is:2026-05-31", "IS:2026-5-31", "2026-5-31", "2026-05-31T00:00:00Z", "IS:IS:2026-05-31"),
    *("0", "1", "50", "1000", "1001", "-1", "+1", "5.0", "1e3", " 1", "abc"),
]


FIELDS = [(body, name, field) for body, name in BODIES.items() for field in body().fields]


@pytest.mark.parametrize(("body", "name", "field"), FIELDS)
def test_what_the_document_refuses_of_a_body_is_refused(body: Callable[[], Any], name: str, field: str) -> None:
    verdicts = set()
    for value in [*VALUES, *INSTANTS]:
        asked = BODY_EXAMPLES[name] | {field: value}
        documented, reasons = fits(component(name), asked), body().validate(asked)
        verdicts.add(documented)
        # Of what the document takes, the service refuses no more than JSON Schema has no words for.
        unsaid = re.search(r"date-time|bytes long|own name", str(reasons))
        assert documented == (not reasons) or (documented and unsaid), (value, reasons)
    assert verdicts == {True, False}


@pytest.mark.parametrize("name", BODY_EXAMPLES)
def test_the_example_of_a_body_fits(name: str) -> None:
    body = next(body for body, its_name in BODIES.items() if its_name == name)
    assert fits(component(name), BODY_EXAMPLES[name])
    assert body().validate(BODY_EXAMPLES[name]) == {}


def test_unknown_properties_and_missing_ones_are_refused_as_documented() -> None:
    for body, name in BODIES.items():
        for asked in ({}, BODY_EXAMPLES[name] | {"other": 1}, *({key: word} for key, word in BODY_EXAMPLES[name].items())):
            assert fits(component(name), asked) == (not body().validate(asked)), (name, asked)


QUERIES = [
    (path, parameter["name"], parameter["schema"])
    for (_, path), operation in OPERATIONS.items()
    for parameter in operation["parameters"]
    if parameter["in"] == "query"
]


@pytest.mark.parametrize(("path", "name", "schema"), QUERIES)
def test_what_the_document_refuses_of_a_query_is_refused(alice: Caller, path: str, name: str, schema: dict[str, Any]) -> None:
    for text in TEXTS:
        documented = fits(schema, int(text) if schema["type"] == "integer" and text.isdigit() else text)
        answer = alice.get(path, query_string={name: text})
        # A pattern has no words for these.
        unsaid = re.search(r"user ids|years before", answer.json.get("message", ""))
        assert documented == (answer.status_code == 200) or (documented and unsaid), (text, answer.json)


# --- As it is served ------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("url", "path"), [("http://localhost", ""), ("https://example.org/flags", "/flags")])
def test_the_document_is_served_with_the_address_of_this_service(
    make_app: Callable[..., Flask], shared_url: str, url: str, path: str
) -> None:
    answer = Caller(make_app(shared_url, BASE_URL=url, BASE_PATH=path)).get(f"{path}/openapi.json")
    assert answer.status_code == 200
    assert answer.mimetype == "application/json"
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    assert answer.json == DOCUMENT | {"servers": [{"url": url}]}


def test_serving_the_document_needs_nothing_of_what_made_it() -> None:
    code = "import sys, app; app.create_app(); print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert "blueprints.documentation" in loaded
    assert not {"apispec", "jsonschema", "tests", "yaml"} & set(loaded)
