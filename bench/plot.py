"""Plots as SVG, without a library: small panels with logarithmic axes, for light and dark pages."""

from collections.abc import Mapping, Sequence
from html import escape
from math import ceil, floor, log10

COLUMNS, WIDTH, HEIGHT, MARGIN = 4, 230, 190, 44
STYLE = """
text { font: 11px sans-serif; fill: #333 } .page { fill: #fff } .grid { stroke: #ddd } .title { font-weight: bold }
polyline { fill: none; stroke-width: 2 } .time { stroke: #0b62c4 } .fresh { stroke: #0b62c4; stroke-width: 1 }
.lists { stroke: #b04a00; stroke-dasharray: 6 4 } .counts { stroke: #b04a00; stroke-dasharray: 2 3 }
@media (prefers-color-scheme: dark) {
  text { fill: #ddd } .page { fill: #0d1117 } .grid { stroke: #30363d } .time, .fresh { stroke: #6cb0ff }
  .lists, .counts { stroke: #ffa657 }
}
"""
Line = tuple[str, Sequence[float]]


def short(number: float) -> str:
    """Return 3M for 3,000,000."""
    return f"{number:,.10g}".replace(",000,000", "M").replace(",000", "k")


def panel(title: str, sizes: Sequence[int], lines: Sequence[Line], decades: Sequence[int]) -> str:
    """Return one panel. decades: the powers of ten on its vertical axis, from the bottom."""
    wide, high = WIDTH - MARGIN - 14, HEIGHT - MARGIN - 10

    def x(size: float) -> str:
        return f"{MARGIN + wide * log10(size / sizes[0]) / log10(sizes[-1] / sizes[0]):.1f}"

    def y(value: float) -> str:
        power = max(decades[0], min(decades[-1], log10(value)))
        return f"{24 + high * (decades[-1] - power) / (decades[-1] - decades[0]):.1f}"

    parts = [f'<text class="title" x="{MARGIN}" y="14">{escape(title)}</text>']
    for value in (10.0**power for power in decades):
        parts.append(f'<path class="grid" d="M{MARGIN} {y(value)}h{wide}"/>')
        parts.append(f'<text text-anchor="end" x="{MARGIN - 5}" dy="4" y="{y(value)}">{short(value)}</text>')
    for size in sizes:
        parts.append(f'<path class="grid" d="M{x(size)} 24v{high}"/>')
        parts.append(f'<text text-anchor="middle" x="{x(size)}" y="{24 + high + 15}">{short(size)}</text>')
    for name, values in lines:
        points = " ".join(f"{x(size)},{y(value)}" for size, value in zip(sizes, values, strict=True))
        parts.append(f'<polyline class="{name}" points="{points}"/>')
    return "".join(parts)


def plot(sizes: Sequence[int], panels: Mapping[str, Sequence[Line]]) -> str:
    """Return a picture with a panel for each title. All panels have the axes that the first line of each needs."""
    times = [log10(value) for lines in panels.values() for value in lines[0][1]]
    decades, height = range(floor(min(times)), ceil(max(times)) + 1), -(-len(panels) // COLUMNS) * HEIGHT
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {COLUMNS * WIDTH} {height}"><style>{STYLE}</style>']
    parts.append('<rect class="page" width="100%" height="100%"/>')
    for number, (title, lines) in enumerate(panels.items()):
        place = f"{number % COLUMNS * WIDTH} {number // COLUMNS * HEIGHT}"
        parts.append(f'<g transform="translate({place})">{panel(title, sizes, lines, decades)}</g>')
    return "\n".join([*parts, "</svg>\n"])
