"""An instance with one of everything, which a tool would read."""

import json
from typing import Any

import pytest
from flask import Flask
from werkzeug.test import TestResponse

from tests.support.instance import ADMIN_KEY
from tests.support.world import Caller

ADMIN = "/api/admin"
FUTURE = "2031-05-31T22:00:00Z"


class Tool:
    """Provisions an instance as a tool does, and keeps the answers."""

    def __init__(self, caller: Caller) -> None:
        self.caller = caller
        self.answers: dict[str, TestResponse] = {}

    def ask(self, operation: str, body: Any = None, id: Any = None, status: int = 200) -> Any:
        """The answer, read as typed clients read numbers: one with a fraction is a mistake."""
        method, _, path = operation.partition(" ")
        place = f"{ADMIN}/{path.replace(':id', str(id))}"
        response = self.caller.request(method, place, **({} if body is None else {"json": body}))
        assert response.status_code == status, f"{operation}: {response.status_code} {response.text}"
        self.answers[operation] = response
        return (
            json.loads(response.text, parse_float=lambda number: pytest.fail(f"{operation}: {number} has a fraction"))
            if response.text
            else None
        )


def provision(app: Flask) -> Tool:
    """A tool that did everything once, in the words of the Terraform provider and of MCP servers, and got the statuses
    that they take.
    """
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
    ask, path = tool.ask, "projects/tools/features/flag/environments/development"
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
    ask(f"POST {path}/strategies", strategy)
    ask(f"GET {path}/strategies")
    ask(f"POST {path}/on")
    ask(f"POST {path}/off")
    ask(f"PUT {path}/variants", [variant])
    ask("GET projects/tools/features/flag")
    ask("GET projects/tools/features")
