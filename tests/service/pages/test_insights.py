"""The page of insights: plots, tables, the range and the projects."""

from datetime import UTC, date, datetime, timedelta

import pytest

from blueprints.pages.plots import Plot, Series, nice_step, number_text
from tests.support.page import Page, open_page, text_of
from tests.support.world import Caller, World

WEEKS = [date(2026, 1, 4) + timedelta(weeks=number) for number in range(4)]


def legend(page: Page, plot: str) -> list[str]:
    """Return the names of the lines of a plot."""
    return page.texts(f".//section[@aria-labelledby='{plot}']/ul/li")


def test_each_array_has_a_plot_with_axes_a_legend_and_its_numbers(alice: Caller, world: World) -> None:
    world.flag("one")
    before = datetime.now(UTC)
    page = open_page(alice, "/insights")
    assert page.heading == "Insights"
    [section] = page.all(".//section[@aria-labelledby='flags']")
    plot = section.find("svg")
    assert plot is not None
    assert plot.get("role") == "img"
    texts = [text_of(text) for text in plot.iter("text")]
    assert {"0", "flags", "week until"} <= set(texts)
    assert {f"{at.day} {at:%b}" for at in (before, datetime.now(UTC))} & set(texts)
    assert legend(page, "flags") == ["All", "Active", "Old", "Stale"]
    body = alice.get("/api/admin/insights").json
    rows = [[text_of(cell) for cell in row] for row in section.iter("tr")]
    assert rows[0] == ["Week until", "All", "Active", "Old", "Stale"]
    newest = body["flagTrends"][-1]
    values = [str(newest[key]) for key in ("total", "active", "potentiallyStale", "stale")]
    assert rows[1] == [newest["date"][:10], *values]
    assert len(rows) == 1 + len(body["flagTrends"])


def test_lines_differ_by_more_than_their_color(alice: Caller) -> None:
    page = open_page(alice, "/insights")
    samples = page.all(".//section[@aria-labelledby='users']/ul/li/svg")
    assert len({sample.find("path").get("d") for sample in samples}) == len(samples) == 3  # pyright: ignore
    styles = alice.get("/static/console.css").text
    assert styles.count("stroke-dasharray") >= 5


def test_lines_that_cover_each_other_are_named(alice: Caller) -> None:
    page = open_page(alice, "/insights")
    assert "because their numbers are the same: All, Active, Old, Stale." in page.text


def test_the_form_shows_the_range_and_the_json_has_the_same(alice: Caller) -> None:
    page = open_page(alice, "/insights?from=2026-01-05&to=2026-02-01")
    assert page.fields() | {"project": ""} == {"from": "2026-01-05", "to": "2026-02-01", "project": ""}
    body = alice.get(page.links["Show the JSON"]).json
    weeks = ["2026-01-11", "2026-01-18", "2026-01-25", "2026-02-01"]
    assert [week["date"][:10] for week in body["userTrends"]] == weeks
    assert len(page.all(".//section[@aria-labelledby='users']//tbody/tr")) == 4


@pytest.mark.parametrize(
    ("query", "field", "message"),
    [
        ("from=x", "from", "This must look like 2024-05-31."),
        ("from=2020-01-01&to=2026-01-01", "from", "This must not be more than 5 years before to."),
        ("from=2026-01-02&to=2026-01-01", "to", "This must not be before the first day."),
    ],
)
def test_wrong_day_has_its_message_beside_the_field(alice: Caller, query: str, field: str, message: str) -> None:
    page = open_page(alice, f"/insights?{query}", 400)
    assert page.texts(f".//*[@id='wrong-{field}']") == [message]
    assert page.all(".//section") == []


def test_chosen_projects_are_the_only_lines(alice: Caller, world: World) -> None:
    for name in ("apples", "pears"):
        world.flag(f"in-{name}", world.project(name))
    assert legend(open_page(alice, "/insights"), "flags-by-project") == ["Apples", "Pears", "Default"]
    page = open_page(alice, "/insights?project=pears&project=apples")
    assert legend(page, "flags-by-project") == ["Apples", "Pears"]
    assert {box.get("value") for box in page.all(".//input[@checked]")} == {"apples", "pears"}


def test_more_projects_than_lines_are_only_in_the_table(alice: Caller, world: World) -> None:
    for number in range(8):
        world.project(f"project-{number}")
    page = open_page(alice, "/insights")
    assert len(legend(page, "flags-by-project")) == 6
    assert "3 more projects are only in the table." in page.text
    assert len(page.all(".//section[@aria-labelledby='flags-by-project']//thead/tr/th")) == 10


def test_hidden_projects_have_no_line(victor: Caller, max: Caller) -> None:
    assert "Apollo" in legend(open_page(max, "/insights"), "flags-by-project")
    page = open_page(victor, "/insights?project=apollo&project=default")
    assert legend(page, "flags-by-project") == ["Default"]
    assert "pollo" not in page.text


def test_ranges_without_weeks_and_plots_without_numbers_say_so(alice: Caller) -> None:
    assert "No week of this range has begun." in open_page(alice, "/insights?from=2100-01-01&to=2100-02-01").text
    days = [datetime.now(UTC).date()]
    page = open_page(alice, "/insights")
    days.append(datetime.now(UTC).date())
    assert "No numbers in this range." in page.texts(".//section[@aria-labelledby='evaluations-by-project']")[0]
    # Without a range, the page shows the last 13 weeks.
    fields = page.fields()
    assert (fields["from"], fields["to"]) in [(str(day - timedelta(weeks=13)), str(day)) for day in days]


def test_week_without_a_value_is_a_gap_and_one_that_has_not_ended_has_no_point() -> None:
    plot = Plot("A", "days", WEEKS, [Series("x", [1, None, 3, 4], 0)])
    assert [part.count(",") for part in plot.lines[0].parts] == [1, 2]
    assert [row[1] for row in plot.rows] == [["4"], ["3"], ["–"], ["1"]]
    plot = Plot("A", "x", WEEKS, [Series("x", [5, 6, 7, 0], 0)], 3)
    assert [part.count(",") for part in plot.lines[0].parts] == [3]
    assert plot.lines[0].markers.count("M") == 3
    assert plot.rows[0][1] == ["0"]


def test_counts_of_this_week_are_only_in_the_table(alice: Caller, world: World) -> None:
    world.flag("one")
    alice.post("/api/admin/projects/default/features/one/environments/production/on")
    page = open_page(alice, "/insights")
    weeks = len(alice.get("/api/admin/insights").json["flagTrends"])
    for plot, points in (("flags", weeks), ("changes-by-type-of-environment", weeks - 1)):
        paths = page.all(f".//section[@aria-labelledby='{plot}']/svg/g/path")
        [markers] = {path.get("d", "").count("M") for path in paths}
        assert (plot, markers) == (plot, points)


def test_scales_begin_at_zero_and_have_round_ticks() -> None:
    plot = Plot("A", "x", WEEKS, [Series("x", [0, 0, 0, 137], 0)])
    assert [tick.text for tick in plot.y_ticks] == ["0", "50", "100", "150"]
    assert [tick.text for tick in plot.x_ticks] == ["4 Jan", "11 Jan", "18 Jan", "25 Jan"]
    assert [tick.text for tick in Plot("A", "x", WEEKS, [Series("x", [0, 0, 0, 0], 0)]).y_ticks] == ["0", "1"]
    assert [nice_step(number) for number in (0, 1, 1.5, 3, 6, 34, 51)] == [1, 1, 2, 5, 10, 50, 100]
    assert [number_text(number) for number in (0, 999, 20_000, 1_500_000, 2e9)] == ["0", "999", "20k", "1.5M", "2G"]


def test_long_range_has_few_dates() -> None:
    days = [date(2022, 1, 2) + timedelta(weeks=number) for number in range(261)]
    plot = Plot("A", "x", days, [Series("x", list(range(261)), 0)])
    assert plot.x_ticks[-1].text == "Dec 2026"
    assert len(plot.x_ticks) == 5
    assert plot.lines[0].markers.count("M") <= 30
