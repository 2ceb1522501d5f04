"""The check of a name for a new flag."""

from datetime import UTC, datetime

import pytest

from tests.support.fingerprint import fingerprint
from tests.support.world import refused

PATH = "/api/admin/features/validate"


def test_a_free_name_is_200_and_changes_nothing(world, victor, conn):
    world.flag("taken")
    before = fingerprint(conn)
    for body in (
        {"name": "free"},
        {"name": "Taken"},
        {"name": "free", "projectId": None},
        {"name": "free", "projectId": ""},
        {"name": "free", "projectId": "default"},
    ):
        response = victor.post(PATH, json=body)
        assert (response.status_code, response.data) == (200, b"")
    assert fingerprint(conn) == before


def test_a_name_is_taken_by_archived_and_hidden_flags_but_not_by_deleted_ones(world, alice, victor, apollo):
    world.flag("live")
    world.flag("secret", apollo)
    world.flag("gone", archived_at=datetime.now(UTC))
    for name in ("live", "secret", "gone"):
        assert refused(victor.post(PATH, json={"name": name}), 409, "NameExistsError").startswith(
            "name: a flag with this name already"
        )
    assert alice.delete("/api/admin/archive/gone").status_code == 200
    assert victor.post(PATH, json={"name": "gone"}).status_code == 200


def test_the_pattern_of_the_project_counts(world, victor):
    world.project("hermes", naming_pattern="[a-z]+")
    assert victor.post(PATH, json={"name": "mail", "projectId": "hermes"}).status_code == 200
    assert victor.post(PATH, json={"name": "MAIL", "projectId": "default"}).status_code == 200
    message = refused(victor.post(PATH, json={"name": "MAIL", "projectId": "hermes"}))
    assert message == "name: must match the naming pattern of the project, [a-z]+"


@pytest.mark.parametrize(
    ("body", "says"),
    [
        ({}, "name: is required"),
        ({"name": "a b"}, "name: must contain only"),
        ({"name": ".."}, 'name: must not be "." or ".."'),
        ({"name": None}, "name: must not be null"),
        ({"name": "free", "project": "default"}, "project: unknown property"),
        ({"name": "free", "projectId": "nowhere"}, "projectId: must be an existing project"),
        ({"name": "free", "projectId": "apollo"}, "projectId: must be an existing project"),
    ],
)
@pytest.mark.usefixtures("apollo")
def test_an_invalid_body_is_refused(victor, body, says):
    assert says in refused(victor.post(PATH, json=body))
