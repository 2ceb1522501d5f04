"""Export: which flags a document has, and refusals."""

import pytest

from sql.vocabulary import tag_types
from tests.support import fixtures
from tests.support.export import PATH, export, names
from tests.support.world import refused


def test_names_that_are_unknown_or_archived_are_left_out_and_twice_is_once(world, victor):
    for name in ("b", "a", "B"):
        world.flag(name)
    world.flag("gone", archived_at="2026-01-01T00:00:00Z")
    assert names(export(victor, features=["b", "gone", "nobody", "a", "b", "B", "no name\U0001f600"])) == [
        "B",
        "a",
        "b",
    ]


def test_a_tag_chooses_by_its_value_whatever_its_type(world, conn, victor):
    tag_types.insert(conn, "team", "")
    for name, type, text in (("one", "simple", "web"), ("two", "team", "web"), ("three", "simple", "website")):
        fixtures.tag(conn, world.flag(name), type, text)
    fixtures.tag(conn, world.flag("gone", archived_at="2026-01-01T00:00:00Z"), "simple", "web")
    assert names(export(victor, tag="web")) == ["one", "two"]
    assert names(export(victor, tag="we")) == []


def test_an_empty_tag_chooses_nothing(world, victor):
    for name in ("one", "two"):
        world.flag(name)
    assert names(export(victor, features=["one"], tag="")) == ["one"]
    assert "must have tag" in refused(victor.post(PATH, json={"environment": "development", "tag": ""}))


def test_a_project_chooses_its_flags(world, victor):
    world.project("hermes")
    for name, project in (("one", "hermes"), ("two", "default"), ("three", "hermes")):
        world.flag(name, project)
    world.flag("gone", "hermes", archived_at="2026-01-01T00:00:00Z")
    assert names(export(victor, project="hermes")) == ["one", "three"]


def test_an_empty_list_is_the_whole_project_or_the_whole_environment(world, victor, max, apollo):
    world.project("hermes", environments=("development",))
    for name, project in (("one", "hermes"), ("two", "default"), ("three", "hermes"), ("secret", apollo)):
        world.flag(name, project)
    world.flag("gone", archived_at="2026-01-01T00:00:00Z")
    assert names(export(victor, project="hermes", features=[])) == ["one", "three"]
    assert names(export(victor, project="hermes", features=["two", "three"])) == ["three"]
    assert names(export(victor, features=[])) == ["one", "three", "two"]
    assert names(export(max, features=[])) == ["one", "secret", "three", "two"]
    assert names(export(victor, "production", features=[])) == ["two"]


def test_flags_of_hidden_projects_are_left_out(world, conn, victor, max, apollo):
    fixtures.tag(conn, world.flag("secret", apollo), "simple", "web")
    for selector in ({"features": ["secret"]}, {"tag": "web"}):
        assert names(export(victor, **selector)) == []
        assert names(export(max, **selector)) == ["secret"]
    assert refused(victor.post(PATH, json={"environment": "development", "project": apollo}), 404, "NotFoundError")


def test_an_archived_project_can_be_exported(conn, victor):
    fixtures.insert_project(conn, "old", "Old", archived_at="2026-01-01T00:00:00Z")
    assert names(export(victor, project="old")) == []


def test_an_unknown_environment_is_not_found_and_leaves_no_event(world, alice):
    before = world.last_event_id()
    refused(alice.post(PATH, json={"environment": "nowhere", "features": []}), 404, "NotFoundError")
    refused(alice.post(PATH, json={"environment": "development", "project": "nowhere"}), 404, "NotFoundError")
    assert world.events(before) == []


@pytest.mark.parametrize(
    ("body", "says"),
    [
        ({"environment": "development"}, "body: must have tag, features, project, or features and project"),
        (
            {"environment": "development", "features": [], "tag": "a"},
            "body: must have tag, features, project, or features and project",
        ),
        (
            {"environment": "development", "project": "default", "tag": "a"},
            "body: must have tag, features, project, or features and project",
        ),
        ({"features": []}, "environment: is required"),
        ({"environment": "development", "features": "f"}, "features: must be a list"),
        ({"environment": "development", "features": [1]}, "features.0: must be a string"),
        (
            {"environment": "development", "features": None},
            "body: must have tag, features, project, or features and project",
        ),
        ({"environment": "development", "tag": 5}, "tag: must be a string"),
        ({"environment": "development", "features": [], "downloadFile": "true"}, "downloadFile: must be true or false"),
        ({"environment": "development", "features": [], "format": "csv"}, "format: unknown property"),
    ],
)
def test_an_invalid_body_is_refused(alice, world, body, says):
    before = world.last_event_id()
    assert says in refused(alice.post(PATH, json=body))
    assert world.events(before) == []
