"""Personal access tokens: made, listed without their secrets, and deleted by their owner."""

import hashlib
import re
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from rules.access import digest
from sql import sessions
from sql.database import rows, value
from sql.people import personal_tokens
from tests.support.sessions import ANY_PAGE, with_session
from tests.support.world import Caller, World, refused

PATH = "/api/admin/user/tokens"
EXPIRY = "2099-12-31T23:59:59.999Z"


def make(caller: Caller, description: Any = "for scripts", expires_at: Any = EXPIRY, **kwargs: Any):
    """Ask for a token."""
    return caller.post(PATH, json={"description": description, "expiresAt": expires_at}, **kwargs)


def state(world: World) -> list[Any]:
    """All tokens but when they were used, and the newest event."""
    return [
        rows(world.conn, "SELECT id, user_id, description, expires_at FROM personal_tokens ORDER BY id"),
        world.last_event_id(),
    ]


def test_a_token_is_shown_once_and_kept_as_a_digest(world, app, victor, conn):
    since = world.last_event_id()
    response = make(victor)
    assert response.status_code == 201
    created = response.json
    token_id = value(conn, "SELECT max(id) FROM personal_tokens")
    assert response.headers["Location"] == f"tokens/{token_id}"
    secret = created.pop("secret")
    assert re.fullmatch(r"user:[0-9a-f]{64}", secret)
    now = value(conn, "SELECT iso(now())")
    assert created == {
        "id": token_id,
        "description": "for scripts",
        "createdAt": now,
        "expiresAt": EXPIRY,
        "seenAt": None,
        "userId": victor.id,
    }
    kept = value(conn, "SELECT digest FROM personal_tokens WHERE id = %(id)s", {"id": token_id})
    assert kept == hashlib.sha256(secret.encode()).digest()
    assert victor.get(PATH).json["pats"][1] == created
    assert secret not in value(conn, "SELECT string_agg(personal_tokens::text, ' ') FROM personal_tokens")
    (event,) = world.events(since)
    assert event["type"] == "pat-created"
    assert event["data"] == {"id": token_id, "description": "for scripts", "expiresAt": EXPIRY, "userId": victor.id}
    assert event["pre_data"] is None
    assert (event["created_by"], event["created_by_user_id"]) == ("victor@example.org", victor.id)
    assert event["project"] is event["environment"] is event["feature_name"] is None
    assert Caller(app, secret).get(ANY_PAGE).status_code == 200
    assert victor.get(PATH).json["pats"][1]["seenAt"] == now


def test_the_list_has_ones_own_oldest_first_and_no_secret(victor, alice, conn):
    for description in ("c", "b", "a"):
        make(victor, description)
    make(alice, "of Alice")
    conn.execute("UPDATE personal_tokens SET created_at = now() - interval '1 day' WHERE description = 'a'")
    expired = personal_tokens.insert(conn, victor.id, "expired", datetime.now(UTC) - timedelta(days=1))
    answer = victor.get(PATH)
    assert answer.status_code == 200
    assert [token["description"] for token in answer.json["pats"]] == ["a", "test", "c", "b", "expired"]
    assert all("secret" not in token for token in answer.json["pats"])
    assert expired not in answer.text


def test_the_list_is_empty_without_tokens(world, stranger, conn):
    user = world.user("Ada")
    conn.execute("DELETE FROM personal_tokens WHERE user_id = %s", [user.id])
    sessions.insert(conn, digest("Ada's"), user.id, 48)
    assert stranger.get(PATH, headers=with_session("Ada's")).json == {"pats": []}
    assert make(stranger, headers=with_session("Ada's")).status_code == 201


def test_two_of_one_user_differ_by_their_description(world, victor, alice):
    assert make(victor).status_code == 201
    before = state(world)
    assert refused(make(victor), 409, "NameExistsError").startswith("description: ")
    assert state(world) == before
    assert make(victor, "For scripts").status_code == 201
    assert make(alice).status_code == 201


def test_the_number_of_tokens_of_a_user_is_limited(app, world, victor, alice, monkeypatch):
    for number in range(9):
        assert make(victor, f"number {number}").status_code == 201
    before = state(world)
    refused(make(victor), 409, "ConflictError")
    assert state(world) == before
    # Those that have expired are among them.
    world.conn.execute("UPDATE personal_tokens SET expires_at = now() WHERE description LIKE 'number %'")
    refused(make(victor), 409, "ConflictError")
    assert make(alice).status_code == 201
    monkeypatch.setitem(app.config, "MAX_PERSONAL_TOKENS", 11)
    assert make(victor).status_code == 201
    assert refused(make(victor, "one more"), 409, "ConflictError") == (
        "A user can have at most 11 personal access tokens. The setting MAX_PERSONAL_TOKENS raises this limit."
    )


@pytest.mark.parametrize(
    ("body", "named"),
    [
        ({"description": "x"}, "expiresAt"),
        ({"expiresAt": EXPIRY}, "description"),
        *(({"description": wrong, "expiresAt": EXPIRY}, "description") for wrong in (None, "", "a" * 256)),
        *(({"description": "x", "expiresAt": wrong}, "expiresAt") for wrong in (None, "2099-12-31")),
        ({"description": "x", "expiresAt": "2024-05-31T12:00:00Z"}, "expiresAt"),
        ({"description": "x", "expiresAt": EXPIRY, "other": 1}, "other"),
    ],
)
def test_a_body_that_does_not_fit_makes_nothing(world, victor, body, named):
    before = state(world)
    assert f"{named}: " in refused(victor.post(PATH, json=body))
    assert state(world) == before


def test_an_expiry_must_lie_ahead(world, victor):
    before = state(world)
    for seconds in (-3600, -1):
        at = (datetime.now(UTC) + timedelta(seconds=seconds)).isoformat()
        assert "expiresAt: must be in the future" in refused(make(victor, expires_at=at))
    assert state(world) == before
    assert make(victor, expires_at=(datetime.now(UTC) + timedelta(minutes=1)).isoformat()).status_code == 201


def test_a_deleted_token_is_invalid_and_the_deletion_recorded(world, app, victor):
    created = make(victor).json
    since = world.last_event_id()
    response = victor.delete(f"{PATH}/{created['id']}")
    assert response.status_code == 200
    assert response.get_data() == b""
    refused(Caller(app, created["secret"]).get(ANY_PAGE), 401, "AuthenticationRequired")
    assert [token["description"] for token in victor.get(PATH).json["pats"]] == ["test"]
    (event,) = world.events(since)
    assert event["type"] == "pat-deleted"
    assert event["data"] == {
        "id": created["id"],
        "description": "for scripts",
        "expiresAt": EXPIRY,
        "userId": victor.id,
    }
    assert event["pre_data"] is None
    assert (event["created_by"], event["created_by_user_id"]) == ("victor@example.org", victor.id)
    refused(victor.delete(f"{PATH}/{created['id']}"), 404, "NotFoundError")


def test_a_token_may_delete_itself(app, victor):
    created = make(victor).json
    itself = Caller(app, created["secret"])
    assert itself.delete(f"{PATH}/{created['id']}").status_code == 200
    refused(itself.get(PATH), 401, "AuthenticationRequired")


def test_tokens_of_other_users_are_404(world, alice, victor):
    created = make(victor).json
    before = state(world)
    for token_id in (created["id"], 2**31 - 1, 2**40):
        refused(alice.delete(f"{PATH}/{token_id}"), 404, "NotFoundError")
    for token_id in ("0", "x", "-1", "1.5"):
        refused(alice.delete(f"{PATH}/{token_id}"), 400)
    assert state(world) == before


def test_keys_have_no_tokens(world, stranger):
    before = state(world)
    for caller in (world.api_key(), world.api_key("client")):
        refused(caller.get(PATH), 403, "NoAccessError")
        refused(make(caller), 403, "NoAccessError")
        refused(caller.delete(f"{PATH}/1"), 403, "NoAccessError")
    refused(stranger.get(PATH), 401, "AuthenticationRequired")
    assert state(world) == before


def test_no_secret_gets_into_a_log(app, victor, conn, capsys):
    secret = make(victor).json["secret"]
    Caller(app, secret).get(PATH)
    victor.delete(f"{PATH}/{victor.get(PATH).json['pats'][1]['id']}")
    assert secret[5:] not in value(conn, "SELECT string_agg(events::text, ' ') FROM events")
    assert secret[5:] not in capsys.readouterr().out


def test_a_change_is_rolled_back_if_its_event_fails(world, victor, conn):
    created = make(victor).json
    before = state(world)
    conn.execute("ALTER TABLE events ADD CONSTRAINT refuse CHECK (type !~ '^pat-') NOT VALID")
    refused(make(victor, "another"), 500, "InternalError")
    refused(victor.delete(f"{PATH}/{created['id']}"), 500, "InternalError")
    assert state(world) == before


def expiring(world: World, user: Caller, instant: datetime) -> Caller:
    """The user with another token, which expires then."""
    return Caller(world.app, personal_tokens.insert(world.conn, user.id or 0, "expiring", instant), user.id)


def test_a_token_cannot_create_a_token_that_expires_later(world: World, victor: Caller) -> None:
    script = expiring(world, victor, datetime(2098, 5, 31, 12, tzinfo=UTC))
    before = state(world)
    limit = "must not be later than 2098-05-31T12:00:00.000Z, the expiry of the token of this request"
    for instant in ("2098-05-31T12:00:00.001Z", "2098-05-31T12:00:01+00:00", "2099-01-01T00:00:00Z"):
        assert refused(make(script, "longer", instant)) == f"expiresAt: {limit}"
    assert refused(script.post(PATH, json={"expiresAt": EXPIRY})) == "description: is required"
    assert state(world) == before
    for number, instant in enumerate(("2098-05-31T12:00:00.000Z", "2098-05-31T14:00:00+02:00", "2090-01-01T00:00:00Z")):
        created = make(script, f"number {number}", instant)
        assert created.status_code == 201
        refused(make(Caller(world.app, created.json["secret"]), "child", "2098-05-31T12:00:00.001Z"))


def test_a_session_creates_tokens_of_any_length(world: World, victor: Caller, stranger: Caller) -> None:
    expiring(world, victor, datetime(2098, 5, 31, 12, tzinfo=UTC))
    sessions.insert(world.conn, digest("Victor's"), victor.id or 0, 48)
    assert make(stranger, headers=with_session("Victor's")).status_code == 201


def test_a_token_for_a_service_account_may_outlive_the_callers(world: World, alice: Caller) -> None:
    robot = world.user("Robot", account_type="Service Account")
    script = expiring(world, alice, datetime(2098, 5, 31, 12, tzinfo=UTC))
    body = {"description": "for the robot", "expiresAt": EXPIRY}
    assert script.post(f"/api/admin/service-account/{robot.id}/token", json=body).status_code == 201
