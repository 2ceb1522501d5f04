"""The OpenAPI document says of each parameter and body what the service takes, neither more nor less."""

from typing import Any, ClassVar

import pytest
from apispec.exceptions import DuplicateComponentNameError
from marshmallow import ValidationError
from referencing import Registry, Resource
from referencing.jsonschema import DRAFT202012

from contract import document as openapi
from contract import fields as openapi_fields
from serving.contract import Operation
from tests.access import CLIENT_SIDE
from tests.support.openapi_comparison import TEXTS, VALUES, Comparison, beyond_json_schema
from tests.support.openapi_document import ALL_BODIES, OPERATIONS, fits, routes
from tests.support.world import Caller, World
from validators import Body, fields, read
from validators.people.users import InvitedUser
from validators.tokens.signup_tokens import SignupTokenUpdate


@pytest.mark.parametrize("body", ALL_BODIES)
def test_a_body_that_the_document_refuses_is_refused(body: type[Body]) -> None:
    Comparison(body).of_fields()


@pytest.mark.parametrize("body", ALL_BODIES)
def test_the_example_of_a_body_fits(body: type[Body]) -> None:
    assert Comparison(body).verdict(body.example)
    read(body(), body.example)


@pytest.mark.parametrize("body", ALL_BODIES)
def test_unknown_properties_and_missing_ones_are_refused_as_documented(body: type[Body]) -> None:
    comparison = Comparison(body)
    for asked in ({}, body.example | {"other": 1}, *({key: word} for key, word in body.example.items())):
        comparison.verdict(asked)


QUERIES = [
    (path, parameter["name"], parameter["schema"])
    for (method, path), operation in OPERATIONS.items()
    for parameter in operation["parameters"]
    if parameter["in"] == "query" and method == "get" and "{" not in path
]


@pytest.mark.parametrize(("path", "name", "schema"), QUERIES)
def test_a_query_that_the_document_refuses_is_refused(
    world: World, alice: Caller, path: str, name: str, schema: dict[str, Any]
) -> None:
    caller = world.api_key() if CLIENT_SIDE.match(f"GET {path}") else alice
    query = next(
        contract.query for method, its_path, contract, _ in routes(alice.app) if (method, its_path) == ("get", path)
    )
    assert query
    for text in TEXTS:
        given = (
            [text]
            if schema.get("type") == "array"
            else int(text)
            if schema.get("type") == "integer" and text.isdigit()
            else text
        )
        documented = fits(schema, given)
        answer = caller.get(path, query_string={name: text})
        # 401: the token of a link is valid, but unknown.
        assert answer.status_code in (200, 400, 401)
        refused = answer.status_code == 400
        assert documented != refused or (documented and beyond_json_schema(query).search(answer.json["message"])), (
            text,
            answer.json,
        )


# --- What none of the bodies holds yet --------------------------------------------------------------------------------


def test_the_patterns_of_trimmed_texts_and_names_say_what_the_fields_do() -> None:
    texts = [
        " " * before + "\n".join("x" * length) + "\t" * after
        for before in (0, 2)
        for after in (0, 9)
        for length in range(6)
    ]
    texts += [" " * 9, "", *VALUES, ".", "..", "...", ".a", "a.", "a/b", "a~b", "a\n"]
    trimmed = [fields.Trimmed(min=low, max=high) for low in range(5) for high in (None, *range(max(low, 1), 6))]
    for field in [*trimmed, fields.Name(max=3), fields.Trimmed(min=1, max=255)]:
        schema = openapi_fields.json_schema(field)
        for text in texts:
            try:
                field.deserialize(text)
                taken = True
            except ValidationError:
                taken = False
            # Python's $ matches before a line break at the end, that of ECMA 262 does not.
            assert fits(schema, text) == taken or (isinstance(field, fields.Name) and str(text).endswith("\n")), (
                schema,
                text,
            )


class Leaf(Body):
    """What is nested below."""

    example: ClassVar[dict[str, Any]] = {"operator": "IN", "values": ["a"]}

    operator = fields.OneOf(
        frozenset({"IN", "NOT_IN"}), "IN or NOT_IN", required=True, metadata={"description": "How to compare."}
    )
    values = fields.ListOf(fields.Text(), metadata={"description": "What with."})


class Twig(Body):
    """What holds it."""

    example: ClassVar[dict[str, Any]] = {"title": "a"}

    title = fields.Trimmed(min=1, max=255, required=True, metadata={"description": "Its title."})
    key = fields.Name(allow_none=True, metadata={"description": "Its key."})
    leaves = fields.ListOf(fields.Nested(Leaf), max=2, metadata={"description": "Some."})
    leaf = fields.Nested(Leaf, allow_none=True, metadata={"description": "One or none."})
    others = fields.ObjectOf(fields.Nested(Leaf), metadata={"description": "By name."})
    free = fields.Anything(metadata={"description": "What you like."})
    many = fields.ObjectOf(fields.Anything(), metadata={"description": "What you like, by name."})


def test_lists_objects_and_nothing_have_their_schemas() -> None:
    leaf = {"$ref": "#/components/schemas/leafSchema"}
    found = {name: openapi_fields.json_schema(Twig().fields[name]) for name in ("leaves", "leaf", "others", "many")}
    assert found == {
        "leaves": {"type": ["array", "null"], "items": leaf, "maxItems": 2},
        "leaf": {"anyOf": [leaf, {"type": "null"}]},
        "others": {"type": ["object", "null"], "additionalProperties": leaf, "maxProperties": 1000},
        "many": {"type": ["object", "null"], "additionalProperties": {}, "maxProperties": 1000},
    }
    assert openapi_fields.json_schema(Leaf().fields["values"]) == {
        "type": ["array", "null"],
        "items": {"type": "string"},
    }
    assert openapi_fields.json_schema(Leaf().fields["operator"])["type"] == "string"
    assert openapi_fields.json_schema(SignupTokenUpdate().fields["enabled"]) == {"type": "boolean"}
    assert openapi_fields.json_schema(fields.ListOf(fields.Text(), allow_none=True))["type"] == ["array", "null"]
    assert openapi_fields.json_schema(fields.OneOf(frozenset("a"), "a", allow_none=True)) == {
        "type": ["string", "null"],
        "enum": ["a", None],
    }
    assert openapi_fields.json_schema(fields.Anything()) == {}


def test_lists_and_nested_bodies_take_what_their_schemas_do() -> None:
    document = Resource(contents=spec_of(Twig, Leaf), specification=DRAFT202012)
    registry: Registry = Registry().with_resource("openapi.json", document)
    for body in (Twig, Leaf):
        Comparison(body, registry).of_fields()
    lenient = Comparison(Twig, registry)
    lenient.schema.fields["key"].required = True
    with pytest.raises(AssertionError):
        lenient.of_fields()


def test_nested_bodies_are_components_of_their_own_once() -> None:
    contract = Operation(body=Twig)
    assert openapi.bodies([contract, Operation(), Operation(body=Leaf), contract]) == [Twig, Leaf]
    assert [openapi_fields.name_of(body) for body in (Twig, InvitedUser)] == ["twigSchema", "createInvitedUserSchema"]


def spec_of(*found: type[Body]) -> dict[str, Any]:
    """Return a document with only these bodies, beside the records."""
    spec = openapi.empty_spec([])
    openapi.add_components(spec, found)
    return spec.to_dict()


def test_two_bodies_of_one_name_and_fields_without_words_are_errors() -> None:
    assert spec_of(Twig, Leaf)["components"]["schemas"]["leafSchema"]["required"] == ["operator"]
    with pytest.raises(DuplicateComponentNameError, match="leafSchema"):
        spec_of(Leaf, type("Leaf", (Body,), {}))
    with pytest.raises(TypeError, match=r"Bare\.word has no description"):
        spec_of(type("Bare", (Body,), {"word": fields.Text()}))


def test_a_body_that_is_an_array_is_documented_as_one() -> None:
    assert openapi.request_body(Operation(body=InvitedUser, many=True)) == {
        "schema": {
            "type": "array",
            "items": {"$ref": "#/components/schemas/createInvitedUserSchema"},
            "maxItems": 10000,
        },
        "examples": {"usual": {"value": [InvitedUser.example]}},
    }
