"""The web UI exports a project and imports what it exported."""

from tests.support.walks import ADMIN, FLAGS, PROJECT

EXPORT = f"{ADMIN}/features-batch/export"


def test_the_dialogs_of_an_export(ui):
    new = {"type": "release", "name": "walk", "description": "", "impressionData": False}
    ui.send(("POST", FLAGS, new, 201), ("POST", FLAGS, new | {"name": "second"}, 201))
    selected = ui.send(("POST", EXPORT, {"features": ["walk"], "environment": "development"}, 200))
    assert [flag["name"] for flag in selected["features"]] == ["walk"]
    # The button above the list sends no names.
    project = ui.send(("POST", EXPORT, {"features": [], "environment": "development", "project": "default"}, 200))
    assert {flag["name"] for flag in project["features"]} == {"walk", "second"}


def test_the_pages_of_an_import(ui):
    new = {"type": "release", "name": "walk", "description": "x", "impressionData": False}
    place = {"environment": "development", "project": "default"}
    document = ui.send(
        ("POST", FLAGS, new, 201),
        ("POST", EXPORT, {"features": ["walk"], "environment": "development"}, 200),
    )
    # As if it came from another instance.
    ui.send(
        ("POST", f"{PROJECT}/archive", {"features": ["walk"]}, 202),
        ("POST", f"{PROJECT}/delete", {"features": ["walk"]}, 200),
    )
    body = place | {"data": document}
    found = ui.send(("POST", f"{ADMIN}/features-batch/validate", body, 200))
    assert found == {"errors": [], "warnings": [], "permissions": []}
    ui.send(("POST", f"{ADMIN}/features-batch/import", body, 200))
    assert ui.send(("GET", f"{FLAGS}/walk", None, 200))["description"] == "x"
