"""Instance insights: which private projects they contain for a caller."""

import pytest

from rules.access import SYSTEM
from sql.people import groups, roles
from tests.support import fixtures
from tests.support.world import Caller, World, refused

MARCH = "/api/admin/insights?from=2024-02-26&to=2024-03-03"
FRIDAY = "2024-03-01T10:00:00Z"


@pytest.fixture
def apollo(world: World) -> str:
    """Nina's private project apollo, used in the week 2024-09, beside an open and a protected one."""
    for project, mode in (("apollo", "private"), ("gemini", "open"), ("mercury", "protected")):
        world.project(project, mode=mode, created_at="2024-01-01T00:00:00Z")
        world.flag(f"{project}-flag", project, type="kill-switch", created_at="2024-02-01T00:00:00Z")
        usage = {"project": project, "flag": f"{project}-flag", "environment": "production", "app": "web"}
        fixtures.report_usage(world.conn, [usage | {"at": FRIDAY, "yes": 1, "no": 2}])
    nina = world.user("Nina")
    world.member("apollo", nina)
    crew = groups.insert(world.conn, "crew")
    for group_id in (crew, groups.insert(world.conn, "administrators", root_role=1)):
        fixtures.add_group_user(world.conn, group_id, nina.id or 0)
    fixtures.add_project_group(world.conn, "apollo", crew, 4)
    return "apollo"


@pytest.fixture
def sees(apollo):
    """sees(caller): whether the caller sees apollo, the same in both arrays. Every caller sees the other two."""

    def ask(caller: Caller) -> bool:
        body = caller.get(MARCH).json
        flags, metrics = (
            {entry["project"] for entry in body[name]} for name in ("projectFlagTrends", "metricsSummaryTrends")
        )
        assert {"gemini", "mercury"} <= flags & metrics
        assert (apollo in flags) == (apollo in metrics)
        return apollo in flags

    return ask


def grouped(world: World, user: Caller, root_role: int | None = None) -> int:
    """The id of a new group in which the user is."""
    group_id = groups.insert(world.conn, "group", root_role=root_role)
    fixtures.add_group_user(world.conn, group_id, user.id or 0)
    return group_id


def test_editors_members_and_tokens_see_a_private_project(sees, world, alice, eve, olga, max, victor):
    rita = world.user("Rita", root_role=roles.insert(world.conn, "Auditor", type="root-custom"))
    callers = [alice, eve, olga, max, rita, world.api_key()]
    assert [sees(caller) for caller in (*callers, victor)] == [True] * len(callers) + [False]


@pytest.mark.parametrize(("root_role", "expected"), [(1, True), (2, True), ("custom", True), (3, False), (None, False)])
def test_a_root_role_of_a_group_counts_as_ones_own(sees, world, victor, root_role, expected):
    custom = roles.insert(world.conn, "Auditor", type="root-custom")
    grouped(world, victor, custom if root_role == "custom" else root_role)
    assert sees(victor) == expected


def test_members_see_the_project_as_long_as_they_are_members(sees, world, apollo, victor, max):
    group_id = grouped(world, victor)
    # A membership in another private project does not help.
    world.member(world.project("vostok", mode="private"), victor)
    fixtures.add_project_group(world.conn, "vostok", group_id, 4)
    assert not sees(victor)
    fixtures.add_project_group(world.conn, apollo, group_id, 5)
    assert sees(victor)
    world.conn.execute("DELETE FROM project_user_roles WHERE project_id = %s AND user_id = %s", [apollo, max.id])
    assert not sees(max)


def test_the_other_arrays_count_the_whole_instance_for_every_caller(sees, world, alice, victor):
    fixtures.record(
        world.conn, "feature-created", SYSTEM, environment="production", project="apollo", created_at=FRIDAY
    )
    before = world.last_event_id()
    for caller in (alice, victor):
        assert sees(caller) == (caller is alice)
        body = caller.get(MARCH).json
        # One flag each in apollo, gemini and mercury.
        assert [entry["total"] for entry in body["flagTrends"]] == [3]
        assert [entry["totalUpdates"] for entry in body["environmentTypeTrends"]] == [1]
    assert world.events(before) == []


def test_a_refused_caller_is_not_seen_and_parameters_are_read_later(world, stranger):
    for path in ("/api/admin/insights", "/api/admin/insights?from=nonsense"):
        refused(stranger.get(path), 401, "AuthenticationRequired")
        refused(world.api_key("client").get(path), 403, "NoAccessError")
    assert world.conn.execute("SELECT count(*) AS n FROM user_seen_days").fetchone()["n"] == 0
