"""What tools demand that know this API: the fields that their decoders need, and the statuses that they take."""

import json
import re
from collections.abc import Callable
from typing import Any

import pytest
from flask import Flask
from werkzeug.test import TestResponse

from tests.support.instance import ADMIN_KEY
from tests.support.world import Caller, refused

Kind = Callable[[Any], bool]
Shape = dict[str, Kind]
ABSENT = object()
FUTURE = "2099-05-31T22:00:00Z"
HERE = "projects/tools/features/flag/environments/development"

# What a tool asks


class Tool:
    """Provisions an instance as a tool does, and keeps the answers."""

    def __init__(self, caller: Caller) -> None:
        self.caller = caller
        self.answers: dict[str, TestResponse] = {}

    def ask(self, operation: str, body: Any = None, id: Any = None, status: int = 200) -> Any:
        """The answer, read as typed clients read numbers: one with a fraction is a mistake."""
        method, _, path = operation.partition(" ")
        place = f"/api/admin/{path.replace(':id', str(id))}"
        response = self.caller.request(method, place, **({} if body is None else {"json": body}))
        assert response.status_code == status, f"{operation}: {response.status_code} {response.text}"
        self.answers[operation] = response
        return (
            json.loads(response.text, parse_float=lambda number: pytest.fail(f"{operation}: {number} has a fraction"))
            if response.text
            else None
        )


def provision(app: Flask) -> Tool:
    """A tool that did everything once, as the Terraform provider and MCP servers do, and got the statuses they take."""
    tool = Tool(Caller(app, ADMIN_KEY))
    make_people(tool)
    make_places(tool)
    make_flags(tool)
    return tool


def make_people(tool: Tool) -> None:
    """Users, accounts, roles, groups."""
    ask = tool.ask
    user = ask("POST user-admin", {"email": "tool@example.org", "rootRole": 3, "sendEmail": False}, status=201)["id"]
    for operation, body in (("GET user-admin/:id", None), ("PUT user-admin/:id", {"name": "Tool", "rootRole": 2})):
        ask(operation, body, user)
    ask("GET user-admin/search?q=tool")
    account = ask("POST service-account", {"username": "tool", "name": "Tool", "rootRole": 3}, status=201)["id"]
    ask("PUT service-account/:id", {"name": "The tool", "rootRole": 2}, account)
    ask("POST service-account/:id/token", {"description": "tool", "expiresAt": FUTURE}, account, 201)
    ask("GET service-account/:id/token", None, account)
    ask("GET service-account")
    permissions = [{"name": "CREATE_FEATURE"}, {"name": "UPDATE_FEATURE_ENVIRONMENT", "environment": "development"}]
    role = ask("POST roles", {"name": "Tool", "type": "custom", "permissions": permissions})["roles"]["id"]
    ask("PUT roles/:id", {"name": "A tool", "type": "custom", "description": "", "permissions": permissions}, role)
    ask("GET roles/:id", None, role)
    ask("GET roles")
    ask("GET permissions")
    group = {
        "name": "tools",
        "description": None,
        "rootRole": None,
        "mappingsSSO": [],
        "users": [{"user": {"id": user}}],
    }
    id = ask("POST groups", group, status=201)["id"]
    ask("PUT groups/:id", group | {"description": "of all kinds"}, id)
    ask("GET groups/:id", None, id)
    ask("GET groups")


def make_places(tool: Tool) -> None:
    """Environments, a project with members, a token, a context field."""
    ask = tool.ask
    ask("POST environments", {"name": "lab", "type": "test", "enabled": True, "requiredApprovals": 1}, status=201)
    ask("PUT environments/update/lab", {"type": "development", "sortOrder": 9, "requiredApprovals": None})
    ask("GET environments/lab")
    ask("GET environments")
    ask("POST projects", {"id": "tools", "name": "Tools", "environments": []}, status=201)
    ask("PUT projects/tools", {"id": "tools", "name": "Tools"})
    ask("PUT projects/tools/settings", {"mode": "open", "linkTemplates": []})
    assert ask("GET environments/project/tools")["environments"] == []
    for name in ("development", "lab"):
        ask("POST projects/tools/environments", {"environment": name})
        ask("POST projects/tools/environments", {"environment": name}, status=409)
    ask("POST projects/tools/environments/development/default-strategy", {"name": "flexibleRollout"})
    config = "projects/tools/environments/lab/change-requests/config"
    ask(f"PUT {config}", {"changeRequestsEnabled": True, "requiredApprovals": 2}, status=204)
    ask("GET projects/tools/change-requests/config")
    ask(f"PUT {config}", {"changeRequestsEnabled": False, "requiredApprovals": 0}, status=204)
    ask("DELETE projects/tools/environments/lab")
    linked = ask("GET environments/project/tools")["environments"]
    assert [(item["name"], item["defaultStrategy"]["name"]) for item in linked] == [("development", "flexibleRollout")]
    user, group = tool.answers["POST user-admin"].get_json()["id"], tool.answers["POST groups"].get_json()["id"]
    ask(
        "PUT projects/tools/access",
        {"roles": [{"id": 4, "users": [user], "groups": []}, {"id": 5, "users": [], "groups": [group]}]},
    )
    ask("GET projects/tools/access")
    ask("GET projects")
    token = {
        "type": "client",
        "tokenName": "tool",
        "environment": "development",
        "projects": ["tools"],
        "expiresAt": "2020-01-01T00:00:00Z",
    }
    ask("POST api-tokens", token, status=201)
    ask("GET api-tokens")
    ask("GET api-tokens/tool")
    ask("POST context", {"name": "tool", "legalValues": [{"value": "hammer"}]}, status=201)
    ask("PUT context/tool", {"description": "What is in the hand"})
    ask("GET context/tool")
    ask("GET context")


def make_flags(tool: Tool) -> None:
    """A flag with a strategy, switched on and off; the steps of MCP servers."""
    ask = tool.ask
    ask("POST projects/tools/features", {"name": "flag", "type": "release"}, status=201)
    variant = {
        "name": "red",
        "weight": 1000,
        "weightType": "variable",
        "stickiness": "default",
        "payload": {"type": "string", "value": "r"},
    }
    constraints = [{"contextName": "userId", "operator": "IN", "values": ["7"]}]
    strategy = {
        "name": "flexibleRollout",
        "parameters": {"rollout": 50},
        "constraints": constraints,
        "variants": [variant],
        "segments": [],
    }
    ask(f"POST {HERE}/strategies", strategy)
    ask(f"GET {HERE}/strategies")
    ask(f"POST {HERE}/on")
    ask(f"POST {HERE}/off")
    ask(f"PUT {HERE}/variants", [variant])
    ask("GET projects/tools/features/flag")
    ask("GET projects/tools/features")


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
CONFIG = {"environment": text, "type": text, "changeRequestEnabled": boolean}
CONFIG |= {"requiredApprovals": either(integer, null)}
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
    "GET projects/tools/change-requests/config": each(like(CONFIG)),
    "POST context": like(CONTEXT_FIELD),
    "GET context/tool": like(CONTEXT_FIELD | {"legalValues": each(like({"value": text}))}),
    "GET context": each(like(CONTEXT_FIELD)),
    "POST projects/tools/features": like(NAMED),
    "GET projects/tools/features": like({"version": integer, "features": each(like(NAMED))}),
    f"POST {HERE}/strategies": like(
        STRATEGY | {"constraints": each(like(CONSTRAINT)), "variants": each(like(VARIANT | {"payload": like(PAYLOAD)}))}
    ),
    f"GET {HERE}/strategies": each(like(STRATEGY)),
    f"POST {HERE}/on": like(FLAG),
    f"POST {HERE}/off": like(FLAG),
    "GET projects/tools/features/flag": like(FLAG),
    f"PUT {HERE}/variants": like({"variants": each(like(VARIANT))}),
}


@pytest.fixture(scope="module")
def tool(make_database: Callable[..., str], make_app: Callable[..., Flask]) -> Tool:
    """A tool that did everything once."""
    return provision(make_app(make_database()))


@pytest.fixture
def ask(tool):
    """Ask for more, by another tool."""
    return Tool(tool.caller).ask


@pytest.mark.parametrize("operation", TABLE)
def test_responses_have_the_fields_that_decoders_need(tool, operation):
    found = tool.answers[operation].get_json()
    assert TABLE[operation](found), found


def test_a_response_with_a_wrong_field_does_not_fit(tool):
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


def test_deletions_are_200(tool, ask):
    account = ask("POST service-account", {"username": "gone", "name": "Gone", "rootRole": 3}, status=201)["id"]
    role = ask("POST roles", {"name": "Gone", "permissions": []})["roles"]["id"]
    created: list[tuple[str, str, dict[str, Any]]] = [
        ("user-admin", "id", {"email": "gone@example.org", "rootRole": 3}),
        ("groups", "id", {"name": "gone", "users": []}),
        ("environments", "name", {"name": "gone", "type": "test"}),
        ("context", "name", {"name": "gone"}),
        ("projects", "id", {"id": "gone", "name": "Gone", "environments": []}),
    ]
    gone = [("roles/:id", role)] + [
        (f"{path}/:id", ask(f"POST {path}", body, status=201)[name]) for path, name, body in created
    ]
    for path, id in gone:
        ask(f"DELETE {path}", None, id)
        ask(f"GET {path}{'/overview' if path.startswith('projects') else ''}", None, id, 404)
    token = ask("POST service-account/:id/token", {"description": "gone", "expiresAt": FUTURE}, account, 201)["id"]
    ask(f"DELETE service-account/:id/token/{token}", None, account)
    ask("DELETE service-account/:id", None, account)
    assert account not in [entry["id"] for entry in ask("GET service-account")["serviceAccounts"]]
    ask("DELETE projects/tools/environments/lab")
    secret = ask(
        "POST api-tokens", {"type": "frontend", "tokenName": "gone", "environment": "development"}, status=201
    )["secret"]
    for _ in range(2):
        ask(f"DELETE api-tokens/{secret}")
    assert ask("GET api-tokens/gone") == {"tokens": []}
    strategy = ask(f"POST {HERE}/strategies", {"name": "default"})["id"]
    headers = {"Content-Type": "application/json"}
    answer = tool.caller.delete(f"/api/admin/{HERE}/strategies/{strategy}", headers=headers)
    assert (answer.status_code, answer.get_data()) == (200, b"")


def test_integers_and_instants_have_their_formats(tool):
    for operation, answer in tool.answers.items():
        assert re.search(r'": ?-?\d+\.', answer.text) is None, operation
        for name, found in re.findall(r'"(\w+At)": ?("[^"]*"|null)', answer.text):
            assert found == "null" or instant(found[1:-1]), f"{operation}: {name} {found}"


def test_unset_fields_are_omitted(tool):
    for operation, role in (("POST user-admin", 3), ("GET user-admin/:id", 3), ("PUT user-admin/:id", 2)):
        found = tool.answers[operation].get_json()
        assert None not in [found.get(name, "") for name in ("name", "email", "inviteLink", "imageUrl")]
        assert ("username" in found, found["rootRole"]) == (False, role)
    listed = {project["id"]: project for project in tool.answers["GET projects"].get_json()["projects"]}
    assert "description" not in tool.answers["POST projects"].get_json() | listed["tools"]
    tree = tool.answers["GET permissions"].get_json()["permissions"]
    assert ["environment" in item for item in tree["project"]] == [False] * 17


def test_access_holds_what_was_put(tool):
    found = tool.answers["GET projects/tools/access"].get_json()
    user, group = (tool.answers[f"POST {path}"].get_json()["id"] for path in ("user-admin", "groups"))
    role = tool.answers["POST roles"].get_json()["roles"]["id"]
    assert [(entry["id"], entry["roles"]) for entry in found["users"]] == [(user, [4])]
    assert [(entry["id"], entry["roles"]) for entry in found["groups"]] == [(group, [5])]
    # A role that no user has is listed too.
    assert [entry["id"] for entry in found["roles"]] == [4, 5, role]


def test_what_does_not_exist_is_404(tool):
    refused(tool.caller.get("/api/admin/projects/elsewhere/change-requests/config"), 404, "NotFoundError")


def test_switching_returns_the_changed_flag(tool):
    for word, enabled in (("on", True), ("off", False)):
        [environment] = tool.answers[f"POST {HERE}/{word}"].get_json()["environments"]
        assert (environment["name"], environment["enabled"]) == ("development", enabled)
    [strategy] = environment["strategies"]
    assert strategy["id"] == tool.answers[f"POST {HERE}/strategies"].get_json()["id"]
