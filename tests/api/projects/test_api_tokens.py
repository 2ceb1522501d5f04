"""API tokens of a project: listed, created and deleted by its members."""

from typing import Any

import pytest

from sql.database import Connection
from tests.support.api_tokens import CLIENT, EXPIRY, described, stored
from tests.support.event_log import event, events
from tests.support.world import Caller, World, refused

PATH = "/api/admin/projects/apollo/api-tokens"


@pytest.fixture(autouse=True)
def hermes(world: World) -> None:
    """A project beside the private project apollo, of which Max is a member."""
    world.project("hermes")


def secrets_in(caller: Caller) -> list[str]:
    """The secrets that a caller reads in the list of the project."""
    return [token["secret"] for token in caller.get(PATH).json["tokens"]]


def test_all_tokens_for_a_project_are_listed(world: World, max: Caller, conn: Connection) -> None:
    conn.execute("DELETE FROM api_keys")
    own = world.api_key("client", name="own", projects=["apollo"])
    shared = world.api_key("frontend", name="shared", projects=["apollo", "hermes"])
    everywhere = world.api_key("backend", name="everywhere")
    world.api_key("client", name="of another project", projects=["hermes"])
    world.api_key("admin", name="of an administrator")
    assert max.get(PATH).json == {
        "tokens": [
            {"secret": own.key} | described(conn, "own", "client", "development", "apollo"),
            {"secret": shared.key} | described(conn, "shared", "frontend", "development", "apollo", "hermes"),
            {"secret": everywhere.key} | described(conn, "everywhere", "backend", "development", "*"),
        ]
    }


def test_tokens_that_reach_into_hidden_projects_are_not_listed(world: World, max: Caller, alice: Caller) -> None:
    world.project("secret", mode="private")
    own = world.api_key("client", name="own", projects=["apollo"])
    seen = world.api_key("client", name="seen", projects=["apollo", "hermes"])
    hidden = world.api_key("client", name="hidden", projects=["apollo", "secret"])
    everywhere = world.api_key("client", name="everywhere")
    assert secrets_in(max) == [own.key, seen.key]
    assert secrets_in(alice) == [own.key, seen.key, hidden.key, everywhere.key]
    world.member("secret", max)
    assert secrets_in(max) == [own.key, seen.key, hidden.key, everywhere.key]


def test_a_member_creates_a_token(world: World, max: Caller, conn: Connection) -> None:
    since = world.last_event_id()
    response = max.post(PATH, json={**CLIENT, "expiresAt": EXPIRY})
    token = described(conn, "sdk", "client", "development", "apollo", expiresAt=EXPIRY)
    secret = response.json["secret"]
    assert (response.status_code, response.json) == (201, {"secret": secret} | token)
    assert secret.startswith("apollo:development.")
    assert response.headers["Location"] == "api-tokens/sdk"
    assert [row["projects"] for row in stored(conn)] == [["apollo"]]
    assert events(world, since) == [
        event("api-token-created", max, project="apollo", environment="development", data=token)
    ]
    assert secrets_in(max) == [secret]


@pytest.mark.parametrize(
    "projects", [{"project": "apollo"}, {"projects": ["apollo"]}, {"projects": ["apollo", "apollo"]}]
)
def test_the_body_may_name_the_project(max: Caller, projects: dict[str, Any]) -> None:
    assert max.post(PATH, json=CLIENT | projects).json["projects"] == ["apollo"]


@pytest.mark.parametrize(
    "body",
    [
        CLIENT | {"project": "hermes"},
        CLIENT | {"project": "*"},
        CLIENT | {"projects": ["apollo", "hermes"]},
        CLIENT | {"projects": ["*"]},
        CLIENT | {"projects": []},
        CLIENT | {"project": "apollo", "projects": ["apollo", "hermes"]},
        CLIENT | {"type": "admin"},
        {"type": "admin", "tokenName": "root", "environment": "*", "projects": ["*"]},
        CLIENT | {"environment": "nowhere"},
        CLIENT | {"environment": "*"},
        CLIENT | {"unknown": 1},
        {"type": "client"},
    ],
)
def test_a_token_for_more_than_the_project_is_refused(
    world: World, max: Caller, conn: Connection, body: dict[str, Any]
) -> None:
    since = world.last_event_id()
    refused(max.post(PATH, json=body))
    assert (stored(conn), world.events(since)) == ([], [])


def test_a_member_deletes_a_token(world: World, max: Caller, conn: Connection) -> None:
    token = world.api_key("client", name="own", projects=["apollo"])
    since = world.last_event_id()
    record = described(conn, "own", "client", "development", "apollo")
    response = max.delete(f"{PATH}/{token.key}")
    assert (response.status_code, response.text) == (200, "")
    assert events(world, since) == [
        event("api-token-deleted", max, project="apollo", environment="development", pre_data=record)
    ]
    assert stored(conn) == []
    assert max.delete(f"{PATH}/{token.key}").status_code == 200
    assert len(world.events(since)) == 1


@pytest.mark.parametrize("projects", [["apollo", "hermes"], []])
def test_a_token_that_is_also_for_other_projects_stays(
    world: World, max: Caller, conn: Connection, projects: list[str]
) -> None:
    token = world.api_key("client", projects=projects)
    refused(max.delete(f"{PATH}/{token.key}"), 409, "ConflictError")
    assert len(stored(conn)) == 1


def test_tokens_of_other_projects_and_administrators_stay(world: World, max: Caller, conn: Connection) -> None:
    for token in (world.api_key("client", projects=["hermes"]), world.api_key("admin")):
        assert max.delete(f"{PATH}/{token.key}").status_code == 200
    assert len(stored(conn)) == 2
