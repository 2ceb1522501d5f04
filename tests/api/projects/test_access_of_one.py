"""All roles that one user or group has in a project."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from sql.database import Connection
from sql.people import groups, roles
from tests.support import fixtures
from tests.support.project_access import DAY, held, logged, past, roles_url, url
from tests.support.world import Caller, World, refused


@dataclass
class Holder:
    """A user or a group, with what is the same for both."""

    kind: str
    id: int
    add: Callable[..., None]

    def url(self, holder_id: int | str | None = None) -> str:
        """The address of the roles in project gemini, of this holder or another one of the kind."""
        return roles_url(self.kind, self.id if holder_id is None else holder_id)

    def event(self, done: str) -> str:
        """The type of event."""
        return f"project-access-{self.kind}-roles-{done}"

    def payload(self, *its: int) -> dict[str, Any]:
        """What the log says of the holder with these roles."""
        return {"roles": list(its), f"{self.kind}Id": self.id}

    def held(self, *its: int) -> set[tuple[str, int, int]]:
        """The rows of these roles."""
        return {(self.kind, self.id, role) for role in its}


@pytest.fixture(params=["user", "group"])
def holder(request: pytest.FixtureRequest, world: World, conn: Connection) -> Holder:
    """A user, then a group, without a role in project gemini."""
    world.project("gemini")
    if request.param == "user":
        return Holder("user", world.user("Ada").id or 0, fixtures.add_project_user)
    return Holder("group", groups.insert(conn, "crew"), fixtures.add_project_group)


@pytest.fixture
def auditor(conn: Connection) -> int:
    """A custom role for projects."""
    return roles.insert(conn, "Auditor")


def test_roles_are_set_and_kept_ones_keep_their_date(world, alice, conn, holder, auditor):
    holder.add(conn, "gemini", holder.id, 5, DAY.format(1))
    holder.add(conn, "gemini", holder.id, auditor, DAY.format(2))
    other = world.user("Bob")
    world.member("gemini", other, 4)
    since = world.last_event_id()
    answer = alice.put(holder.url(), json={"roles": [4, 5, 4]})
    assert (answer.status_code, answer.text) == (200, "")
    assert held(conn) == holder.held(4, 5) | {("user", other.id, 4)}
    assert logged(world, since, alice) == [(holder.event("updated"), holder.payload(4, 5), holder.payload(5, auditor))]
    entries = {entry["id"]: entry["addedAt"] for entry in alice.get(url()).json[f"{holder.kind}s"]}
    assert entries[holder.id] == "2026-01-01T00:00:00.000Z"
    assert past(conn) == [(holder.kind, holder.id, auditor)]


def test_setting_the_same_roles_again_records_no_event(world, alice, conn, holder):
    since = world.last_event_id()
    assert alice.put(holder.url(), json={"roles": []}).status_code == 200
    assert alice.delete(holder.url()).status_code == 200
    assert world.events(since) == []
    holder.add(conn, "gemini", holder.id, 4)
    holder.add(conn, "gemini", holder.id, 5)
    assert alice.put(holder.url(), json={"roles": [5, 4]}).status_code == 200
    assert (held(conn), world.events(since), past(conn)) == (holder.held(4, 5), [], [])


def test_all_roles_are_removed(world, alice, conn, holder):
    for role in (5, 4):
        holder.add(conn, "gemini", holder.id, role)
        holder.add(conn, "default", holder.id, role)
    world.member("gemini", world.user("Bob"), 4)
    since = world.last_event_id()
    answer = alice.delete(holder.url(), data="ignored", content_type="text/plain")
    assert (answer.status_code, answer.text) == (200, "")
    assert not held(conn) & holder.held(4, 5)
    assert held(conn, "default") == holder.held(4, 5)
    assert logged(world, since, alice) == [(holder.event("deleted"), None, holder.payload(4, 5))]
    assert past(conn) == [(holder.kind, holder.id, 4), (holder.kind, holder.id, 5)]


def test_an_empty_list_takes_all_away(world, alice, conn, holder):
    holder.add(conn, "gemini", holder.id, 5)
    since = world.last_event_id()
    assert alice.put(holder.url(), json={"roles": []}).status_code == 200
    assert held(conn) == set()
    assert logged(world, since, alice) == [(holder.event("updated"), holder.payload(), holder.payload(5))]


@pytest.mark.parametrize("unknown", ["1000000", "2147483648", "99999999999999999999999"])
def test_an_unknown_user_has_no_roles(world, alice, holder, unknown):
    since = world.last_event_id()
    refused(alice.put(holder.url(unknown), json={"roles": [5]}), 404, "NotFoundError")
    refused(alice.delete(holder.url(unknown)), 404, "NotFoundError")
    assert world.events(since) == []


@pytest.mark.parametrize("bad", ["0", "-1", "01", "1.0", "x", "%D9%A1"])
def test_an_invalid_id_is_refused(alice, holder, bad):
    refused(alice.put(holder.url(bad), json={"roles": [5]}))
    refused(alice.delete(holder.url(bad)))


def test_a_deleted_user_has_no_roles(world, alice, conn):
    world.project("gemini")
    gone = world.user("Ada")
    world.member("gemini", gone)
    conn.execute("UPDATE users SET deleted_at = now() WHERE id = %s", [gone.id])
    since = world.last_event_id()
    place = roles_url("user", gone.id)
    refused(alice.put(place, json={"roles": [4]}), 404, "NotFoundError")
    refused(alice.delete(place), 404, "NotFoundError")
    assert (held(conn), world.events(since)) == ({("user", gone.id, 5)}, [])


@pytest.mark.parametrize(
    "asked",
    [
        {},
        {"roles": None},
        {"roles": 5},
        {"roles": ["5"]},
        {"roles": [5.0]},
        {"roles": [0]},
        {"roles": [5], "other": 1},
        [],
    ],
)
def test_an_invalid_body_is_refused(world, alice, conn, holder, asked):
    holder.add(conn, "gemini", holder.id, 5)
    since = world.last_event_id()
    refused(alice.put(holder.url(), json=asked))
    assert (held(conn), world.events(since)) == (holder.held(5), [])


@pytest.mark.parametrize("role", [1, 2, 3, 10**6, 2**31, 2**63 - 1])
def test_a_role_that_is_none_of_a_project_is_refused(world, alice, conn, holder, role):
    holder.add(conn, "gemini", holder.id, 5)
    since = world.last_event_id()
    assert refused(alice.put(holder.url(), json={"roles": [4, role]})).startswith("roles: ")
    assert (held(conn), world.events(since)) == (holder.held(5), [])


# --- The last owner ---------------------------------------------------------------------------------------------------


def test_the_last_owner_stays(world, alice, conn, holder):
    holder.add(conn, "gemini", holder.id, 4)
    holder.add(conn, "gemini", holder.id, 5)
    world.member("gemini", world.user("Bob"), 5)
    # Owners of other projects, and those who are deleted, do not count.
    world.member("default", world.user("Cid"), 4)
    gone = world.user("Gone")
    world.member("gemini", gone, 4)
    conn.execute("UPDATE users SET deleted_at = now() WHERE id = %s", [gone.id])
    since, before = world.last_event_id(), held(conn)
    for refusal in (
        alice.delete(holder.url()),
        alice.put(holder.url(), json={"roles": []}),
        alice.put(holder.url(), json={"roles": [5]}),
    ):
        refused(refusal, 409, "ConflictError")
    assert (held(conn), world.events(since), past(conn)) == (before, [], [])
    # What leaves holder the owner is allowed.
    assert alice.put(holder.url(), json={"roles": [4]}).status_code == 200


@pytest.mark.parametrize("kind", ["user", "group"])
def test_one_of_two_owners_can_be_removed(world, alice, conn, holder, kind):
    holder.add(conn, "gemini", holder.id, 4)
    if kind == "user":
        world.member("gemini", world.user("Bob"), 4)
    else:
        fixtures.add_project_group(conn, "gemini", groups.insert(conn, "others"), 4)
    assert alice.delete(holder.url()).status_code == 200


def test_a_project_without_an_owner_can_lose_others(alice, conn, holder):
    holder.add(conn, "gemini", holder.id, 5)
    assert alice.delete(holder.url()).status_code == 200
    assert held(conn) == set()


def test_rights_take_effect_at_once(world, alice, conn, holder):
    conn.execute("UPDATE projects SET mode = 'private' WHERE id = 'gemini'")
    ada: Caller = world.user("Zoe")
    if holder.kind == "group":
        fixtures.add_group_user(conn, holder.id, ada.id or 0)
    who = holder if holder.kind == "group" else Holder("user", ada.id or 0, holder.add)
    overview = "/api/admin/projects/gemini/overview"
    refused(ada.get(overview), 404, "NotFoundError")
    for granted, status in (([5], 403), ([4, 5], 200)):
        assert alice.put(who.url(), json={"roles": granted}).status_code == 200
        assert ada.get(overview).status_code == 200
        assert ada.get(url()).status_code == status
    world.member("gemini", world.user("Bob"), 4)
    assert alice.delete(who.url()).status_code == 200
    refused(ada.get(overview), 404, "NotFoundError")
