"""The options of a run, and the table of results in a page of docs."""

import os
import signal
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

Scale = TypeVar("Scale")
DOCS = Path(__file__).parent.parent / "docs"
HEADING = "## Results\n"


def options(scales: Mapping[str, Scale]) -> tuple[Scale, Path | None]:
    """Return the scale and the folder for the page, from the environment. SIGTERM then stops what was started.

    None: the folder that has the page.
    """
    signal.signal(signal.SIGTERM, lambda number, _frame: sys.exit(128 + number))
    name, out = os.environ.get("SCALE") or "usual", os.environ.get("OUT")
    if name not in scales:
        sys.exit(f"SCALE must be one of {', '.join(scales)}.")
    if name != "usual" and not out:
        sys.exit("Set OUT to another folder: the pages in docs are for complete runs only.")
    return scales[name], Path(out) if out else None


def write(folder: Path | None, page: str, run: str, heads: Sequence[str], rows: Iterable[Sequence[str]]) -> Path:
    """Write the page into the folder, and return the folder: the page's text in docs, and this run's results."""
    (source,) = DOCS.glob(f"*/{page}")
    lines = [heads, ["---", *["---:"] * (len(heads) - 1)], *rows]
    table = "\n".join(f"| {' | '.join(line)} |" for line in lines)
    text = source.read_text(encoding="utf-8").partition(HEADING)[0]
    folder = folder or source.parent
    folder.mkdir(parents=True, exist_ok=True)
    (folder / page).write_text(f"{text}{HEADING}\n{run}\n\n{table}\n", encoding="utf-8")
    return folder


def short(number: float | None) -> str:
    """Return the number with three significant digits, or an empty text for None."""
    if number is None:
        return ""
    return f"{number:,.0f}" if number >= 100 else f"{number:.3g}"
