"""Write the pages of results."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

PAGE = """# Performance

`make bench` measures how long requests take with an event log of three years. It takes 14 minutes, and fills its own
databases. Compare only figures of the same run: the client, two workers and PostgreSQL share one machine.

It runs no ANALYZE or VACUUM. **Right after the import**, PostgreSQL has no statistics. The other figures are measured
after autovacuum has analyzed the large tables. It never analyzes tables in which fewer than 50 rows have changed, such
as projects.

- **ms** is the median time of a request, in milliseconds, if one client sends one request after the other.
- **/s** is the number of requests a second over 8 connections. It is empty for requests that take more than a second.
- With 10,000 events, the data has 500 flags and 20 users. With a million events, it has 5,000 flags and 500 users.
  Both have 100 private projects. The first has 20 % of all flags, and 15 % of all events.
- **pgbench** runs plain statements in PostgreSQL, without this server: the page and the count of one project, or the
  insert of one event. Its count reads all events of the project. A search adds up stored totals instead.
- `make bench BASE=../other-checkout` also measures another version, the base. **ratio** is this version's value divided
  by the base's.
- **An empty response** is `/health`, which needs no database. Each request takes at least this long.
- In the plots, each group of bars has its own scale.

## What grows with the data

- **Pages of events and "who am I"** take about as long with a million events as with 10,000. With a million events,
  "one flag" is a full page, and no longer a part of one.
- **Flags of a project** and **users** are whole lists. With a million events, they are 10 and 25 times as long.
- **Counts of flags:** "project overview" counts the flags of the project, "projects" the flags of each project, and
  "search for flags" all matches.
- **Insights** look up for each user and week whether the user was there.

## Why some searches are slower

- **A combination of filters**, such as two projects and two types. A search returns the exact number of its matches.
  For all events, for a project and for a type, the numbers of finished weeks are stored in `event_weeks`. For a
  combination, PostgreSQL counts the matches in an index, so the time grows with their number. Version 0.1.0 stored the
  totals of combinations too, and needed more tables and triggers for that.
- **Several projects**, also the projects of a member. PostgreSQL reads the newest events of each project from the
  index, and then sorts them together.
- **A word.** Without `pg_trgm`, PostgreSQL reads the payloads of all events. The embedded PostgreSQL has no `pg_trgm`.

## Results

Commit {commit}. {machine}.

{table}

![Median milliseconds at one client](performance-ms.svg)

![Requests a second over 8 connections](performance-rate.svg)
"""
APPLICATIONS_PAGE = """# Performance for applications

`make bench` also measures what applications ask for, in 12 minutes. The machine must run PostgreSQL too.

- **Processor time** is that of the workers and of PostgreSQL for one request. It depends less on what else the machine
  does than times and rates do.
- The flags have 1.8 strategies each, of which 65 % are gradual. There are constraints, segments, variants and parents.
- **304**: an SDK asks for its flags, and has them already. Its rate is compared with that of
  `/health`, by processor time.
- **New connection**: the server closes a connection that is idle for 5 seconds, so most polls open one. **Instances for
  each core**: how many instances fill a core if each asks every 15 seconds.
- **Frontend**: `GET /api/frontend` evaluates all flags for one user, and compresses the response. Each request has
  another user.
- **Changes**: 8 clients switch flags on and off. The trigger `raise_client_revisions` tells workers that
  flags have changed.
- **Right after the import**: PostgreSQL has no statistics. Then autovacuum analyzes the large tables.
- **Growth**: a worker that has not served flags yet serves and evaluates them, while they change three times.

## Results

{machine}.

{table}
"""
COLOURS = ("#0077bb", "#e07000", "#009980", "#cc3377")
STYLE = """text { font: 13px system-ui, sans-serif; fill: #24292f } .title { font-size: 15px; font-weight: 600 }
@media (prefers-color-scheme: dark) { text { fill: #e6edf3 } }"""
WIDTH, LEFT, BAR = 900, 280, 12


def write(folder: Path, figures: Sequence[dict[str, Any]], commits: Sequence[str], machine: str) -> None:
    """Write the page and its plots into the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    sizes = list(dict.fromkeys(figure["events"] for figure in figures))
    names = list(dict.fromkeys(figure["name"] for figure in figures))
    by_name = {(figure["name"], figure["events"]): figure for figure in figures}
    has_base = len(commits) > 1
    columns = ("", ", base", ", ratio") if has_base else ("",)
    heads = ["Request"]
    for events in sizes:
        heads += [f"{events:,} events: {unit}{column}" for unit in ("ms", "/s") for column in columns]
    lines = [heads, ["---", *["---:"] * (len(heads) - 1)]]
    for name in names:
        values = [each for events in sizes for unit in ("ms", "rate") for each in compared(by_name[name, events][unit])]
        lines.append([name, *("" if each is None else short(each) for each in values)])
    table = "\n".join(f"| {' | '.join(line)} |" for line in lines)
    commit = commits[0] + (f", base {commits[1]}" if has_base else "")
    (folder / "performance.md").write_text(PAGE.format(commit=commit, machine=machine, table=table), encoding="utf-8")
    for unit, title in (("ms", "Median milliseconds at one client"), ("rate", "Requests a second over 8 connections")):
        rows = {name: [each for events in sizes for each in by_name[name, events][unit]] for name in names}
        series = [f"{events:,} events{column}" for events in sizes for column in columns[:2]]
        (folder / f"performance-{unit}.svg").write_text(plot(title, series, rows), encoding="utf-8")


def write_applications(folder: Path, sizes: Sequence[int], figures: Mapping[str, list[str]], machine: str) -> None:
    """Write the page about applications. figures: the target, and the value for each number of flags, by name."""
    heads = ["Figure", "Target", *(f"{size:,} flags" for size in sizes)]
    lines = [heads, ["---", *["---:"] * (len(heads) - 1)], *([name, *cells] for name, cells in figures.items())]
    table = "\n".join(f"| {' | '.join(line)} |" for line in lines)
    page = APPLICATIONS_PAGE.format(machine=machine, table=table)
    (folder / "performance-applications.md").write_text(page, encoding="utf-8")


def compared(values: Sequence[float | None]) -> list[float | None]:
    """Return the value of this version. With a base, also return the base's value and the ratio."""
    this, *base = values
    return [this, base[0], this / base[0] if this and base[0] else None] if base else [this]


def short(number: float) -> str:
    """Return the number with three significant digits."""
    return f"{number:,.0f}" if number >= 100 else f"{number:.3g}"


def plot(title: str, series: Sequence[str], rows: dict[str, list[float | None]]) -> str:
    """Return bars as SVG, one group for each row, with its own scale, because rows differ by powers of ten."""
    rows = {name: values for name, values in rows.items() if any(values)}
    parts, down = [f'<text class="title" x="10" y="20">{escape(title)}</text>'], 30
    for number, name in enumerate(series):
        fill = COLOURS[number % 4]
        parts.append(f'<text x="{10 + number * 210}" y="{down + 15}" style="fill:{fill}">■ {escape(name)}</text>')
    down += 34
    for name, values in rows.items():
        parts.append(f'<text x="{LEFT - 8}" y="{down + 11}" text-anchor="end">{escape(name)}</text>')
        most = max(value or 0 for value in values)
        for number, value in enumerate(values):
            if value:
                wide = (WIDTH - LEFT - 70) * value / most
                place = f'x="{LEFT}" y="{down}" width="{wide:.1f}" height="{BAR - 2}"'
                parts.append(f'<rect {place} fill="{COLOURS[number % 4]}"/>')
                place = f'x="{LEFT + wide + 5:.1f}" y="{down + 10}"'
                parts.append(f'<text {place} style="font-size:11px">{short(value)}</text>')
            down += BAR
        down += 8
    size = f'width="{WIDTH}" height="{down}" viewBox="0 0 {WIDTH} {down}"'
    lines = [f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img"><style>{STYLE}</style>', *parts, "</svg>\n"]
    return "\n".join(lines)
