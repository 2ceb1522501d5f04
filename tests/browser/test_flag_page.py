"""The page of a flag in a browser: roll it out, and edit a strategy without losing anything."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.support.browser import Browser
from tests.support.instance import SETTINGS
from tests.support.service import Service
from tests.support.window import Window

FLAG = "/api/admin/projects/default/features"
STRATEGIES = "environments/development/strategies"
# Click the first visible link or button with this text, and return whether there is one.
CLICK = """
const found = [...document.querySelectorAll('main a, main button, main summary')].find(
    (element) => element.textContent.trim() === arguments[0] && element.checkVisibility());
found?.click();
return Boolean(found);
"""
FILL = """
const field = document.getElementById(arguments[0]);
field.value = arguments[1];
field.dispatchEvent(new Event('input', { bubbles: true }));
"""
TEXT = "return document.querySelector('main')?.innerText ?? ''"
# Everything that a form could lose: what it does not show, and what browsers change in fields.
FULL = {
    "name": "flexibleRollout",
    "title": "One\nTwo",
    "parameters": {"rollout": "25", "stickiness": "userId", "groupId": " a\tgroup\r\nwith lines "},
    "constraints": [
        {"contextName": "userId", "operator": "IN", "values": [" 7", "8\n9", "\ufeffx"], "value": "", "inverted": True},
        {"contextName": "userId", "operator": "STR_CONTAINS", "values": ["a", "b"], "value": "c"},
        {"contextName": "userId", "operator": "NUM_GT", "values": ["1"], "value": "5", "caseInsensitive": True},
        {"contextName": "currentTime", "operator": "DATE_AFTER", "value": "2025-12-31T23:00:00.500Z"},
    ],
    "variants": [
        {"name": "blue", "weight": 300, "weightType": "fix", "stickiness": "random"},
        {
            "name": " red ",
            "weight": 700,
            "weightType": "variable",
            "stickiness": "default",
            "payload": {"type": "string", "value": "\nfirst\r\nsecond\n"},
        },
        {
            "name": "empty",
            "weight": 1,
            "weightType": "variable",
            "stickiness": "default",
            "payload": {"type": "string", "value": ""},
        },
        {
            "name": "json",
            "weight": 1,
            "weightType": "variable",
            "stickiness": "default",
            "payload": {"type": "json", "value": '\n{"a":  "</textarea><b>\\u00e9"}'},
        },
    ],
    "disabled": True,
}


class Api:
    """Requests with the session of the administrator."""

    def __init__(self, service: Service) -> None:
        self.service = service
        login = service.request(
            "POST", "/auth/simple/login", {"username": "admin", "password": SETTINGS["INIT_ADMIN_PASSWORD"]}
        )
        self.cookie = login.headers["Set-Cookie"].partition(";")[0]

    def __call__(self, method: str, path: str, body: Any = None) -> Any:
        answer = self.service.request(method, path, body, {"Cookie": self.cookie})
        assert answer.status < 300, answer.body
        return answer.json if answer.body else None


@pytest.fixture(scope="module")
def service(make_database: Callable[..., str], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """Start a new instance."""
    folder = tmp_path_factory.mktemp("service")
    with Service(make_database(), folder, CLIENT_KEEP_MS=0) as service:
        yield service


@pytest.fixture(scope="module")
def api(service: Service) -> Api:
    """The administrator, without a browser."""
    return Api(service)


@pytest.fixture(scope="module")
def browser(service: Service, api: Api, session_window: Window) -> Window:
    """A browser in which the administrator is logged in."""
    browser = session_window
    browser.forget()
    browser.open(f"{service.origin}/health")
    name, _, value = api.cookie.partition("=")
    browser.call("POST", f"/session/{browser.session}/cookie", {"cookie": {"name": name, "value": value}})
    return browser


def click(browser: Browser, text: str) -> None:
    """Click a link or a button as soon as it is visible."""
    browser.wait_for(CLICK, bool, text)


@pytest.mark.slow
def test_a_flag_is_created_and_rolled_out_to_a_quarter_of_all_users(
    service: Service, api: Api, browser: Browser
) -> None:
    browser.open(f"{service.origin}/projects/default")
    click(browser, "Create flag")
    browser.run(FILL, "flag-name", "checkout")
    browser.run("document.querySelector('#create-flag form').requestSubmit()")
    click(browser, "Add strategy in development")
    browser.wait_for("return location.pathname", lambda path: path.endswith("/strategies/new"))
    browser.wait_for("return document.readyState", lambda state: state == "complete")
    browser.run(FILL, "parameter-1-1", "25")
    assert browser.run("return document.querySelector('output').textContent") == "25 %"
    click(browser, "Add strategy")
    browser.wait_for(TEXT, lambda text: "25 % of users" in text and "added a strategy to checkout" in text)
    browser.run("document.querySelector('[role=switch]').click()")
    browser.wait_for(TEXT, lambda text: "switched checkout on in development" in text)
    assert browser.complaints() == []
    token = api("POST", "/api/admin/api-tokens", {"tokenName": "t", "type": "client", "environment": "development"})
    document = service.get("/api/client/features", headers={"Authorization": token["secret"]}).json
    [flag] = document["features"]
    assert (flag["name"], flag["enabled"]) == ("checkout", True)
    assert [strategy["parameters"]["rollout"] for strategy in flag["strategies"]] == ["25"]


@pytest.mark.slow
def test_a_flag_can_have_a_name_with_quotes_and_parentheses(service: Service, api: Api, browser: Browser) -> None:
    name = "it's-(new)!*"
    browser.open(f"{service.origin}/projects/default")
    click(browser, "Create flag")
    browser.run(FILL, "flag-name", name)
    browser.run("document.querySelector('#create-flag form').requestSubmit()")
    browser.wait_for("return location.pathname", lambda path: path.endswith("/flags/it's-(new)!*"))
    click(browser, "Add strategy in development")
    browser.wait_for("return location.pathname", lambda path: path.endswith("/strategies/new"))
    browser.wait_for("return document.readyState", lambda state: state == "complete")
    click(browser, "Add strategy")
    browser.wait_for(TEXT, lambda text: f"added a strategy to {name}" in text)
    browser.run("document.querySelector('[role=switch]').click()")
    browser.wait_for(TEXT, lambda text: f"switched {name} on in development" in text)
    browser.open(f"{service.origin}/projects/default")
    click(browser, name)
    browser.wait_for("return location.pathname", lambda path: "/flags/it" in path)
    assert browser.complaints() == []
    api("DELETE", f"{FLAG}/{name}")


CHOOSE = """
const select = document.getElementById(arguments[0]);
select.value = arguments[1];
select.dispatchEvent(new Event('input', { bubbles: true }));
"""
SHOWN = """
const fields = [...document.querySelectorAll('main form [name^="parameters."]')];
return fields.filter((field) => field.checkVisibility()).map((field) => [field.name, field.value]);
"""
FILL_SHOWN = """
const fields = [...document.querySelectorAll('main form [name]')];
const field = fields.find((field) => field.name === arguments[0] && field.checkVisibility());
field.value = arguments[1];
"""


@pytest.mark.slow
def test_a_strategy_gets_the_type_that_the_form_shows(service: Service, api: Api, browser: Browser) -> None:
    api("POST", FLAG, {"name": "typed"})
    page = f"{service.origin}/projects/default/flags/typed"
    browser.open(f"{page}/{STRATEGIES}/new")
    browser.wait_for("return document.readyState", lambda state: state == "complete")
    click(browser, "Add constraint")
    browser.run(FILL_SHOWN, "values", "7")
    browser.run(FILL_SHOWN, "title", "The office")
    browser.run(FILL_SHOWN, "parameters.groupId", "mine")
    browser.run(CHOOSE, "type", "remoteAddress")
    assert browser.run(SHOWN) == [["parameters.IPs", ""]]
    browser.run(FILL_SHOWN, "parameters.IPs", "10.0.0.1")
    # Nothing that was typed is lost by another choice.
    browser.run(CHOOSE, "type", "flexibleRollout")
    assert ["parameters.groupId", "mine"] in browser.run(SHOWN)
    browser.run(CHOOSE, "type", "default")
    assert browser.run(SHOWN) == []
    browser.run(CHOOSE, "type", "remoteAddress")
    assert browser.run(SHOWN) == [["parameters.IPs", "10.0.0.1"]]
    click(browser, "Add strategy")
    browser.wait_for("return location.href", lambda address: address == page)
    [strategy] = api("GET", f"{FLAG}/typed/{STRATEGIES}")
    assert (strategy["name"], strategy["title"]) == ("remoteAddress", "The office")
    assert strategy["parameters"] == {"IPs": "10.0.0.1"}
    assert [constraint["values"] for constraint in strategy["constraints"]] == [["7"]]


@pytest.mark.slow
def test_a_strategy_that_is_saved_without_a_change_stays_as_it_is(service: Service, api: Api, browser: Browser) -> None:
    api("POST", FLAG, {"name": "full"})
    before = api("POST", f"{FLAG}/full/{STRATEGIES}", FULL)
    page = f"{service.origin}/projects/default/flags/full"
    browser.open(f"{page}/{STRATEGIES}/{before['id']}")
    click(browser, "Save strategy")
    browser.wait_for("return location.href", lambda address: address == page)
    assert api("GET", f"{FLAG}/full/{STRATEGIES}/{before['id']}") == before
    events = api("GET", "/api/admin/search/events?feature=IS:full")["events"]
    assert "feature-strategy-update" not in [event["type"] for event in events]


@pytest.mark.slow
def test_a_parameter_keeps_a_name_that_javascript_uses(service: Service, api: Api, browser: Browser) -> None:
    parameters = [{"name": "__proto__", "type": "string"}, {"name": "constructor", "type": "string"}]
    api("POST", "/api/admin/strategies", {"name": "odd", "parameters": parameters})
    api("POST", FLAG, {"name": "odd"})
    texts = {"__proto__": "one", "constructor": "two"}
    before = api("POST", f"{FLAG}/odd/{STRATEGIES}", {"name": "odd", "parameters": texts})
    page = f"{service.origin}/projects/default/flags/odd"
    browser.open(f"{page}/{STRATEGIES}/{before['id']}")
    browser.run(FILL, "title", "Changed")
    click(browser, "Save strategy")
    browser.wait_for("return location.href", lambda address: address == page)
    assert api("GET", f"{FLAG}/odd/{STRATEGIES}/{before['id']}") == before | {"title": "Changed"}


@pytest.mark.slow
def test_variants_of_a_flag_are_added_and_removed(service: Service, api: Api, browser: Browser) -> None:
    api("POST", FLAG, {"name": "variants"})
    path = f"{FLAG}/variants/environments/development/variants"
    override = {"contextName": "userId", "values": ["7", " 8"]}
    api("PUT", path, [{"name": "blue", "weight": 1000, "overrides": [override]}])
    browser.open(f"{service.origin}/projects/default/flags/variants")
    click(browser, "Variants of the flag in development: blue 100 %")
    click(browser, "Add variant")
    browser.run(
        "document.querySelectorAll('[data-list=variants] > [data-item]')[1].querySelector('[name=name]').value = 'red'"
    )
    browser.run("document.querySelectorAll('button[data-add=overrides]')[1].click()")
    row = "document.querySelectorAll('[data-list=overrides]')[1]"
    browser.run(f"{row}.querySelector('[name=contextName]').value = 'country'")
    browser.run(f"{row}.querySelector('[name=values]').value = 'NO\\nSE'")
    click(browser, "Save variants")
    browser.wait_for(TEXT, lambda text: "blue 50 %, red 50 %" in text)
    blue, red = api("GET", path)["variants"]
    assert (blue["overrides"], red["name"]) == ([override], "red")
    assert red["overrides"] == [{"contextName": "country", "values": ["NO", "SE"]}]
    for _ in range(2):
        click(browser, "Remove variant")
    click(browser, "Save variants")
    browser.wait_for(TEXT, lambda text: "Variants of the flag in development: none" in text)
    assert api("GET", path)["variants"] == []


@pytest.mark.slow
def test_the_focus_follows_a_strategy_that_moves(service: Service, api: Api, browser: Browser) -> None:
    api("POST", FLAG, {"name": "order"})
    ids = [api("POST", f"{FLAG}/order/{STRATEGIES}", {"name": "default"})["id"] for _ in range(3)]
    browser.open(f"{service.origin}/projects/default/flags/order")
    button = f"{ids[0]}-down"
    browser.run("const button = document.getElementById(arguments[0]); button.focus(); button.click();", button)
    browser.wait_for(TEXT, lambda text: "changed the order of the strategies" in text)
    assert browser.run("return document.activeElement.id") == button
    strategies = api("GET", f"{FLAG}/order/{STRATEGIES}")
    assert [strategy["id"] for strategy in strategies] == [ids[1], ids[0], ids[2]]


@pytest.mark.slow
def test_a_flag_is_cloned_and_the_clone_moved(service: Service, api: Api, browser: Browser) -> None:
    api("POST", FLAG, {"name": "original"})
    api("POST", f"{FLAG}/original/{STRATEGIES}", {"name": "default", "title": "For all"})
    api("POST", "/api/admin/projects", {"id": "shop", "name": "Shop"})
    browser.open(f"{service.origin}/projects/default/flags/original")
    click(browser, "Clone")
    browser.run(FILL, "clone-name", "clone")
    browser.run("document.querySelector('#clone-flag form').requestSubmit()")
    browser.wait_for("return location.pathname", lambda path: path == "/projects/default/flags/clone")
    browser.wait_for(TEXT, lambda text: "For all" in text)
    click(browser, "Move")
    browser.run(FILL, "target", "shop")
    browser.run("document.querySelector('#move-flag form').requestSubmit()")
    browser.wait_for("return location.pathname", lambda path: path == "/projects/shop/flags/clone")
    browser.wait_for(TEXT, lambda text: "moved clone from default to shop" in text)
    assert browser.complaints() == []
