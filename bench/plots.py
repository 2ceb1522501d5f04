"""Plots: milliseconds against the size of the log, both in powers of ten, as SVG that is legible on light and dark pages."""

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise
from xml.sax.saxutils import escape

WIDTH, HEIGHT = 900, 430
LEFT, RIGHT, TOP, BOTTOM = 62, 330, 54, 48
LINE_HEIGHT = 16
# Told apart by those who see colours differently, on white and on black; the marks say the same again.
COLOURS = ("#0077bb", "#e07000", "#009980", "#cc3377", "#8a63d2", "#997700", "#d62728", "#4d8a2a")
MARKS = ("circle", "square", "diamond", "triangle")
STYLE = """
    text { font: 13px system-ui, sans-serif; fill: #24292f }
    .quiet { fill: #57606a } .title { font-size: 15px; font-weight: 600 }
    .grid { stroke: #d0d7de; stroke-width: 1 } .line { fill: none; stroke-width: 2 }
    @media (prefers-color-scheme: dark) { text { fill: #e6edf3 } .quiet { fill: #9198a1 } .grid { stroke: #3d444d } }
"""

Points = Sequence[tuple[float, float]]


def plot(title: str, lines: Mapping[str, Points]) -> str:
    """An SVG document. lines: by their labels, points of events and milliseconds."""
    lines = {label: points for label, points in lines.items() if points}
    sizes = [events for points in lines.values() for events, _ in points]
    times = [spent for points in lines.values() for _, spent in points]
    low, high = math.floor(math.log10(min(times))), math.ceil(math.log10(max(times)))
    first, last = math.log10(min(sizes)), math.log10(max(sizes))
    high, last = max(high, low + 1), max(last, first + 1)

    def x(events: float) -> float:
        return LEFT + (math.log10(events) - first) / (last - first) * (WIDTH - LEFT - RIGHT)

    def y(spent: float) -> float:
        return TOP + (high - math.log10(spent)) / (high - low) * (HEIGHT - TOP - BOTTOM)

    parts = [f'<text class="title" x="{LEFT}" y="20">{escape(title)}</text>', f'<text class="quiet" x="8" y="{TOP - 14}">ms, p50</text>']
    for power in range(low, high + 1):
        parts += horizontal(y(10**power), f"{10**power:,}" if power >= 0 else f"{10**power:.{-power}f}")
    for events in sorted(set(sizes)):
        parts += vertical(x(events), f"{events:,.0f}")
    parts.append(f'<text class="quiet" x="{LEFT}" y="{HEIGHT - 8}">events in the log</text>')
    ends = spread([y(points[-1][1]) for points in lines.values()])
    for number, ((label, points), end) in enumerate(zip(lines.items(), ends, strict=True)):
        colour, kind = COLOURS[number % len(COLOURS)], MARKS[number % len(MARKS)]
        places = [(x(events), y(spent)) for events, spent in points]
        path = " ".join(f"{across:.1f},{down:.1f}" for across, down in places)
        parts.append(f'<polyline class="line" stroke="{colour}" points="{path}"/>')
        parts += [mark(kind, across, down, colour) for across, down in places]
        across, down = places[-1]
        parts.append(
            f'<path class="line" stroke="{colour}" style="stroke-width:1" d="M{across + 6:.1f} {down:.1f}L{across + 22:.1f} {end:.1f}"/>'
        )
        said = f"{escape(label)} · {points[-1][1]:.3g}"
        parts.append(f'<text x="{across + 26:.1f}" y="{end + 4:.1f}" style="fill:{colour}">{said}</text>')
    size = f'width="{WIDTH}" height="{HEIGHT}" viewBox="0 0 {WIDTH} {HEIGHT}"'
    body = "\n".join(parts)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img" aria-label="{escape(title)}">\n<style>{STYLE}</style>\n{body}\n</svg>\n'
    )


def horizontal(down: float, label: str) -> list[str]:
    """A line of the grid for a number of milliseconds."""
    line = f'<line class="grid" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{down:.1f}" y2="{down:.1f}"/>'
    return [line, f'<text class="quiet" text-anchor="end" x="{LEFT - 8}" y="{down + 4:.1f}">{label}</text>']


def vertical(across: float, label: str) -> list[str]:
    """A line of the grid for a number of events."""
    line = f'<line class="grid" x1="{across:.1f}" x2="{across:.1f}" y1="{TOP}" y2="{HEIGHT - BOTTOM}"/>'
    return [line, f'<text class="quiet" text-anchor="middle" x="{across:.1f}" y="{HEIGHT - BOTTOM + 18}">{label}</text>']


def spread(places: Sequence[float]) -> list[float]:
    """Where labels go that would be at these heights, so that none covers another."""
    order = sorted(range(len(places)), key=lambda place: places[place])
    found = list(places)
    for above, below in pairwise(order):
        found[below] = max(found[below], found[above] + LINE_HEIGHT)
    excess = max((found[order[-1]] - (HEIGHT - BOTTOM)) if order else 0, 0)
    return [place - excess for place in found]


def mark(kind: str, across: float, down: float, colour: str) -> str:
    """A point of a line."""
    shapes = {
        "circle": "m-4 0a4 4 0 1 0 8 0a4 4 0 1 0 -8 0",
        "square": "m-4 -4h8v8h-8z",
        "diamond": "m0 -5l5 5l-5 5l-5 -5z",
        "triangle": "m0 -5l5 9h-10z",
    }
    return f'<path fill="{colour}" d="M{across:.1f} {down:.1f}{shapes[kind]}"/>'
