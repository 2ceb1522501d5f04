"""The web UI tags flags, one and many, and administers types of tags."""

import pytest

from tests.support.walks import ADMIN, FLAGS, PROJECT, Browser

TAG = {"value": "team", "type": "simple"}


@pytest.fixture
def flags(ui: Browser) -> None:
    """Two flags in project default."""
    for name in ("walk", "second"):
        new = {"type": "release", "name": name, "description": "", "impressionData": False}
        ui.send(("POST", FLAGS, new, 201))


@pytest.mark.usefixtures("flags")
def test_the_dialog_of_a_flag_adds_and_removes_a_new_tag(ui):
    path = f"{ADMIN}/features/walk/tags"
    ui.send(
        ("GET", f"{ADMIN}/tag-types", None, 200),
        ("GET", f"{ADMIN}/tags/simple", None, 200),
        ("GET", path, None, 200),
        ("POST", f"{ADMIN}/tags", TAG, 201),
        ("PUT", path, {"addedTags": [TAG], "removedTags": []}, 200),
    )
    assert ui.send(("GET", path, None, 200))["tags"] == [TAG]
    ui.send(("PUT", path, {"addedTags": [], "removedTags": [TAG]}, 200))
    assert ui.send(("GET", path, None, 200))["tags"] == []
    assert TAG in ui.send(("GET", f"{ADMIN}/tags/simple", None, 200))["tags"]


@pytest.mark.usefixtures("flags")
def test_the_bulk_dialog_tags_flags(ui):
    body = {"features": ["walk", "second"], "tags": {"addedTags": [TAG], "removedTags": []}}
    ui.send(("POST", f"{ADMIN}/tags", TAG, 201), ("PUT", f"{PROJECT}/tags", body, 200))
    for name in body["features"]:
        assert ui.send(("GET", f"{ADMIN}/features/{name}/tags", None, 200))["tags"] == [TAG]


def test_the_pages_of_a_tag_type(ui):
    path = f"{ADMIN}/tag-types/team"
    ui.send(
        ("POST", f"{ADMIN}/tag-types/validate", {"name": "team"}, 200),
        ("POST", f"{ADMIN}/tag-types", {"name": "team", "description": "Who cares for it"}, 201),
        ("GET", path, None, 200),
        ("PUT", path, {"name": "team", "description": "Who cares"}, 200),
    )
    assert ui.send(("GET", path, None, 200))["tagType"]["description"] == "Who cares"
    ui.send(("DELETE", path, None, 200), ("GET", path, None, 404))
