"""The options of a run, and the table of results in a page of docs/development."""

import os
import signal
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

Scale = TypeVar("Scale")
DOCS = Path(__file__).parent.parent / "docs" / "development"
HEADING = "## Results\n"


def options(scales: Mapping[str, Scale]) -> tuple[Scale, Path]:
    """Return the scale and the folder for the page, from the environment. SIGTERM then stops what was started."""
    signal.signal(signal.SIGTERM, lambda number, _frame: sys.exit(128 + number))
    name, out = os.environ.get("SCALE") or "usual", Path(os.environ.get("OUT") or DOCS)
    if name not in scales:
        sys.exit(f"SCALE must be one of {', '.join(scales)}.")
    if name != "usual" and out == DOCS:
        sys.exit("Set OUT to another folder: the pages in docs/development are for complete runs only.")
    return scales[name], out


def write(folder: Path, page: str, run: str, heads: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Write the page into the folder: its text in docs/development, and this run's results."""
    lines = [heads, ["---", *["---:"] * (len(heads) - 1)], *rows]
    table = "\n".join(f"| {' | '.join(line)} |" for line in lines)
    text = (DOCS / page).read_text(encoding="utf-8").partition(HEADING)[0]
    folder.mkdir(parents=True, exist_ok=True)
    (folder / page).write_text(f"{text}{HEADING}\n{run}\n\n{table}\n", encoding="utf-8")


def short(number: float | None) -> str:
    """Return the number with three significant digits, or an empty text for None."""
    if number is None:
        return ""
    return f"{number:,.0f}" if number >= 100 else f"{number:.3g}"
