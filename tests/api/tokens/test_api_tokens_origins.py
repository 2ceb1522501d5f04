"""The origins of a frontend token: the web pages that can use it."""

from urllib.parse import quote

import pytest

from sql.database import Connection, value
from tests.support.api_tokens import EXPIRY, PATH, described
from tests.support.event_log import event, events
from tests.support.fingerprint import fingerprint
from tests.support.world import Caller, World, refused

FRONTEND = {"type": "frontend", "tokenName": "web", "environment": "development"}
ORIGINS = ["https://shop.example.org", "http://localhost:3000"]


def place(secret: str) -> str:
    """The path that changes a token."""
    return f"{PATH}/{quote(secret, safe='')}"


def stored(conn: Connection) -> list[str] | None:
    """The origins of the token web."""
    return value(conn, "SELECT origins FROM api_keys WHERE name = 'web'")


def test_a_frontend_token_is_created_with_origins(world: World, alice: Caller, conn: Connection) -> None:
    since = world.last_event_id()
    response = alice.post(PATH, json=FRONTEND | {"origins": ORIGINS})
    token = described(conn, "web", "frontend", "development", "*", origins=ORIGINS)
    assert (response.status_code, response.json) == (201, {"secret": response.json["secret"]} | token)
    assert stored(conn) == ORIGINS
    assert events(world, since) == [
        event("api-token-created", alice, project="*", environment="development", data=token)
    ]
    assert alice.get(f"{PATH}/web").json == {"tokens": [response.json]}


def test_a_token_of_a_project_can_have_origins(max: Caller, conn: Connection) -> None:
    response = max.post("/api/admin/projects/apollo/api-tokens", json=FRONTEND | {"origins": ORIGINS})
    assert (response.status_code, response.json["origins"]) == (201, ORIGINS)
    assert stored(conn) == ORIGINS


def test_a_token_without_origins_has_no_such_property(alice: Caller, conn: Connection) -> None:
    for body in (FRONTEND, FRONTEND | {"origins": None}, FRONTEND | {"type": "client", "origins": None}):
        response = alice.post(PATH, json=body)
        assert (response.status_code, "origins" in response.json) == (201, False)
        assert stored(conn) is None


@pytest.mark.parametrize(
    ("sent", "kept"),
    [
        (["HTTPS://Shop.Example.org:443", "https://shop.example.org"], ["https://shop.example.org"]),
        (["http://shop.example.org:80"], ["http://shop.example.org"]),
        (["https://shop.example.org:8443"], ["https://shop.example.org:8443"]),
        (["http://[::1]:5173", "capacitor://localhost"], ["http://[::1]:5173", "capacitor://localhost"]),
        (["https://shop.example.org", "*"], ["*"]),
    ],
)
def test_origins_are_kept_as_browsers_write_them(
    alice: Caller, conn: Connection, sent: list[str], kept: list[str]
) -> None:
    assert alice.post(PATH, json=FRONTEND | {"origins": sent}).json["origins"] == kept
    assert stored(conn) == kept


INVALID = ["", "shop.example.org", "https://", "https://shop.example.org/", "https://a b", "https://*.example.org"]
INVALID += ["null", "https://user@shop.example.org", "https://shop.example.org:", "https://shop.example.org\r\nX: 1"]
INVALID += [f"https://{'a' * 300}"]


@pytest.mark.parametrize("origin", [*INVALID, 5, None])
def test_an_invalid_origin_is_refused(alice: Caller, conn: Connection, origin: object) -> None:
    before = fingerprint(conn)
    refused(alice.post(PATH, json=FRONTEND | {"origins": [origin]}))
    assert fingerprint(conn) == before


@pytest.mark.parametrize("origins", [[], "*", {}, ["https://a.example"] * 101])
def test_origins_must_be_a_list_of_1_to_100(alice: Caller, origins: object) -> None:
    assert refused(alice.post(PATH, json=FRONTEND | {"origins": origins})).startswith("origins: must")


@pytest.mark.parametrize("kind", ["admin", "client", "backend"])
def test_only_a_frontend_token_has_origins(world: World, alice: Caller, conn: Connection, kind: str) -> None:
    secret = world.api_key(kind).key or ""
    before = fingerprint(conn)
    message = "origins: must be omitted or null; only a frontend token has origins"
    assert refused(alice.post(PATH, json={"type": kind, "tokenName": "x", "origins": ["*"]})) == message
    assert refused(alice.put(place(secret), json={"origins": ["*"]})) == message
    assert fingerprint(conn) == before


def test_origins_change_without_the_expiry_and_the_reverse(world: World, alice: Caller, conn: Connection) -> None:
    secret = world.api_key("frontend", name="web", expires_at=EXPIRY).key or ""
    since = world.last_event_id()
    response = alice.put(place(secret), json={"origins": ORIGINS})
    assert (response.status_code, response.data) == (200, b"")
    before = described(conn, "web", "frontend", "development", "*", expiresAt=EXPIRY)
    assert events(world, since) == [
        event(
            "api-token-updated",
            alice,
            project="*",
            environment="development",
            data=before | {"origins": ORIGINS},
            pre_data=before,
        )
    ]
    assert alice.put(place(secret), json={"expiresAt": None}).status_code == 200
    assert stored(conn) == ORIGINS
    [token] = alice.get(f"{PATH}/web").json["tokens"]
    assert (token["expiresAt"], token["origins"]) == (None, ORIGINS)


def test_null_removes_the_origins(world: World, alice: Caller, conn: Connection) -> None:
    secret = world.api_key("frontend", name="web", origins=ORIGINS).key or ""
    assert alice.put(place(secret), json={"origins": None}).status_code == 200
    assert stored(conn) is None


def test_an_update_needs_an_expiry_or_origins(world: World, alice: Caller) -> None:
    secret = world.api_key("frontend").key or ""
    assert refused(alice.put(place(secret), json={})) == "body: must have expiresAt or origins"


def test_a_listed_token_with_origins_can_be_sent_back(world: World, alice: Caller) -> None:
    secret = world.api_key("frontend", name="web", origins=ORIGINS).key or ""
    since = world.last_event_id()
    [token] = alice.get(f"{PATH}/web").json["tokens"]
    assert alice.put(place(secret), json=token).status_code == 200
    assert world.events(since) == []
    new = {name: member for name, member in token.items() if name not in ("username", "project")}
    assert alice.post(PATH, json=new).json["origins"] == ORIGINS
