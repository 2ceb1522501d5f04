"""POST /api/admin/projects/validate: whether an id is free."""

from typing import Any

import pytest

from tests.support.world import Caller, World, refused

PATH = "/api/admin/projects/validate"


def test_a_free_id_is_valid(world: World, eve: Caller) -> None:
    since = world.last_event_id()
    response = eve.post(PATH, json={"id": "mobile"})
    assert (response.status_code, response.text) == (200, "")
    assert world.events(since) == []


def test_the_id_of_a_hidden_or_archived_project_is_taken(world: World, eve: Caller) -> None:
    world.project("hidden", mode="private")
    world.project("hermes", archived_at="2026-01-01T00:00:00Z")
    for project in ("default", "hidden", "hermes"):
        refused(eve.post(PATH, json={"id": project}), 409, "NameExistsError")


def test_only_administrators_can_reuse_the_id_of_a_deleted_private_project(alice: Caller, eve: Caller) -> None:
    alice.post("/api/admin/projects", json={"name": "Secret", "mode": "private"})
    assert alice.delete("/api/admin/projects/secret").status_code == 200
    refused(eve.post(PATH, json={"id": "secret"}), 409, "NameExistsError")
    assert alice.post(PATH, json={"id": "secret"}).status_code == 200


@pytest.mark.parametrize(
    "body", [{}, {"id": ""}, {"id": "a b"}, {"id": "archive"}, {"id": None}, {"id": "x" * 101}, {"id": "x", "y": 1}]
)
def test_an_invalid_id_is_refused(eve: Caller, body: dict[str, Any]) -> None:
    refused(eve.post(PATH, json=body))
