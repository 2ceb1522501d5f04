"""The web UI administers environments, and shows and hides them in a project."""

from tests.support.walks import ADMIN, FLAGS, PROJECT

ENVIRONMENTS = f"{ADMIN}/environments"


def test_a_project_hides_and_shows_an_environment(ui):
    new = {"type": "release", "name": "walk", "description": "", "impressionData": False}
    linked = f"{ENVIRONMENTS}/project/default"
    hidden = ui.send(
        ("POST", FLAGS, new, 201),
        ("GET", linked, None, 200),
        ("DELETE", f"{PROJECT}/environments/development", None, 200),
        ("GET", linked, None, 200),
    )
    assert "development" not in {place["name"] for place in hidden["environments"]}
    shown = ui.send(
        ("POST", f"{PROJECT}/environments", {"environment": "development"}, 200), ("GET", linked, None, 200)
    )
    assert "development" in {place["name"] for place in shown["environments"]}
    assert ui.send(("GET", f"{FLAGS}/walk/environments/development", None, 200))["enabled"] is False


def test_the_menu_of_an_environment(ui):
    form = {"name": "lab", "type": "test"}
    created = ui.send(("POST", f"{ENVIRONMENTS}/validate", {"name": "lab"}, 200), ("POST", ENVIRONMENTS, form, 201))
    assert (created["name"], created["type"], created["enabled"]) == ("lab", "test", True)
    edited = {"type": "development", "sortOrder": created["sortOrder"], "requiredApprovals": None}
    ui.send(
        ("GET", f"{ENVIRONMENTS}/lab", None, 200),
        ("PUT", f"{ENVIRONMENTS}/update/lab", edited, 200),
        ("POST", f"{ENVIRONMENTS}/lab/off", None, 204),
        ("POST", f"{ENVIRONMENTS}/lab/on", None, 204),
        ("PUT", f"{ENVIRONMENTS}/sort-order", {"lab": 1, "development": 2, "production": 3}, 200),
    )
    listed = ui.send(("GET", ENVIRONMENTS, None, 200))["environments"]
    assert (listed[0]["name"], listed[0]["type"]) == ("lab", "development")
    copy = {"name": "copy", "type": "development", "projects": ["default"], "clonePermissions": True}
    ui.send(
        ("POST", f"{ENVIRONMENTS}/validate", {"name": "copy"}, 200),
        ("POST", f"{ENVIRONMENTS}/development/clone", copy, 200),
        ("GET", f"{ENVIRONMENTS}/copy", None, 200),
        ("DELETE", f"{ENVIRONMENTS}/lab", None, 200),
        ("GET", f"{ENVIRONMENTS}/lab", None, 404),
    )
