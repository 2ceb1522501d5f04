"""Why a flag is on for a user."""

from tests.support import fixtures
from tests.support.page import open_page
from tests.support.world import Caller, World

PAGE = "/projects/default/flags/checkout/why"


def test_the_form_needs_no_script(world: World, victor: Caller) -> None:
    world.flag("checkout")
    page = open_page(victor, f"{PAGE}?environment=production&userId=7&properties=a%3Db%0D%0Ac%3Dd")
    [form] = page.all(".//main//form")
    assert (form.get("method"), form.get("data-send")) == ("get", None)
    fields = page.fields(".//main//form")
    assert fields.keys() == {"environment", "userId", "sessionId", "remoteAddress", "appName", "properties"}
    assert (fields["userId"], fields["properties"]) == ("7", "a=b c=d")
    assert [option.text for option in page.all(".//option[@selected]")] == ["production"]
    assert page.texts(".//p[@class='path']") == ["Projects / Default / checkout /"]


def test_why_names_the_strategy_that_decides(world: World, victor: Caller) -> None:
    flag = world.flag("checkout", enabled_in=("development",))
    world.strategy(flag, name="default", constraints=[{"contextName": "country", "operator": "IN", "values": ["NO"]}])
    why = f"{PAGE}?environment=development&properties="
    page = open_page(victor, f"{why}country%3DNO")
    assert "checkout is on in development" in page.texts(".//h2")
    assert page.texts(".//section//h3") == ["Strategy 1: On for all users"]
    page = open_page(victor, f"{why}country%3DSE")
    assert "checkout is off in development" in page.texts(".//h2")
    assert "the context has SE does not match" in page.text
    page = open_page(victor, f"{PAGE}?environment=development&userId=7&properties=country", 400)
    assert page.texts(".//p[@id='wrong-properties']")[0].endswith("This line is different: country.")
    assert (page.fields(".//main//form")["userId"], page.all(".//h2")) == ("7", [])


def test_a_rollout_names_the_bucket_of_the_user(world: World, victor: Caller) -> None:
    flag = world.flag("checkout", enabled_in=("development",))
    world.strategy(flag, parameters={"rollout": "0", "stickiness": "userId", "groupId": "g"})
    page = open_page(victor, f"{PAGE}?environment=development&userId=7")
    [item] = [text for text in page.texts(".//section//li") if text.startswith("Rollout 0 %")]
    assert "7 (stickiness userId) is in bucket" in item
    assert item.endswith("of 100 in the group g does not match")
    assert page.texts(".//section//h3") == ["Strategy 1: 0 % of users (stickiness userId, group g)"]
    page = open_page(victor, f"{PAGE}?environment=development")
    assert "the context has no userId" in page.text


def test_a_variant_is_shown_with_its_payload(world: World, victor: Caller) -> None:
    flag = world.flag("checkout", enabled_in=("development",))
    strategy = world.strategy(flag, name="default")
    payload = {"payload_type": "string", "payload_value": "<b>"}
    fixtures.insert_variant(world.conn, flag, "development", strategy, name="blue", weight=1000, **payload)
    assert "Variant: blue , string <b>" in open_page(victor, f"{PAGE}?environment=development").text


def test_unknown_places_are_not_found(world: World, victor: Caller) -> None:
    world.flag("checkout")
    open_page(victor, f"{PAGE}?environment=nowhere", 404)
    open_page(victor, "/projects/default/flags/nothing/why", 404)
    world.project("apollo", mode="private")
    world.flag("moon", "apollo")
    open_page(victor, "/projects/apollo/flags/moon/why", 404)
