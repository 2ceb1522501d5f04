"""Print lines in the encoding of the terminal, and lists as tables or JSON."""

import json
import sys
from collections.abc import Mapping, Sequence
from typing import Any
from unicodedata import combining, east_asian_width

import click

json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON.")


def say(line: str) -> None:
    """Print a line on stdout. Characters that the terminal's encoding lacks become question marks."""
    encoding = sys.stdout.encoding or "utf-8"
    click.echo(line.encode(encoding, "replace").decode(encoding))


def show(rows: Sequence[Mapping[str, Any]], columns: Mapping[str, str], *, as_json: bool) -> None:
    """Print rows as JSON with all keys, or as a table.

    columns: the headings of the table by key.
    """
    if as_json:
        click.echo(json.dumps(rows, indent=2))
        return
    lines = [list(columns.values()), *([cell(row[key]) for key in columns] for row in rows)]
    widths = [max(map(width, column)) for column in zip(*lines, strict=True)]
    for line in lines:
        say("  ".join(text + " " * (column - width(text)) for text, column in zip(line, widths, strict=True)).rstrip())


def cell(value: Any) -> str:
    """Return a value as text for one line, with control characters escaped."""
    if value is None:
        return "-"
    text = ",".join(value) if isinstance(value, list) else str(value)
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in text)


def width(text: str) -> int:
    """Return the number of terminal columns that a text takes."""
    return sum(0 if combining(char) else 2 if east_asian_width(char) in "WF" else 1 for char in text)
