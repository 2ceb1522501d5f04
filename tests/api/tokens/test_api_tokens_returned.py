"""API tokens as lists return them, sent back."""

from urllib.parse import quote

import pytest

from tests.support.api_tokens import EXPIRY, PATH
from tests.support.fingerprint import fingerprint
from tests.support.world import refused


def place(secret: str) -> str:
    """Where a token is listed by its name, or changed."""
    return f"{PATH}/{quote(secret, safe='')}"


@pytest.mark.parametrize("kind", ["client", "admin"])
def test_a_listed_token_can_be_sent_back(world, alice, kind):
    world.project("other")
    projects = [] if kind == "admin" else ["default", "other"]
    secret = world.api_key(kind, name="sdk", expires_at=EXPIRY, projects=projects).key
    since = world.last_event_id()
    [token] = alice.get(place("sdk")).json["tokens"]
    assert alice.put(place(secret), json=token).status_code == 200
    assert world.events(since) == []
    created = alice.post(PATH, json=token)
    assert created.status_code == 201
    assert created.json["secret"] not in (secret, token["secret"])
    new = {"secret", "createdAt", "seenAt"}
    assert {name: created.json[name] for name in token.keys() - new} == {
        name: token[name] for name in token.keys() - new
    }


@pytest.mark.parametrize("name", ["tokenName", "username", "type", "environment", "project", "projects"])
def test_only_the_expiry_of_a_token_can_change(world, alice, conn, name):
    secret = world.api_key("client").key
    before = fingerprint(conn)
    message = refused(alice.put(place(secret), json={"expiresAt": EXPIRY, name: "other"}))
    assert message == f"{name}: must be omitted or unchanged"
    assert fingerprint(conn) == before
