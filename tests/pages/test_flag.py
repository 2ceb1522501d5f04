"""The page of a flag, the forms of its strategies, and why it is on."""

from tests.support.page import open_page
from tests.support.world import Caller, World

API = "/api/admin/projects/default/features/checkout"
PAGE = "/projects/default/flags/checkout"
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


def test_the_form_of_a_strategy_keeps_what_it_does_not_show(world: World, alice: Caller) -> None:
    world.flag("checkout")
    variant = {"name": "blue", "weight": 1000, "weightType": "variable", "stickiness": "default"}
    new = {"name": "flexibleRollout", "parameters": {"rollout": "25"}, "variants": [variant]}
    strategy = alice.post(STRATEGIES, json=new).json
    page = open_page(alice, f"{PAGE}/environments/development/strategies/{strategy['id']}")
    form = ".//form[@data-send='PUT']"
    fields = page.fields(form)
    assert fields["parameters.rollout"] == "25"
    assert fields["variants"].startswith('[{"name": "blue"')
    assert page.all(form)[0].get("data-path") == f"{STRATEGIES}/{strategy['id']}"


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
