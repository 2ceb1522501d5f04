"""Personal access tokens: created, listed and deleted by their user."""

import hashlib
import re
from datetime import UTC, datetime, timedelta
from typing import Any

from rules.access import digest
from sql import sessions
from sql.database import value
from sql.people import personal_tokens
from tests.support.event_log import event, events
from tests.support.fingerprint import fingerprint
from tests.support.sessions import ANY_PAGE, with_session
from tests.support.world import Caller, World, refused

PATH = "/api/admin/user/tokens"
EXPIRY = "2099-12-31T23:59:59.999Z"


def make(caller: Caller, description: Any = "for scripts", expires_at: Any = EXPIRY, **kwargs: Any):
    """Create a token."""
    return caller.post(PATH, json={"description": description, "expiresAt": expires_at}, **kwargs)


def test_a_new_token_is_returned_recorded_and_stored_as_a_digest(world, app, victor, conn):
    since = world.last_event_id()
    response = make(victor)
    created = response.json
    token_id, now = value(conn, "SELECT max(id) FROM personal_tokens"), value(conn, "SELECT iso(now())")
    assert (response.status_code, response.headers["Location"]) == (201, f"tokens/{token_id}")
    secret = created.pop("secret")
    assert re.fullmatch(r"user:[0-9a-f]{64}", secret)
    data = {"id": token_id, "description": "for scripts", "expiresAt": EXPIRY, "userId": victor.id}
    assert created == data | {"createdAt": now, "seenAt": None}
    kept = value(conn, "SELECT digest FROM personal_tokens WHERE id = %(id)s", {"id": token_id})
    assert kept == hashlib.sha256(secret.encode()).digest()
    assert secret not in value(conn, "SELECT string_agg(personal_tokens::text, ' ') FROM personal_tokens")
    assert victor.get(PATH).json["pats"][1] == created
    assert events(world, since) == [event("pat-created", victor, data=data)]
    assert Caller(app, secret).get(ANY_PAGE).status_code == 200
    assert victor.get(PATH).json["pats"][1]["seenAt"] == now


def test_users_see_their_own_tokens_oldest_first(victor, alice, conn):
    for description in ("c", "b", "a"):
        make(victor, description)
    make(alice, "of Alice")
    conn.execute("UPDATE personal_tokens SET created_at = now() - interval '1 day' WHERE description = 'a'")
    personal_tokens.insert(conn, victor.id, "expired", datetime.now(UTC) - timedelta(days=1))
    tokens = victor.get(PATH).json["pats"]
    assert [token["description"] for token in tokens] == ["a", "test", "c", "b", "expired"]


def test_the_first_token_is_created_by_a_session(world, stranger, conn):
    user = world.user("Ada")
    conn.execute("DELETE FROM personal_tokens WHERE user_id = %s", [user.id])
    sessions.insert(conn, digest("Ada's"), user.id, 48)
    assert stranger.get(PATH, headers=with_session("Ada's")).json == {"pats": []}
    assert make(stranger, headers=with_session("Ada's")).status_code == 201


def test_tokens_of_one_user_have_different_descriptions(victor, alice, conn):
    assert make(victor).status_code == 201
    before = fingerprint(conn)
    message = "description: a token with this description already exists"
    assert refused(make(victor), 409, "NameExistsError") == message
    assert fingerprint(conn) == before
    assert make(victor, "For scripts").status_code == make(alice).status_code == 201


def test_the_number_of_tokens_of_a_user_is_limited(app, victor, alice, conn, monkeypatch):
    for number in range(9):
        assert make(victor, f"number {number}").status_code == 201
    before = fingerprint(conn)
    refused(make(victor), 409, "ConflictError")
    assert fingerprint(conn) == before
    # Expired tokens count.
    conn.execute("UPDATE personal_tokens SET expires_at = now() WHERE description LIKE 'number %'")
    refused(make(victor), 409, "ConflictError")
    assert make(alice).status_code == 201
    monkeypatch.setitem(app.config, "MAX_PERSONAL_TOKENS", 11)
    assert make(victor).status_code == 201
    assert refused(make(victor, "one more"), 409, "ConflictError") == (
        "A user can have at most 11 personal access tokens. The setting MAX_PERSONAL_TOKENS raises this limit."
    )


def test_an_expiry_must_be_in_the_future(victor, conn):
    before = fingerprint(conn)
    for seconds in (-3600, -1):
        at = (datetime.now(UTC) + timedelta(seconds=seconds)).isoformat()
        assert refused(make(victor, expires_at=at)) == "expiresAt: must be in the future"
    assert refused(make(victor, "   ")) == "description: must not be blank"
    assert fingerprint(conn) == before
    assert make(victor, expires_at=(datetime.now(UTC) + timedelta(minutes=1)).isoformat()).status_code == 201


def test_a_deleted_token_stops_working(world, app, victor, alice, conn):
    created = make(victor).json
    before, since = fingerprint(conn), world.last_event_id()
    for token_id in (created["id"], 2**31 - 1, 2**40):
        refused(alice.delete(f"{PATH}/{token_id}"), 404, "NotFoundError")
    for word in ("0", "x", "-1", "1.5"):
        refused(alice.delete(f"{PATH}/{word}"))
    assert fingerprint(conn) == before
    # A token can delete itself.
    itself = Caller(app, created["secret"])
    response = itself.delete(f"{PATH}/{created['id']}")
    assert (response.status_code, response.get_data()) == (200, b"")
    refused(itself.get(ANY_PAGE), 401, "AuthenticationRequired")
    assert [token["description"] for token in victor.get(PATH).json["pats"]] == ["test"]
    data = {"id": created["id"], "description": "for scripts", "expiresAt": EXPIRY, "userId": victor.id}
    assert events(world, since) == [event("pat-deleted", victor, data=data)]
    refused(victor.delete(f"{PATH}/{created['id']}"), 404, "NotFoundError")


def expiring(world: World, user: Caller) -> Caller:
    """The user with another token, which expires in 2098."""
    expiry = datetime(2098, 5, 31, 12, tzinfo=UTC)
    return Caller(world.app, personal_tokens.insert(world.conn, user.id or 0, "expiring", expiry), user.id)


def test_a_token_cannot_create_a_token_that_expires_later(world, victor, conn):
    script = expiring(world, victor)
    before = fingerprint(conn)
    limit = "must not be later than 2098-05-31T12:00:00.000Z, the expiry of the token of this request"
    for instant in ("2098-05-31T12:00:00.001Z", "2098-05-31T12:00:01+00:00", "2099-01-01T00:00:00Z"):
        assert refused(make(script, "longer", instant)) == f"expiresAt: {limit}"
    assert refused(script.post(PATH, json={"expiresAt": EXPIRY})) == "description: is required"
    assert fingerprint(conn) == before
    for number, instant in enumerate(("2098-05-31T12:00:00.000Z", "2098-05-31T14:00:00+02:00", "2090-01-01T00:00:00Z")):
        created = make(script, f"number {number}", instant)
        assert created.status_code == 201
        refused(make(Caller(world.app, created.json["secret"]), "child", "2098-05-31T12:00:00.001Z"))


def test_tokens_by_a_session_and_of_service_accounts_may_expire_later(world, alice, stranger):
    robot, script = world.user("Robot", account_type="Service Account"), expiring(world, alice)
    sessions.insert(world.conn, digest("Alice's"), alice.id, 48)
    assert make(stranger, headers=with_session("Alice's")).status_code == 201
    body = {"description": "for the robot", "expiresAt": EXPIRY}
    assert script.post(f"/api/admin/service-account/{robot.id}/token", json=body).status_code == 201
