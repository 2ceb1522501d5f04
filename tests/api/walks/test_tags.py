"""The web UI administers types of tags."""

from tests.support.walks import ADMIN


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
