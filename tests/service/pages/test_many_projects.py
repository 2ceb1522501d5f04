"""Pages draw and list at most a hundred projects, say so, and offer the rest by choice."""

import re

import pytest

from sql.database import Connection
from tests.support import fixtures
from tests.support.page import open_page
from tests.support.world import Caller, World

# The last project has the most flags, and the first project by name is the project default.
MANY = """
    INSERT INTO projects (id, name) SELECT 'many' || n, 'Many ' || n FROM generate_series(1001, 1120) AS n;
    INSERT INTO flags (name, project_id) SELECT 'flag' || n, 'many1120' FROM generate_series(1, 3) AS n
"""


@pytest.fixture
def many(conn: Connection, world: World, alice: Caller) -> dict[str, int]:
    """120 projects, and a flag, a group and a token that could name all of them."""
    conn.execute(MANY, prepare=False)
    world.flag("one")
    group = fixtures.insert(conn, "groups", name="team")["id"]
    world.api_key("client", projects=[f"many{number}" for number in range(1001, 1121)])
    for holder, number in (("user", alice.id), ("group", group)):
        conn.execute(
            f"INSERT INTO project_{holder}_roles (project_id, {holder}_id, role_id) SELECT id, %s, 5 FROM projects"
            " WHERE left(id, 4) = 'many'",
            [number],
        )
    return {"group": group}


@pytest.mark.parametrize(
    ("path", "sentence"),
    [
        ("/", "1 to 50 of 121"),
        ("/insights", "Only the 50 projects with the most flags are shown, of 121."),
        ("/insights", "100 of 121 projects are listed."),
        ("/insights?" + "&".join(f"project=many{number}" for number in range(1001, 1121)), "are shown, of 120."),
        ("/events", "100 of 121 projects are offered. Type the id of another one, or nothing for “All projects”."),
        ("/admin/segments/new", "100 of 121 projects are offered."),
        ("/projects/default/flags/one", "100 of 120 projects are offered. Type the id of another one."),
        ("/admin/api-tokens", "One id on each line. * means all 121 projects."),
        ("/admin/api-tokens", "and 110 more"),
        ("/admin/groups", "and 110 more"),
        ("/admin/groups/{group}", "and 20 more"),
        ("/profile", "and 21 more"),
    ],
)
def test_a_page_lists_at_most_a_hundred_projects(alice: Caller, many: dict[str, int], path: str, sentence: str) -> None:
    page = open_page(alice, path.format(**many))
    assert sentence in page.text
    assert len(set(re.findall(r"many1\d\d\d", page.text))) <= 100
    places = [box.get("value") for box in page.all(".//input[@type='checkbox']") + page.all(".//option")]
    assert len([value for value in places if value and value.startswith("many")]) <= 100
    columns = page.texts(".//section[@aria-labelledby='flags-by-project']//thead//th")
    assert len(columns) == (51 if path.startswith("/insights") else 0)
    # The project with the most flags is drawn.
    assert "Many 1120" in [*columns, "Many 1120"][:2]


@pytest.mark.usefixtures("many")
def test_the_rest_is_there_by_choice(alice: Caller) -> None:
    page = open_page(alice, "/insights?find=y%201119")
    assert page.texts(".//fieldset//label") == ["Many 1119"]
    page = open_page(alice, "/insights?find=MANY111&project=many1119&project=default")
    assert page.texts(".//section[@aria-labelledby='flags-by-project']//thead//th")[1:] == ["Default", "Many 1119"]
    assert page.texts(".//fieldset//label") == ["Default", *(f"Many 111{number}" for number in range(10))]
    assert len(page.all(".//input[@checked]")) == 2
    chosen = open_page(alice, "/events?project=many1119")
    [field] = chosen.all(".//input[@name='project']")
    assert field.get("value") == "many1119"
    assert open_page(alice, "/events").all(".//input[@id='project']")
    # The API is complete.
    body = alice.get("/api/admin/insights").json
    assert len({entry["project"] for entry in body["projectFlagTrends"]}) == 121
