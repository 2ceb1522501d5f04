"""Instance insights: which callers may read them, and which private projects they contain."""

import pytest

from sql.people import groups, roles
from tests.support import fixtures
from tests.support.world import Caller, World, refused

MARCH = "/api/admin/insights?from=2024-02-26&to=2024-03-03"


@pytest.fixture
def apollo(world: World) -> str:
    """Nina's private project apollo, used in the week 2024-09, beside an open and a protected one."""
    for project, mode in (("apollo", "private"), ("gemini", "open"), ("mercury", "protected")):
        world.project(project, mode=mode, created_at="2024-01-01T00:00:00Z")
        world.flag(f"{project}-flag", project, type="kill-switch", created_at="2024-02-01T00:00:00Z")
        report = dict(
            project=project,
            flag=f"{project}-flag",
            environment="production",
            app="web",
            at="2024-03-01T10:00:00Z",
            yes=1,
            no=2,
        )
        fixtures.report_usage(world.conn, [report])
    nina = world.user("Nina")
    world.member("apollo", nina)
    crew = groups.insert(world.conn, "crew")
    for group_id in (crew, groups.insert(world.conn, "administrators", root_role=1)):
        fixtures.add_group_user(world.conn, group_id, nina.id)
    fixtures.add_project_group(world.conn, "apollo", crew, 4)
    return "apollo"


@pytest.fixture
def sees(apollo):
    """sees(caller): whether the caller sees apollo, the same in both arrays. Every caller sees the other two."""

    def ask(caller: Caller) -> bool:
        response = caller.get(MARCH)
        assert response.status_code == 200
        flags = {entry["project"] for entry in response.json["projectFlagTrends"]}
        metrics = {entry["project"] for entry in response.json["metricsSummaryTrends"]}
        assert {"gemini", "mercury"} <= flags
        assert {"gemini", "mercury"} <= metrics
        assert (apollo in flags) == (apollo in metrics)
        return apollo in flags

    return ask


@pytest.fixture
def group(world: World, victor):
    """group(root_role=None): the id of a new group in which Victor is."""

    def make(root_role=None):
        group_id = groups.insert(world.conn, "group", root_role=root_role)
        fixtures.add_group_user(world.conn, group_id, victor.id)
        return group_id

    return make


def test_administrators_and_editors_see_a_private_project(sees, alice, eve):
    assert sees(alice)
    assert sees(eve)


def test_the_owner_and_the_member_see_a_private_project(sees, olga, max):
    assert sees(olga)
    assert sees(max)


def test_a_viewer_does_not_see_a_private_project(sees, victor):
    assert not sees(victor)


def test_an_admin_key_sees_a_private_project(sees, world):
    assert sees(world.api_key())


def test_the_holder_of_a_custom_root_role_sees_a_private_project(sees, world):
    role = roles.insert(world.conn, "Auditor", type="root-custom")
    assert sees(world.user("Rita", root_role=role))


def test_a_groups_custom_root_role_shows_a_private_project(sees, world, victor, group):
    group(roles.insert(world.conn, "Auditor", type="root-custom"))
    assert sees(victor)


@pytest.mark.parametrize(("root_role", "expected"), [(1, True), (2, True), (3, False), (None, False)])
def test_a_groups_root_role_counts_as_ones_own(sees, victor, group, root_role, expected):
    group(root_role)
    assert sees(victor) == expected


def test_users_of_a_group_with_a_role_see_the_project(sees, world, apollo, victor, group):
    group_id = group()
    assert not sees(victor)
    fixtures.add_project_group(world.conn, apollo, group_id, 5)
    assert sees(victor)


def test_former_members_do_not_see_the_project(sees, world, apollo, max):
    assert sees(max)
    world.conn.execute("DELETE FROM project_user_roles WHERE project_id = %s AND user_id = %s", [apollo, max.id])
    assert not sees(max)


def test_membership_in_another_private_project_does_not_help(sees, world, victor, group):
    world.project("vostok", mode="private")
    world.member("vostok", victor)
    fixtures.add_project_group(world.conn, "vostok", group(), 4)
    assert not sees(victor)


def test_the_other_arrays_count_the_whole_instance_for_everyone(sees, world, alice, victor):
    assert sees(alice)
    assert not sees(victor)
    world.conn.execute(
        "INSERT INTO events (created_at, type, created_by, environment, project)"
        " VALUES ('2024-03-01T10:00:00Z', 'feature-environment-enabled', 'system', 'production', 'apollo')"
    )
    for caller in (alice, victor):
        body = caller.get(MARCH).json
        # One flag each in apollo, gemini and mercury.
        assert [entry["total"] for entry in body["flagTrends"]] == [3]
        assert [entry["totalUpdates"] for entry in body["environmentTypeTrends"]] == [1]


def test_a_stranger_is_refused_before_parameters_are_read(world, stranger):
    before = world.last_event_id()
    for path in ("/api/admin/insights", "/api/admin/insights?from=nonsense"):
        refused(stranger.get(path), 401, "AuthenticationRequired")
    assert world.events(before) == []
    assert world.conn.execute("SELECT count(*) AS n FROM user_seen_days").fetchone()["n"] == 0


@pytest.mark.parametrize("kind", ["client", "frontend"])
def test_a_client_side_key_is_refused_before_its_parameters_are_read(world, kind):
    caller, before = world.api_key(kind), world.last_event_id()
    for path in ("/api/admin/insights", "/api/admin/insights?from=nonsense"):
        refused(caller.get(path), 403, "NoAccessError")
    assert world.events(before) == []


def test_asking_is_not_an_event(world, victor):
    before = world.last_event_id()
    assert victor.get("/api/admin/insights").status_code == 200
    assert world.events(before) == []
