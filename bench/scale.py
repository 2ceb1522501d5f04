"""Measure what the bench measures at growing sizes, and write docs/development/performance-scale.md and its plots.

SCALE, BENCH_DATABASE_URL and OUT: as in __main__.py.
"""

import json
import sys
from collections import defaultdict

from bench.__main__ import HERE, Scale, measure, reads
from bench.checkout import Checkout, Client, commit, database_server, machine
from bench.plot import Line, plot
from bench.results import options, short, write

SCALES = {"usual": Scale((10_000, 100_000, 1_000_000, 3_000_000), 1, 2, 1), "tiny": Scale((500, 2_000), 0.01, 1, 1)}
FRESH = ", right after the import"


def listed(body: bytes) -> tuple[int, int]:
    """Return how many items a response lists, and how many it counts."""
    record = json.loads(body)
    lists = [value for value in record.values() if isinstance(value, list)]
    counted = (row.get("featureCount", row.get("count", 0)) for rows in lists for row in rows if isinstance(row, dict))
    return max([1, *map(len, lists)]), record.get("total") or sum(counted)


def main() -> None:
    """Run the bench with the options from the environment."""
    scale, out = options(SCALES)
    checkout, panels = Checkout("scale", HERE), dict[str, list[Line]]()
    times, items = defaultdict[str, list[float]](list), defaultdict[str, list[tuple[int, int]]](list)
    with database_server() as server:
        for events in scale.sizes:
            checkout.fill(server, events)
            with checkout.served():
                for name, (spent,), (rate,) in measure([checkout], events, scale):
                    times[name].append(spent or 1000 / (rate or 1))
                    print(f"{events:,} events,", name, short(times[name][-1]), file=sys.stderr, flush=True)
                for name, (path, credential) in reads(events).items():
                    client = Client(checkout, credential)
                    client.ask("GET", path)
                    items[name].append(listed(client.body))
            checkout.drop(server)
        run = f"Commit {commit(HERE)}. {machine(server)}."
    rows = list[list[str]]()
    for name, spent in times.items():
        ends, steep = list[str](), list[Line]()
        for kind, at in (("lists", 0), ("counts", 1)):
            numbers = [item[at] for item in items[name]]
            ends.append(" to ".join(dict.fromkeys(map(short, numbers[:1] + numbers[-1:]))) if any(numbers) else "")
            if numbers and all(numbers):
                steep.append((kind, [spent[0] * number / numbers[0] for number in numbers]))
        rows.append([name, *ends, *map(short, spent)])
        if not name.endswith(FRESH):
            panels[name] = [("time", spent), ("fresh", times.get(name + FRESH, spent)), *steep]
    heads = ["Request", "Lists", "Counts", *(f"{events:,} events: ms" for events in scale.sizes)]
    folder = write(out, "performance-scale.md", run, heads, rows)
    (folder / "performance-scale.svg").write_text(plot(scale.sizes, panels), encoding="utf-8")


if __name__ == "__main__":
    main()
