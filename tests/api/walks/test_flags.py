"""The web UI creates, copies, edits, archives, revives and deletes flags."""

from tests.support.walks import ADMIN, FLAGS, PROJECT, Browser

NEW = {"type": "experiment", "name": "walk", "description": "A walk", "impressionData": True}


def read(path: str) -> tuple[tuple[str, str, None, int], ...]:
    """The requests of the page of a flag."""
    name = path.rpartition("/")[2]
    return (
        ("GET", f"{path}?variantEnvironments=true", None, 200),
        ("GET", f"{ADMIN}/features/{name}/tags", None, 200),
        ("GET", f"{path}/parent-variants", None, 200),
        ("GET", f"{PROJECT}/dependencies", None, 200),
        ("GET", f"{PROJECT}/overview", None, 200),
    )


def create(ui: Browser) -> None:
    """Fill in the form of a new flag."""
    ui.send(
        ("POST", f"{ADMIN}/features/validate", {"name": "walk", "projectId": "default"}, 200),
        ("POST", FLAGS, NEW, 201),
        *read(f"{FLAGS}/walk"),
    )


def test_the_form_of_a_new_flag(ui):
    create(ui)
    flag = ui.send(("GET", f"{FLAGS}/walk?variantEnvironments=true", None, 200))
    assert {name: flag[name] for name in (*NEW, "project")} == NEW | {"project": "default"}


def test_the_form_of_a_new_flag_names_a_taken_name(ui):
    create(ui)
    ui.send(("POST", f"{ADMIN}/features/validate", {"name": "walk", "projectId": "default"}, 409))


def test_the_form_of_a_copy(ui):
    create(ui)
    body = {"name": "copy", "replaceGroupId": True}
    ui.send(
        ("POST", f"{ADMIN}/features/validate", {"name": "copy", "projectId": "default"}, 200),
        ("POST", f"{FLAGS}/walk/clone", body, 201),
        *read(f"{FLAGS}/copy"),
    )
    assert ui.send(("GET", f"{FLAGS}/copy", None, 200))["type"] == "experiment"


def test_the_form_that_edits_a_flag(ui):
    create(ui)
    changes = [
        {"op": "replace", "path": "/description", "value": "A longer walk"},
        {"op": "replace", "path": "/type", "value": "release"},
    ]
    stale = [{"op": "replace", "path": "/stale", "value": True}]
    not_stale = [{"op": "replace", "path": "/stale", "value": False}]
    flag = ui.send(
        ("PATCH", f"{FLAGS}/walk", changes, 200), ("PATCH", f"{FLAGS}/walk", stale, 200), *read(f"{FLAGS}/walk")[:1]
    )
    assert (flag["description"], flag["type"], flag["stale"]) == ("A longer walk", "release", True)
    flag = ui.send(("PATCH", f"{FLAGS}/walk", not_stale, 200), *read(f"{FLAGS}/walk")[:1])
    assert flag["stale"] is False


def test_the_switches_of_a_flag(ui):
    create(ui)
    place = f"{FLAGS}/walk/environments/development"
    ui.send(("POST", f"{place}/on?shouldActivateDisabledStrategies=false", None, 200))
    assert ui.send(("GET", place, None, 200))["enabled"] is True
    ui.send(("POST", f"{place}/off", None, 200))
    assert ui.send(("GET", place, None, 200))["enabled"] is False


def test_the_star_of_a_flag(ui):
    create(ui)
    ui.send(("POST", f"{FLAGS}/walk/favorites", None, 200))
    assert ui.send(("GET", f"{FLAGS}/walk", None, 200))["favorite"] is True
    ui.send(("DELETE", f"{FLAGS}/walk/favorites", None, 200))
    assert ui.send(("GET", f"{FLAGS}/walk", None, 200))["favorite"] is False


def test_the_dialogs_that_archive_revive_and_delete_a_flag(ui):
    create(ui)
    one = {"features": ["walk"]}
    archive = (
        ("POST", f"{PROJECT}/archive/validate", one, 200),
        ("DELETE", f"{FLAGS}/walk", None, 202),
        ("GET", f"{ADMIN}/archive/features", None, 200),
    )
    assert [flag["name"] for flag in ui.send(*archive)["features"]] == ["walk"]
    ui.send(("POST", f"{PROJECT}/revive", one, 200), *read(f"{FLAGS}/walk"))
    rest = ui.send(*archive, ("POST", f"{PROJECT}/delete", one, 200), ("GET", f"{ADMIN}/archive/features", None, 200))
    assert rest["features"] == []


def test_the_bulk_actions_of_a_project(ui):
    create(ui)
    ui.send(("POST", FLAGS, NEW | {"name": "second"}, 201))
    both = {"features": ["walk", "second"]}
    bulk = f"{PROJECT}/bulk_features/environments/development"
    ui.send(
        ("POST", f"{PROJECT}/stale", both | {"stale": True}, 202),
        ("POST", f"{PROJECT}/stale", both | {"stale": False}, 202),
        ("POST", f"{bulk}/on?shouldActivateDisabledStrategies=false", both, 200),
        ("POST", f"{bulk}/off?shouldActivateDisabledStrategies=false", both, 200),
        ("POST", f"{PROJECT}/archive/validate", both, 200),
        ("POST", f"{PROJECT}/archive", both, 202),
    )
    archived = ui.send(("GET", f"{ADMIN}/archive/features", None, 200))
    assert {flag["name"] for flag in archived["features"]} == {"walk", "second"}
    query = "archived=IS%3Atrue&offset=0&limit=25&favoritesFirst=true&project=IS%3Adefault"
    only_archived = ui.send(("GET", f"{ADMIN}/search/features?{query}", None, 200))
    assert {flag["name"] for flag in only_archived["features"]} == {"walk", "second"}
    ui.send(("POST", f"{PROJECT}/revive", both, 200))
    assert ui.send(("GET", FLAGS, None, 200))["features"][0]["archived"] is False
