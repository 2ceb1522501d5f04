"""Read pages: parse the HTML of a response, and find its headings, links, forms and texts."""

from collections.abc import Iterator
from html.parser import HTMLParser
from typing import Any
from xml.etree import ElementTree

from werkzeug.test import TestResponse

from tests.support.world import Caller

VOID = {"br", "hr", "img", "input", "link", "meta", "path", "wbr"}

# Browsers end an open <p> before these.
ENDS_P = {"details", "dialog", "div", "dl", "fieldset", "form", "h1", "h2", "h3", "ol", "p", "section", "table", "ul"}


class Parser(HTMLParser):
    """Builds a tree. Raises AssertionError for a tag that is not closed, or closed twice."""

    def __init__(self) -> None:
        super().__init__()
        self.builder = ElementTree.TreeBuilder()
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert "p" not in self.open or tag not in ENDS_P, f"<{tag}> inside <p>: {self.getpos()}"
        self.builder.start(tag, {name: value or "" for name, value in attrs})
        if tag in VOID:
            self.builder.end(tag)
        else:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.builder.start(tag, {name: value or "" for name, value in attrs})
        self.builder.end(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag, f"</{tag}> closes no open tag: {self.getpos()}"
        self.builder.end(tag)

    def handle_data(self, data: str) -> None:
        if self.open:
            self.builder.data(data)


class Page:
    def __init__(self, response: TestResponse) -> None:
        assert response.mimetype == "text/html", response.text[:300]
        parser = Parser()
        parser.feed(response.text)
        assert parser.open == []
        self.response = response
        self.status = response.status_code
        self.root = parser.builder.close()
        self.main = self.root.find(".//main")

    def all(self, path: str) -> list[ElementTree.Element]:
        """Return the elements of <main> at an XPath of ElementTree, such as .//form[@data-send='PUT']."""
        assert self.main is not None
        return self.main.findall(path)

    def frame(self, path: str) -> list[ElementTree.Element]:
        """Return the elements of the whole page at an XPath of ElementTree, such as .//header//a."""
        return self.root.findall(path)

    def texts(self, path: str) -> list[str]:
        """Return the text of each element at a path, with single spaces."""
        return [text_of(element) for element in self.all(path)]

    @property
    def text(self) -> str:
        assert self.main is not None
        return text_of(self.main)

    @property
    def heading(self) -> str:
        [heading] = self.texts(".//h1")
        return heading

    @property
    def links(self) -> dict[str, str]:
        return {text_of(link): link.get("href", "") for link in self.frame(".//a")}

    @property
    def requests(self) -> set[tuple[str, str]]:
        """The requests of the API that the forms of the page send: method and path."""
        return {(form.get("data-send", ""), form.get("data-path", "")) for form in self.all(".//form[@data-send]")}

    def fields(self, form: str = ".//form") -> dict[str, str]:
        """Return the value of each input of a form by its name."""
        return dict(self.inputs(form))

    def inputs(self, form: str) -> Iterator[tuple[str, str]]:
        for name in ("input", "select", "textarea"):
            for control in self.all(f"{form}//{name}[@name]"):
                yield control.get("name", ""), control.get("value") or text_of(control)


def text_of(element: ElementTree.Element) -> str:
    """Return the text of an element and its descendants, with single spaces."""
    return " ".join(" ".join(element.itertext()).split())


def open_page(caller: Caller, path: str, status: int = 200, **kwargs: Any) -> Page:
    """Request a page, assert its status, and parse it."""
    response = caller.get(path, headers={"Accept": "text/html"}, **kwargs)
    assert response.status_code == status, response.text
    return Page(response)


def send_form(
    caller: Caller, path: str, status: int = 303, headers: dict[str, str] | None = None, **fields: str
) -> TestResponse:
    """Send a plain form to an address, as a browser without JavaScript does. Assert the status of the response."""
    response = caller.post(path, data=fields, headers={"Accept": "text/html"} | (headers or {}))
    assert response.status_code == status, response.text
    return response
