"""API tokens of a project: listed, created and deleted by its members."""

from typing import Any

import pytest

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
    return [token["secret"] for token in caller.get(PATH).get_json()["tokens"]]


def test_tokens_of_the_project_and_of_no_hidden_project_are_listed(world, alice, max, conn):
    conn.execute("DELETE FROM api_keys")
    world.project("secret", mode="private")
    own = world.api_key("client", name="own", projects=["apollo"])
    shared = world.api_key("frontend", name="shared", projects=["apollo", "hermes"])
    everywhere = world.api_key("backend", name="everywhere")
    hidden = world.api_key("client", name="hidden", projects=["apollo", "secret"])
    world.api_key("client", name="of another project", projects=["hermes"])
    world.api_key("admin", name="of an administrator")
    assert alice.get(PATH).json["tokens"][:3] == [
        {"secret": own.key} | described(conn, "own", "client", "development", "apollo"),
        {"secret": shared.key} | described(conn, "shared", "frontend", "development", "apollo", "hermes"),
        {"secret": everywhere.key} | described(conn, "everywhere", "backend", "development", "*"),
    ]
    assert secrets_in(max) == [own.key, shared.key]
    world.member("secret", max)
    assert secrets_in(max) == secrets_in(alice) == [own.key, shared.key, everywhere.key, hidden.key]


def test_a_member_creates_a_token(world, max, conn):
    since = world.last_event_id()
    response = max.post(PATH, json={**CLIENT, "expiresAt": EXPIRY})
    token = described(conn, "sdk", "client", "development", "apollo", expiresAt=EXPIRY)
    secret = response.json["secret"]
    assert (response.status_code, response.json) == (201, {"secret": secret} | token)
    assert secret.startswith("apollo:development.")
    assert response.headers["Location"] == "api-tokens/sdk"
    assert [row["projects"] for row in stored(conn)] == [["apollo"]]
    place = {"project": "apollo", "environment": "development"}
    assert events(world, since) == [event("api-token-created", max, **place, data=token)]
    assert secrets_in(max) == [secret]
    for projects in ({"project": "apollo"}, {"projects": ["apollo"]}, {"projects": ["apollo", "apollo"]}):
        assert max.post(PATH, json=CLIENT | projects).json["projects"] == ["apollo"]


OTHERS = "projects: must be apollo, the project of the path, or omitted"
MORE: list[tuple[dict[str, Any], str]] = [
    *((CLIENT | {"project": project}, OTHERS) for project in ("hermes", "*")),
    *((CLIENT | {"projects": projects}, OTHERS) for projects in (["apollo", "hermes"], ["*"])),
    (CLIENT | {"projects": []}, "projects: "),
    (CLIENT | {"project": "apollo", "projects": ["apollo", "hermes"]}, "project"),
    (CLIENT | {"type": "admin"}, "type: "),
    ({"type": "admin", "tokenName": "root", "environment": "*", "projects": ["*"]}, "type: "),
    *((CLIENT | {"environment": environment}, "environment: ") for environment in ("nowhere", "*")),
    (CLIENT | {"unknown": 1}, "unknown: "),
    ({"type": "client"}, "tokenName: "),
]


@pytest.mark.parametrize(("body", "message"), MORE, ids=str)
def test_an_invalid_token_or_one_for_more_than_the_project_is_refused(world, max, conn, body, message):
    since = world.last_event_id()
    assert refused(max.post(PATH, json=body)).startswith(message)
    assert (stored(conn), world.events(since)) == ([], [])


def test_a_member_deletes_a_token_once(world, max, conn):
    token = world.api_key("client", name="own", projects=["apollo"])
    since = world.last_event_id()
    record = described(conn, "own", "client", "development", "apollo")
    for _ in range(2):
        response = max.delete(f"{PATH}/{token.key}")
        assert (response.status_code, response.text) == (200, "")
    place = {"project": "apollo", "environment": "development"}
    assert events(world, since) == [event("api-token-deleted", max, **place, pre_data=record)]
    assert stored(conn) == []


def test_tokens_for_other_projects_stay(world, max, conn):
    for projects in (["apollo", "hermes"], []):
        shared = world.api_key("client", projects=projects)
        refused(max.delete(f"{PATH}/{shared.key}"), 409, "ConflictError")
    for other in (world.api_key("client", projects=["hermes"]), world.api_key("admin")):
        assert max.delete(f"{PATH}/{other.key}").status_code == 200
    assert len(stored(conn)) == 4
