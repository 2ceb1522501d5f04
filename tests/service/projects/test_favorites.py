"""POST and DELETE /api/admin/projects/{p}/favorites: of users, once, and recorded in the events."""

import pytest

from sql.database import rows
from tests.support.event_log import event, events
from tests.support.fingerprint import fingerprint
from tests.support.world import refused

PATH = "/api/admin/projects/default/favorites"
FAVORITES = "SELECT user_id, project_id FROM project_favorites ORDER BY 1, 2"


def test_a_favorite_is_added_and_removed_once(conn, world, victor, eve):
    assert eve.post(PATH).status_code == 200
    since = world.last_event_id()
    for change, users in (("POST", sorted([victor.id, eve.id])), ("DELETE", [eve.id])):
        answer = victor.request(change, PATH)
        assert (answer.status_code, answer.data) == (200, b"")
        assert rows(conn, FAVORITES) == [{"user_id": user, "project_id": "default"} for user in users]
        assert victor.get("/api/admin/projects/default/overview").json["favorite"] is (change == "POST")
        before = fingerprint(conn)
        assert victor.request(change, PATH).status_code == 200
        assert fingerprint(conn) == before
    assert events(world, since) == [
        event(type, victor, project="default", data={"project": "default"})
        for type in ("project-favorited", "project-unfavorited")
    ]


@pytest.mark.usefixtures("apollo")
@pytest.mark.parametrize("method", ["POST", "DELETE"])
def test_api_tokens_and_hidden_projects_have_no_favorites(conn, world, victor, method):
    key = world.api_key()
    before = fingerprint(conn)
    for project in ("default", "nowhere"):
        refused(key.request(method, PATH.replace("default", project)), 403, "NoAccessError")
    for project in ("apollo", "nowhere"):
        refused(victor.request(method, PATH.replace("default", project)), 404, "NotFoundError")
    assert fingerprint(conn) == before
