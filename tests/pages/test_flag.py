"""The page of a flag, the forms of its strategies, and why it is on."""

import json

from sql.vocabulary.segments import insert as insert_segment
from tests.support import fixtures
from tests.support.page import open_page
from tests.support.world import Caller, World

API = "/api/admin/projects/default/features/checkout"
PAGE = "/projects/default/flags/checkout"
PROJECTS = ("apollo", "default")
STRATEGIES = f"{API}/environments/development/strategies"


def test_the_page_shows_environments_with_their_strategies(world: World, alice: Caller) -> None:
    flag = world.flag("checkout", enabled_in=("production",))
    constraint = {"contextName": "country", "operator": "IN", "values": ["NO", "SE"]}
    parameters = {"rollout": "25", "stickiness": "userId", "groupId": "g"}
    strategy = world.strategy(flag, parameters=parameters, constraints=[constraint])
    page = open_page(alice, PAGE)
    assert page.heading.startswith("checkout")
    assert "25 % of users (stickiness userId, group g)" in page.text
    assert "and country is one of NO, SE" in page.text
    assert ("DELETE", f"{STRATEGIES}/{strategy}") in page.requests
    switches = {button.get("aria-label"): button.get("aria-checked") for button in page.all(".//*[@role='switch']")}
    assert switches == {"checkout in development": "false", "checkout in production": "true"}


def test_readers_without_permissions_see_no_controls(world: World, victor: Caller) -> None:
    world.strategy(world.flag("checkout"))
    page = open_page(victor, PAGE)
    assert page.requests == {("POST", f"{API}/favorites")}
    open_page(victor, f"{PAGE}/environments/development/strategies/new", 403)


def test_the_form_of_a_strategy_has_parameters_without_a_field(world: World, alice: Caller) -> None:
    parameters = [{"name": "size", "type": "number"}, {"name": "a.b", "type": "string"}]
    assert alice.post("/api/admin/strategies", json={"name": "custom", "parameters": parameters}).status_code == 201
    stored = {"size": "3", "a.b": "dotted", "more": "undeclared"}
    strategy = world.strategy(world.flag("checkout"), name="custom", parameters=stored)
    page = open_page(alice, f"{PAGE}/environments/development/strategies/{strategy}")
    form = ".//form[@data-send='PUT']"
    fields = page.fields(form)
    assert fields["parameters.size"] == "3"
    kept = json.loads(fields["parameters"])
    assert kept == {"a.b": "dotted", "more": "undeclared"}
    body = {"parameters": kept | {"size": fields["parameters.size"]}}
    path = page.all(form)[0].get("data-path", "")
    assert path == f"{STRATEGIES}/{strategy}"
    assert alice.put(path, json=body).json["parameters"] == stored


def test_a_slider_shows_only_what_it_can_send_back(world: World, alice: Caller) -> None:
    flag = world.flag("checkout")
    for rollout, kind in (("25", "range"), ("33.5", None)):
        strategy = world.strategy(flag, parameters={"rollout": rollout})
        page = open_page(alice, f"{PAGE}/environments/development/strategies/{strategy}")
        [control] = page.all(".//*[@name='parameters.rollout']")
        assert (control.get("value"), control.get("type")) == (rollout, kind)


def test_a_segment_of_another_project_stays_with_the_strategy(world: World, alice: Caller) -> None:
    world.project("apollo")
    segments = {project: insert_segment(world.conn, f"of {project}", [], project=project) for project in PROJECTS}
    flag = world.flag("checkout")
    strategy = world.strategy(flag)
    form = f"{PAGE}/environments/development/strategies/{strategy}"
    boxes = ".//input[@name='segments']"
    assert [box.get("value") for box in open_page(alice, form).all(boxes)] == [str(segments["default"])]
    fixtures.add_segment(world.conn, strategy, segments["apollo"])
    boxes = {box.get("value"): box.get("checked") for box in open_page(alice, form).all(boxes)}
    assert boxes == {str(segments["default"]): None, str(segments["apollo"]): ""}


def test_the_form_of_a_new_strategy_offers_each_type(world: World, alice: Caller) -> None:
    world.flag("checkout")
    new = f"{PAGE}/environments/development/strategies/new"
    assert open_page(alice, new).fields(".//form[@data-send]")["name"] == "flexibleRollout"
    page = open_page(alice, f"{new}?type=remoteAddress")
    assert "parameters.IPs" in page.fields(".//form[@data-send]")
    open_page(alice, f"{new}?type=nothing", 404)


def test_why_names_the_strategy_that_decides(world: World, victor: Caller) -> None:
    flag = world.flag("checkout", enabled_in=("development",))
    world.strategy(flag, name="default", constraints=[{"contextName": "country", "operator": "IN", "values": ["NO"]}])
    why = f"{PAGE}/why?environment=development&properties="
    assert "checkout is on in development" in open_page(victor, f"{why}country%3DNO").texts(".//h2")
    page = open_page(victor, f"{why}country%3DSE")
    assert "checkout is off in development" in page.texts(".//h2")
    assert "the context has SE does not match" in page.text
    assert "must look like plan=gold" in open_page(victor, f"{why}country", 400).text
