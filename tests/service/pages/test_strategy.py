"""The forms that add and edit strategies."""

import json
from typing import Any

import pytest
from markupsafe import Markup

from sql.catalog.segments import insert as insert_segment
from tests.support import fixtures
from tests.support.page import Page, open_page
from tests.support.world import Caller, World

FLAG = "/projects/default/flags/checkout"
FORMS = f"{FLAG}/environments/development/strategies"
API = "/api/admin/projects/default/features/checkout/environments/development/strategies"
FORM = ".//form[@data-send]"


ROW = ".//*[@data-list='constraints']/*[@data-item]"
COUNTRIES = [{"value": "NO", "description": "Norway"}, {"value": "SE"}, {"value": "DK"}]


def chosen_type(page: Page) -> str | None:
    """Return the strategy type that the form sends."""
    [chosen] = page.all(f"{FORM}//input[@name='name'][@type='radio'][@checked]")
    return chosen.get("value")


def values_of(page: Page) -> list[tuple[str | None, bool]]:
    """Return the values that the first constraint offers, and whether they are chosen."""
    return [(box.get("value"), box.get("checked") is not None) for box in page.all(f"{ROW}//input[@name='values']")]


def test_form_adds_a_gradual_rollout(world: World, alice: Caller) -> None:
    world.flag("checkout")
    world.conn.execute("UPDATE projects SET default_stickiness = 'userId'")
    page = open_page(alice, f"{FORMS}/new")
    assert page.requests == {("POST", API)}
    [form] = page.all(FORM)
    assert (form.get("data-then"), form.get("data-plan")) == (f"{FLAG}#development", API.replace("strategies", "plan"))
    fields = page.fields(f"{FORM}//fieldset[@data-for='flexibleRollout']")
    assert (fields["parameters.groupId"], fields["parameters.rollout"]) == ("checkout", "100")
    [slider] = page.all(".//input[@type='range']")
    [number] = page.all(".//input[@name='parameters.rollout']")
    assert slider.get("data-same") == f"{number.get('id')} first-step"
    [first] = page.all(".//input[@id='first-step']")
    assert (first.get("data-same"), first.get("readonly")) == (f"{number.get('id')} {slider.get('id')}", None)
    assert [button.get("data-set") for button in page.all(".//button[@data-set]")] == ["0", "10", "25", "50", "100"]
    [stickiness] = page.all(".//select[@name='parameters.stickiness']/option[@selected]")
    parameters = {"rollout": "100", "stickiness": stickiness.get("value"), "groupId": "checkout"}
    assert parameters["stickiness"] == "userId"
    body = {"name": chosen_type(page), "title": None, "parameters": parameters, "constraints": [], "disabled": False}
    assert alice.post(API, json=body).status_code == 200
    assert page.texts(".//output[@id='preview']") == ["On for everybody"]


def test_new_strategy_begins_as_the_default_strategy_of_the_environment(world: World, alice: Caller) -> None:
    world.flag("checkout")
    default = {"name": "flexibleRollout", "title": "Bit by bit", "parameters": {"rollout": "10", "groupId": "other"}}
    path = "/api/admin/projects/default/environments/development/default-strategy"
    assert alice.post(path, json=default).status_code == 200
    fields = open_page(alice, f"{FORMS}/new").fields(FORM)
    found = [fields[name] for name in ("parameters.rollout", "parameters.groupId", "title")]
    assert found == ["10", "checkout", "Bit by bit"]
    fields = open_page(alice, f"{FORMS.replace('development', 'production')}/new").fields(FORM)
    assert (fields["parameters.rollout"], fields["title"]) == ("100", "")


@pytest.mark.parametrize("query", ["", "?type=remoteAddress", "?type=default", "?type=custom", "?type=old"])
@pytest.mark.parametrize("is_new", [True, False])
def test_form_is_of_the_shown_type(world: World, alice: Caller, query: str, is_new: bool) -> None:
    new = {"parameters": [{"name": "rollout", "type": "number", "required": True}], "description": "Ours"}
    for name in ("custom", "old"):
        assert alice.post("/api/admin/strategies", json={"name": name} | new).status_code == 201
    assert alice.post("/api/admin/strategies/old/deprecate").status_code == 200
    stored = world.strategy(world.flag("checkout"), parameters={"more": "kept"})
    name = query.partition("=")[2] or "flexibleRollout"
    page = open_page(alice, f"{FORMS}/{'new' if is_new else stored}{query}")
    assert chosen_type(page) == name
    # Without JavaScript, links choose the type.
    links = page.all(".//nav[@class='no-script']//a")
    assert [link.get("href") for link in links if link.get("aria-current")] == [f"?type={name}"]
    offered = [radio.get("value") for radio in page.all(".//input[@type='radio']")]
    assert {"flexibleRollout", "remoteAddress", "default", "custom"} <= set(offered)
    assert ("old" in offered) == (name == "old")
    # Of the parameters, only those of the shown type are sent. Their ids are unique.
    blocks = page.all(".//form/fieldset[@data-for]")
    shown = {block.get("data-for") for block in blocks if block.get("hidden") is None}
    assert shown == {name} - {"default"}
    for kind in offered:
        for field in page.all(f".//fieldset[@data-for='{kind}']//*[@name]"):
            if str(field.get("name")).startswith("parameters"):
                assert (field.get("disabled") is None) == (kind == name)
    ids = [element.get("id") for element in page.all(".//form//*[@id]")]
    assert len(ids) == len(set(ids))
    if "custom" in offered:
        assert page.fields(".//fieldset[@data-for='custom']") == {"parameters.rollout": ""}


def test_constraints_and_variants_are_rows_that_can_be_added(world: World, alice: Caller) -> None:
    world.flag("checkout")
    constraint = {"contextName": "userId", "operator": "NUM_GT", "value": "5", "inverted": True}
    variant = {"name": "blue", "weight": 1000, "weightType": "variable", "stickiness": "default"}
    payload = {"payload": {"type": "json", "value": "[1]"}}
    new = {"name": "default", "constraints": [constraint], "variants": [variant | payload]}
    strategy = alice.post(API, json=new).json["id"]
    page = open_page(alice, f"{FORMS}/{strategy}")
    [number] = page.all(f"{ROW}//*[@data-for='NUM_EQ NUM_GT NUM_GTE NUM_LT NUM_LTE']/input")
    assert (number.get("value"), number.get("disabled")) == ("5", None)
    assert page.texts(f"{ROW}//select[@name='operator']//option[@selected]") == ["is not more than"]
    row = ".//*[@data-list='variants']/*[@data-item]"
    fields = page.fields(row)
    assert (fields["name"], fields["weight"], fields["payload.value"]) == ("blue", "100", "[1]")
    templates = {template.get("id") for template in page.all(".//template")}
    for button in page.all(".//button[@data-add]"):
        assert button.get("data-template", f"new-{button.get('data-add')}") in templates
    for option in page.all(".//option[@data-values]"):
        assert option.get("data-values") in templates


@pytest.mark.parametrize("operator", ["IN", "NUM_GT", "IN_CIDR", "REGEX", "SEMVER_EQ", "DATE_AFTER", "STR_CONTAINS"])
@pytest.mark.parametrize("is_inverted", [False, True])
def test_constraint_keeps_what_its_operator_does_not_need(
    world: World, alice: Caller, operator: str, is_inverted: bool
) -> None:
    value = "2030-01-01T00:00:00.500Z" if operator == "DATE_AFTER" else "5"
    constraint = {"contextName": "userId", "operator": operator, "values": ["1"], "value": value}
    more = {"inverted": is_inverted, "caseInsensitive": True}
    strategy = world.strategy(world.flag("checkout"), constraints=[constraint | more])
    page = open_page(alice, f"{FORMS}/{strategy}")
    sent = [control for control in page.all(f"{ROW}//*[@name]") if control.get("disabled") is None]
    texts = {control.get("name"): control.get("data-time") or control.get("value") or control.text for control in sent}
    # An empty list of values is added to the one that is sent.
    assert '["1"]' in texts["values"] or texts["values"].strip() == "1"
    assert texts["value"].strip('"') == value
    assert texts["inverted"] == str(is_inverted).lower()
    [cased] = [control for control in sent if control.get("name") == "caseInsensitive"]
    assert cased.get("checked", cased.get("value")) in ("", "true")
    chosen = page.all(f"{ROW}//select[@name='operator']//option[@selected]")
    assert [(one.get("value"), one.get("data-inverted")) for one in chosen] == [(operator, texts["inverted"])]


def test_field_with_allowed_values_offers_them(world: World, alice: Caller) -> None:
    field = {"name": "country", "description": "ISO 3166", "legalValues": COUNTRIES}
    assert alice.post("/api/admin/context", json=field).status_code == 201
    flag = world.flag("checkout")
    constraint = {"contextName": "country", "operator": "IN", "values": ["DK", "XX"]}
    page = open_page(alice, f"{FORMS}/{world.strategy(flag, constraints=[constraint])}")
    # The chosen ones come first, in their order, so that they are sent back as they are.
    assert values_of(page) == [("DK", True), ("XX", True), ("NO", False), ("SE", False)]
    assert "XX no longer allowed NO Norway" in page.text
    assert page.texts(f"{ROW}/p") == ["ISO 3166"]
    many = [{"value": f"c{number}"} for number in range(21)]
    assert alice.put("/api/admin/context/country", json={"legalValues": many}).status_code == 200
    page = open_page(alice, f"{FORMS}/{world.strategy(flag, constraints=[constraint])}")
    assert values_of(page) == []
    chips = page.all(f"{ROW}//*[@data-list='values']/*[@data-item]")
    assert [chip.get("data-value") for chip in chips] == ['"DK"', '"XX"']


def test_values_that_lines_would_change_are_json(world: World, alice: Caller) -> None:
    flag = world.flag("checkout")
    for values, kind, text in ((["a", "b"], "lines", "a b"), (["a "], "json", '["a "]'), (["a\nb"], "json", None)):
        constraint = {"contextName": "userId", "operator": "IN", "values": values}
        strategy = world.strategy(flag, constraints=[constraint])
        page = open_page(alice, f"{FORMS}/{strategy}")
        fields = page.all(f"{ROW}//textarea[@name='values']")
        [field] = [field for field in fields if field.get("disabled") is None]
        assert field.get("data-type") == kind
        assert " ".join(str(field.text).split()) == text or text is None


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


def test_share_shows_only_what_it_can_send_back(world: World, alice: Caller) -> None:
    flag = world.flag("checkout")
    for rollout, kind in (("25", "number"), ("33.5", None)):
        strategy = world.strategy(flag, parameters={"rollout": rollout})
        page = open_page(alice, f"{FORMS}/{strategy}")
        [control] = page.all(".//*[@name='parameters.rollout']")
        assert (control.get("value"), control.get("type")) == (rollout, kind)


def test_segment_of_another_project_stays_with_the_strategy(world: World, alice: Caller) -> None:
    world.project("apollo")
    apollos, ours = (insert_segment(world.conn, f"of {name}", [], project=name) for name in ("apollo", "default"))
    strategy = world.strategy(world.flag("checkout"))
    form = f"{FORMS}/{strategy}"
    option, chip = ".//datalist/option[@data-list='segments']", ".//*[@data-list='segments']/*[@data-item]"
    assert [one.get("data-value") for one in open_page(alice, form).all(option)] == [str(ours)]
    fixtures.add_segment(world.conn, strategy, apollos)
    page = open_page(alice, form)
    assert "of apollo" in page.text
    assert [one.get("data-value") for one in page.all(chip)] == [str(apollos)]


def test_browsers_restore_no_choice_that_decides_what_is_shown(world: World, alice: Caller) -> None:
    world.flag("checkout")
    for path in (f"{FORMS}/new", "/admin/api-tokens"):
        forms = [form for form in open_page(alice, path).all(".//form") if form.findall(".//*[@data-for]")]
        assert [form.get("autocomplete") for form in forms] == ["off"]


def preview(caller: Caller, status: int = 200, **change: Any) -> str:
    """Return what the form says about a strategy while somebody types."""
    body = {"name": "flexibleRollout", "parameters": {"rollout": "20"}, "replaces": "x"} | change
    response = caller.post(f"{FORMS}/preview", json=body)
    assert response.status_code == status, response.text
    return " ".join(Markup(response.text).striptags().split())


def test_preview_says_what_will_happen(world: World, alice: Caller) -> None:
    world.flag("checkout")
    segment = insert_segment(world.conn, "Nordics", [])
    constraint = {"contextName": "country", "operator": "IN", "values": ["NO", "SE"]}
    words = "On for 20 % of users where country is NO or SE, in the segment Nordics"
    assert preview(alice, constraints=[constraint], segments=[segment]) == words
    steps = [{"percent": 20}, {"percent": 50, "at": "2030-01-02T08:00:00Z"}]
    later = "Then 50 % on 2030-01-02 08:00 UTC. Until 2030-02-01 00:00 UTC."
    assert preview(alice, steps=steps, until="2030-02-01T01:00:00+01:00") == f"On for 20 % of users. {later}"
    wrong = {"contextName": "userId", "operator": "NUM_GT", "value": "49,90 €"}
    assert "constraints.0.value: must be a number, such as 3.5" in preview(alice, constraints=[wrong])


def test_form_warns_if_another_strategy_is_on_for_everybody(world: World, alice: Caller) -> None:
    flag = world.flag("checkout")
    first = world.strategy(flag, parameters={"rollout": "50"})
    assert preview(alice, replaces=first) == "On for 20 % of users"
    world.strategy(flag, name="default", sort_order=1)
    last = world.strategy(flag, parameters={"rollout": "50"}, sort_order=2)
    variants = [{"name": "blue", "weight": 1000, "weightType": "variable", "stickiness": "default"}]
    useless = "Strategy 2 is on for everybody, so this strategy changes nothing."
    chooses = useless.replace("strategy changes nothing", "only chooses the variant")
    for id, change, warning in (
        (first, {}, useless),
        (first, {"variants": variants}, chooses),
        (last, {"variants": variants}, useless),
        (first, {"disabled": True}, ""),
    ):
        assert preview(alice, replaces=id, **change) == f"On for 20 % of users {warning}".strip()
    assert useless in preview(alice, name="userWithId", parameters={"userIds": "7"}, replaces=first)
    for form in (first, "new"):
        assert useless in open_page(alice, f"{FORMS}/{form}").texts(".//output[@id='preview']")[0]


def test_plan_is_edited_as_one_strategy(world: World, alice: Caller) -> None:
    world.flag("checkout")
    assert alice.post(API, json={"name": "default", "disabled": True}).status_code == 200
    start = [{"percent": 20}, {"percent": 50, "at": "2099-01-02T08:00:00Z"}]
    body = {"steps": start, "until": "2099-02-02T08:00:00Z"}
    plan = alice.post(API.replace("strategies", "plan"), json=body).json
    page = open_page(alice, f"{FORMS}/{plan[2]['id']}")
    assert page.heading == "Edit strategy 2–3 in"
    assert chosen_type(page) == "flexibleRollout"
    assert len(page.all(".//input[@type='radio']")) == 1
    rows = page.all(".//*[@data-list='steps']/*[@data-item]")
    assert [row.findall(".//input[@name='percent']")[0].get("value") for row in rows] == ["20", "50"]
    assert rows[1].findall(".//input[@name='at']")[0].get("data-time") == "2099-01-02T08:00:00.000Z"
    assert page.fields(FORM)["replaces"] == plan[1]["id"]
    assert page.all(ROW) == []
    words = "On for 20 % of users . Then 50 % on 2099-01-02 08:00 UTC . Until 2099-02-02 08:00 UTC ."
    assert page.texts(".//output[@id='preview']") == [words]
    sent = {"steps": [{"percent": 20, "at": rows[0].findall(".//input[@name='at']")[0].get("data-time")}, start[1]]}
    sent |= {"replaces": plan[1]["id"], "until": body["until"]}
    assert alice.post(API.replace("strategies", "plan"), json=sent).json == plan


@pytest.mark.parametrize(
    ("years", "until", "share", "text"),
    [
        ((20, 21, 99), None, "21", "On for 21 % of users . Then 99 % on 2099-01-01 00:00 UTC ."),
        ((20, 21), None, "21", "On for 21 % of users"),
        (
            (98, 99),
            None,
            "98",
            "On for 0 % of users . Then 98 % on 2098-01-01 00:00 UTC , 99 % on 2099-01-01 00:00 UTC .",
        ),
        ((20, 21), "2022-01-01T00:00:00Z", "21", "On for 0 % of users . Until 2022-01-01 00:00 UTC ."),
    ],
)
def test_form_of_a_plan_begins_with_the_step_of_today(
    world: World, alice: Caller, years: tuple[int, ...], until: str | None, share: str, text: str
) -> None:
    world.flag("checkout")
    steps = [{"percent": year, "at": f"20{year}-01-01T00:00:00Z"} for year in years]
    body = {"steps": steps} | ({"until": until} if until else {})
    [first, *_] = alice.post(API.replace("strategies", "plan"), json=body).json
    page = open_page(alice, f"{FORMS}/{first['id']}")
    assert page.fields(FORM)["parameters.rollout"] == share
    assert page.texts(".//output[@id='preview']") == [text]
    left = [one for one in steps if one["percent"] >= int(share)]
    assert preview(alice, **body | {"steps": left}) == text.replace(" .", ".").replace(" ,", ",")


def test_preview_refuses_steps_that_do_not_rise(world: World, alice: Caller) -> None:
    world.flag("checkout")
    steps = [{"percent": 100}, {"percent": 50, "at": "2099-01-02T08:00:00Z"}]
    assert "steps.1.percent: must be more than the share of the step before, 100 %" in preview(alice, steps=steps)
