"""Line plots over weeks as SVG: scales, ticks and the points of lines. The template insights.html draws them."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date

WIDTH, HEIGHT = 360, 200
LEFT, RIGHT, TOP, BOTTOM = 44, 10, 10, 32
# A plot with more lines is not readable. Each has a color, a pattern of dashes and a marker of its own in console.css.
MAX_LINES = 6
MAX_DATES = 5
# With more markers, they would cover the line.
MAX_MARKERS = 30
# Shapes around a point, as the path of SVG: circle, square and triangle.
MARKERS = ("m-2.2 0a2.2 2.2 0 1 0 4.4 0a2.2 2.2 0 1 0-4.4 0z", "m-2-2h4v4h-4z", "m0-2.8l2.6 4.6h-5.2z")


@dataclass(frozen=True)
class Series:
    """A line: its name, a value for each week, None without one, and the number of its style."""

    name: str
    values: Sequence[float | None]
    style: int


@dataclass(frozen=True)
class Tick:
    """A tick of an axis: its place in the plot and its text."""

    at: float
    text: str


@dataclass(frozen=True)
class Line:
    """The shape of a line: the points of its parts between gaps, and the path of its markers."""

    name: str
    style: int
    parts: list[str]
    markers: str
    # The marker of the legend, at (15, 5).
    sample: str


class Plot:
    """A plot over weeks of the series with the first MAX_LINES styles, and the numbers of all series for the table."""

    def __init__(
        self, title: str, unit: str, days: Sequence[date], series: Sequence[Series], drawn_weeks: int | None = None
    ) -> None:
        """drawn_weeks: the number of weeks that have points, from the first one. None: all of them."""
        self.drawn_weeks = drawn_weeks
        self.title = title
        self.unit = unit
        self.days = days
        self.series = series
        self.id = title.lower().replace(" ", "-")
        self.drawn = [line for line in series if line.style < MAX_LINES]
        largest = max((value or 0 for line in self.drawn for value in line.values), default=0)
        self.step = nice_step(largest / 4)
        self.top = self.step * max(1, math.ceil(largest / self.step))
        self.lines = [self.line(line) for line in self.drawn]

    @property
    def is_empty(self) -> bool:
        """Return whether there is nothing to draw."""
        return not any(value is not None for line in self.series for value in line.values)

    @property
    def rows(self) -> list[tuple[date, list[str]]]:
        """The rows of the table, newest week first."""
        weeks = zip(self.days, *(line.values for line in self.series), strict=True)
        rows = [(day, ["–" if value is None else f"{value:,}" for value in values]) for day, *values in weeks]
        return rows[::-1]

    @property
    def y_ticks(self) -> list[Tick]:
        """The ticks of the axis of values, from 0."""
        return [
            Tick(self.y(self.step * number), number_text(self.step * number))
            for number in range(round(self.top / self.step) + 1)
        ]

    @property
    def x_ticks(self) -> list[Tick]:
        """The ticks of the axis of weeks. The last one is always the newest week."""
        every = max(1, math.ceil(len(self.days) / MAX_DATES))
        is_long = len(self.days) > 52
        return [
            Tick(self.x(place), f"{day:%b %Y}" if is_long else f"{day.day} {day:%b}")
            for place, day in enumerate(self.days)
            if (len(self.days) - 1 - place) % every == 0
        ]

    def line(self, series: Series) -> Line:
        """Return the shape of a series. A week without a value is a gap."""
        marker = MARKERS[series.style % len(MARKERS)]
        every = max(1, math.ceil(len(self.days) / MAX_MARKERS))
        parts: list[list[str]] = [[]]
        markers: list[str] = []
        for place, value in enumerate(series.values[: self.drawn_weeks]):
            if value is None:
                parts.append([])
                continue
            x, y = self.x(place), self.y(value)
            parts[-1].append(f"{x},{y}")
            if place % every == 0:
                markers.append(f"M{x} {y}{marker}")
        texts = [" ".join(part) for part in parts if part]
        return Line(series.name, series.style, texts, "".join(markers), f"M15 5{marker}")

    def x(self, place: int) -> float:
        """Return the horizontal place of a week."""
        return round(LEFT + (WIDTH - LEFT - RIGHT) * (place / max(1, len(self.days) - 1)), 1)

    def y(self, value: float) -> float:
        """Return the vertical place of a value."""
        return round(HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * value / self.top, 1)


def nice_step(rough: float) -> float:
    """Return the smallest of 1, 2, 5, 10, 20, 50, … that is at least this number."""
    if rough <= 1:
        return 1
    power = 10 ** math.floor(math.log10(rough))
    return next(power * factor for factor in (1, 2, 5, 10) if power * factor >= rough)


def number_text(number: float) -> str:
    """Return a number for an axis, such as 250, 20k or 1.5M."""
    for size, letter in ((1_000_000_000, "G"), (1_000_000, "M"), (10_000, "k")):
        if number >= size:
            divisor = 1000 if letter == "k" else size
            return f"{number / divisor:g}{letter}"
    return f"{number:g}"
