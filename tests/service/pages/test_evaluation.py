"""Why a flag is on for a user."""

from sql.catalog.segments import insert as insert_segment
from tests.support import fixtures
from tests.support.page import open_page
from tests.support.world import Caller, World

CONSTRAINT = {"contextName": "country", "operator": "IN", "values": ["NO"]}
PAGE = "/projects/default/flags/checkout/why"


def test_form_needs_no_script_and_offers_the_fields_that_the_flag_uses(world: World, victor: Caller) -> None:
    flag = world.flag("checkout")
    segment = insert_segment(world.conn, "Staff", [CONSTRAINT | {"contextName": "email"}])
    fixtures.add_segment(world.conn, world.strategy(flag, "production", constraints=[CONSTRAINT]), segment)
    parameters = {"rollout": "5", "stickiness": "sessionId", "groupId": "g"}
    now = {"contextName": "currentTime", "operator": "DATE_AFTER", "value": "2020-01-01T00:00:00Z"}
    world.strategy(flag, "production", parameters=parameters, constraints=[now], sort_order=1)
    page = open_page(victor, PAGE)
    [form] = page.all(".//form")
    assert (form.get("method"), form.get("data-send")) == ("get", None)
    # Production is what people ask about.
    assert [option.text for option in page.all(".//option[@selected]")] == ["production"]
    assert page.fields().keys() == {"environment", "userId", "field.country", "field.email", "sessionId", "properties"}
    labels = page.texts(".//label")
    assert {"country used by strategy 1", "email used by Staff", "sessionId used by strategy 2"} <= set(labels)
    page = open_page(victor, f"{PAGE}?environment=development&userId=7&field.email=x&properties=a%3Db%0D%0Ac%3Dd")
    assert (page.fields()["userId"], page.fields()["properties"]) == ("7", "a: b c: d email: x")
    assert page.texts(".//ol[@class='path']/li") == ["Projects", "Default", "checkout"]


def test_why_names_the_strategy_that_decides(world: World, victor: Caller) -> None:
    flag = world.flag("checkout", enabled_in=("development",))
    world.strategy(flag, name="default", constraints=[CONSTRAINT])
    why = f"{PAGE}?environment=development"
    page = open_page(victor, f"{why}&field.country=NO")
    assert "checkout is on in development. Strategy 1 matches." in page.text
    assert page.texts(".//section//h3") == ["1 · On for users where country is NO"]
    assert "checkout is on" in open_page(victor, f"{why}&properties=country:+NO").text
    page = open_page(victor, f"{why}&userId=7&properties=country%3DSE")
    assert "checkout is off in development for userId 7. No strategy matches." in page.text
    assert "Does not match: country is NO: it is SE" in page.text
    page = open_page(victor, f"{why}&userId=7&properties=country", 400)
    assert page.texts(".//p[@id='wrong-properties']")[0].endswith("This line is different: country.")
    assert (page.fields()["userId"], page.all(".//section")) == ("7", [])
    assert [control.get("name") for control in page.all(".//*[@autofocus]")] == ["properties"]
    page = open_page(victor, f"{why}&properties=country%3DSE%0Acountry%3DNO", 400)
    assert page.texts(".//p[@id='wrong-properties']")[0].endswith("Duplicate: country.")


def test_why_says_that_a_strategy_only_chooses_the_variant(world: World, victor: Caller) -> None:
    flag = world.flag("checkout", enabled_in=("development",))
    first = world.strategy(flag, parameters={"rollout": "50"})
    fixtures.insert_variant(world.conn, flag, "development", first, name="blue", weight=1000)
    world.strategy(flag, name="default", sort_order=1)
    page = open_page(victor, f"{PAGE}?environment=development")
    assert page.texts(".//section//h3") == ["1 · Variant for 50 % of users", "2 · On for everybody"]


def test_page_names_the_number_of_the_user_and_the_variant(world: World, victor: Caller) -> None:
    flag = world.flag("checkout", enabled_in=("development",))
    world.strategy(flag, parameters={"rollout": "0", "stickiness": "userId", "groupId": "g"})
    page = open_page(victor, f"{PAGE}?environment=development&userId=7")
    [item] = [text for text in page.texts(".//section//li/ul/li") if "has the number" in text]
    assert item.startswith("Does not match: 0 % of users: the numbers up to 0 of 100. 7 has the number")
    assert item.endswith("(group g)")
    payload = {"payload_type": "string", "payload_value": "<b>"}
    fixtures.insert_variant(world.conn, flag, "development", None, name="blue", weight=1000, **payload)
    world.strategy(flag, name="default")
    page = open_page(victor, f"{PAGE}?environment=development")
    assert "userId is not given" in page.text
    assert "Variant blue , string <b> ." in page.text
