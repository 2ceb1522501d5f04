"""API tokens as lists return them, sent back (neighbours.md 3.4)."""

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
    secret = world.api_key(kind, name="sdk", expires_at=EXPIRY).key
    since = world.last_event_id()
    [token] = alice.get(place("sdk")).json["tokens"]
    assert alice.put(place(secret), json=token).status_code == 200
    assert world.events(since) == []
    # A new token has one name and one list of projects.
    new = {name: value for name, value in token.items() if name not in ("username", "project")}
    created = alice.post(PATH, json=new)
    assert created.status_code == 201
    assert created.json["secret"] not in (secret, token["secret"])


@pytest.mark.parametrize("name", ["tokenName", "username", "type", "environment", "project", "projects"])
def test_only_the_expiry_of_a_token_can_change(world, alice, conn, name):
    secret = world.api_key("client").key
    before = fingerprint(conn)
    message = refused(alice.put(place(secret), json={"expiresAt": EXPIRY, name: "other"}))
    assert message == f"{name}: must be omitted or unchanged"
    assert fingerprint(conn) == before
