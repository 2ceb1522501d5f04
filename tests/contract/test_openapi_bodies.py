"""The OpenAPI document says of each parameter and body what the service takes, neither more nor less."""

import re
from typing import Any

import pytest
from marshmallow import ValidationError
from marshmallow.fields import Field

from contract import document as openapi
from contract import fields as openapi_fields
from rules.import_documents import Findings, read_entries
from tests.access import CLIENT_SIDE
from tests.support import records
from tests.support.openapi_document import ALL_BODIES, OPERATIONS, REGISTRY, component, fits, routes
from tests.support.world import Caller, World
from validators import Body, Query, fields, read
from validators.flags.transfer import FlagDocument
from validators.returned import Ignored, ReadOnly

# --- What parameters and bodies may be --------------------------------------------------------------------------------

WORDS = [
    *"a abc a@b a@b.c @ a@ @b a@b@c é 日本".split(),
    *("", " a", "a ", "a b", "x" * 255, "x" * 256, "a@" + "x" * 253),
]
VALUES = [
    *(*WORDS, "12345678", "feature-created", "Feature-Created"),
    *(None, True, False, 0, 1, -1, 100, 101, 5.5, 2**63 - 1, [], {}, ["a"]),
]
INSTANTS = ["2026-05-31T12:00:00Z", "2026-05-31T12:00:00.123+02:00"]
TEXTS = [
    *("", "IS", "IS:", "IS:a", "IS:a,b", "IS:1", "IS:1,2", "IS_ANY_OF:1", "is:1", " IS:1", "IS :1", "IS_ALL_OF:1"),
    *("IS:2026-05-31", "is:2026-05-31", "IS:2026-5-31", "IS:IS:2026-05-31"),
    *("2026-05-31", "2026-5-31", "2026-05-31T00:00:00Z"),
    *("0", "1", "50", "1000", "1001", "-1", "+1", "5.0", "1e3", " 1", "abc"),
]


# The service may refuse a documented value if JSON Schema cannot express the reason: this one, and those in
# `beyond_json_schema` of a schema.
UNSAID = "date-time"


def beyond_json_schema(*schemas: type[Body] | type[Query]) -> re.Pattern[str]:
    """Return a pattern of the reasons for which one of these schemas may refuse a documented value."""
    return re.compile(
        "|".join([UNSAID, *(schema.beyond_json_schema for schema in schemas if schema.beyond_json_schema)])
    )


def values_for(field: Field) -> list[Any]:
    """Return values to try on a field: the common ones, and those of its kind."""
    values = [*VALUES, *INSTANTS]
    if isinstance(field, fields.ListOf):
        values += [[value] for value in values_for(field.inner)]
        values += [] if field.max is None else [values[-1] * (field.max + extra) for extra in (0, 1)]
    elif isinstance(field, fields.ObjectOf):
        values += [{"a": value} for value in values_for(field.value_field)]
    elif isinstance(field, fields.OneOf):
        values.append(min(field.choices))
    elif isinstance(field, fields.Nested):
        values += [field.schema_class.example | {"other": 1}, field.schema_class.example]
    return values


class Comparison:
    """Compares the document of a body with what the service accepts."""

    def __init__(self, body: type[Body]) -> None:
        self.validator = records.Validator(component(openapi_fields.name_of(body)), registry=REGISTRY)
        self.example = body.example
        self.schema = body()
        self.beyond_json_schema = beyond_json_schema(*openapi.with_nested(body))

    def verdict(self, asked: Any) -> bool:
        """Return whether a body fits the document; assert that the service agrees."""
        documented = self.validator.is_valid(asked)
        reasons = ""
        try:
            loaded = read(self.schema, asked)
            if isinstance(self.schema, FlagDocument):
                # Its entries are read one by one, so that errors name their flags.
                read_entries(loaded, findings := Findings())
                reasons = "; ".join(findings.errors)
        except ValidationError as refusal:
            reasons = str(refusal.messages)
        assert documented == (not reasons) or (documented and self.beyond_json_schema.search(reasons)), (asked, reasons)
        return documented

    def of_fields(self) -> None:
        """Try all values on each field, with the example's values in the other fields. Some must fit, and some not."""
        for name, field in self.schema.fields.items():
            word = field.data_key or name
            if isinstance(field, Ignored | ReadOnly):
                # The document has the type of the record. The service takes any value, and drops or compares it.
                for value in values_for(field):
                    read(self.schema, self.example | {word: value})
                continue
            own = [self.example[word]] if word in self.example else []
            verdicts = {self.verdict(self.example | {word: value}) for value in [*values_for(field), *own]}
            assert verdicts == ({True} if isinstance(field, fields.Anything) else {True, False}), name


@pytest.mark.parametrize("body", ALL_BODIES)
def test_body_that_the_document_refuses_is_refused(body: type[Body]) -> None:
    comparison = Comparison(body)
    comparison.of_fields()
    assert comparison.verdict(body.example)
    read(body(), body.example)
    # Missing and unknown properties.
    for asked in ({}, body.example | {"other": 1}, *({key: word} for key, word in body.example.items())):
        comparison.verdict(asked)


QUERIES = [
    (path, parameter["name"], parameter["schema"])
    for (method, path), operation in OPERATIONS.items()
    for parameter in operation["parameters"]
    if parameter["in"] == "query" and method == "get" and "{" not in path
]


@pytest.mark.parametrize(("path", "name", "schema"), QUERIES)
def test_query_that_the_document_refuses_is_refused(
    world: World, alice: Caller, path: str, name: str, schema: dict[str, Any]
) -> None:
    caller = world.api_key() if CLIENT_SIDE.match(f"GET {path}") else alice
    query = next(
        contract.query for method, its_path, contract, _ in routes(alice.app) if (method, its_path) == ("get", path)
    )
    assert query
    for text in TEXTS:
        given = [text] if schema.get("type") == "array" else text
        if schema.get("type") == "integer" and text.isdigit():
            given = int(text)
        documented = fits(schema, given)
        answer = caller.get(path, query_string={name: text})
        # 401: the token of a link is valid, but unknown.
        assert answer.status_code in (200, 400, 401)
        refused = answer.status_code == 400
        assert documented != refused or (documented and beyond_json_schema(query).search(answer.json["message"])), (
            text,
            answer.json,
        )
