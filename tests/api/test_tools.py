"""What tools demand that know this API: the fields that their decoders need, and the statuses that they take."""

import re
from collections.abc import Callable
from typing import Any

import pytest
from flask import Flask

from tests.support.tools import Tool, provision

Kind = Callable[[Any], bool]
Shape = dict[str, Kind]
ABSENT = object()

# What a field may be


def integer(found: Any) -> bool:
    return type(found) is int


def boolean(found: Any) -> bool:
    return type(found) is bool


def text(found: Any) -> bool:
    return isinstance(found, str)


def filled(found: Any) -> bool:
    return isinstance(found, str) and found != ""


def instant(found: Any) -> bool:
    return isinstance(found, str) and re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", found) is not None


def absent(found: Any) -> bool:
    return found is ABSENT


def null(found: Any) -> bool:
    return found is None


def either(*kinds: Kind) -> Kind:
    return lambda found: any(kind(found) for kind in kinds)


def each(kind: Kind) -> Kind:
    """A list with something in it, all of it of a kind."""
    return lambda found: isinstance(found, list) and found != [] and all(kind(item) for item in found)


def some(kind: Kind) -> Kind:
    """A list, all of it of a kind; it may be empty."""
    return lambda found: found == [] or each(kind)(found)


def values(kind: Kind) -> Kind:
    """An object, all of whose values are of a kind."""
    return lambda found: isinstance(found, dict) and all(kind(item) for item in found.values())


def like(shape: Shape) -> Kind:
    """A record with fields like these, and perhaps others."""
    return lambda found: isinstance(found, dict) and all(kind(found.get(name, ABSENT)) for name, kind in shape.items())


# Which fields which record needs. A null where a Go decoder dereferences what it finds would end the process.

NAMED = {"name": text}
IDENTIFIED = {"id": integer}
OPTIONAL = either(text, absent)
WHEN = either(instant, null, absent)
USER = {
    "id": integer,
    "rootRole": integer,
    "name": OPTIONAL,
    "username": OPTIONAL,
    "email": OPTIONAL,
    "seenAt": WHEN,
    "createdAt": WHEN,
}
SERVICE_ACCOUNT = USER | {"name": text, "username": text}
PERSONAL_TOKEN = {"id": integer, "description": text, "createdAt": instant, "expiresAt": instant, "seenAt": WHEN}
API_TOKEN = {"secret": filled, "tokenName": filled, "type": text, "environment": text, "project": text}
API_TOKEN |= {"projects": each(text), "createdAt": instant, "expiresAt": WHEN, "seenAt": WHEN}
PERMISSION = {"id": integer, "name": text, "displayName": text, "type": text, "environment": either(filled, absent)}
ROLE = {"id": integer, "type": text, "name": text, "description": text}
FULL_ROLE = ROLE | {"permissions": each(like(PERMISSION))}
TREE = {"project": each(like(PERMISSION)), "environments": each(like(NAMED | {"permissions": each(like(PERMISSION))}))}
GROUP = {"id": integer, "name": text, "users": each(like({"user": like(IDENTIFIED)})), "createdAt": WHEN}
PROJECT = {"id": text, "name": text, "description": OPTIONAL}
ENVIRONMENT = {"name": text, "type": text, "enabled": boolean, "protected": boolean, "sortOrder": integer}
LINKED = ENVIRONMENT | {"defaultStrategy": either(absent, like(NAMED))}
MEMBER = IDENTIFIED | {"roles": each(integer)}
ACCESS = {"groups": each(like(MEMBER)), "users": each(like(MEMBER)), "roles": each(like(ROLE))}
CONSTRAINT = {
    "contextName": text,
    "operator": text,
    "inverted": either(boolean, absent),
    "caseInsensitive": either(boolean, absent),
}
PAYLOAD = {"type": text, "value": text}
VARIANT = {"name": text, "weight": integer, "payload": either(absent, like(PAYLOAD))}
STRATEGY = {"id": text, "name": text, "disabled": boolean, "sortOrder": integer, "parameters": values(text)}
STRATEGY |= {"constraints": some(like(CONSTRAINT)), "variants": some(like(VARIANT)), "segments": some(integer)}
FLAG_ENVIRONMENT = {"name": text, "enabled": boolean, "strategies": some(like({"id": text, "disabled": boolean}))}
FLAG = NAMED | {"environments": each(like(FLAG_ENVIRONMENT))}
CONTEXT_FIELD = {"name": text, "stickiness": boolean, "legalValues": some(like({"value": text})), "createdAt": WHEN}

# Operation, and what its answer is like.
TABLE: dict[str, Kind] = {
    "POST user-admin": like(USER),
    "GET user-admin/:id": like(USER),
    "PUT user-admin/:id": like(USER),
    "GET user-admin/search?q=tool": each(like({"id": integer, "email": text, "name": OPTIONAL, "username": OPTIONAL})),
    "POST service-account": like(SERVICE_ACCOUNT),
    "PUT service-account/:id": like(SERVICE_ACCOUNT),
    "GET service-account": like({"serviceAccounts": each(like(SERVICE_ACCOUNT))}),
    "POST service-account/:id/token": like(PERSONAL_TOKEN | {"secret": filled}),
    "GET service-account/:id/token": like({"pats": each(like(PERSONAL_TOKEN))}),
    "POST api-tokens": like(API_TOKEN),
    "GET api-tokens": like({"tokens": each(like(API_TOKEN))}),
    "GET api-tokens/tool": like({"tokens": each(like(API_TOKEN))}),
    "GET permissions": like({"version": integer, "permissions": like(TREE)}),
    "POST roles": like({"version": integer, "roles": like(ROLE)}),
    "PUT roles/:id": like({"version": integer, "roles": like(ROLE)}),
    "GET roles/:id": like(FULL_ROLE),
    "GET roles": like({"version": integer, "roles": each(like(ROLE))}),
    "POST groups": like(GROUP),
    "PUT groups/:id": like(GROUP),
    "GET groups/:id": like(GROUP),
    "GET groups": like({"groups": each(like(GROUP))}),
    "POST projects": like(PROJECT),
    "GET projects": like({"version": integer, "projects": each(like(PROJECT | {"mode": text}))}),
    "POST environments": like(ENVIRONMENT),
    "PUT environments/update/lab": like(ENVIRONMENT),
    "GET environments/lab": like(ENVIRONMENT),
    "GET environments": like({"version": integer, "environments": each(like(ENVIRONMENT))}),
    "GET environments/project/tools": like({"version": integer, "environments": each(like(LINKED))}),
    "GET projects/tools/access": like(ACCESS),
    "POST context": like(CONTEXT_FIELD),
    "GET context/tool": like(CONTEXT_FIELD | {"legalValues": each(like({"value": text}))}),
    "GET context": each(like(CONTEXT_FIELD)),
    "POST projects/tools/features": like(NAMED),
    "GET projects/tools/features": like({"version": integer, "features": each(like(NAMED))}),
    "POST projects/tools/features/flag/environments/development/strategies": like(
        STRATEGY | {"constraints": each(like(CONSTRAINT)), "variants": each(like(VARIANT | {"payload": like(PAYLOAD)}))}
    ),
    "GET projects/tools/features/flag/environments/development/strategies": each(like(STRATEGY)),
    "POST projects/tools/features/flag/environments/development/on": like(FLAG),
    "POST projects/tools/features/flag/environments/development/off": like(FLAG),
    "GET projects/tools/features/flag": like(FLAG),
    "PUT projects/tools/features/flag/environments/development/variants": like({"variants": each(like(VARIANT))}),
}


@pytest.fixture(scope="module")
def tool(make_database: Callable[..., str], make_app: Callable[..., Flask]) -> Tool:
    """The tool, when it has done all that."""
    return provision(make_app(make_database()))


@pytest.mark.parametrize("operation", TABLE)
def test_responses_have_the_fields_that_decoders_need(tool, operation):
    found = tool.answers[operation].get_json()
    assert TABLE[operation](found), found


def test_a_table_of_fields_is_no_rubber_stamp(tool):
    user = tool.answers["POST user-admin"].get_json()
    assert like(USER)(user)
    for wrong in ({"id": "7"}, {"rootRole": None}, {"name": None}, {"createdAt": "2026-01-01"}, {"seenAt": ""}):
        assert not like(USER)(user | wrong), wrong
    assert not like(USER)({"id": user["id"]})
    assert not like(PERMISSION)(
        {"id": 2, "name": "CREATE_FEATURE", "displayName": "", "type": "project", "environment": ""}
    )
    assert not like(STRATEGY)(
        {"id": "", "name": "default", "disabled": False, "sortOrder": 0, "parameters": {"rollout": 50}}
    )
