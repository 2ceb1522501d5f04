"""The OpenAPI document agrees with the code: routes, statuses, parameters and bodies."""

import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from flask import Flask
from openapi_spec_validator import validate

from contract import document as openapi
from contract.fields import name_of
from contract.words import BODIES
from serving.contract import ALWAYS
from serving.event_stream import LINES
from tests.support import records
from tests.support.openapi_document import ALL_BODIES, DOCUMENT, OPERATIONS, WRITTEN, component, fits, routes
from tests.support.world import Caller
from validators.returned import Ignored, ReadOnly


def target(node: dict[str, Any]) -> dict[str, Any]:
    """Return a node of the document, following its reference."""
    while "$ref" in node:
        found: Any = DOCUMENT
        for step in node["$ref"].removeprefix("#/").split("/"):
            found = found[step]
        node = found
    return node


# --- The document as a whole ------------------------------------------------------------------------------------------


def test_the_document_is_freshly_generated() -> None:
    assert openapi.text_of(openapi.document()) == WRITTEN, "run make generate"


def test_the_document_is_valid() -> None:
    assert DOCUMENT["openapi"].startswith("3.1.")
    validate(DOCUMENT)


def test_every_route_is_documented_and_nothing_else(app: Flask) -> None:
    assert {(method, path) for method, path, _, _ in routes(app)} == set(OPERATIONS)


def test_every_status_is_documented_and_nothing_else(app: Flask) -> None:
    for method, path, contract, _ in routes(app):
        expected = {contract.status, *contract.refuses, *ALWAYS} | ({304} if contract.etag else set())
        assert {int(status) for status in OPERATIONS[method, path]["responses"]} == expected, path


def test_every_refusal_has_the_error_body(app: Flask) -> None:
    for method, path, contract, endpoint in routes(app):
        for status, response in OPERATIONS[method, path]["responses"].items():
            if int(status) >= 400:
                content = target(response)["content"]["application/json"]
                record = records.error_record(endpoint, int(status))
                assert content["schema"] == {"$ref": f"#/components/schemas/{record}Schema"}
                assert fits(component(f"{record}Schema"), content["examples"]["usual"]["value"])
        assert set(contract.errors) <= {*contract.refuses, *ALWAYS}


def test_every_success_has_its_record_or_its_content_or_no_body(app: Flask) -> None:
    for method, path, contract, _ in routes(app):
        good = OPERATIONS[method, path]["responses"][str(contract.status)]
        if contract.record:
            schemas = {"application/json": contract.record} | ({LINES: contract.lines} if contract.lines else {})
            expected = {
                content: {"schema": {"$ref": f"#/components/schemas/{record}Schema"}}
                for content, record in schemas.items()
            }
            assert good["content"] == expected
        else:
            assert list(good.get("content", {})) == ([contract.content] if contract.content else [])


def test_the_headers_are_those_that_every_answer_is_held_against(app: Flask) -> None:
    for method, path, contract, endpoint in routes(app):
        for status, response in OPERATIONS[method, path]["responses"].items():
            assert sorted(target(response)["headers"]) == sorted(records.headers(endpoint, contract, int(status)))


# Their 401 is about a password or a link.
PUBLIC_WITH_401 = {"/auth/simple/login", "/auth/reset/validate", "/auth/reset/password"}


def test_security_and_deprecation_are_documented(app: Flask) -> None:
    assert set(DOCUMENT["components"]["securitySchemes"]) == {"apiKey", "session"}
    assert DOCUMENT["security"] == [{"apiKey": []}, {"session": []}]
    for method, path, contract, _ in routes(app):
        operation = OPERATIONS[method, path]
        assert operation.get("security") == ([] if contract.public else None)
        assert operation.get("deprecated", False) is bool(contract.deprecated)
        assert (401 in contract.refuses) is (not contract.public or path in PUBLIC_WITH_401)


def test_every_operation_has_a_tag_a_summary_and_a_description() -> None:
    tags = [tag["name"] for tag in DOCUMENT["tags"]]
    assert len(tags) == len(set(tags))
    # A description says more than the name does.
    assert [tag for tag in DOCUMENT["tags"] if len(tag["description"].split()) < len(tag["name"].split()) + 3] == []
    for operation in OPERATIONS.values():
        assert set(operation["tags"]) <= set(tags)
        assert operation["summary"]
        assert not operation["summary"].endswith(".")
        assert operation["description"]
    assert {tag for operation in OPERATIONS.values() for tag in operation["tags"]} == set(tags)


def test_properties_of_bodies_have_types_and_no_defaults() -> None:
    for body in ALL_BODIES:
        fields = body().fields.items()
        written = DOCUMENT["components"]["schemas"][name_of(body)].get("properties", {})
        assert [name for name, schema in written.items() if "default" in schema] == []
        read_only = [field.data_key or name for name, field in fields if isinstance(field, Ignored | ReadOnly)]
        assert [name for name in read_only if not {"type", "anyOf", "enum", "$ref"} & written[name].keys()] == [], body


# The verbs of operationIds, by method.
VERBS = {
    "get": "get list search check validate logOut",
    "post": (
        "create add set update clone move archive revive delete enable disable deprecate reactivate complete "
        "uncomplete search sort validate evaluate import export register report"
    ),
    "put": "set update sort",
    "patch": "patch",
    "delete": "delete remove archive",
}


def test_every_operation_id_is_a_verb_of_a_short_list_and_a_noun() -> None:
    ids = [operation["operationId"] for operation in OPERATIONS.values()]
    assert len(set(ids)) == len(ids)
    for (method, _), operation in OPERATIONS.items():
        verbs = VERBS[method].replace(" ", "|")
        # These three are better known than createSession.
        assert re.fullmatch(rf"({verbs})[A-Z][A-Za-z]*|logIn|logOut|signUp", operation["operationId"]), operation[
            "operationId"
        ]


def test_a_get_of_an_array_or_a_collection_is_named_list_or_search() -> None:
    collections = {path.rpartition("/{")[0] for _, path in OPERATIONS if path.endswith("}")}
    for (method, path), operation in OPERATIONS.items():
        schema = operation["responses"].get("200", {}).get("content", {}).get("application/json", {}).get("schema", {})
        if method == "get" and (path in collections or target(schema).get("type") == "array"):
            assert operation["operationId"].startswith(("list", "search")), operation["operationId"]


def test_every_parameter_of_a_path_is_documented_in_its_order() -> None:
    for (_, path), operation in OPERATIONS.items():
        documented = [parameter["name"] for parameter in operation["parameters"] if parameter["in"] == "path"]
        assert documented == re.findall(r"{([A-Za-z]+)}", path)


def schemas(node: Any) -> Iterator[dict[str, Any]]:
    """Yield every object of the document that has a type."""
    if isinstance(node, dict):
        if isinstance(node.get("type"), str | list):
            yield node
        for inner in node.values():
            yield from schemas(inner)
    elif isinstance(node, list):
        for inner in node:
            yield from schemas(inner)


def test_every_array_has_items() -> None:
    arrays = [schema for schema in schemas(DOCUMENT) if "array" in schema["type"]]
    assert len(arrays) > 50
    assert [schema for schema in arrays if "items" not in schema] == []


def bad_examples(schema: Any, place: str) -> Iterator[str]:
    """Yield texts and numbers without an example, which the page would show as "string" or 0, and invalid examples."""
    kinds = {schema.get("type")} if isinstance(schema.get("type"), str) else set(schema.get("type") or ())
    shows = {"examples", "enum", "const", "format", "default"} & set(schema)
    if kinds & {"string", "integer", "number"} and not shows:
        yield place
    yield from (f"{place}: {example}" for example in schema.get("examples", ()) if not fits(schema, example))
    for name, inner in schema.get("properties", {}).items():
        yield from bad_examples(inner, f"{place}.{name}")
    # An array that is always empty needs no item.
    for keyword in ("items", "additionalProperties") if schema.get("maxItems") != 0 else ():
        if isinstance(schema.get(keyword), dict):
            yield from bad_examples(schema[keyword], f"{place}[]")
    for keyword in ("anyOf", "oneOf"):
        for inner in schema.get(keyword, ()):
            yield from bad_examples(inner, place)


def test_every_text_and_number_of_a_response_has_a_valid_example() -> None:
    wrong = [place for name, schema in records.SCHEMAS.items() for place in bad_examples(schema, name)]
    assert wrong == []


def example_of(path: str, method: str, name: str) -> str:
    """The example of a parameter, which the curl commands use."""
    [parameter] = [each for each in DOCUMENT["paths"][path][method]["parameters"] if each["name"] == name]
    return parameter["schema"]["examples"][0]


def test_every_required_parameter_has_an_example() -> None:
    for operation in OPERATIONS.values():
        required = [parameter for parameter in operation["parameters"] if parameter.get("required")]
        assert all(parameter["schema"].get("examples") for parameter in required), operation["operationId"]


def test_the_path_of_a_record_names_the_record_of_the_example_that_creates_it() -> None:
    compared = 0
    for path in (path for path in DOCUMENT["paths"] if path.endswith("/{name}")):
        collection = DOCUMENT["paths"].get(path.removesuffix("/{name}"), {})
        if "post" in collection:
            body = collection["post"]["requestBody"]["content"]["application/json"]["examples"]["usual"]["value"]
            assert example_of(path, "get", "name") == body["name"]
            compared += 1
    assert compared == 4


def test_api_tokens_are_found_by_name_and_changed_by_secret() -> None:
    path = "/api/admin/api-tokens/{apiToken}"
    assert "." not in example_of(path, "get", "apiToken")
    for method in ("put", "delete"):
        assert example_of(path, method, "apiToken").startswith("checkout:production.")


def test_no_operation_has_two_parameters_that_differ_only_by_brackets() -> None:
    for operation in OPERATIONS.values():
        names = [parameter["name"].removesuffix("[]") for parameter in operation["parameters"]]
        assert len(set(names)) == len(names), operation["operationId"]


def test_no_unused_body_has_a_name_of_its_own() -> None:
    assert set(BODIES) <= set(ALL_BODIES)


def test_the_document_names_no_internal_file_or_path() -> None:
    assert not re.search(r"\w\.md\b|/work/|/home/", WRITTEN)


# --- As it is served --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("url", "path"), [("http://localhost", ""), ("https://example.org/flags", "/flags")])
def test_the_document_is_served_with_the_address_of_this_service(
    make_app: Callable[..., Flask], shared_url: str, url: str, path: str
) -> None:
    answer = Caller(make_app(shared_url, BASE_URL=url, BASE_PATH=path)).get(f"{path}/openapi.json")
    assert answer.status_code == 200
    assert answer.mimetype == "application/json"
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    assert answer.json == DOCUMENT | {"servers": [{"url": url}]}


def test_serving_the_document_does_not_load_its_generator() -> None:
    code = "import sys, app; app.create_app(); print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert "blueprints.documentation" in loaded
    assert not {"apispec", "jsonschema", "tests", "yaml"} & set(loaded)
