"""The OpenAPI document in docs/, its operations, and the routes of the app."""

import json
from collections.abc import Iterator
from typing import Any

from flask import Flask
from referencing import Registry, Resource
from referencing.jsonschema import DRAFT202012

from blueprints.documentation import DOCS
from contract import document as openapi
from contract.routes import api_rules, path_of
from serving.operation import CONTRACTS, Operation
from tests.support import records

WRITTEN = (DOCS / "openapi.json").read_text(encoding="utf-8")
DOCUMENT = json.loads(WRITTEN)
REGISTRY: Registry = Registry().with_resource("openapi.json", Resource(contents=DOCUMENT, specification=DRAFT202012))
OPERATIONS = {
    (method, path): operation for path, methods in DOCUMENT["paths"].items() for method, operation in methods.items()
}
ALL_BODIES = openapi.bodies(CONTRACTS.values())


def routes(app: Flask) -> Iterator[tuple[str, str, Operation, str]]:
    """Yield every operation of the service: method, path as in the document, contract, endpoint."""
    for rule in api_rules(app):
        for method in (rule.methods or set()) - {"HEAD"}:
            yield method.lower(), path_of(rule), CONTRACTS[app.view_functions[rule.endpoint]], rule.endpoint


def component(name: str) -> dict[str, str]:
    """Return a reference to a component from outside the document."""
    return {"$ref": f"openapi.json#/components/schemas/{name}"}


def fits(schema: dict[str, Any], found: Any) -> bool:
    """Return whether a value fits a schema."""
    return records.Validator(schema, registry=REGISTRY).is_valid(found)
