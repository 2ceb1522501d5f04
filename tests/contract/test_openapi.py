"""The OpenAPI document agrees with the code: routes, statuses, parameters and bodies."""

import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from flask import Flask

from contract import document as openapi
from contract.fields import name_of
from contract.words import BODIES
from serving.event_stream import LINES
from serving.operation import ALWAYS
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


def test_document_is_freshly_generated() -> None:
    assert openapi.text_of(openapi.document()) == WRITTEN, "run make generate"


@pytest.mark.slow
def test_document_is_valid() -> None:
    from openapi_spec_validator import validate

    assert DOCUMENT["openapi"].startswith("3.1.")
    validate(DOCUMENT)


def test_every_route_is_documented_and_nothing_else(app: Flask) -> None:
    assert {(method, path) for method, path, _, _ in routes(app)} == set(OPERATIONS)
    assert set(BODIES) <= set(ALL_BODIES)


def test_every_response_is_documented_and_no_other(app: Flask) -> None:
    for method, path, contract, endpoint in routes(app):
        responses = {int(status): target(found) for status, found in OPERATIONS[method, path]["responses"].items()}
        assert responses.keys() == {contract.status, *contract.refuses, *contract.errors, *ALWAYS} | (
            {304} if contract.etag else set()
        )
        for status, response in responses.items():
            assert sorted(response["headers"]) == sorted(records.headers(endpoint, contract, status))
            if status >= 400:
                content = response["content"]["application/json"]
                record = records.error_record(endpoint, status)
                assert content["schema"] == {"$ref": f"#/components/schemas/{record}Schema"}
                assert fits(component(f"{record}Schema"), content["examples"]["usual"]["value"])
        good = responses[contract.status]
        if contract.record:
            schemas = {"application/json": contract.record} | ({LINES: contract.lines} if contract.lines else {})
            assert good["content"] == {
                content: {"schema": {"$ref": f"#/components/schemas/{record}Schema"}}
                for content, record in schemas.items()
            }
        else:
            assert list(good.get("content", {})) == ([contract.content] if contract.content else [])


# Their 401 is about a password or a link.
PUBLIC_WITH_401 = {"/auth/simple/login", "/auth/reset/validate", "/auth/reset/password", "/ofrep/v1/stream"}


def test_security_and_deprecation_are_documented(app: Flask) -> None:
    assert set(DOCUMENT["components"]["securitySchemes"]) == {"apiKey", "session"}
    assert DOCUMENT["security"] == [{"apiKey": []}, {"session": []}]
    assert DOCUMENT["security"] == [{"apiKey": []}, {"session": []}]
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
        assert operation["summary"]
        assert not operation["summary"].endswith(".")
        assert operation["description"]
    assert {tag for operation in OPERATIONS.values() for tag in operation["tags"]} == set(tags)


def test_properties_of_bodies_have_types_and_no_defaults() -> None:
    for body in ALL_BODIES:
        written = DOCUMENT["components"]["schemas"][name_of(body)].get("properties", {})
        assert [name for name, schema in written.items() if "default" in schema] == []
        for name, field in body().fields.items():
            if isinstance(field, Ignored | ReadOnly):
                assert {"type", "anyOf", "enum", "$ref"} & written[field.data_key or name].keys(), (body, name)


# The verbs of operationIds, by method.
VERBS = {
    "get": "get list search check validate stream logOut",
    "post": (
        "create add set update clone copy move archive revive delete enable disable deprecate reactivate complete "
        "uncomplete skip stop undo test search sort validate evaluate import export register report send"
    ),
    "put": "set update sort",
    "patch": "patch",
    "delete": "delete remove archive",
}


def test_every_array_has_a_type_of_items() -> None:
    def arrays(node: Any) -> Iterator[Any]:
        for child in node.values() if isinstance(node, dict) else node if isinstance(node, list) else ():
            yield from arrays(child)
        if isinstance(node, dict) and node.get("type") in ("array", ["array", "null"]):
            yield node

    # openapi-python-client drops a whole schema without them.
    assert [node for node in arrays(DOCUMENT) if "items" not in node and "prefixItems" not in node] == []


def test_every_operation_id_is_a_verb_of_a_short_list_and_a_noun() -> None:
    ids = [operation["operationId"] for operation in OPERATIONS.values()]
    assert len(set(ids)) == len(ids)
    for (method, _), operation in OPERATIONS.items():
        verbs = VERBS[method].replace(" ", "|")
        # These three are better known than createSession.
        name = operation["operationId"]
        assert re.fullmatch(rf"({verbs})[A-Z][A-Za-z]*|logIn|logOut|signUp", name), name


def test_every_parameter_is_documented() -> None:
    for (_, path), operation in OPERATIONS.items():
        parameters = operation["parameters"]
        in_path = [parameter["name"] for parameter in parameters if parameter["in"] == "path"]
        assert in_path == re.findall(r"{([A-Za-z]+)}", path)
        assert all(one["schema"].get("examples") for one in parameters if one.get("required")), path
        # No two of them differ only by brackets.
        names = [parameter["name"].removesuffix("[]") for parameter in parameters]
        assert len(set(names)) == len(names), path


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


def test_document_names_no_internal_file_or_path() -> None:
    assert not re.search(r"\w\.md\b|/work/|/home/", WRITTEN)


# --- As it is served --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("url", "path"), [("http://localhost", ""), ("https://example.org/flags", "/flags")])
def test_document_is_served_with_the_address_of_this_service(
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
