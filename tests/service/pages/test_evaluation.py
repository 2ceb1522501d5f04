"""Why a flag is on for a user."""

from tests.support import fixtures
from tests.support.page import open_page
from tests.support.world import Caller, World

PAGE = "/projects/default/flags/checkout/why"


def test_form_needs_no_script(world: World, victor: Caller) -> None:
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


def test_page_names_the_bucket_of_the_user_and_the_variant(world: World, victor: Caller) -> None:
    flag = world.flag("checkout", enabled_in=("development",))
    world.strategy(flag, parameters={"rollout": "0", "stickiness": "userId", "groupId": "g"})
    page = open_page(victor, f"{PAGE}?environment=development&userId=7")
    [item] = [text for text in page.texts(".//section//li") if text.startswith("Rollout 0 %")]
    assert "7 (stickiness userId) is in bucket" in item
    assert item.endswith("of 100 in the group g does not match")
    assert page.texts(".//section//h3") == ["Strategy 1: 0 % of users (stickiness userId, group g)"]
    payload = {"payload_type": "string", "payload_value": "<b>"}
    fixtures.insert_variant(world.conn, flag, "development", None, name="blue", weight=1000, **payload)
    world.strategy(flag, name="default")
    page = open_page(victor, f"{PAGE}?environment=development")
    assert "the context has no userId" in page.text
    assert "Variant: blue , string <b>" in page.text
