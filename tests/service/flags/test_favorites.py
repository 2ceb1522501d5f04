"""Flags among the favorites of a user."""

import pytest

from sql.database import rows, value
from tests.support import fixtures
from tests.support.fingerprint import fingerprint
from tests.support.flags import BETA, FLAGS, event, recorded
from tests.support.world import refused

FAVORITES = f"{FLAGS}/f/favorites"


def test_a_favorite_belongs_to_one_user_and_each_change_is_recorded_once(world, alice, victor, conn):
    flag = world.flag("f")
    fixtures.tag(conn, flag, "simple", "beta")
    for caller in (alice, victor):
        since = world.last_event_id()
        for _ in range(2):
            response = caller.post(FAVORITES)
            assert (response.status_code, response.data) == (200, b"")
        assert recorded(world, since, caller) == [event("feature-favorited", data={"feature": "f"}, tags=[BETA])]
        assert alice.get(f"{FLAGS}/f").json["favorite"] is True
        assert victor.get(f"{FLAGS}/f").json["favorite"] is (caller is victor)
    assert world.api_key().get(f"{FLAGS}/f").json["favorite"] is False
    # A favorite does not make a user a collaborator.
    assert alice.get(f"{FLAGS}/f").json["collaborators"]["users"] == []
    since = world.last_event_id()
    for _ in range(2):
        response = victor.delete(FAVORITES)
        assert (response.status_code, response.data) == (200, b"")
    assert recorded(world, since, victor) == [event("feature-unfavorited", data={"feature": "f"}, tags=[BETA])]
    assert rows(conn, "SELECT user_id, flag_id FROM flag_favorites") == [{"user_id": alice.id, "flag_id": flag}]


@pytest.mark.parametrize("method", ["POST", "DELETE"])
def test_a_token_has_no_favorites_and_an_unknown_flag_is_404(world, alice, conn, method):
    world.flag("f")
    world.flag("gone", archived_at=value(conn, "SELECT now()"))
    key = world.api_key()
    before = fingerprint(conn)
    for path in (FAVORITES, f"{FLAGS}/unknown/favorites"):
        refused(key.request(method, path), 403, "NoAccessError")
    for name in ("unknown", "gone"):
        refused(alice.request(method, f"{FLAGS}/{name}/favorites"), 404, "NotFoundError")
    assert fingerprint(conn) == before
