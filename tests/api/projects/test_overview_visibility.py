"""Project overview: who may see which project, and what is refused."""

import pytest

from sql.people import groups, roles
from tests.support import fixtures
from tests.support.world import World, refused

APOLLO = "/api/admin/projects/apollo/overview"
UNKNOWN = "/api/admin/projects/unknown/overview"


def refused_quietly(world, caller, path, status, name):
    """The message of a refusal of which the log says nothing."""
    before = world.last_event_id()
    message = refused(caller.get(path), status, name)
    assert world.events(before) == []
    return message


@pytest.fixture
def group(world: World, victor):
    """group(root_role=None): the id of a new group in which Victor is."""

    def make(root_role=None):
        group_id = groups.insert(world.conn, "group", root_role=root_role)
        fixtures.add_group_user(world.conn, group_id, victor.id)
        return group_id

    return make


@pytest.fixture
def crews(world: World, apollo):
    """Nina's groups, one with a role in apollo and one that administers; Victor is in neither."""
    nina = world.user("Nina")
    crew = groups.insert(world.conn, "crew")
    for group_id in (crew, groups.insert(world.conn, "administrators", root_role=1)):
        fixtures.add_group_user(world.conn, group_id, nina.id)
    fixtures.add_project_group(world.conn, apollo, crew, 4)


@pytest.mark.parametrize("mode", ["open", "protected"])
def test_everyone_sees_an_open_and_a_protected_project(world, alice, eve, victor, mode):
    world.project("gemini", mode=mode)
    for caller in (alice, eve, victor, world.api_key()):
        response = caller.get("/api/admin/projects/gemini/overview")
        assert response.status_code == 200
        assert response.json["mode"] == mode


def test_members_administrators_and_root_roles_see_a_private_project(world, alice, eve, olga, max):
    auditor = world.user("Rita", root_role=roles.insert(world.conn, "Auditor", type="root-custom"))
    for caller in (alice, eve, olga, max, auditor, world.api_key()):
        response = caller.get(APOLLO)
        assert response.status_code == 200
        assert (response.json["name"], response.json["mode"]) == ("Apollo", "private")


@pytest.mark.usefixtures("olga", "max", "crews")
def test_a_private_project_does_not_exist_for_a_viewer(world, victor):
    hidden = refused_quietly(world, victor, APOLLO, 404, "NotFoundError")
    unknown = refused_quietly(world, victor, UNKNOWN, 404, "NotFoundError")
    assert hidden == unknown
    assert "apollo" not in hidden


@pytest.mark.usefixtures("olga", "max", "crews")
def test_a_member_of_another_private_project_does_not_see_this_one(world, victor, apollo, group):
    world.project("vostok", mode="private")
    world.member("vostok", victor)
    fixtures.add_project_group(world.conn, "vostok", group(), 4)
    assert victor.get("/api/admin/projects/vostok/overview").status_code == 200
    refused_quietly(world, victor, f"/api/admin/projects/{apollo}/overview", 404, "NotFoundError")


def test_users_of_a_group_with_a_role_see_the_project(world, victor, apollo, group):
    group_id = group()
    refused_quietly(world, victor, APOLLO, 404, "NotFoundError")
    fixtures.add_project_group(world.conn, apollo, group_id, 5)
    assert victor.get(APOLLO).status_code == 200
    fixtures.remove_group_user(world.conn, group_id, victor.id)
    refused_quietly(world, victor, APOLLO, 404, "NotFoundError")


@pytest.mark.usefixtures("apollo")
@pytest.mark.parametrize(("root_role", "status"), [(1, 200), (2, 200), (3, 404), (None, 404)])
def test_a_groups_root_role_counts_as_ones_own(victor, group, root_role, status):
    group(root_role)
    assert victor.get(APOLLO).status_code == status


@pytest.mark.usefixtures("apollo")
def test_a_groups_custom_root_role_shows_a_private_project(world, victor, group):
    group(roles.insert(world.conn, "Auditor", type="root-custom"))
    assert victor.get(APOLLO).status_code == 200


@pytest.mark.usefixtures("apollo")
def test_a_custom_project_role_in_another_project_shows_nothing(world, victor):
    world.member("default", victor, role=roles.insert(world.conn, "Reviewer", type="custom"))
    refused_quietly(world, victor, APOLLO, 404, "NotFoundError")


def test_an_unknown_project_is_not_found(world, alice):
    refused_quietly(world, alice, UNKNOWN, 404, "NotFoundError")
    refused_quietly(world, world.api_key(), UNKNOWN, 404, "NotFoundError")


@pytest.mark.parametrize(
    "project", ["Default", "DEFAULT", "default%20", "%20default", "default%00", "defaul", "%25", "d%65fault%2F", "*"]
)
def test_a_project_is_found_by_its_exact_id_only(world, alice, project):
    refused_quietly(world, alice, f"/api/admin/projects/{project}/overview", 404, "NotFoundError")


@pytest.mark.parametrize(
    "path",
    [
        "/api/admin/projects/default/overview/",
        "/api/admin/projects//default/overview",
        "/api/admin/projects/default//overview",
        "/api//admin/projects/default/overview",
        "/api/admin/projects/default/overview//",
        "/api/admin/projects//overview",
        "/api/admin/projects/default/Overview",
        "/API/admin/projects/default/overview",
    ],
)
def test_other_spellings_of_the_path_are_not_found(world, alice, stranger, path):
    refused_quietly(world, alice, path, 404, "NotFoundError")
    assert stranger.get(path).status_code in (401, 404)


@pytest.mark.usefixtures("apollo")
def test_a_stranger_learns_nothing_about_what_exists(world, stranger):
    paths = ("/api/admin/projects/default/overview", APOLLO, UNKNOWN)
    messages = {refused_quietly(world, stranger, path, 401, "AuthenticationRequired") for path in paths}
    assert len(messages) == 1


@pytest.mark.parametrize("kind", ["client", "frontend"])
def test_a_client_side_key_is_refused_before_the_project_is_looked_for(world, kind):
    caller = world.api_key(kind)
    for path in ("/api/admin/projects/default/overview", UNKNOWN):
        refused_quietly(world, caller, path, 403, "NoAccessError")


def test_reading_is_not_an_event(world, victor):
    before = world.last_event_id()
    assert victor.get("/api/admin/projects/default/overview").status_code == 200
    assert world.events(before) == []
