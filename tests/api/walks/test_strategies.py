"""The web UI adds, copies, edits, disables, sorts and removes strategies."""

from typing import Any

from tests.support.walks import ADMIN, FLAGS, PROJECT, Browser

DEVELOPMENT = f"{FLAGS}/walk/environments/development/strategies"
PRODUCTION = f"{FLAGS}/walk/environments/production/strategies"

CONSTRAINT = {
    "contextName": "appName",
    "operator": "IN",
    "values": ["shop", "cellar"],
    "caseInsensitive": False,
    "inverted": False,
}
FORM = {
    "name": "flexibleRollout",
    "title": "half of them",
    "constraints": [CONSTRAINT],
    "parameters": {"rollout": "100", "stickiness": "default", "groupId": "walk"},
    "variants": [
        {
            "stickiness": "default",
            "name": "blue",
            "weight": 1000,
            "payload": {"type": "string", "value": "sky"},
            "weightType": "variable",
        }
    ],
    "segments": [],
    "disabled": False,
}


def add(ui: Browser) -> dict[str, Any]:
    """Fill in the form of a strategy, and return the strategy as the page of the flag has it."""
    new = {"type": "release", "name": "walk", "description": "", "impressionData": False}
    ui.send(
        ("POST", FLAGS, new, 201),
        ("GET", f"{ADMIN}/strategies/flexibleRollout", None, 200),
        ("GET", f"{ADMIN}/context", None, 200),
        ("GET", f"{ADMIN}/segments", None, 200),
        ("POST", f"{ADMIN}/constraints/validate", CONSTRAINT, 204),
        ("POST", DEVELOPMENT, FORM, 200),
    )
    return shown(ui, "development")[0]


def shown(ui: Browser, environment: str) -> list[dict[str, Any]]:
    """The strategies that the page of the flag shows for an environment."""
    flag = ui.send(("GET", f"{FLAGS}/walk?variantEnvironments=true", None, 200))
    return next(place["strategies"] for place in flag["environments"] if place["name"] == environment)


def copied(strategy: dict[str, Any]) -> dict[str, Any]:
    """What the UI sends of a strategy to copy it: all of it, with its id and its place."""
    names = (
        "name",
        "constraints",
        "variants",
        "parameters",
        "segments",
        "sortOrder",
        "id",
        "title",
        "disabled",
    )
    return {name: strategy[name] for name in names}


def test_the_form_of_a_new_strategy(ui):
    strategy = add(ui)
    assert {name: strategy[name] for name in FORM} == FORM


def test_copies_go_to_another_environment_and_to_the_same(ui):
    strategy = add(ui)
    ui.send(("POST", PRODUCTION, copied(strategy), 200), ("POST", DEVELOPMENT, copied(strategy), 200))
    (copy,) = shown(ui, "production")
    both = {each["id"]: each for each in shown(ui, "development")}
    assert both.pop(strategy["id"]) == strategy
    (duplicate,) = both.values()
    assert len({strategy["id"], copy["id"], duplicate["id"]}) == 3
    assert FORM == {name: copy[name] for name in FORM} == {name: duplicate[name] for name in FORM}


def test_the_menu_disables_and_enables_a_strategy(ui):
    path = f"{DEVELOPMENT}/{add(ui)['id']}"
    ui.send(("PATCH", path, [{"path": "/disabled", "value": True, "op": "replace"}], 200))
    assert [strategy["disabled"] for strategy in shown(ui, "development")] == [True]
    ui.send(("PATCH", path, [{"path": "/disabled", "value": False, "op": "replace"}], 200))
    assert [strategy["disabled"] for strategy in shown(ui, "development")] == [False]


def test_the_form_that_edits_a_strategy(ui):
    path = f"{DEVELOPMENT}/{add(ui)['id']}"
    ui.send(
        ("GET", path, None, 200),
        ("POST", f"{ADMIN}/constraints/validate", CONSTRAINT, 204),
        ("PUT", path, FORM | {"title": "edited", "parameters": FORM["parameters"] | {"rollout": "50"}}, 200),
    )
    (strategy,) = shown(ui, "development")
    assert (strategy["title"], strategy["parameters"]["rollout"]) == ("edited", "50")


def test_dragging_sorts_and_the_menu_removes(ui):
    first = add(ui)
    second = ui.send(("POST", DEVELOPMENT, FORM | {"title": "second"}, 200))
    order = [{"id": second["id"], "sortOrder": 0}, {"id": first["id"], "sortOrder": 1}]
    ui.send(("POST", f"{DEVELOPMENT}/set-sort-order", order, 200))
    assert [strategy["title"] for strategy in shown(ui, "development")] == ["second", "half of them"]
    ui.send(("DELETE", f"{DEVELOPMENT}/{second['id']}", None, 200))
    assert [strategy["id"] for strategy in shown(ui, "development")] == [first["id"]]


def test_the_default_strategy_of_a_project(ui):
    strategy = {
        "name": "flexibleRollout",
        "title": "standard",
        "constraints": [],
        "parameters": {"rollout": "100", "stickiness": "default", "groupId": ""},
        "variants": [],
        "segments": [],
        "disabled": False,
    }
    ui.send(("POST", f"{PROJECT}/environments/development/default-strategy", strategy, 200))
    linked = ui.send(("GET", f"{ADMIN}/environments/project/default", None, 200))["environments"]
    default = next(place["defaultStrategy"] for place in linked if place["name"] == "development")
    assert strategy == {name: default[name] for name in strategy}
