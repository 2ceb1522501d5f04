"""The web UI exports a project and imports what it exported."""

from tests.support.walks import ADMIN, FLAGS

EXPORT = f"{ADMIN}/features-batch/export"


def test_the_dialogs_of_an_export(ui):
    new = {"type": "release", "name": "walk", "description": "", "impressionData": False}
    ui.send(("POST", FLAGS, new, 201), ("POST", FLAGS, new | {"name": "second"}, 201))
    selected = ui.send(("POST", EXPORT, {"features": ["walk"], "environment": "development"}, 200))
    assert [flag["name"] for flag in selected["features"]] == ["walk"]
    # The button above the list sends no names.
    project = ui.send(("POST", EXPORT, {"features": [], "environment": "development", "project": "default"}, 200))
    assert {flag["name"] for flag in project["features"]} == {"walk", "second"}
