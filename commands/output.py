"""How commands print: lines that any terminal can show, and lists as a table or as JSON."""

import json
import sys
from collections.abc import Mapping, Sequence
from typing import Any
from unicodedata import combining, east_asian_width

import click

json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON, for programs.")


def say(line: str) -> None:
    """Print a line on stdout; what the terminal's encoding does not have becomes a question mark."""
    encoding = sys.stdout.encoding or "utf-8"
    click.echo(line.encode(encoding, "replace").decode(encoding))


def show(rows: Sequence[Mapping[str, Any]], columns: Mapping[str, str], *, as_json: bool) -> None:
    """Print rows: as JSON all that they hold, else a table of the columns, which are headings by key."""
    if as_json:
        click.echo(json.dumps(rows, indent=2))
        return
    lines = [list(columns.values()), *([cell(row[key]) for key in columns] for row in rows)]
    widths = [max(map(width, column)) for column in zip(*lines, strict=True)]
    for line in lines:
        say("  ".join(text + " " * (room - width(text)) for text, room in zip(line, widths, strict=True)).rstrip())


def cell(value: Any) -> str:
    """A value as one word or more on one line. What would move the cursor or colour the terminal is written as an escape."""
    if value is None:
        return "-"
    text = ",".join(value) if isinstance(value, list) else str(value)
    return "".join(sign if sign.isprintable() else sign.encode("unicode_escape").decode() for sign in text)


def width(text: str) -> int:
    """How many columns of a terminal a text takes."""
    return sum(0 if combining(sign) else 2 if east_asian_width(sign) in "WF" else 1 for sign in text)
