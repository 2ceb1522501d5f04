"""Names with HTML and long words, in every place where a name can appear: pages show them as text and break them."""

from collections.abc import Callable
from pathlib import Path

import pytest

from sql.database import connect
from tests.support.every_page import PAGES, Example
from tests.support.window import Window

pytestmark = pytest.mark.slow
HOSTILE = """<img src=x onerror="document.title='taken'">'</textarea></script><b>""" + 80 * "W"
FILL = Path(__file__).with_name("hostile_names.sql")
ELEMENTS = """
const others = document.querySelectorAll('main b, main script, [onerror], [href^="javascript:"]');
return [document.images.length, others.length, document.title];
"""


@pytest.fixture(scope="module")
def demo_url(make_database: Callable[..., str], demo_template: str) -> str:
    """A database with the demo, in which all names are hostile."""
    url = make_database(like=demo_template)
    with connect(url) as conn:
        for statement in filter(str.strip, FILL.read_text(encoding="utf-8").split(";\n")):
            conn.execute(statement.encode(), {"name": HOSTILE})
    return url


@pytest.mark.parametrize("example", [example for example in PAGES if example.status == 200], ids=str)
def test_names_are_shown_as_text(example: Example, window: Window, demo_url: str, paths: dict[str, str]) -> None:
    if example.user:
        window.log_in(demo_url, example.user)
    window.visit(example.path.format(**paths))
    images, others, title = window.run(ELEMENTS)
    assert (images, others) == (0, 0)
    assert title != "taken"
    for width in (1280, 360):
        window.resize(width)
        assert window.overflow() == 0
