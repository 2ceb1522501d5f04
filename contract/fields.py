"""JSON Schema of fields and request bodies: the part of the OpenAPI document that describes validators/."""

import json
from collections.abc import Iterable, Iterator
from typing import Any

from marshmallow.fields import Raw

import validators.fields as fields
from contract.responses import SCHEMAS
from contract.words import BODIES
from validators import Body
from validators.client.contexts import EvaluationContext
from validators.events import TYPES
from validators.flags.links import URL, WebAddress
from validators.flags.search import (
    DATE_OPERATORS,
    SET_OPERATORS,
    VALUE_OPERATORS,
    DateFilter,
    EnvironmentState,
    SetFilter,
    ValueFilter,
)
from validators.flags.strategies import ParameterValue
from validators.people.users import Password, RootRole
from validators.playground import Projects
from validators.projects.core import EnvironmentName
from validators.query_fields import Day, Filter, Repeated
from validators.returned import Ignored, ReadOnly
from validators.tokens.origins import ORIGIN, Origin

TEXT: dict[str, Any] = {"type": ["string", "null"]}
NUMBER: dict[str, Any] = {"type": ["number", "null"]}
LIST: dict[str, Any] = {"type": "array", "items": {}}
# The types of properties that only Unleash returns (UNLEASH_ONLY in validators/returned.py).
UNLEASH_TYPES: dict[str, dict[str, Any]] = {
    name: schema
    for names, schema in (
        ("color companyRole confirmPassword featureName milestoneId milestoneName oldPassword seatType", TEXT),
        ("createdBy environment project sdkVersion updatedAt", TEXT),
        ("activeSessions avgTimeToProduction cleanupCount deletedSessions milestoneOrder requiredApprovals", NUMBER),
        ("potentiallyStaleFeatureCount staleFeatureCount technicalDebt totalMilestones", NUMBER),
        ("productUpdatesEmailConsent secure sendEmail", {"type": "boolean"}),
        ("changeRequestIds instances linkTemplates links releasePlans safeguards seenToggles", LIST),
    )
    for name in names.split()
}

# The pattern of filters in the documentation of Unleash.
FILTER = r"^(IS|IS_ANY_OF):(.*?)(,([a-zA-Z0-9_]+))*$"


def name_of(body: type[Body]) -> str:
    """Return the component name of a body.

    That is createRoleSchema for CreateRole, unless BODIES has another name. If a record has the same name, it is
    tagInputSchema.
    """
    name = f"{body.__name__[0].lower()}{body.__name__[1:]}"
    return BODIES.get(body) or f"{name}{'Input' if name in SCHEMAS else ''}Schema"


def component(file: str) -> str:
    """Return the place of a record in the document: user.json is #/components/schemas/userSchema."""
    return f"#/components/schemas/{file.removesuffix('.json')}Schema"


def pointed(schema: Any) -> Any:
    """Return the schema of a record, with references to components instead of files."""
    if isinstance(schema, list):
        return [pointed(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    return {key: component(value) if key == "$ref" else pointed(value) for key, value in schema.items()}


def shape(_converter: Any, field: fields.fields.Field, ret: dict[str, Any], **_: Any) -> dict[str, Any]:
    """Return the JSON Schema of a field, with its description. ret: what apispec knows of it."""
    if not field.metadata.get("description"):
        name = f"{type(field.parent).__name__}.{field.name}"
        raise TypeError(f'{name} has no description: give it one as description="..."')
    described = {"description": field.metadata["description"]}
    if isinstance(field.parent, Body) and "default" in ret:
        # Generators of types make a property with a default required, in requests too.
        default = ret.pop("default")
        if default is not None:
            described["description"] += f" Default: `{json.dumps(default)}`."
    return described | json_schema(field)


def json_schema(field: fields.fields.Field) -> dict[str, Any]:
    """Return the JSON Schema of a field, including null if it is allowed."""
    schema = not_null(field)
    takes_null = field.allow_none or (isinstance(field.parent, Body) and field.parent.drops_null(field))
    if not takes_null or isinstance(field, (fields.Anything, Raw)):
        return schema
    if "type" not in schema:
        return {"anyOf": [*schema.get("anyOf", [schema]), {"type": "null"}]}
    more = {"enum": [*schema["enum"], None]} if "enum" in schema else {}
    return schema | {"type": [schema["type"], "null"]} | more


def can_be_empty(field: fields.fields.Field) -> bool:
    """Return whether an empty text means that this property is omitted."""
    return isinstance(field.parent, Body) and field.name in field.parent.drops_empty


def reference(body: type[Body]) -> dict[str, Any]:
    """Return a reference to the component of a body."""
    return {"$ref": f"#/components/schemas/{name_of(body)}"}


def not_null(field: fields.fields.Field) -> dict[str, Any]:
    """Return the type of a field and its limits."""
    match field:
        case fields.OneOf(choices=choices):
            return (
                {"$ref": component("eventType.json")}
                if choices is TYPES
                else {"type": "string", "enum": sorted(choices)}
            )
        case fields.Email() if can_be_empty(field):
            return {"type": "string", "maxLength": 254, "pattern": f"^({fields.EMAIL.pattern})?$"}
        case Password(min=low) if can_be_empty(field):
            return {"type": "string", "format": "password", "pattern": rf"^([\s\S]{{{low},}})?$"}
        case fields.Email():
            return {"type": "string", "format": "email", "maxLength": 254, "pattern": f"^{fields.EMAIL.pattern}$"}
        case RootRole():
            return {"anyOf": [{"type": "integer", "format": "int64", "minimum": 1}, {"type": "string"}]}
        case fields.Username():
            return text(field) | {"pattern": r"^[^@\s]([^@]*[^@\s])?$"}
        case Repeated(inner=inner):
            return {"type": "array", "items": json_schema(inner)}
        case EnvironmentState():
            return {"type": "string", "pattern": r"^.+:(enabled|disabled)$"}
        case ValueFilter():
            return {"type": "string", "pattern": f"^({'|'.join(VALUE_OPERATORS)}):"}
        case SetFilter():
            return {"type": "string", "pattern": f"^({'|'.join(SET_OPERATORS)}):"}
        case DateFilter():
            return {"type": "string", "pattern": f"^({'|'.join(DATE_OPERATORS)}):\\d{{4}}-\\d{{2}}-\\d{{2}}$"}
        case ParameterValue():
            return {
                "type": ["string", "number", "boolean", "null"],
                "minimum": -fields.BIGINT_MAX,
                "maximum": fields.BIGINT_MAX,
            }
        case Password():
            return text(field) | {"format": "password"}
        case EnvironmentName():
            name = not_null(fields.Name())
            by_object = {"type": "object", "required": ["environment"], "properties": {"environment": name}}
            return {"anyOf": [name, by_object]}
        case fields.Name():
            return text(field) | {"pattern": r"^(?!\.{1,2}$)[A-Za-z0-9_.~!*'()-]+$"}
        case fields.NotBlank():
            return text(field) | {"pattern": r"\S" if field.min else r"^$|\S"}
        case fields.Trimmed():
            return {"type": "string", "pattern": trimmed(field.min, field.max)}
        case EvaluationContext():
            return {"type": "object"}
        case Projects(inner=inner, max=most):
            return {"anyOf": [{"const": "*"}, {"type": "array", "items": json_schema(inner), "maxItems": most}]}
        case Origin():
            return text(field) | {"pattern": rf"^({ORIGIN.pattern}|\*)$"}
        case WebAddress():
            return text(field) | {"pattern": f"^{URL.pattern}$"}
        case fields.Text():
            return text(field)
        case fields.Boolean():
            return {"type": "boolean"}
        case fields.Integer(min=low, max=high):
            return {"type": "integer", "minimum": low} | (
                {"format": "int64"} if high == fields.BIGINT_MAX else {"maximum": high}
            )
        case fields.DateTime():
            return {"type": "string", "format": "date-time"}
        case Day(prefix="IS:"):
            return {"type": "string", "pattern": r"^(IS):\d{4}-\d{2}-\d{2}$"}
        case Day(prefix="", empty_is_absent=True):
            return {"type": "string", "pattern": r"^(\d{4}-\d{2}-\d{2})?$"}
        case Filter():
            return {"type": "string", "pattern": FILTER}
        case fields.ListOf(inner=inner, max=most):
            return {"type": "array", "items": json_schema(inner)} | ({} if most is None else {"maxItems": most})
        case fields.Nested(schema_class=body):
            return reference(body)
        case fields.ObjectOf(value_field=inner):
            return {"type": "object", "additionalProperties": json_schema(inner), "maxProperties": fields.MAX_KEYS}
        case Ignored() | ReadOnly():
            return type_in_records(str(field.name), field.metadata["records"].split())
        case fields.Anything() | Raw():
            return {}
        case _:
            raise TypeError(f"{type(field).__name__} has no place in the OpenAPI document: give it one here")


def type_in_records(name: str, records: Iterable[str]) -> dict[str, Any]:
    """Return the JSON Schema of a property of the first of these records that has it, maybe in an object inside."""
    for record in records:
        for found in properties(SCHEMAS[record], name):
            return pointed({key: part for key, part in found.items() if key not in ("description", "examples")})
    return UNLEASH_TYPES[name]


def properties(schema: Any, name: str) -> Iterator[dict[str, Any]]:
    """Yield the schemas of the properties with this name, those of outer objects first."""
    if isinstance(schema, dict):
        if name in schema.get("properties", {}):
            yield schema["properties"][name]
        schema = [*schema.values()]
    if isinstance(schema, list):
        for part in schema:
            yield from properties(part, name)


def text(field: fields.Text) -> dict[str, Any]:
    """Return the limits of a text."""
    limits = {"minLength": field.min or None, "maxLength": field.max}
    return {"type": "string"} | {name: limit for name, limit in limits.items() if limit is not None}


def trimmed(low: int, high: int | None) -> str:
    """Return the pattern of a text of low to high characters, not counting white space around it."""
    # The first and the last character are not white space. Any characters can be between them.
    between = f"{{{max(low - 2, 0)},{'' if high is None else max(high - 2, 0)}}}"
    behind_first = "" if high == 1 else rf"([\s\S]{between}\S)" + ("?" if low < 2 else "")
    core = rf"\S{behind_first}"
    return rf"^\s*({core})?\s*$" if low == 0 else rf"^\s*{core}\s*$"
