"""The page of results: one table and two plots."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

PAGE = """# Performance

What a request takes on a log of three years, measured by `make bench` (20 minutes; it fills its own databases). Compare figures of one run
only: the client, two workers and PostgreSQL share one machine.

- **ms** is the median at one client. **/s** is requests a second over 8 connections.
- The log has 100 projects, all private, up to 5,000 flags and 200 users. By Zipf's law, the first project has 15 % of all events.
- **pgbench** sends PostgreSQL the page and the count of one project, or one event, without the service. It is the floor.
- `make bench BASE=../other-checkout` measures another version in turn with this one. Ratios are this version's value over the base's.
- In the plots, each group of bars has a scale of its own.

## Results

Commit {commit}. {machine}.

{table}

![Median milliseconds at one client](performance-ms.svg)

![Requests a second over 8 connections](performance-rate.svg)
"""
COLOURS = ("#0077bb", "#e07000", "#009980", "#cc3377")
STYLE = """text { font: 13px system-ui, sans-serif; fill: #24292f } .title { font-size: 15px; font-weight: 600 }
@media (prefers-color-scheme: dark) { text { fill: #e6edf3 } }"""
WIDTH, LEFT, BAR = 900, 280, 12


def write(folder: Path, figures: Sequence[dict[str, Any]], commits: Sequence[str], machine: str) -> None:
    """Write the page and its plots into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    sizes = list(dict.fromkeys(it["events"] for it in figures))
    names = list(dict.fromkeys(it["name"] for it in figures))
    found = {(it["name"], it["events"]): it for it in figures}
    has_base = len(commits) > 1
    heads = ["Request"]
    for events in sizes:
        heads += [
            f"{events:,} events: {unit}" + ending for unit in ("ms", "/s") for ending in (("", ", base", ", ratio") if has_base else ("",))
        ]
    lines = [heads, ["---", *["---:"] * (len(heads) - 1)]]
    for name in names:
        values = [each for events in sizes for unit in ("ms", "rate") for each in compared(found[name, events][unit])]
        lines.append([name, *("" if each is None else short(each) for each in values)])
    table = "\n".join(f"| {' | '.join(line)} |" for line in lines)
    commit = commits[0] + (f", base {commits[1]}" if has_base else "")
    (folder / "performance.md").write_text(PAGE.format(commit=commit, machine=machine, table=table), encoding="utf-8")
    for unit, title in (("ms", "Median milliseconds at one client"), ("rate", "Requests a second over 8 connections")):
        rows = {name: [each for events in sizes for each in found[name, events][unit]] for name in names}
        series = [f"{events:,} events" + ending for events in sizes for ending in (("", ", base") if has_base else ("",))]
        (folder / f"performance-{unit}.svg").write_text(plot(title, series, rows), encoding="utf-8")


def compared(values: Sequence[float | None]) -> list[float | None]:
    """Return the value of this version, and with a base its value and the ratio of the two."""
    this, *base = values
    return [this, base[0], this / base[0] if this and base[0] else None] if base else [this]


def short(number: float) -> str:
    """Return a number with three digits that count."""
    return f"{number:,.0f}" if number >= 100 else f"{number:.3g}"


def plot(title: str, series: Sequence[str], rows: dict[str, list[float | None]]) -> str:
    """Return bars as SVG, one group for each row; each group has its own scale, because rows differ by powers of ten."""
    rows = {name: values for name, values in rows.items() if any(values)}
    parts, down = [f'<text class="title" x="10" y="20">{escape(title)}</text>'], 30
    for number, name in enumerate(series):
        parts.append(f'<text x="{10 + number * 210}" y="{down + 15}" style="fill:{COLOURS[number % 4]}">■ {escape(name)}</text>')
    down += 34
    for name, values in rows.items():
        parts.append(f'<text x="{LEFT - 8}" y="{down + 11}" text-anchor="end">{escape(name)}</text>')
        most = max(value or 0 for value in values)
        for number, value in enumerate(values):
            if value:
                wide = (WIDTH - LEFT - 70) * value / most
                parts.append(f'<rect x="{LEFT}" y="{down}" width="{wide:.1f}" height="{BAR - 2}" fill="{COLOURS[number % 4]}"/>')
                parts.append(f'<text x="{LEFT + wide + 5:.1f}" y="{down + 10}" style="font-size:11px">{short(value)}</text>')
            down += BAR
        down += 8
    size = f'width="{WIDTH}" height="{down}" viewBox="0 0 {WIDTH} {down}"'
    return f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img"><style>{STYLE}</style>\n' + "\n".join(parts) + "\n</svg>\n"
