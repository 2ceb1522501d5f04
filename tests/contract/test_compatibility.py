"""docs/reference/compatibility.md says truly which operations of Unleash exist here."""

import re
from collections.abc import Iterator

from flask import Flask

from contract.routes import api_rules
from tests.support.service import ROOT
from validators.returned import UNLEASH_ONLY

PAGE = ROOT / "docs" / "reference" / "compatibility.md"
SECTIONS = dict(re.findall(r"^## (.*?)\n(.*?)(?=^## |\Z)", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL))


def without_names(path: str) -> str:
    """Return a path with {} for each parameter."""
    return re.sub(r"{\w+}", "{}", path)


def listed(section: str) -> Iterator[str]:
    """The operations in the tables of a section, as METHOD path, with {} for each parameter."""
    for methods, path in re.findall(r"^\| ([A-Z, ]+) \| `([^`]+)` \|", SECTIONS[section], re.MULTILINE):
        yield from (f"{method} {without_names(path)}" for method in methods.split(", "))


def served(app: Flask) -> Iterator[str]:
    """The routes of the app in the same form."""
    for rule in api_rules(app):
        if not rule.rule.startswith("/docs/"):
            yield from (
                f"{method} {re.sub('<[^>]*>', '{}', rule.rule)}" for method in (rule.methods or set()) - {"HEAD"}
            )


def test_every_listed_operation_is_here(shared_app: Flask) -> None:
    here = set(listed("Every operation"))
    assert len(here) >= 190
    assert here - set(served(shared_app)) == set()


def test_every_operation_of_unleash_is_listed() -> None:
    lines = (ROOT / "tests" / "contract" / "unleash_operations.txt").read_text(encoding="utf-8").splitlines()
    known = {line for line in lines if not line.startswith("#")}
    assert len(known) >= 220
    assert known - set(listed("Every operation")) - set(listed("What is missing")) == set()


def test_routes_that_are_not_in_unleash_are_named_below_the_tables(shared_app: Flask) -> None:
    here = PAGE.read_text(encoding="utf-8").partition("## What is missing")
    texts = re.findall(r"^(?!\|).*$", here[0] + SECTIONS["Every operation"], re.MULTILINE)
    # … stands for the beginning of a path.
    named = {without_names(path) for path in re.findall(r"`(?:[A-Z]+ )?(…?/[^`]*)`", "\n".join(texts))}
    own = {operation.partition(" ")[2] for operation in set(served(shared_app)) - set(listed("Every operation"))}
    ends = tuple(path[1:] for path in named if path.startswith("…"))
    assert len(own) >= 10
    assert {path for path in own - named if not path.endswith(ends)} == set()


def test_no_operation_of_the_app_is_listed_as_missing(shared_app: Flask) -> None:
    missing = set(listed("What is missing"))
    assert missing
    assert missing & set(served(shared_app)) == set()


def test_the_ignored_properties_are_listed() -> None:
    section = SECTIONS["What differs on purpose"].partition("### Ignored properties")[2]
    listed = dict(re.findall(r"^\| ([\w ]+) \| (`.*`) \|$", section, re.MULTILINE))
    assert {record: tuple(re.findall(r"`(\w+)`", cell)) for record, cell in listed.items()} == UNLEASH_ONLY
