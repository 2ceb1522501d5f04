"""Which callers may give and remove which roles in a project."""

import pytest

from sql.database import Connection
from sql.people import groups, roles
from tests.support import fixtures
from tests.support.project_access import held, put, roles_url, url
from tests.support.world import Caller, World, refused

WRITE = "PROJECT_USER_ACCESS_WRITE"


def role_of(conn: Connection, name: str, *permissions: str | tuple[str, str]) -> int:
    """A custom role for projects that holds permissions, each everywhere or in one environment."""
    role = roles.insert(conn, name)
    for permission in permissions:
        name, environment = (permission, None) if isinstance(permission, str) else permission
        fixtures.allow(conn, role, name, environment=environment)
    return role


@pytest.fixture
def ada(world: World) -> int:
    """The id of a user without a role in project gemini."""
    world.project("gemini")
    return world.user("Ada").id or 0


@pytest.fixture
def keeper(world: World, conn: Connection, ada: int) -> Caller:  # noqa: ARG001
    """Somebody who may work with strategies in development, and change who has access to project gemini."""
    keeper = world.user("Keeper")
    may = (
        WRITE,
        "CREATE_FEATURE",
        ("CREATE_FEATURE_STRATEGY", "development"),
        ("UPDATE_FEATURE_STRATEGY", "development"),
    )
    fixtures.add_project_user(conn, "gemini", keeper.id or 0, role_of(conn, "Keeper", *may))
    return keeper


def ways(conn: Connection, caller: Caller, role: int, user: int, group: int) -> list[int]:
    """The statuses that the caller gets when giving a role, in each of the ways to do it, to a user without roles."""
    current = entries(conn)
    asked = {"roles": [role], "users": [user], "groups": []}
    return [
        caller.post(url(), json=asked).status_code,
        caller.post(url(), json=asked | {"users": [], "groups": [group]}).status_code,
        put(caller, *current, (role, [user], [])).status_code,
        put(caller, *current, (role, [], [group])).status_code,
        caller.put(roles_url("user", user), json={"roles": [role]}).status_code,
        caller.put(roles_url("group", group), json={"roles": [role]}).status_code,
    ]


def entries(conn: Connection) -> list[tuple[int, list[int], list[int]]]:
    """The access to project gemini as put() takes it."""
    return [
        (role, [who] if kind == "user" else [], [who] if kind == "group" else [])
        for kind, who, role in sorted(held(conn))
    ]


def test_roles_within_own_permissions_can_be_given(conn, keeper, ada):
    less = role_of(conn, "Less", "CREATE_FEATURE", ("CREATE_FEATURE_STRATEGY", "development"))
    nothing = role_of(conn, "Nothing")
    crew = groups.insert(conn, "crew")
    for role in (less, nothing):
        assert ways(conn, keeper, role, ada, crew) == [200] * 6


@pytest.mark.parametrize(
    "more",
    [
        "DELETE_FEATURE",
        ("CREATE_FEATURE_STRATEGY", "production"),
        "CREATE_FEATURE_STRATEGY",
        ("DELETE_FEATURE_STRATEGY", "development"),
    ],
)
def test_roles_beyond_own_permissions_cannot_be_given(world, conn, keeper, ada, more):
    role, crew = role_of(conn, "More", "CREATE_FEATURE", more), groups.insert(conn, "crew")
    since, before = world.last_event_id(), held(conn)
    for given in (role, 4, 5):
        assert ways(conn, keeper, given, ada, crew) == [403] * 6
    message = refused(keeper.post(url(), json={"roles": [given], "users": [ada], "groups": []}), 403, "NoAccessError")
    assert "permissions" in message
    # Nor to the caller.
    refused(keeper.put(roles_url("user", keeper.id or 0), json={"roles": [4]}), 403, "NoAccessError")
    assert (held(conn), world.events(since)) == (before, [])


def test_one_forbidden_role_refuses_the_whole_change(world, conn, keeper, ada):
    nothing = role_of(conn, "Nothing")
    since, before = world.last_event_id(), held(conn)
    refused(keeper.post(url(), json={"roles": [nothing, 5], "users": [ada], "groups": []}), 403, "NoAccessError")
    assert (held(conn), world.events(since)) == (before, [])


def test_unchanged_roles_need_no_permission(conn, world, keeper, ada):
    world.member("gemini", world.user("Olaf"), 4)
    nothing = role_of(conn, "Nothing")
    assert put(keeper, *entries(conn), (nothing, [ada], [])).status_code == 200
    assert ("user", ada, nothing) in held(conn)


def test_roles_that_cannot_be_given_can_be_removed(world, conn, keeper, ada):
    crew = groups.insert(conn, "crew")
    for role in (4, role_of(conn, "Nothing")):
        fixtures.add_project_user(conn, "gemini", ada, role)
        fixtures.add_project_group(conn, "gemini", crew, role)
    fixtures.add_project_user(conn, "gemini", world.user("Olaf").id or 0, 4)
    for place in (roles_url("user", ada), roles_url("group", crew), roles_url("user", keeper.id or 0)):
        assert keeper.delete(place).status_code == 200
    assert {role for _, _, role in held(conn)} == {4}
    refused(keeper.post(url(), json={"roles": [4], "users": [ada], "groups": []}), 403, "NoAccessError")


def test_an_owner_gives_every_role_directly_or_by_a_group(world, conn, ada):
    role, crew = role_of(conn, "More", "PROJECT_SETTINGS_WRITE", WRITE), groups.insert(conn, "crew")
    directly, by_group = world.user("Olaf"), world.user("Zoe")
    world.member("gemini", directly, 4)
    owners = groups.insert(conn, "owners")
    fixtures.add_group_user(conn, owners, by_group.id or 0)
    fixtures.add_project_group(conn, "gemini", owners, 4)
    for owner in (directly, by_group):
        assert ways(conn, owner, role, ada, crew) == [200] * 6
        for given in (4, 5):
            assert ways(conn, owner, given, ada, crew) == [200] * 6


def test_an_owner_of_another_project_is_none_here(world, conn, keeper, ada):
    world.project("hermes")
    world.member("hermes", keeper, 4)
    assert ways(conn, keeper, 5, ada, groups.insert(conn, "crew")) == [403] * 6


def test_rights_of_root_roles_and_of_groups_are_held_too(world, conn, ada):
    root, crew = roles.insert(conn, "Boss", type="root-custom"), groups.insert(conn, "crew")
    for permission in ("UPDATE_PROJECT", "CREATE_FEATURE"):
        fixtures.allow(conn, root, permission)
    of_group = groups.insert(conn, "bosses", root_role=root)
    by_group = world.user("Zoe")
    fixtures.add_group_user(conn, of_group, by_group.id or 0)
    role, here = role_of(conn, "Mover", "CREATE_FEATURE", "MOVE_FEATURE_TOGGLE"), groups.insert(conn, "movers")
    the_rest = role_of(conn, "The rest", "MOVE_FEATURE_TOGGLE")
    # A group that holds the rest in another project is none that holds it here.
    fixtures.add_project_group(conn, "default", here, the_rest)
    for boss in (world.user("Olaf", root_role=root), by_group):
        fixtures.add_group_user(conn, here, boss.id or 0)
        assert ways(conn, boss, role, ada, crew) == [403] * 6
    fixtures.add_project_group(conn, "gemini", here, the_rest)
    assert ways(conn, by_group, role, ada, crew) == [200] * 6


def test_permissions_of_a_root_role_in_another_project_do_not_count(world, conn, ada):
    eve = world.user("Eve", root_role=2)
    world.member("gemini", eve, role_of(conn, "Keeper", WRITE))
    assert ways(conn, eve, 5, ada, groups.insert(conn, "crew")) == [403] * 6


def test_an_editor_gives_roles_in_project_default_alone(world, eve, conn):
    ada = world.user("Ada").id
    world.project("gemini")
    for role in (4, 5):
        answer = eve.post(url("default"), json={"roles": [role], "users": [ada], "groups": []})
        assert answer.status_code == 200
    more = role_of(conn, "More", "PROJECT_SETTINGS_WRITE")
    refused(put(world.api_key("client"), project="default"), 403, "NoAccessError")
    assert eve.post(url("default"), json={"roles": [more], "users": [ada], "groups": []}).status_code == 403
    assert eve.post(url(), json={"roles": [5], "users": [ada], "groups": []}).status_code == 403


def test_administrators_give_every_role(world, alice, conn, ada):
    role, crew = role_of(conn, "More", "PROJECT_SETTINGS_WRITE"), groups.insert(conn, "crew")
    for admin in (alice, world.api_key()):
        for given in (role, 4, 5):
            assert ways(conn, admin, given, ada, crew) == [200] * 6
            assert admin.put(url(), json={"roles": []}).status_code == 200


def test_a_member_gives_no_role(conn, max, ada, apollo):
    nothing = role_of(conn, "Nothing")
    refused(max.post(url(apollo), json={"roles": [nothing], "users": [ada], "groups": []}), 403, "NoAccessError")
