"""Check that a response is what the contract documents: status, headers and record."""

import json
import re
from collections.abc import Iterator
from functools import cache
from typing import Any

from flask import Flask
from jsonschema import Draft202012Validator
from jsonschema.exceptions import ValidationError, best_match
from jsonschema.validators import extend
from referencing import Registry
from referencing.jsonschema import DRAFT202012
from werkzeug.exceptions import HTTPException
from werkzeug.test import TestResponse

from contract.responses import SCHEMAS, error_record, headers, statuses
from contract.routes import is_page
from serving import browser_headers as browser_rules
from serving.event_stream import LINES
from serving.mount import path_of_operation
from serving.operation import CONTRACTS, Operation
from serving.path_converters import keep_encoded_slashes

# Without $schema: it would make jsonschema validate a referenced record with its own validator instead of ours.
REGISTRY: Registry = Registry().with_resources(
    (f"{name}.json", DRAFT202012.create_resource({key: part for key, part in schema.items() if key != "$schema"}))
    for name, schema in SCHEMAS.items()
)

# The first key of a body without the space that PostgreSQL writes before a colon.
COMPACT = re.compile(rb'[\[{]+"\w+":')

# JSON Schema takes 5.0 for an integer; typed clients do not.
Validator = extend(
    Draft202012Validator,
    type_checker=Draft202012Validator.TYPE_CHECKER.redefine("integer", lambda _, found: type(found) is int),
)


def in_documented_order(
    validator: Any, properties: dict[str, Any], instance: Any, schema: dict[str, Any]
) -> Iterator[ValidationError]:
    """Check the properties of an object, and that their keys have the order of the schema."""
    yield from Draft202012Validator.VALIDATORS["properties"](validator, properties, instance, schema)
    # Constraints are stored and returned as they were sent.
    if isinstance(instance, dict) and "contextName" not in properties:
        keys = [key for key in instance if key in properties]
        if keys != sorted(keys, key=list(properties).index):
            yield ValidationError(f"has the keys {keys}, and not in the order {list(properties)}")


ResponseValidator = extend(Validator, {"properties": in_documented_order})


@cache
def validator(name: str) -> Draft202012Validator:
    """The validator of a record, formats included."""
    return ResponseValidator(SCHEMAS[name], registry=REGISTRY, format_checker=Draft202012Validator.FORMAT_CHECKER)


def check(app: Flask, response: TestResponse) -> None:
    """Raise AssertionError unless the operation documents this response: status, headers, and each key of the body."""
    endpoint, operation = asked(app, response)
    # Preflight requests (OPTIONS) belong to no operation.
    if is_page(endpoint) or (
        endpoint is None and (response.mimetype == "text/html" or response.request.method == "OPTIONS")
    ):
        return
    status = response.status_code
    what = f"{response.request.method} {endpoint or 'at no route'}: {status}"
    expect(status in statuses(operation), what, "is a status that is not documented")
    missing = [name for name in headers(endpoint, operation, status) if name not in response.headers]
    expect(not missing, what, f"lacks the headers {missing}")
    # Those of pages, which have some of their own, are looked at in tests/service/serving/test_browser_rules.py.
    rules = {} if (endpoint or "").startswith("documentation.") else browser_rules.ALWAYS | browser_rules.DEFAULTS
    if "ETag" in response.headers:
        rules = {name: text for name, text in rules.items() if name != "Cache-Control"}
    wrong = {
        name: response.headers.getlist(name) for name, text in rules.items() if response.headers.getlist(name) != [text]
    }
    expect(not wrong, what, f"has the headers {wrong}")
    if response.request.method == "HEAD":
        return
    if status >= 400:
        # A wrong method has no endpoint, but the error body of its path.
        is_ofrep = response.request.path.startswith("/ofrep/v1/evaluate/flags")
        check_json("ofrepError" if is_ofrep else error_record(endpoint, status), response, what)
    elif status == 304:
        expect("Content-Type" not in response.headers, what, "has a Content-Type without a body")
    elif operation and operation.lines and response.mimetype == LINES:
        check_lines(operation.lines, response, what)
    elif operation and operation.record:
        check_json(operation.record, response, what)
    elif operation and operation.content:
        expect(response.mimetype == operation.content, what, f"is of type {response.mimetype}, not {operation.content}")
    else:
        expect(response.get_data() == b"", what, "has a body, and none is documented")
        # Clients of the deletion of a strategy look at the type first.
        kind = ["application/json"] if endpoint == "strategies.delete_strategy" else []
        expect(
            response.headers.getlist("Content-Type") == kind, what, f"has no body, and its Content-Type is not {kind}"
        )


def check_json(record: str, response: TestResponse, what: str) -> None:
    """AssertionError unless the body is JSON that fits the record."""
    expect(response.mimetype == "application/json", what, f"is of type {response.mimetype}")
    check_text(record, response.get_data(), what)


def check_lines(record: str, response: TestResponse, what: str) -> None:
    """AssertionError unless the body is lines, each of them ended, and each JSON that fits the record."""
    *lines, rest = response.get_data().split(b"\n")
    expect(rest == b"", what, "does not end its last line")
    for line in lines:
        check_text(record, line, what)


def check_text(record: str, text: bytes, what: str) -> None:
    """Raise AssertionError unless the text is JSON that fits the record, with PostgreSQL's spaces around a colon."""
    error = best_match(validator(record).iter_errors(json.loads(text, object_pairs_hook=without_duplicates)))
    expect(
        error is None,
        what,
        f"does not fit contract/records/{record}.json: {error.json_path}: {error.message}" if error else "",
    )
    # Load balancers may compare the exact body of /health. The flags of applications are many, and have no spaces.
    expect(
        record == "health" or record.startswith(("client", "frontend", "ofrepEvaluation")) or not COMPACT.match(text),
        what,
        "has no space before its first colon",
    )


def expect(holds: bool, *what: str) -> None:
    """Raise AssertionError if something does not hold. (A bare assert would not say what, outside of a test module.)"""
    if not holds:
        raise AssertionError(" ".join(what))


def without_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object in which no key stands twice."""
    expect(len(dict(pairs)) == len(pairs), "a key stands twice in", str([key for key, _ in pairs]))
    return dict(pairs)


def asked(app: Flask, response: TestResponse) -> tuple[str | None, Operation | None]:
    """The endpoint that an answer came from, and its contract; None: there is none at that address."""
    environ = keep_encoded_slashes(response.request.environ)
    base = app.config["BASE_PATH"]
    path = path_of_operation(environ["PATH_INFO"], base)
    if base and path.startswith(f"{base}/"):
        path = path.removeprefix(base)
    if path.startswith("//"):
        return None, None
    try:
        endpoint, _ = app.url_map.bind_to_environ({**environ, "PATH_INFO": path}).match()
    except HTTPException:
        return None, None
    return endpoint, CONTRACTS.get(app.view_functions[endpoint])
