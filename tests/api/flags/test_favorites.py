"""Flags among the favourites of a user."""

import pytest

from sql.database import rows, value
from sql.flags import favorites as flag_favorites
from tests.support import fixtures
from tests.support.fingerprint import fingerprint
from tests.support.flags import FLAGS, event, recorded
from tests.support.world import refused

FAVORITES = f"{FLAGS}/f/favorites"


def test_a_favourite_belongs_to_one_user_and_is_recorded_once(world, alice, victor, conn):
    flag = world.flag("f")
    fixtures.tag(conn, flag, "simple", "beta")
    since = world.last_event_id()
    for _ in range(2):
        response = victor.post(FAVORITES)
        assert (response.status_code, response.data) == (200, b"")
    expected = event("feature-favorited", data={"feature": "f"}, tags=[{"type": "simple", "value": "beta"}])
    assert recorded(world, since, victor) == [expected]
    assert rows(conn, "SELECT user_id, flag_id FROM flag_favorites") == [{"user_id": victor.id, "flag_id": flag}]
    assert victor.get(f"{FLAGS}/f").json["favorite"] is True
    assert alice.get(f"{FLAGS}/f").json["favorite"] is False
    assert world.api_key().get(f"{FLAGS}/f").json["favorite"] is False


def test_removing_a_favourite_changes_one_user_and_is_recorded_once(world, alice, victor, conn):
    flag = world.flag("f")
    for user in (alice, victor):
        flag_favorites.add(conn, user.id, flag)
    since = world.last_event_id()
    for _ in range(2):
        response = victor.delete(FAVORITES)
        assert (response.status_code, response.data) == (200, b"")
    assert recorded(world, since, victor) == [event("feature-unfavorited", data={"feature": "f"})]
    assert rows(conn, "SELECT user_id FROM flag_favorites") == [{"user_id": alice.id}]


@pytest.mark.parametrize("method", ["POST", "DELETE"])
def test_a_key_has_no_favourites_and_what_is_not_there_cannot_be_one(world, alice, conn, method):
    world.flag("f")
    world.flag("gone", archived_at=value(conn, "SELECT now()"))
    key = world.api_key()
    before = fingerprint(conn)
    refused(key.request(method, FAVORITES), 403, "NoAccessError")
    refused(key.request(method, f"{FLAGS}/unknown/favorites"), 403, "NoAccessError")
    for path in (f"{FLAGS}/unknown", f"{FLAGS}/gone", "/api/admin/projects/nowhere/features/f"):
        refused(alice.request(method, f"{path}/favorites"), 404, "NotFoundError")
    assert fingerprint(conn) == before


def test_a_favourite_does_not_make_one_a_collaborator(alice, victor):
    assert alice.post(FLAGS, json={"name": "f"}).status_code == 201
    assert victor.post(FAVORITES).status_code == 200
    assert [user["id"] for user in alice.get(f"{FLAGS}/f").json["collaborators"]["users"]] == [alice.id]


@pytest.mark.parametrize(("method", "unwritable"), [("POST", "feature-favorited"), ("DELETE", "feature-unfavorited")])
def test_a_change_is_rolled_back_if_its_event_fails(world, alice, conn, method, unwritable):
    flag = world.flag("f")
    if method == "DELETE":
        flag_favorites.add(conn, alice.id, flag)
    conn.execute(f"ALTER TABLE events ADD CONSTRAINT refuse CHECK (type <> '{unwritable}') NOT VALID")
    before = fingerprint(conn)
    refused(alice.request(method, FAVORITES), 500, "InternalError")
    assert fingerprint(conn) == before
