"""Makes the OpenAPI document from the contracts of the views and the records: python -m tests.openapi > docs/openapi.json."""

import configparser
import inspect
import json
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from apispec import APISpec
from apispec.ext.marshmallow import MarshmallowPlugin
from flask import Flask
from werkzeug.routing import Rule

import blueprints
from app import create_app
from blueprints.contract import ALWAYS, CONTRACTS, Operation
from tests import records
from tests.openapi_words import (
    ABOUT,
    BODIES,
    BODY_EXAMPLES,
    CONTENTS,
    HEADERS,
    MORE_OF_BODIES,
    PARAMETERS,
    PATH_EXAMPLES,
    REFUSALS,
    SECURITY,
    SPECIAL_REFUSALS,
)
from validators import fields
from validators.errors import NAMES
from validators.events import TYPES
from validators.users import Password

# api.md 3, word for word.
FILTER = r"^(IS|IS_ANY_OF):(.*?)(,([a-zA-Z0-9_]+))*$"
SERVER = "http://127.0.0.1:4242"


def document() -> dict[str, Any]:
    """The OpenAPI document of this service."""
    app = create_app({"DATABASE_URL": "postgresql://127.0.0.1/none"})
    plugin = MarshmallowPlugin()
    spec = APISpec(
        title="Feature-flag administration",
        version=version(),
        openapi_version="3.1.0",
        plugins=[plugin],
        info={"description": ABOUT, "license": {"name": "MIT", "identifier": "MIT"}},
        servers=[{"url": SERVER}],
        tags=list(tags(app)),
    )
    assert plugin.converter is not None
    plugin.converter.add_attribute_function(shape)
    add_components(spec)
    for endpoint, view in app.view_functions.items():
        for rule in app.url_map.iter_rules(endpoint):
            operations = {method.lower(): described(endpoint, view, rule) for method in sorted((rule.methods or set()) - {"HEAD"})}
            spec.path(path=path_of(rule), operations=operations)
    made = spec.to_dict()
    return {"openapi": made.pop("openapi")} | made


def version() -> str:
    """The version that setup.cfg declares."""
    config = configparser.ConfigParser()
    config.read(Path(__file__).parent.parent / "setup.cfg", encoding="utf-8")
    return config["metadata"]["version"]


def tags(app: Flask) -> Iterator[dict[str, str]]:
    """One tag a blueprint, in the order of the table of contents, with what its module says of itself."""
    for blueprint in blueprints.ALL:
        module = sys.modules[app.blueprints[blueprint.name].import_name]
        said = inspect.getdoc(module) or ""
        # The places in the specification are for those who read the code.
        yield {"name": tag(blueprint.name), "description": re.sub(r" \([a-z]+\.md [^)]*\)", "", said.splitlines()[0])}


def tag(blueprint: str) -> str:
    """signup_tokens as Signup tokens."""
    return blueprint.replace("_", " ").capitalize()


def add_components(spec: APISpec) -> None:
    """What operations refer to: records, bodies, refusals, headers and the two ways to say who one is."""
    for name, schema in records.SCHEMAS.items():
        spec.components.schema(f"{name}Schema", pointed({key: value for key, value in schema.items() if key != "$schema"}))
    for body, name in BODIES.items():
        spec.components.schema(name, MORE_OF_BODIES.get(name), schema=body())
    for status, (description, message) in REFUSALS.items():
        spec.components.response(NAMES[status], refusal(status, description, message))
    for name, description in HEADERS.items():
        spec.components.header(name, {"description": description, "schema": {"type": "string"}})
    for name, scheme in SECURITY.items():
        spec.components.security_scheme(name, scheme)


def pointed(schema: Any) -> Any:
    """A record's schema with its references to other records as the document has them."""
    if isinstance(schema, list):
        return [pointed(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    return {key: component(value) if key == "$ref" else pointed(value) for key, value in schema.items()}


def component(file: str) -> str:
    """user.json as the place of that record in the document."""
    return f"#/components/schemas/{file.removesuffix('.json')}Schema"


def path_of(rule: Rule) -> str:
    """/a/<project_id> as /a/{projectId}."""
    return re.sub(r"<([a-z_]+)>", lambda found: f"{{{camel(found[1])}}}", rule.rule)


def camel(words: str) -> str:
    """project_id as projectId."""
    first, *others = words.split("_")
    return first + "".join(word.title() for word in others)


def described(endpoint: str, view: Callable[..., object], rule: Rule) -> dict[str, Any]:
    """One operation, as its view, its contract and its rule tell."""
    contract = CONTRACTS[view]
    summary, _, rest = (inspect.getdoc(view) or "").partition("\n")
    operation: dict[str, Any] = {
        "tags": [tag(endpoint.split(".")[0])],
        "operationId": camel(endpoint.split(".")[1]),
        "summary": summary.rstrip("."),
        "description": re.sub(r"(?<!\n)\n(?!\n)", " ", rest.strip()),
        "parameters": list(parameters(contract, rule)),
        "responses": responses(endpoint, contract),
        "security": [] if contract.public else [{name: []} for name in SECURITY],
    }
    if contract.body:
        name = BODIES[contract.body]
        content = {"schema": {"$ref": f"#/components/schemas/{name}"}, "examples": {"usual": {"value": BODY_EXAMPLES[name]}}}
        operation["requestBody"] = {"required": True, "content": {"application/json": content}}
    if contract.deprecated:
        operation["deprecated"] = True
    return operation


def parameters(contract: Operation, rule: Rule) -> Iterator[dict[str, Any]]:
    """Those of the path in its order, then those of the query."""
    for name in re.findall(r"<([a-z_]+)>", rule.rule):
        word = camel(name)
        schema = {"type": "string", "minLength": 1, "examples": [PATH_EXAMPLES[word]]}
        yield {"in": "path", "name": word, "required": True, "description": PARAMETERS["path", word], "schema": schema}
    if contract.query:
        yield {"in": "query", "schema": contract.query()}


def responses(endpoint: str, contract: Operation) -> dict[str, Any]:
    """The answer of every status that the operation can give."""
    good: dict[str, Any] = {"description": "Done. The body is empty.", "headers": promised(endpoint, contract, contract.status)}
    if contract.record:
        good["description"] = records.SCHEMAS[contract.record]["description"]
        good["content"] = {"application/json": {"schema": {"$ref": component(contract.record)}}}
    elif contract.content:
        good["description"], schema = CONTENTS[contract.content]
        good["content"] = {contract.content: {"schema": schema}}
    refusals = {}
    for status in sorted({*contract.refuses, *ALWAYS}):
        special = SPECIAL_REFUSALS.get((endpoint, status))
        refusals[str(status)] = refusal(status, *special) if special else NAMES[status]
    return {str(contract.status): good} | refusals


def refusal(status: int, description: str, message: str, name: str | None = None) -> dict[str, Any]:
    """The answer of a status from 400 on; its example has this message."""
    example = {"id": "0f9c1f0e-7f5d-4d6a-9b1e-3c2f5a8e1b47", "name": name or NAMES[status], "message": message}
    content = {"application/json": {"schema": {"$ref": component("error.json")}, "examples": {"usual": {"value": example}}}}
    return {"description": description, "headers": promised(None, None, status), "content": content}


def promised(endpoint: str | None, contract: Operation | None, status: int) -> dict[str, str]:
    """The headers of an answer, by their names among the components."""
    return {name: name for name in records.headers(endpoint, contract, status)}


def shape(_converter: Any, field: fields.fields.Field, **_: Any) -> dict[str, Any]:
    """What one of the fields of validators/fields.py takes, as JSON Schema, with its description."""
    return {"description": PARAMETERS[type(field.parent).__name__, field.data_key or field.name]} | json_schema(field)


def json_schema(field: fields.fields.Field) -> dict[str, Any]:
    """The type of a field and its limits."""
    match field:
        case fields.OneOf(choices=choices):
            return {"$ref": component("eventType.json")} if choices is TYPES else {"type": "string", "enum": sorted(choices)}
        case fields.Email():
            return {"type": "string", "format": "email", "maxLength": 254, "pattern": f"^{fields.EMAIL.pattern}$"}
        case fields.Username():
            return text(field) | {"pattern": r"^[^@\s]([^@]*[^@\s])?$"}
        case Password():
            return text(field) | {"format": "password"}
        case fields.Text():
            return text(field)
        case fields.Boolean():
            return {"type": "boolean"}
        case fields.Integer(min=low, max=high):
            return {"type": "integer", "minimum": low} | ({"format": "int64"} if high == fields.BIGINT_MAX else {"maximum": high})
        case fields.DateTime():
            return {"type": "string", "format": "date-time"}
        case fields.Day(prefix="IS:"):
            return {"type": "string", "pattern": r"^(IS):\d{4}-\d{2}-\d{2}$"}
        case fields.Day(prefix="", empty_is_absent=True):
            return {"type": "string", "pattern": r"^(\d{4}-\d{2}-\d{2})?$"}
        case fields.Filter():
            return {"type": "string", "pattern": FILTER}
        case _:
            raise TypeError(f"{type(field).__name__} has no place in the OpenAPI document: give it one here")


def text(field: fields.Text) -> dict[str, Any]:
    """The limits of a text."""
    limits = {"minLength": field.min or None, "maxLength": field.max}
    return {"type": "string"} | {name: limit for name, limit in limits.items() if limit is not None}


def generate() -> str:
    """The document as it stands in docs/openapi.json."""
    return json.dumps(document(), indent=2, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    sys.stdout.write(generate())
