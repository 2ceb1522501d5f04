"""Compare what the OpenAPI document says of a body with what the service accepts."""

import re
from typing import Any

from marshmallow import ValidationError
from marshmallow.fields import Field
from referencing import Registry

from contract import document as openapi
from contract import fields as openapi_fields
from rules.import_documents import Findings, read_entries
from tests.support import records
from tests.support.openapi_document import REGISTRY, component
from validators import Body, Query, fields, read
from validators.flags.transfer import FlagDocument
from validators.returned import Ignored, ReadOnly

# --- What parameters and bodies may be --------------------------------------------------------------------------------

WORDS = [
    "",
    "a",
    "abc",
    " a",
    "a ",
    "a b",
    "a@b",
    "a@b.c",
    "@",
    "a@",
    "@b",
    "a@b@c",
    "é",
    "日本",
    "x" * 255,
    "x" * 256,
    "a@" + "x" * 253,
]
VALUES = [
    *WORDS,
    "12345678",
    None,
    True,
    False,
    0,
    1,
    -1,
    100,
    101,
    5.5,
    2**63 - 1,
    [],
    {},
    ["a"],
    "feature-created",
    "Feature-Created",
]
INSTANTS = ["2026-05-31T12:00:00Z", "2026-05-31T12:00:00.123+02:00"]
TEXTS = [
    *("", "IS", "IS:", "IS:a", "IS:a,b", "IS:1", "IS:1,2", "IS_ANY_OF:1", "is:1", " IS:1", "IS :1", "IS_ALL_OF:1"),
    "2026-05-31",
    "IS:2026-05-31",
    "is:2026-05-31",
    "IS:2026-5-31",
    "2026-5-31",
    "2026-05-31T00:00:00Z",
    "IS:IS:2026-05-31",
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


def is_free(field: Field) -> bool:
    """Return whether a field accepts every value."""
    return isinstance(field, fields.Anything)


class Comparison:
    """Compares the document of a body with what the service accepts."""

    def __init__(self, body: type[Body], registry: Registry = REGISTRY) -> None:
        self.validator = records.Validator(component(openapi_fields.name_of(body)), registry=registry)
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
            assert verdicts == ({True} if is_free(field) else {True, False}), name
