"""The forms that add and edit strategies."""

import json

import pytest

from sql.catalog.segments import insert as insert_segment
from tests.support import fixtures
from tests.support.page import Page, open_page
from tests.support.world import Caller, World

FLAG = "/projects/default/flags/checkout"
HINTS = ("IN_CIDR", "REGEX")
FORMS = f"{FLAG}/environments/development/strategies"
API = "/api/admin/projects/default/features/checkout/environments/development/strategies"
FORM = ".//form[@data-send]"


def chosen_type(page: Page) -> str | None:
    """Return the strategy type that the form sends."""
    assert page.all(f"{FORM}//input[@name='name']") == []
    [chosen] = page.all(f"{FORM}//select[@name='name']/option[@selected]")
    return chosen.get("value")


def test_form_adds_a_gradual_rollout(world: World, alice: Caller) -> None:
    world.flag("checkout")
    world.conn.execute("UPDATE projects SET default_stickiness = 'userId'")
    page = open_page(alice, f"{FORMS}/new")
    assert page.requests == {("POST", API)}
    [form] = page.all(FORM)
    assert form.get("data-then") == FLAG
    fields = page.fields(f"{FORM}//div[@data-for='flexibleRollout']")
    assert fields["parameters.groupId"] == "checkout"
    [slider] = page.all(".//input[@type='range']")
    assert (slider.get("name"), slider.get("min"), slider.get("max")) == ("parameters.rollout", "0", "100")
    assert page.texts(f".//output[@for='{slider.get('id')}']") == ["100 %"]
    [stickiness] = page.all(".//select[@name='parameters.stickiness']/option[@selected]")
    parameters = {"rollout": "100", "stickiness": stickiness.get("value"), "groupId": "checkout"}
    assert parameters["stickiness"] == "userId"
    body = {"name": chosen_type(page), "title": None, "parameters": parameters, "constraints": [], "disabled": False}
    assert alice.post(API, json=body).status_code == 200


@pytest.mark.parametrize("query", ["", "?type=remoteAddress", "?type=default", "?type=custom", "?type=old"])
def test_form_of_a_new_strategy_is_of_the_shown_type(world: World, alice: Caller, query: str) -> None:
    world.flag("checkout")
    new = {"parameters": [{"name": "rollout", "type": "number", "required": True}], "description": "Ours"}
    for name in ("custom", "old"):
        assert alice.post("/api/admin/strategies", json={"name": name} | new).status_code == 201
    assert alice.post("/api/admin/strategies/old/deprecate").status_code == 200
    name = query.partition("=")[2] or "flexibleRollout"
    page = open_page(alice, f"{FORMS}/new{query}")
    assert chosen_type(page) == name
    offered = [option.get("value") for option in page.all(".//select[@name='name']/option")]
    assert {"flexibleRollout", "remoteAddress", "default", "custom"} <= set(offered)
    assert ("old" in offered) == (name == "old")
    # Of the parameters, only those of the shown type are sent. Their ids are unique.
    shown = [block.get("data-for") for block in page.all(".//form/div[@data-for]") if block.get("hidden") is None]
    assert shown == [name]
    for kind in offered:
        for field in page.all(f".//div[@data-for='{kind}']//*[@name]"):
            assert (field.get("disabled") is None) == (kind == name)
    ids = [element.get("id") for element in page.all(".//form//*[@id]")]
    assert len(ids) == len(set(ids))
    if "custom" in offered:
        assert page.fields(".//div[@data-for='custom']") == {"parameters.rollout": ""}


def test_constraints_and_variants_are_rows_that_can_be_added(world: World, alice: Caller) -> None:
    world.flag("checkout")
    constraint = {"contextName": "userId", "operator": "NUM_GT", "value": "5", "inverted": True}
    variant = {"name": "blue", "weight": 1000, "weightType": "variable", "stickiness": "default"}
    payload = {"payload": {"type": "json", "value": "[1]"}}
    new = {"name": "default", "constraints": [constraint], "variants": [variant | payload]}
    strategy = alice.post(API, json=new).json["id"]
    page = open_page(alice, f"{FORMS}/{strategy}")
    row = ".//*[@data-list='constraints']/*[@data-item]"
    assert page.fields(row)["value"] == "5"
    assert [box.get("checked") for box in page.all(f"{row}//input[@name='inverted']")] == [""]
    row = ".//*[@data-list='variants']/*[@data-item]"
    fields = page.fields(row)
    assert (fields["name"], fields["weight"], fields["payload.value"]) == ("blue", "1000", "[1]")
    templates = {template.get("id") for template in page.all(".//template")}
    for button in page.all(".//button[@data-add]"):
        assert button.get("data-template", f"new-{button.get('data-add')}") in templates


def test_constraint_keeps_what_its_operator_does_not_need(world: World, alice: Caller) -> None:
    flag = world.flag("checkout")
    row = ".//*[@data-list='constraints']/*[@data-item]"
    for operator in ("IN", "NUM_GT", "IN_CIDR", "REGEX"):
        constraint = {"contextName": "userId", "operator": operator, "values": ["1"], "value": "5"}
        page = open_page(alice, f"{FORMS}/{world.strategy(flag, constraints=[constraint])}")
        controls = [*page.all(f"{row}//*[@name='values']"), *page.all(f"{row}//*[@name='value']")]
        assert [control.get("disabled") for control in controls] == [None, None]
        hidden = [element.get("data-for") for element in page.all(f"{row}//*[@data-for][@hidden]")]
        assert len(hidden) == (2 if operator in HINTS else 3)
        assert not any(operator in operators.split() for operators in hidden)
        assert [one.get("value") for one in page.all(f"{row}//option[@selected][@value]")] == [operator]


def test_values_that_lines_would_change_are_json(world: World, alice: Caller) -> None:
    flag = world.flag("checkout")
    for values, kind, text in ((["a", "b"], "lines", "a b"), (["a "], "json", '["a "]'), (["a\nb"], "json", None)):
        constraint = {"contextName": "userId", "operator": "IN", "values": values}
        strategy = world.strategy(flag, constraints=[constraint])
        page = open_page(alice, f"{FORMS}/{strategy}")
        [field] = page.all(".//*[@data-list='constraints']//textarea")
        assert field.get("data-type") == kind
        assert page.fields(".//*[@data-list='constraints']")["values"] == text or text is None


def test_form_of_a_strategy_has_parameters_without_a_field(world: World, alice: Caller) -> None:
    parameters = [{"name": "size", "type": "number"}, {"name": "a.b", "type": "string"}]
    assert alice.post("/api/admin/strategies", json={"name": "custom", "parameters": parameters}).status_code == 201
    stored = {"size": "3", "a.b": "dotted", "more": "undeclared"}
    strategy = world.strategy(world.flag("checkout"), name="custom", parameters=stored)
    page = open_page(alice, f"{FORMS}/{strategy}")
    form = ".//form[@data-send='PUT']"
    fields = page.fields(form)
    assert fields["parameters.size"] == "3"
    kept = json.loads(fields["parameters"])
    assert kept == {"a.b": "dotted", "more": "undeclared"}
    body = {"parameters": kept | {"size": fields["parameters.size"]}}
    path = page.all(form)[0].get("data-path", "")
    assert path == f"{API}/{strategy}"
    assert alice.put(path, json=body).json["parameters"] == stored


def test_empty_group_can_be_saved_again(world: World, alice: Caller) -> None:
    page = open_page(alice, f"{FORMS}/{world.strategy(world.flag('checkout'), parameters={'groupId': ''})}")
    [field] = page.all(f"{FORM}//*[@name='parameters.groupId']")
    assert (field.get("value"), field.get("data-empty"), field.get("required")) == ("", None, None)


def test_slider_shows_only_what_it_can_send_back(world: World, alice: Caller) -> None:
    flag = world.flag("checkout")
    for rollout, kind in (("25", "range"), ("33.5", None)):
        strategy = world.strategy(flag, parameters={"rollout": rollout})
        page = open_page(alice, f"{FORMS}/{strategy}")
        [control] = page.all(".//*[@name='parameters.rollout']")
        assert (control.get("value"), control.get("type")) == (rollout, kind)


def test_segment_of_another_project_stays_with_the_strategy(world: World, alice: Caller) -> None:
    world.project("apollo")
    apollos, ours = (insert_segment(world.conn, f"of {name}", [], project=name) for name in ("apollo", "default"))
    strategy = world.strategy(world.flag("checkout"))
    form = f"{FORMS}/{strategy}"
    boxes = ".//input[@name='segments']"
    assert [box.get("value") for box in open_page(alice, form).all(boxes)] == [str(ours)]
    fixtures.add_segment(world.conn, strategy, apollos)
    page = open_page(alice, form)
    assert "of apollo" in page.text
    boxes = {box.get("value"): box.get("checked") for box in page.all(boxes)}
    assert boxes == {str(ours): None, str(apollos): ""}


def test_browsers_restore_no_choice_that_decides_what_is_shown(world: World, alice: Caller) -> None:
    world.flag("checkout")
    for path in (f"{FORMS}/new", "/admin/segments/new", "/admin/api-tokens"):
        forms = [form for form in open_page(alice, path).all(".//form") if form.findall(".//*[@data-for]")]
        assert [form.get("autocomplete") for form in forms] == ["off"]
