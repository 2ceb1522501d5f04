"""Roles in a project: listed, added, replaced, and set for one user or group."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from time import process_time
from typing import Any

import pytest

from sql.database import Connection, value
from sql.people import groups, roles
from tests.support import fixtures
from tests.support.project_access import DAY, held, logged, past, put, roles_url, url
from tests.support.world import Caller, World, refused

LONG_AGO = datetime(2024, 2, 29, 12, 34, 56, 789000, tzinfo=UTC)
WRITE = "PROJECT_USER_ACCESS_WRITE"

pytestmark = pytest.mark.usefixtures("gemini")


@pytest.fixture
def gemini(world: World) -> None:
    """An open project without roles."""
    world.project("gemini")


@pytest.fixture
def people(world: World) -> list[int]:
    """The ids of three users, in order."""
    return [world.user(name).id or 0 for name in ("Ada", "Bob", "Cid")]


@pytest.fixture
def crew(conn: Connection) -> int:
    """The id of a group."""
    return groups.insert(conn, "crew")


@pytest.fixture
def auditor(conn: Connection) -> int:
    """A custom role for projects, without permissions."""
    return roles.insert(conn, "Auditor", description="Looks on")


def day(number: int) -> datetime:
    """An instant so many days after another."""
    return LONG_AGO + timedelta(days=number)


# --- The list ---------------------------------------------------------------------------------------------------------


def test_users_are_listed_by_date_with_all_roles(world, alice, conn, auditor):
    third, first, second = world.user("Ada"), world.user("Bob"), world.user("Cid", email=None)
    gone, elsewhere = world.user("Gone"), world.user("Else")
    grants = ((third, 5, 3), (third, auditor, 4), (third, 4, 5), (first, 5, 1), (first, 4, 9), (second, 4, 2))
    for user, role, number in (*grants, (gone, 5, 0)):
        world.member("gemini", user, role, created_at=day(number))
    world.member("default", elsewhere)
    fixtures.update(conn, "users", gone.id or 0, deleted_at="now")
    fixtures.update(conn, "users", second.id or 0, image_url="https://example.org/cid.png")
    fixtures.update(conn, "users", first.id or 0, name=None)
    common = {"isAPI": False, "imageUrl": None}
    assert alice.get(url()).json["users"] == [
        common
        | {"email": "bob@example.org", "id": first.id, "addedAt": "2024-03-01T12:34:56.789Z"}
        | {"roleId": 5, "roles": [4, 5]},
        common
        | {"name": "Cid", "email": None, "id": second.id, "imageUrl": "https://example.org/cid.png"}
        | {"addedAt": "2024-03-02T12:34:56.789Z", "roleId": 4, "roles": [4]},
        common
        | {"name": "Ada", "email": "ada@example.org", "id": third.id}
        | {"addedAt": "2024-03-03T12:34:56.789Z", "roleId": 5, "roles": [4, 5, auditor]},
    ]
    assert [user["id"] for user in alice.get(url("default")).json["users"]] == [elsewhere.id]


def test_groups_are_listed_by_date_with_all_roles_and_members(world, alice, conn, crew, auditor):
    details = {"description": "Who flies", "root_role": 2, "mappings_sso": ["sso-b", "sso-a"], "created_by": "alice"}
    full = groups.insert(conn, "full", **details)
    fixtures.update(conn, "groups", full, created_at=day(0))
    for number, role in enumerate((auditor, 4, 5), start=2):
        fixtures.add_project_group(conn, "gemini", full, role, day(number))
    fixtures.add_project_group(conn, "gemini", crew, 5, day(1))
    fixtures.add_project_group(conn, "default", groups.insert(conn, "elsewhere"), 5)
    second, first, gone, left = (world.user(name).id or 0 for name in ("Ada", "Bob", "Gone", "Left"))
    fixtures.add_group_user(conn, full, second, created_by="bob", created_at=day(5))
    fixtures.add_group_user(conn, full, first, created_at=day(4))
    for user in (gone, left):
        fixtures.add_group_user(conn, full, user)
    fixtures.update(conn, "users", gone, deleted_at="now")
    fixtures.remove_group_user(conn, full, left)
    found = alice.get(url()).json
    bare, entry = found["groups"]
    unset = dict.fromkeys(("description", "rootRole", "createdBy", "scimId"))
    assert bare == bare | unset | {"id": crew, "mappingsSSO": [], "users": []}
    members = entry.pop("users")
    assert entry == {
        "name": "full",
        "id": full,
        "addedAt": "2024-03-02T12:34:56.789Z",
        "roleId": auditor,
        "roles": [4, 5, auditor],
        "description": "Who flies",
        "mappingsSSO": ["sso-b", "sso-a"],
        "rootRole": 2,
        "createdBy": "alice",
        "createdAt": "2024-02-29T12:34:56.789Z",
        "scimId": None,
    }
    assert [(member["user"]["id"], member["joinedAt"], member["createdBy"]) for member in members] == [
        (first, "2024-03-04T12:34:56.789Z", None),
        (second, "2024-03-05T12:34:56.789Z", "bob"),
    ]
    assert members[1]["user"] == {
        "id": second,
        "isAPI": False,
        "name": "Ada",
        "username": "ada",
        "email": "ada@example.org",
        "rootRole": 3,
        "accountType": "User",
        "loginAttempts": 0,
        "emailSent": False,
        "seenAt": None,
        "createdAt": value(conn, "SELECT iso(now())"),
        "scimId": None,
    }
    assert found["users"] == []


def test_roles_that_can_be_given_in_a_project_are_listed(alice, conn, auditor):
    roles.insert(conn, "Root auditor", type="root-custom")
    found = alice.get(url()).json["roles"]
    assert [(role["id"], role["type"], role["name"]) for role in found[:2]] == [
        (4, "project", "Owner"),
        (5, "project", "Member"),
    ]
    listed = {"id": auditor, "type": "custom", "name": "Auditor", "description": "Looks on", "project": None}
    assert found[2:] == [listed]


# --- Adding -----------------------------------------------------------------------------------------------------------


def test_every_user_and_group_gets_every_role(world, alice, conn, people, crew, auditor):
    ada, bob, _ = people
    since = world.last_event_id()
    asked = {"roles": [auditor, 4, 4], "users": [bob, ada, bob], "groups": [crew]}
    answer = alice.post(url(), json=asked)
    assert (answer.status_code, answer.text) == (200, "")
    holders = (("user", ada), ("user", bob), ("group", crew))
    assert held(conn) == {(*holder, role) for holder in holders for role in (4, auditor)}
    data = {"roles": [{"roleId": role, "userIds": [ada, bob], "groupIds": [crew]} for role in (4, auditor)]}
    assert logged(world, since, alice) == [("project-access-added", data, None)]
    assert held(conn, "default") == set()
    since = world.last_event_id()
    nothing = ({"roles": [], "users": people, "groups": []}, {"roles": [4], "users": [], "groups": []})
    for repeat in (asked, *nothing):
        assert alice.post(url(), json=repeat).status_code == 200
    assert (len(held(conn)), world.events(since)) == (6, [])


def test_only_new_roles_are_recorded_and_old_ones_keep_their_date(world, alice, conn, people):
    ada, bob, _ = people
    fixtures.add_project_user(conn, "gemini", ada, 4, DAY.format(1))
    fixtures.add_project_user(conn, "gemini", bob, 5, DAY.format(2))
    since = world.last_event_id()
    assert alice.post(url(), json={"roles": [4, 5], "users": [ada, bob], "groups": []}).status_code == 200
    assert held(conn) == {("user", user, role) for user in (ada, bob) for role in (4, 5)}
    data = {"roles": [{"roleId": 4, "userIds": [bob], "groupIds": []}, {"roleId": 5, "userIds": [ada], "groupIds": []}]}
    assert logged(world, since, alice) == [("project-access-added", data, None)]
    found = {user["id"]: user["addedAt"] for user in alice.get(url()).json["users"]}
    assert (found[ada], past(conn)) == ("2026-01-01T00:00:00.000Z", [])


@pytest.mark.timing
def test_ten_thousand_repeated_ids_are_one(alice, conn, people):
    began = process_time()
    asked = {"roles": [5] * 10_000, "users": people[:1] * 10_000, "groups": []}
    assert alice.post(url(), json=asked).status_code == 200
    assert process_time() - began < 3
    assert held(conn) == {("user", people[0], 5)}


# --- Replacing --------------------------------------------------------------------------------------------------------


def test_the_whole_list_is_replaced_and_unchanged_roles_keep_their_dates(world, alice, conn, people, crew, auditor):
    ada, bob, cid = people
    for user, role, number in ((ada, 4, 1), (ada, 5, 2), (bob, 5, 3)):
        fixtures.add_project_user(conn, "gemini", user, role, DAY.format(number))
    fixtures.add_project_group(conn, "gemini", crew, 4, DAY.format(4))
    fixtures.add_project_user(conn, "default", bob, 5)
    since = world.last_event_id()
    entries = (auditor, [cid, bob, bob], []), (5, [ada], [crew]), (5, [cid], []), (4, [], [])
    answer = put(alice, *entries)
    assert (answer.status_code, answer.text) == (200, "")
    new = {("user", bob, auditor), ("user", cid, auditor), ("user", ada, 5), ("user", cid, 5), ("group", crew, 5)}
    assert held(conn) == new
    before = {"roles": [{"id": 4, "users": [ada], "groups": [crew]}, {"id": 5, "users": [ada, bob], "groups": []}]}
    after = {
        "roles": [{"id": 5, "users": [ada, cid], "groups": [crew]}, {"id": auditor, "users": [bob, cid], "groups": []}]
    }
    assert logged(world, since, alice) == [("project-access-updated", after, before)]
    found = {user["id"]: user["addedAt"] for user in alice.get(url()).json["users"]}
    assert found[ada] == "2026-01-02T00:00:00.000Z"
    old = [("group", crew, 4), ("user", ada, 4), ("user", bob, 5)]
    assert past(conn) == old
    assert held(conn, "default") == {("user", bob, 5)}
    # The same again, in another order.
    since = world.last_event_id()
    assert put(alice, *reversed(entries)).status_code == 200
    assert (held(conn), past(conn), world.events(since)) == (new, old, [])


@pytest.mark.parametrize("left_out", [{}, {"users": None, "groups": None}])
def test_lists_without_entries_can_be_left_out(alice, conn, people, crew, left_out):
    ada = people[0]
    assert alice.put(url(), json={"roles": [left_out | {"id": 4, "users": [ada]}]}).status_code == 200
    assert held(conn) == {("user", ada, 4)}
    assert alice.put(url(), json={"roles": [left_out | {"id": 4, "groups": [crew]}]}).status_code == 200
    assert alice.post(url(), json=left_out | {"roles": [5], "users": [ada]}).status_code == 200
    assert held(conn) == {("group", crew, 4), ("user", ada, 5)}
    assert alice.post(url(), json=left_out | {"roles": [4]}).status_code == 200
    assert alice.put(url(), json={"roles": [left_out | {"id": 5}]}).status_code == 200
    assert held(conn) == set()


def test_a_group_is_not_mistaken_for_the_user_of_its_id(alice, conn, people):
    ada = people[0]
    conn.execute("INSERT INTO groups (id, name) VALUES (%s, 'namesakes')", [ada])
    for users, of_groups in (([ada], []), ([], [ada]), ([ada], [ada]), ([ada], []), ([ada], [ada]), ([], [ada])):
        assert put(alice, (4, users, of_groups)).status_code == 200
        assert held(conn) == {*(("user", user, 4) for user in users), *(("group", group, 4) for group in of_groups)}


def test_a_project_needs_no_owner_and_roles_of_deleted_users_stay(world, alice, conn, people):
    put(alice, (4, people, []))
    fixtures.update(conn, "users", people[0], deleted_at="now")
    since = world.last_event_id()
    assert put(alice, (4, people[1:], [])).status_code == 200
    assert world.events(since) == []
    assert put(alice).status_code == 200
    assert held(conn) == {("user", people[0], 4)}
    before = {"roles": [{"id": 4, "users": people[1:], "groups": []}]}
    assert logged(world, since, alice) == [("project-access-updated", {"roles": []}, before)]


def test_access_to_an_archived_project_can_be_changed(world, alice, conn, people):
    world.project("old", archived_at=DAY.format(1))
    assert put(alice, (4, people, []), project="old").status_code == 200
    assert len(held(conn, "old")) == 3


@pytest.mark.parametrize("field", ["roles", "users", "groups"])
@pytest.mark.parametrize("unknown", [10**6, 2**31, 2**63 - 1])
def test_one_unknown_id_refuses_the_whole_change(world, alice, conn, people, crew, field, unknown):
    since = world.last_event_id()
    asked = {"roles": [5], "users": people, "groups": [crew]}
    entry = {"id": 5, "users": people, "groups": [crew]}
    wrong = entry | ({"id": unknown} if field == "roles" else {field: [*entry[field], unknown]})
    for refusal in (
        alice.post(url(), json=asked | {field: [*asked[field], unknown]}),
        alice.post(url(), json={"roles": [], "users": [], "groups": [], field: [unknown]}),
        alice.put(url(), json={"roles": [{"id": 4, "users": people, "groups": []}, wrong]}),
    ):
        assert refused(refusal).startswith(f"{field}: ")
    assert refused(put(alice, (unknown, [], []))).startswith("roles: ")
    assert (held(conn), world.events(since)) == (set(), [])


def test_all_invalid_roles_and_users_are_named(world, alice, conn, people):
    root = roles.insert(conn, "Boss", type="root-custom")
    fixtures.update(conn, "users", people[0], deleted_at="now")
    since = world.last_event_id()
    for role in (1, 2, 3, root):
        for refusal in (alice.post(url(), json={"roles": [role], "users": people[1:]}), put(alice, (role, [], []))):
            assert refused(refusal) == "roles: must be ids of roles that can be assigned in a project"
    assert refused(alice.post(url(), json={"roles": [1], "users": people, "groups": [10**6]})) == (
        "roles: must be ids of roles that can be assigned in a project; groups: must be ids of existing groups; "
        "users: must be ids of existing users"
    )
    assert (held(conn), world.events(since)) == (set(), [])


BAD_LISTS: list[Any] = [None, 5, [0], ["5"], [5.0], [True], [2**63]]


@pytest.mark.parametrize("bad", BAD_LISTS, ids=str)
def test_an_invalid_list_is_refused(world, alice, conn, people, bad):
    put(alice, (4, people, []))
    since, before = world.last_event_id(), held(conn)
    assert refused(alice.post(url(), json={"roles": bad, "users": people})).startswith("roles")
    assert refused(alice.put(roles_url("user", people[0]), json={"roles": bad})).startswith("roles")
    entries = {"users": bad, "groups": bad} if bad is not None else {"id": None}
    assert refused(alice.put(url(), json={"roles": [{"id": 5} | entries]})).startswith("roles.0.")
    assert (held(conn), world.events(since)) == (before, [])


# --- One user or group ------------------------------------------------------------------------------------------------


@dataclass
class Holder:
    """A user or a group, with what is the same for both."""

    kind: str
    id: int
    add: Callable[..., None]

    def url(self, holder_id: int | str | None = None) -> str:
        """The address of the roles in project gemini, of this holder or another one of the kind."""
        return roles_url(self.kind, self.id if holder_id is None else holder_id)

    def payload(self, *its: int) -> dict[str, Any]:
        """What events say of the holder with these roles."""
        return {"roles": list(its), f"{self.kind}Id": self.id}

    def held(self, *its: int) -> set[tuple[str, int, int]]:
        """The rows of these roles."""
        return {(self.kind, self.id, role) for role in its}


@pytest.fixture(params=["user", "group"])
def holder(request: pytest.FixtureRequest, people: list[int], crew: int) -> Holder:
    """A user, then a group, without a role in project gemini."""
    if request.param == "user":
        return Holder("user", people[0], fixtures.add_project_user)
    return Holder("group", crew, fixtures.add_project_group)


def test_roles_are_set_and_kept_ones_keep_their_date(world, alice, conn, holder, auditor, people):
    holder.add(conn, "gemini", holder.id, 5, DAY.format(1))
    holder.add(conn, "gemini", holder.id, auditor, DAY.format(2))
    fixtures.add_project_user(conn, "gemini", people[1], 4)
    since = world.last_event_id()
    answer = alice.put(holder.url(), json={"roles": [4, 5, 4]})
    assert (answer.status_code, answer.text) == (200, "")
    assert held(conn) == holder.held(4, 5) | {("user", people[1], 4)}
    type = f"project-access-{holder.kind}-roles-updated"
    assert logged(world, since, alice) == [(type, holder.payload(4, 5), holder.payload(5, auditor))]
    entries = {entry["id"]: entry["addedAt"] for entry in alice.get(url()).json[f"{holder.kind}s"]}
    assert entries[holder.id] == "2026-01-01T00:00:00.000Z"
    assert past(conn) == [(holder.kind, holder.id, auditor)]
    since = world.last_event_id()
    assert alice.put(holder.url(), json={"roles": [5, 4]}).status_code == 200
    assert world.events(since) == []
    assert alice.put(holder.url(), json={"roles": []}).status_code == 200
    assert logged(world, since, alice) == [(type, holder.payload(), holder.payload(4, 5))]


def test_all_roles_are_removed_once(world, alice, conn, holder, people):
    for role in (5, 4):
        holder.add(conn, "gemini", holder.id, role)
        holder.add(conn, "default", holder.id, role)
    fixtures.add_project_user(conn, "gemini", people[1], 4)
    since = world.last_event_id()
    answer = alice.delete(holder.url(), data="ignored", content_type="text/plain")
    assert (answer.status_code, answer.text) == (200, "")
    assert held(conn) == {("user", people[1], 4)}
    assert held(conn, "default") == holder.held(4, 5)
    type = f"project-access-{holder.kind}-roles-deleted"
    assert logged(world, since, alice) == [(type, None, holder.payload(4, 5))]
    assert past(conn) == [(holder.kind, holder.id, 4), (holder.kind, holder.id, 5)]
    since = world.last_event_id()
    assert alice.delete(holder.url()).status_code == 200
    assert alice.put(holder.url(), json={"roles": []}).status_code == 200
    assert world.events(since) == []


def test_unknown_users_and_groups_are_404_and_invalid_ids_400(world, alice, conn, holder):
    gone = world.user("Gone")
    world.member("gemini", gone)
    fixtures.update(conn, "users", gone.id or 0, deleted_at="now")
    since = world.last_event_id()
    for id in ("1000000", *([gone.id] if holder.kind == "user" else [])):
        for refusal in (alice.put(holder.url(id), json={"roles": [5]}), alice.delete(holder.url(id))):
            assert refused(refusal, 404, "NotFoundError") == f"No {holder.kind} has that id."
    for large in ("2147483648", "99999999999999999999999"):
        refused(alice.put(holder.url(large), json={"roles": [5]}), 404, "NotFoundError")
    for bad in ("0", "-1", "01", "1.0", "x", "%D9%A1"):
        refused(alice.put(holder.url(bad), json={"roles": [5]}))
        refused(alice.delete(holder.url(bad)))
    assert (held(conn), world.events(since)) == ({("user", gone.id, 5)}, [])


@pytest.mark.parametrize("role", [1, 2, 3, 10**6, 2**31, 2**63 - 1])
def test_a_role_that_cannot_be_given_in_a_project_is_refused(world, alice, conn, holder, role):
    holder.add(conn, "gemini", holder.id, 5)
    since = world.last_event_id()
    assert refused(alice.put(holder.url(), json={"roles": [4, role]})).startswith("roles: ")
    assert (held(conn), world.events(since)) == (holder.held(5), [])


def test_the_last_owner_stays(world, alice, conn, holder, people):
    holder.add(conn, "gemini", holder.id, 4)
    holder.add(conn, "gemini", holder.id, 5)
    # Owners of other projects, and those who are deleted, do not count.
    gone = world.user("Gone").id
    for project, user, role in (("gemini", people[1], 5), ("default", people[2], 4), ("gemini", gone, 4)):
        fixtures.add_project_user(conn, project, user, role)
    fixtures.update(conn, "users", gone, deleted_at="now")
    since, before = world.last_event_id(), held(conn)
    for refusal in (
        alice.delete(holder.url()),
        alice.put(holder.url(), json={"roles": []}),
        alice.put(holder.url(), json={"roles": [5]}),
    ):
        message = refused(refusal, 409, "ConflictError")
        assert message == "This is the last owner of the project. Add another owner first."
    assert (held(conn), world.events(since), past(conn)) == (before, [], [])
    # Owners can lose their other roles.
    assert alice.put(holder.url(), json={"roles": [4]}).status_code == 200


@pytest.mark.parametrize("other", ["user", "group", None])
def test_one_of_two_owners_can_be_removed_and_members_without_an_owner(alice, conn, holder, people, other):
    holder.add(conn, "gemini", holder.id, 5 if other is None else 4)
    if other == "user":
        fixtures.add_project_user(conn, "gemini", people[1], 4)
    elif other == "group":
        fixtures.add_project_group(conn, "gemini", groups.insert(conn, "others"), 4)
    assert alice.delete(holder.url()).status_code == 200
    assert len(held(conn)) == (other is not None)


def test_rights_take_effect_at_once(world, alice, conn, holder, people):
    conn.execute("UPDATE projects SET mode = 'private' WHERE id = 'gemini'")
    zoe = world.user("Zoe")
    fixtures.add_project_user(conn, "gemini", people[1], 4)
    if holder.kind == "user":
        holder.id = zoe.id or 0
    else:
        fixtures.add_group_user(conn, holder.id, zoe.id or 0)
    overview = "/api/admin/projects/gemini/overview"
    refused(zoe.get(overview), 404, "NotFoundError")
    for granted, status in (([5], 403), ([4, 5], 200)):
        assert alice.put(holder.url(), json={"roles": granted}).status_code == 200
        assert zoe.get(overview).status_code == 200
        assert zoe.get(url()).status_code == status
    assert alice.delete(holder.url()).status_code == 200
    refused(zoe.get(overview), 404, "NotFoundError")


# --- Which callers can give which roles -------------------------------------------------------------------------------


def role_of(conn: Connection, name: str, *permissions: str | tuple[str, str]) -> int:
    """A custom role for projects that holds permissions, each everywhere or in one environment."""
    role = roles.insert(conn, name)
    for permission in permissions:
        name, environment = (permission, None) if isinstance(permission, str) else permission
        fixtures.allow(conn, role, name, environment=environment)
    return role


@pytest.fixture
def ada(people: list[int]) -> int:
    """The id of a user without a role in project gemini."""
    return people[0]


@pytest.fixture
def keeper(world: World, conn: Connection) -> Caller:
    """A user who may work with strategies in development, and change the access to project gemini."""
    keeper = world.user("Keeper")
    strategies = (("CREATE_FEATURE_STRATEGY", "development"), ("UPDATE_FEATURE_STRATEGY", "development"))
    world.member("gemini", keeper, role_of(conn, "Keeper", WRITE, "CREATE_FEATURE", *strategies))
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


def test_roles_within_own_permissions_can_be_given(world, conn, keeper, ada, crew, auditor):
    less = role_of(conn, "Less", "CREATE_FEATURE", ("CREATE_FEATURE_STRATEGY", "development"))
    for role in (less, auditor):
        assert ways(conn, keeper, role, ada, crew) == [200] * 6
    # Unchanged roles need no permission.
    world.member("gemini", world.user("Olaf"), 4)
    assert put(keeper, *entries(conn), (auditor, [ada], [])).status_code == 200


@pytest.mark.parametrize(
    "more",
    [
        "DELETE_FEATURE",
        ("CREATE_FEATURE_STRATEGY", "production"),
        "CREATE_FEATURE_STRATEGY",
        ("DELETE_FEATURE_STRATEGY", "development"),
    ],
)
def test_roles_beyond_own_permissions_cannot_be_given(world, conn, keeper, ada, crew, auditor, more):
    # An owner of another project is no owner here.
    world.member("default", keeper, 4)
    role = role_of(conn, "More", "CREATE_FEATURE", more)
    since, before = world.last_event_id(), held(conn)
    for given in (role, 4, 5):
        assert ways(conn, keeper, given, ada, crew) == [403] * 6
    for refusal in (
        keeper.post(url(), json={"roles": [auditor, 5], "users": [ada]}),
        keeper.put(roles_url("user", keeper.id), json={"roles": [4]}),
    ):
        message = refused(refusal, 403, "NoAccessError")
        assert message == "You can only assign roles whose permissions you have in this project."
    assert (held(conn), world.events(since)) == (before, [])


def test_roles_that_cannot_be_given_can_be_removed(world, conn, keeper, ada, crew, auditor):
    for role in (4, auditor):
        fixtures.add_project_user(conn, "gemini", ada, role)
        fixtures.add_project_group(conn, "gemini", crew, role)
    world.member("gemini", world.user("Olaf"), 4)
    for place in (roles_url("user", ada), roles_url("group", crew), roles_url("user", keeper.id)):
        assert keeper.delete(place).status_code == 200
    assert {role for _, _, role in held(conn)} == {4}
    refused(keeper.post(url(), json={"roles": [4], "users": [ada]}), 403, "NoAccessError")


def test_owners_and_administrators_give_every_role(world, conn, alice, ada, crew):
    role = role_of(conn, "More", "PROJECT_SETTINGS_WRITE", WRITE)
    directly, by_group = world.user("Olaf"), world.user("Zoe")
    world.member("gemini", directly, 4)
    owners = groups.insert(conn, "owners")
    fixtures.add_group_user(conn, owners, by_group.id or 0)
    fixtures.add_project_group(conn, "gemini", owners, 4)
    for caller in (directly, by_group, alice, world.api_key()):
        for given in (role, 4, 5):
            assert ways(conn, caller, given, ada, crew) == [200] * 6


def test_permissions_of_root_roles_and_groups_count(world, conn, ada, crew):
    root = roles.insert(conn, "Boss", type="root-custom")
    for permission in ("UPDATE_PROJECT", "CREATE_FEATURE"):
        fixtures.allow(conn, root, permission)
    by_group = world.user("Zoe")
    fixtures.add_group_user(conn, groups.insert(conn, "bosses", root_role=root), by_group.id or 0)
    role, here = role_of(conn, "Mover", "CREATE_FEATURE", "MOVE_FEATURE_TOGGLE"), groups.insert(conn, "movers")
    the_rest = role_of(conn, "The rest", "MOVE_FEATURE_TOGGLE")
    # Roles of a group in another project do not count.
    fixtures.add_project_group(conn, "default", here, the_rest)
    for boss in (world.user("Olaf", root_role=root), by_group):
        fixtures.add_group_user(conn, here, boss.id or 0)
        assert ways(conn, boss, role, ada, crew) == [403] * 6
    fixtures.add_project_group(conn, "gemini", here, the_rest)
    assert ways(conn, by_group, role, ada, crew) == [200] * 6


def test_editors_give_roles_in_project_default_only(world, eve, conn, ada, crew):
    for role in (4, 5):
        assert eve.post(url("default"), json={"roles": [role], "users": [ada]}).status_code == 200
    more = role_of(conn, "More", "PROJECT_SETTINGS_WRITE")
    refused(eve.post(url("default"), json={"roles": [more], "users": [ada]}), 403, "NoAccessError")
    # The permissions of Editors in default are none in gemini.
    world.member("gemini", eve, role_of(conn, "Keeper", WRITE))
    assert ways(conn, eve, 5, ada, crew) == [403] * 6
