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
