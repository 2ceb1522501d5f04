"""POST and DELETE /api/admin/projects/{p}/favorites: of users, once, and recorded in the log."""

from typing import Any

import pytest

from sql.database import Connection, rows
from tests.support.fingerprint import fingerprint
from tests.support.world import Caller, World, refused

PATH = "/api/admin/projects/default/favorites"


def favorites(conn: Connection) -> list[dict[str, Any]]:
    """The favourites of each user."""
    return [dict(row) for row in rows(conn, "SELECT user_id, project_id FROM project_favorites ORDER BY 1, 2")]


def test_a_user_favours_a_project_and_no_longer(conn: Connection, world: World, victor: Caller, eve: Caller) -> None:
    assert eve.post(PATH).status_code == 200
    since = world.last_event_id()
    answer = victor.post(PATH)
    assert (answer.status_code, answer.data) == (200, b"")
    assert favorites(conn) == [
        {"user_id": user, "project_id": "default"} for user in sorted([victor.id or 0, eve.id or 0])
    ]
    assert victor.get("/api/admin/projects/default/overview").json["favorite"] is True
    answer = victor.delete(PATH)
    assert (answer.status_code, answer.data) == (200, b"")
    assert favorites(conn) == [{"user_id": eve.id, "project_id": "default"}]
    assert [
        {key: word for key, word in event.items() if key not in ("id", "created_at")} for event in world.events(since)
    ] == [
        {
            "type": type,
            "created_by": "victor@example.org",
            "created_by_user_id": victor.id,
            "environment": None,
            "project": "default",
            "feature_name": None,
            "data": {"project": "default"},
            "pre_data": None,
            "tags": [],
        }
        for type in ("project-favorited", "project-unfavorited")
    ]


def test_repeating_a_request_changes_nothing(conn: Connection, victor: Caller) -> None:
    before = fingerprint(conn)
    assert victor.delete(PATH).status_code == 200
    assert fingerprint(conn) == before
    victor.post(PATH)
    before = fingerprint(conn)
    assert victor.post(PATH).status_code == 200
    assert fingerprint(conn) == before


@pytest.mark.parametrize("method", ["POST", "DELETE"])
def test_a_key_has_no_favorites(conn: Connection, world: World, method: str) -> None:
    key = world.api_key()
    before = fingerprint(conn)
    refused(key.request(method, PATH), 403, "NoAccessError")
    refused(key.request(method, "/api/admin/projects/nowhere/favorites"), 403, "NoAccessError")
    assert fingerprint(conn) == before


@pytest.mark.parametrize("method", ["POST", "DELETE"])
@pytest.mark.parametrize("project", ["nowhere", "apollo"])
def test_a_hidden_project_cannot_be_favourited(
    conn: Connection, apollo: str, victor: Caller, method: str, project: str
) -> None:
    assert apollo == "apollo"
    before = fingerprint(conn)
    refused(victor.request(method, f"/api/admin/projects/{project}/favorites"), 404, "NotFoundError")
    assert fingerprint(conn) == before
