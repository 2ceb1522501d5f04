"""Generate the OpenAPI document from the contracts of the views and the records: `make generate`."""

import inspect
import json
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from apispec import APISpec
from apispec.ext.marshmallow import MarshmallowPlugin
from flask import Flask
from werkzeug.routing import Rule

import blueprints
import validators.fields as fields
from app import create_app
from contract.fields import component, name_of, pointed, reference, shape
from contract.refusals import GENERAL
from contract.responses import SCHEMAS, error_record, headers
from contract.routes import api_rules, camel, is_page, path_of
from contract.words import ABOUT, CONTENTS, HEADERS, IF_MATCH, PATH_WORDS, PATH_WORDS_OF, SECURITY
from rules.refusals import Refusal
from serving.errors import NAMES
from serving.event_stream import LINES
from serving.operation import ALWAYS, CONTRACTS, Operation
from serving.version import VERSION
from validators import MAX_ITEMS, Body

GENERAL_ONLY = Refusal()
SERVER = "http://127.0.0.1:4242"
# What the 401 of GET /api/admin/user has beside the three keys.
LOGIN_FORM: dict[str, Any] = {"type": "password", "path": "/auth/simple/login", "defaultHidden": False, "options": []}


def document() -> dict[str, Any]:
    """Return the OpenAPI document of this service."""
    app = create_app({"DATABASE_URL": "postgresql://127.0.0.1/none"})
    spec = empty_spec(list(tags(app)))
    add_components(
        spec, bodies(CONTRACTS[view] for endpoint, view in app.view_functions.items() if not is_page(endpoint))
    )
    for endpoint, view in app.view_functions.items():
        for rule in api_rules(app, endpoint):
            operations = {
                method.lower(): described(endpoint, view, rule) for method in sorted((rule.methods or set()) - {"HEAD"})
            }
            spec.path(path=path_of(rule), operations=operations)
    document = spec.to_dict()
    return {"openapi": document.pop("openapi")} | document


def empty_spec(its_tags: list[dict[str, str]]) -> APISpec:
    """Return a document with these tags and without operations."""
    plugin = MarshmallowPlugin()
    spec = APISpec(
        title="Flags",
        version=VERSION,
        openapi_version="3.1.0",
        plugins=[plugin],
        info={"description": ABOUT, "license": {"name": "MIT", "identifier": "MIT"}},
        servers=[{"url": SERVER}],
        tags=its_tags,
        security=[{name: []} for name in SECURITY],
    )
    assert plugin.converter is not None
    plugin.converter.add_attribute_function(shape)
    return spec


def tags(app: Flask) -> Iterator[dict[str, str]]:
    """Yield a tag for each blueprint, in the order of ALL, with the docstring of its module as the description."""
    for blueprint in blueprints.ALL:
        module = sys.modules[app.blueprints[blueprint.name].import_name]
        yield {"name": tag(blueprint.name), "description": " ".join((inspect.getdoc(module) or "").split())}


def tag(blueprint: str) -> str:
    """Return the name of a tag: Signup tokens for signup_tokens."""
    return re.sub(r"\b(api|ui)\b", lambda word: word[0].upper(), blueprint.replace("_", " ").capitalize(), flags=re.I)


def bodies(contracts: Iterable[Operation]) -> list[type[Body]]:
    """Return the bodies of these operations, each once, followed by the bodies nested in it."""
    found: dict[type[Body], None] = {}
    for contract in contracts:
        if contract.body:
            found |= dict.fromkeys(with_nested(contract.body))
    return list(found)


def with_nested(body: type[Body]) -> list[type[Body]]:
    """Return a body and the bodies nested in it."""
    found = [body]
    for field in body().fields.values():
        while isinstance(field, fields.ListOf | fields.ObjectOf):
            field = field.inner if isinstance(field, fields.ListOf) else field.value_field
        if isinstance(field, fields.Nested):
            found += with_nested(field.schema_class)
    return found


def add_components(spec: APISpec, described_bodies: Iterable[type[Body]]) -> None:
    """Add records, bodies, refusals, headers and security schemes to the components."""
    for name, schema in SCHEMAS.items():
        spec.components.schema(
            f"{name}Schema", pointed({key: value for key, value in schema.items() if key != "$schema"})
        )
    # apispec raises an error if two bodies have the same name.
    for body in described_bodies:
        spec.components.schema(name_of(body), body.schema, schema=body())
    for status in GENERAL:
        spec.components.response(NAMES[status], error_response(status))
    for name, description in HEADERS.items():
        spec.components.header(name, {"description": description, "schema": {"type": "string"}})
    for name, scheme in SECURITY.items():
        spec.components.security_scheme(name, scheme)


def described(endpoint: str, view: Callable[..., object], rule: Rule) -> dict[str, Any]:
    """Return one operation, from its view, its contract and its rule."""
    contract = CONTRACTS[view]
    summary, _, rest = (inspect.getdoc(view) or "").partition("\n")
    operation: dict[str, Any] = {
        "tags": [tag(endpoint.split(".")[0])],
        "operationId": camel(endpoint.split(".")[1]),
        "summary": summary.rstrip("."),
        "description": re.sub(r"(?<!\n)\n(?!\n)", " ", rest.strip()),
        "parameters": list(parameters(endpoint, contract, rule)),
        "responses": responses(endpoint, contract),
    }
    if contract.public:
        operation["security"] = []
    if contract.body:
        operation["requestBody"] = {"required": True, "content": {"application/json": request_body(contract)}}
    if contract.deprecated:
        operation["deprecated"] = True
    return operation


def request_body(contract: Operation) -> dict[str, Any]:
    """Return the request body of an operation, with an example."""
    assert contract.body
    schema, example = reference(contract.body), contract.body.example
    if contract.many:
        return {
            "schema": {"type": "array", "items": schema, "maxItems": MAX_ITEMS},
            "examples": {"usual": {"value": [example]}},
        }
    return {"schema": schema, "examples": {"usual": {"value": example}}}


def parameters(endpoint: str, contract: Operation, rule: Rule) -> Iterator[dict[str, Any]]:
    """Yield the parameters of the path in their order, then If-Match, then those of the query."""
    blueprint = endpoint.split(".")[0]
    for name in re.findall(r"<(?:[a-z_]+:)?([a-z_]+)>", rule.rule):
        word = camel(name)
        own = PATH_WORDS_OF.get((endpoint, word)) or PATH_WORDS_OF.get((blueprint, word))
        description, example = own or PATH_WORDS[word]
        schema = {"type": "string", "minLength": 1, "examples": [example]}
        yield {"in": "path", "name": word, "required": True, "description": description, "schema": schema}
    if 412 in contract.refuses:
        yield {"in": "header", "name": "If-Match", "description": IF_MATCH, "schema": {"type": "string"}}
    if contract.query:
        yield {"in": "query", "schema": contract.query()}


def responses(endpoint: str, contract: Operation) -> dict[str, Any]:
    """Return the response of each status of the operation."""
    good: dict[str, Any] = {
        "description": "Done. The body is empty.",
        "headers": promised(endpoint, contract, contract.status),
    }
    if contract.record:
        good["description"] = SCHEMAS[contract.record]["description"]
        good["content"] = {"application/json": {"schema": {"$ref": component(contract.record)}}}
        if contract.lines:
            # OpenAPI 3.1 can describe a line, but not a sequence of lines.
            good["content"][LINES] = {"schema": {"$ref": component(contract.lines)}}
    elif contract.content:
        good["description"], schema = CONTENTS[contract.content]
        good["content"] = {contract.content: {"schema": schema}}
    refusals = {}
    for status in sorted({*contract.refuses, *contract.errors, *ALWAYS}):
        record = error_record(endpoint, status)
        general = status not in contract.errors and record == "error"
        refusals[str(status)] = (
            NAMES[status] if general else error_response(status, contract.errors.get(status, GENERAL_ONLY), record)
        )
    unmodified = {}
    if contract.etag:
        unmodified["304"] = {
            "description": "The client has the current response already: If-None-Match names its ETag.",
            "headers": promised(endpoint, contract, 304),
        }
    return {str(contract.status): good} | unmodified | refusals


def error_response(status: int, refusal: Refusal = GENERAL_ONLY, record: str = "error") -> dict[str, Any]:
    """Return the response of a status from 400 on, with an example."""
    general = GENERAL[status]
    description = refusal.description or general.description
    message = refusal.message or refusal.description or general.message
    example = {"id": "0f9c1f0e-7f5d-4d6a-9b1e-3c2f5a8e1b47", "name": refusal.name or NAMES[status], "message": message}
    if record == "loginRequired":
        example |= LOGIN_FORM
    elif record == "ofrepError":
        example |= {"errorCode": "GENERAL", "errorDetails": message}
    content = {
        "application/json": {"schema": {"$ref": component(f"{record}.json")}, "examples": {"usual": {"value": example}}}
    }
    return {"description": description, "headers": promised(None, None, status), "content": content}


def promised(endpoint: str | None, contract: Operation | None, status: int) -> dict[str, str]:
    """Return references to the headers of a response."""
    return {name: name for name in headers(endpoint, contract, status)}


def text_of(document: dict[str, Any]) -> str:
    """Return the document as the text of docs/openapi.json."""
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"
