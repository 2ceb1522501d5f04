"""The checklist of decoders, client by client: statuses, values, access, tokens, and what is not there."""

import re
from collections.abc import Callable
from typing import Any

import pytest
from flask import Flask

from tests.support.tools import FUTURE, Tool, provision
from tests.support.world import refused

FLAG = "projects/tools/features/flag"
HERE = f"{FLAG}/environments/development"


@pytest.fixture(scope="module")
def tool(make_database: Callable[..., str], make_app: Callable[..., Flask]) -> Tool:
    """A tool that did everything once; what a test asks besides is asked by another."""
    return provision(make_app(make_database()))


def texts(tool: Tool) -> dict[str, str]:
    """The answers, as they were sent."""
    return {operation: response.text for operation, response in tool.answers.items()}


def id_of(tool: Tool, operation: str) -> int:
    """The id that was answered."""
    return tool.answers[operation].get_json()["id"]


# Terraform: statuses


def test_records_that_terraform_creates_are_201_and_roles_200(tool):
    posts = {
        operation: response.status_code for operation, response in tool.answers.items() if operation.startswith("POST ")
    }
    created = (
        "user-admin",
        "groups",
        "projects",
        "environments",
        "context",
        "api-tokens",
        "service-account",
        "service-account/:id/token",
    )
    assert {name: posts[f"POST {name}"] for name in created} == dict.fromkeys(created, 201)
    assert posts["POST roles"] == 200
    # The second time, which the provider takes as done.
    assert posts["POST projects/tools/environments"] == 409


def test_updates_by_terraform_are_200(tool):
    puts = {
        operation: response.status_code for operation, response in tool.answers.items() if operation.startswith("PUT ")
    }
    assert len(puts) >= 10
    assert set(puts.values()) == {200}


def test_deletions_by_terraform_are_200(tool):
    ask = Tool(tool.caller).ask
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


# Terraform: values


def test_integers_and_instants_have_their_formats(tool):
    for operation, text in texts(tool).items():
        assert re.search(r'": ?-?\d+\.', text) is None, operation
        for name, found in re.findall(r'"(\w+At)": ?("[^"]*"|null)', text):
            assert found == "null" or re.fullmatch(r'"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z"', found), (
                f"{operation}: {name} {found}"
            )


@pytest.mark.parametrize("operation", ["POST user-admin", "GET user-admin/:id", "PUT user-admin/:id"])
def test_the_names_of_a_user_are_text_or_not_there(tool, operation):
    found = tool.answers[operation].get_json()
    assert None not in [found.get(name, "") for name in ("name", "username", "email", "inviteLink", "imageUrl")]
    assert "username" not in found
    assert found["rootRole"] == (2 if operation.startswith("PUT") else 3)


def test_the_root_role_of_a_user_is_a_number_even_if_requested_by_name(tool):
    found = Tool(tool.caller).ask("POST user-admin", {"username": "by-name", "rootRole": "Editor"}, status=201)
    assert found["rootRole"] == 2


def test_a_project_without_a_description_has_none(tool):
    (listed,) = [project for project in tool.answers["GET projects"].get_json()["projects"] if project["id"] == "tools"]
    assert "description" not in tool.answers["POST projects"].get_json()
    assert "description" not in listed


def test_a_permission_without_an_environment_has_none(tool):
    permissions = {
        permission["name"]: permission for permission in tool.answers["GET roles/:id"].get_json()["permissions"]
    }
    assert permissions["UPDATE_FEATURE_ENVIRONMENT"]["environment"] == "development"
    assert "environment" not in permissions["CREATE_FEATURE"]
    tree = tool.answers["GET permissions"].get_json()["permissions"]
    assert ["environment" in item for item in tree["project"]] == [False] * 16


def test_the_description_of_a_role_is_text(tool):
    assert tool.answers["POST roles"].get_json()["roles"]["description"] == ""


# Terraform: access and tokens


def test_access_holds_what_was_put(tool):
    found = tool.answers["GET projects/tools/access"].get_json()
    user, group, role = (
        id_of(tool, "POST user-admin"),
        id_of(tool, "POST groups"),
        tool.answers["POST roles"].get_json()["roles"]["id"],
    )
    assert [(entry["id"], entry["roles"]) for entry in found["users"]] == [(user, [4])]
    assert [(entry["id"], entry["roles"]) for entry in found["groups"]] == [(group, [5])]
    # A role that no user has is listed too.
    assert [entry["id"] for entry in found["roles"]] == [4, 5, role]


def test_a_token_is_found_by_its_whole_secret(tool):
    secret = tool.answers["POST api-tokens"].get_json()["secret"]
    for operation in ("GET api-tokens", "GET api-tokens/tool"):
        assert secret in [token["secret"] for token in tool.answers[operation].get_json()["tokens"]]


# Terraform: what is not there


@pytest.mark.parametrize(
    "path",
    [
        "projects/tools/change-requests/config",
        "projects/tools/environments/development/change-requests/config",
        "auth/oidc/settings",
    ],
)
def test_optional_parts_are_404(tool, path):
    refused(tool.caller.get(f"/api/admin/{path}"), 404, "NotFoundError")


@pytest.mark.parametrize(
    "path", ["user-admin/999999", "roles/999999", "groups/999999", "environments/nowhere", "context/nothing"]
)
def test_an_unknown_record_is_404_so_that_terraform_drops_its_state(tool, path):
    refused(tool.caller.get(f"/api/admin/{path}"), 404, "NotFoundError")


# MCP servers


@pytest.mark.parametrize(
    "operation",
    ["POST projects/tools/features", f"GET {FLAG}", f"POST {HERE}/on", f"POST {HERE}/off", f"POST {HERE}/strategies"],
)
def test_each_step_of_an_mcp_server_is_answered_with_a_json_object(tool, operation):
    answer = tool.answers[operation]
    assert (answer.mimetype, type(answer.get_json())) == ("application/json", dict)


def test_switching_is_answered_with_the_changed_flag(tool):
    for word, enabled in (("on", True), ("off", False)):
        flag = tool.answers[f"POST {HERE}/{word}"].get_json()
        assert [(environment["name"], environment["enabled"]) for environment in flag["environments"]] == [
            ("development", enabled)
        ]
    (strategy,) = flag["environments"][0]["strategies"]
    assert strategy["id"] == id_of(tool, f"POST {HERE}/strategies")


def test_the_lists_of_an_mcp_server_are_arrays(tool):
    assert "tools" in [project["id"] for project in tool.answers["GET projects"].get_json()["projects"]]
    assert [flag["name"] for flag in tool.answers["GET projects/tools/features"].get_json()["features"]] == ["flag"]


def test_the_deletion_of_a_strategy_is_json_without_a_body(tool):
    created = Tool(tool.caller).ask(f"POST {HERE}/strategies", {"name": "default"})
    answer = tool.caller.delete(
        f"/api/admin/{HERE}/strategies/{created['id']}", headers={"Content-Type": "application/json"}
    )
    assert (answer.status_code, answer.get_data()) == (200, b"")


def test_the_message_names_the_mistake(tool):
    answer = tool.caller.post("/api/admin/projects/tools/features", json={"name": "flag"})
    assert "flag" in refused(answer, 409, "NameExistsError")
    assert "name" in refused(tool.caller.post("/api/admin/projects/tools/features", json={}))
