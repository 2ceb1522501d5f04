"""Tables: lines for a terminal, and for Markdown."""

from collections.abc import Iterable, Sequence
from typing import Any


def number(value: Any) -> str:
    """A figure with as many digits as it is worth; nothing for None."""
    if value is None:
        return ""
    if not isinstance(value, float):
        return f"{value:,}" if isinstance(value, int) else str(value)
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.1f}" if abs(value) >= 10 else f"{value:.2f}"


class Table:
    """A table on the terminal whose rows are written one by one. columns: names and widths; all but the first two are figures."""

    def __init__(self, *columns: tuple[str, int]) -> None:
        self.columns = columns

    def head(self) -> str:
        """Its first line."""
        return self.row(*(name for name, _ in self.columns))

    def row(self, *cells: Any) -> str:
        """A line of it."""
        texts = [number(cell) for cell in cells]
        parts = [
            text.ljust(width) if place < 2 else text.rjust(width)
            for place, (text, (_, width)) in enumerate(zip(texts, self.columns, strict=True))
        ]
        return " ".join(parts).rstrip()


def markdown(head: Sequence[str], rows: Iterable[Sequence[Any]], words: int = 1) -> str:
    """A table in Markdown. words: how many columns at the left are text; the others are figures."""
    ruler = ["---" if place < words else "---:" for place in range(len(head))]
    lines = [list(head), ruler, *([number(cell).replace("|", "\\|") for cell in row] for row in rows)]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines) + "\n"
