"""Every page: no error, no violation of the policy or of WCAG A and AA, on phones and laptops, light and dark."""

import pytest
from flask import Flask

from tests.support import axe
from tests.support.every_page import OTHERS, PAGES, Example, values
from tests.support.service import Service
from tests.support.window import Window

STATUS = "return performance.getEntriesByType('navigation')[0].responseStatus"
# Addresses on the page that lead out of the path of the service.
OUTSIDE = """
const names = ['href', 'src', 'action', 'formaction', 'data-path', 'data-then'];
const templates = [...document.querySelectorAll('template')].map((template) => template.content);
return [document, ...templates]
    .flatMap((root) => [...root.querySelectorAll('*')])
    .flatMap((element) => names.map((name) => element.getAttribute(name)))
    .filter((address) => address && !/^([#?]|\\/flags\\/)/.test(address));
"""


def test_every_page_is_in_the_list(app: Flask) -> None:
    rules = {
        rule.rule
        for rule in app.url_map.iter_rules()
        if rule.endpoint.startswith("pages.") and "GET" in (rule.methods or ())
    }
    assert {example.rule for example in PAGES} == rules - OTHERS


@pytest.fixture(scope="module")
def paths(demo_url: str) -> dict[str, str]:
    """What the paths of the list contain in braces."""
    return values(demo_url)


@pytest.mark.slow
@pytest.mark.parametrize("example", PAGES, ids=str)
def test_a_page_has_no_fault(
    example: Example, window: Window, demo: Service, demo_url: str, paths: dict[str, str]
) -> None:
    if example.user:
        window.log_in(demo_url, example.user)
    if example.status != 200:
        window.expect(f"the status of {example.status}|a status of {example.status}")
    window.visit(example.path.format(**paths))
    assert window.run(STATUS) == example.status
    assert window.run(OUTSIDE) == []
    axe.inject(window)
    assert axe.violations(window) == []
    assert window.overflow() == 0
    window.prefer("dark")
    assert axe.violations(window, "color-contrast") == []
    window.resize(360)
    assert window.overflow() == 0
    assert axe.violations(window, "target-size", "scrollable-region-focusable") == []
    # Pages load nothing from other sites. Date fields have icons of the browser itself.
    assert [address for address in window.addresses() if not address.startswith((demo.origin, "data:"))] == []
