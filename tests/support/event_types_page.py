"""Reads docs/reference/event-types.md."""

import re

from tests.support.service import ROOT

PAGE = ROOT / "docs" / "reference" / "event-types.md"
RECORDED, _, UNRECORDED = PAGE.read_text(encoding="utf-8").partition("## Types that nothing records")


def table(text: str) -> list[tuple[list[str], str]]:
    """Return the rows of all tables: the event types of a row, and the rest of it."""
    rows = re.findall(r"^\| ((?:`[a-z-]+`(?:, )?)+) \| (\S.*) \|$", text, re.MULTILINE)
    return [(re.findall(r"`([a-z-]+)`", types), rest) for types, rest in rows]


def recorded() -> dict[str, set[str]]:
    """Return the types that are recorded, each with the operationIds of the operations that record it."""
    return {
        type: set(re.findall(r"`([a-z]+[A-Z]\w*)`", rest.rpartition(" | ")[2]))
        for types, rest in table(RECORDED)
        for type in types
    }


def unrecorded() -> list[str]:
    """Return the types that nothing records. The page gives a reason for each."""
    return [type for types, _ in table(UNRECORDED) for type in types]
