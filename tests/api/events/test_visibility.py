"""Visibility of events: the same in both searches, and totals count the visible ones (decisions.md, Permissions)."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest

from rules.access import digest
from sql import sessions
from sql.database import Connection
from sql.people import groups, personal_tokens, roles
from sql.tokens import api_tokens
from tests.support import fixtures
from tests.support.deprecated_event_search import PATH as DEPRECATED
from tests.support.deprecated_event_search import page as deprecated_page
from tests.support.event_search import PATH, Log, page
from tests.support.world import Caller, World, refused

Sight = Callable[..., set[str]]


@pytest.fixture
def log(world: World, conn: Connection, apollo: str) -> dict[int, str]:
    """By its id, what each event of the log is of: a project, no project, or a project that is no more."""
    world.project("hermes", mode="open")
    world.project("athena", mode="protected")
    world.project("hades", mode="private")
    world.project("kronos", mode="private", archived_at=datetime(2024, 1, 1, tzinfo=UTC))
    log = Log(conn)
    project_of = {
        log.add(project=project): project
        for project in (apollo, "hermes", "athena", "hades", "kronos", "troy", "default")
    }
    return project_of | {log.add(): "none", log.add(project="*"): "*"}


@pytest.fixture(params=["GET", "POST"])
def sees(request: pytest.FixtureRequest, log: dict[int, str]) -> Sight:
    """What a caller sees of the log in either form of the search, which must be what the total counts, page by page
    too.
    """

    def sees(caller: Caller, **headers: str) -> set[str]:
        if request.param == "GET":
            ids, total = page(caller.get(PATH, headers=headers))
            first = page(caller.get(PATH, query_string={"limit": 1}, headers=headers))
        else:
            ids, total = deprecated_page(caller.post(DEPRECATED, json={}, headers=headers))
            first = deprecated_page(caller.post(DEPRECATED, json={"limit": 1}, headers=headers))
        assert first == (ids[:1], total)
        assert total == len(ids)
        return {log[event] for event in ids}

    return sees


PUBLIC = {"default", "hermes", "athena"}


ALL_PROJECTS = PUBLIC | {"apollo", "hades", "kronos"}


EVERYTHING = ALL_PROJECTS | {"troy", "none", "*"}


def test_an_administrator_and_an_admin_key_see_everything(sees: Sight, world: World, alice: Caller) -> None:
    assert sees(alice) == EVERYTHING
    assert sees(world.api_key()) == EVERYTHING


def test_an_editor_sees_the_events_of_every_project_that_is_there(sees: Sight, eve: Caller) -> None:
    assert sees(eve) == ALL_PROJECTS


def test_a_viewer_sees_no_private_project(sees: Sight, victor: Caller) -> None:
    assert sees(victor) == PUBLIC


def test_a_member_sees_the_private_project(sees: Sight, olga: Caller, max: Caller) -> None:
    assert sees(olga) == PUBLIC | {"apollo"}
    assert sees(max) == PUBLIC | {"apollo"}


def test_a_role_without_any_permission_makes_a_member(sees: Sight, world: World, victor: Caller) -> None:
    world.member("hades", victor, role=roles.insert(world.conn, "Guest"))
    assert sees(victor) == PUBLIC | {"hades"}


def test_the_members_of_a_group_see_its_private_project(sees: Sight, world: World, victor: Caller) -> None:
    outsider = world.user("Oscar")
    group = groups.insert(world.conn, "Crew")
    fixtures.add_project_group(world.conn, "apollo", group, 5)
    assert sees(victor) == PUBLIC
    fixtures.add_group_user(world.conn, group, victor.id)
    assert sees(victor) == PUBLIC | {"apollo"}
    assert sees(outsider) == PUBLIC


def test_a_custom_root_role_sees_every_project_that_is_there(sees: Sight, world: World) -> None:
    assert sees(world.user("Ada", root_role=roles.insert(world.conn, "Auditor", type="root-custom"))) == ALL_PROJECTS


def test_the_root_role_of_a_group_counts_as_ones_own(sees: Sight, world: World, victor: Caller) -> None:
    for name, role, seen in (
        ("Viewers", 3, PUBLIC),
        ("Auditors", roles.insert(world.conn, "Auditor", type="root-custom"), ALL_PROJECTS),
        ("Editors", 2, ALL_PROJECTS),
        ("Administrators", 1, EVERYTHING),
    ):
        group = groups.insert(world.conn, name, root_role=role)
        assert sees(victor) == PUBLIC
        fixtures.add_group_user(world.conn, group, victor.id)
        assert sees(victor) == seen, name
        fixtures.remove_group_user(world.conn, group, victor.id)


def test_a_custom_project_role_opens_its_own_project_alone(sees: Sight, world: World, victor: Caller) -> None:
    role = roles.insert(world.conn, "Gardener")
    fixtures.allow(world.conn, role, "UPDATE_PROJECT")
    world.member("hermes", victor, role=role)
    assert sees(victor) == PUBLIC


def test_former_members_do_not_see_the_events_of_the_project(
    sees: Sight, world: World, max: Caller, victor: Caller
) -> None:
    group = groups.insert(world.conn, "Crew")
    fixtures.add_group_user(world.conn, group, victor.id)
    fixtures.add_project_group(world.conn, "apollo", group, 5)
    assert "apollo" in sees(max)
    assert "apollo" in sees(victor)
    world.conn.execute("DELETE FROM project_user_roles WHERE user_id = %s", [max.id])
    assert sees(max) == PUBLIC
    world.conn.execute("DELETE FROM project_group_roles WHERE group_id = %s", [group])
    assert sees(victor) == PUBLIC
    fixtures.add_project_group(world.conn, "apollo", group, 4)
    assert "apollo" in sees(victor)
    fixtures.remove_group_user(world.conn, group, victor.id)
    assert sees(victor) == PUBLIC


def test_a_project_that_becomes_private_hides_its_past_too(sees: Sight, world: World, victor: Caller) -> None:
    world.conn.execute("UPDATE projects SET mode = 'private' WHERE id = 'hermes'")
    assert sees(victor) == PUBLIC - {"hermes"}


def test_a_filter_opens_nothing(log: dict[int, str], victor: Caller) -> None:
    for project in ("apollo", "hades", "troy", "*", "apollo,hades,troy"):
        assert page(victor.get(PATH, query_string={"project": f"IS:{project}"})) == ([], 0), project
        assert deprecated_page(victor.post(DEPRECATED, json={"project": project})) == ([], 0), project
    hidden = next(event for event, project in log.items() if project == "apollo")
    assert hidden not in deprecated_page(victor.post(DEPRECATED, json={"offset": hidden}))[0]
    assert hidden not in page(victor.get(PATH, query_string={"query": "", "type": "IS:feature-created"}))[0]


def test_client_and_frontend_keys_are_refused(world: World) -> None:
    for kind in ("client", "frontend"):
        key = world.api_key(kind)
        assert kind in refused(key.get(PATH), 403, "NoAccessError")
        assert kind in refused(key.post(DEPRECATED, json={}), 403, "NoAccessError")


def test_a_session_sees_what_a_token_sees(
    sees: Sight, world: World, alice: Caller, eve: Caller, olga: Caller, victor: Caller
) -> None:
    for user, seen in ((alice, EVERYTHING), (eve, ALL_PROJECTS), (olga, PUBLIC | {"apollo"}), (victor, PUBLIC)):
        sessions.insert(world.conn, digest(f"session of {user.id}"), user.id, 48)
        assert sees(Caller(world.app), Cookie=f'session="session of {user.id}"') == seen


def refused_as_nobody(caller: Caller, **headers: str) -> None:
    """Both searches must refuse the caller with 401."""
    refused(caller.get(PATH, headers=headers), 401, "AuthenticationRequired")
    refused(caller.post(DEPRECATED, json={}, headers=headers), 401, "AuthenticationRequired")


def test_a_stranger_and_an_unknown_credential_are_refused(world: World, stranger: Caller) -> None:
    refused_as_nobody(stranger)
    refused_as_nobody(stranger, Cookie="session=made-up")
    refused_as_nobody(Caller(world.app, "*:*.made-up"))


def test_an_expired_key_token_or_session_is_refused(world: World, alice: Caller) -> None:
    now = world.conn.execute("SELECT now() AS now").fetchone()["now"]
    for expiry, works in (
        (now, False),
        (now - timedelta(microseconds=1), False),
        (now + timedelta(microseconds=1), True),
    ):
        for kind in ("admin", "client"):
            key = world.api_key(kind, expires_at=expiry)
            if not works:
                refused_as_nobody(key)
            else:
                assert key.get(PATH).status_code == (200 if kind == "admin" else 403)
        token = Caller(world.app, personal_tokens.insert(world.conn, alice.id, f"until {expiry}", expiry))
        cookie = f"session=until-{expiry.timestamp()}"
        sessions.insert(world.conn, digest(f"until-{expiry.timestamp()}"), alice.id, 1)
        world.conn.execute(
            "UPDATE sessions SET expires_at = %s WHERE digest = %s", [expiry, digest(f"until-{expiry.timestamp()}")]
        )
        if works:
            assert (
                token.get(PATH).status_code
                == Caller(world.app).get(PATH, headers={"Cookie": cookie}).status_code
                == 200
            )
        else:
            refused_as_nobody(token)
            refused_as_nobody(Caller(world.app), Cookie=cookie)


def test_a_deleted_user_and_a_deleted_key_are_refused(world: World, alice: Caller) -> None:
    sessions.insert(world.conn, digest("alive"), alice.id, 48)
    world.conn.execute("UPDATE users SET deleted_at = now() WHERE id = %s", [alice.id])
    refused_as_nobody(alice)
    refused_as_nobody(Caller(world.app), Cookie="session=alive")
    key = world.api_key()
    assert key.get(PATH).status_code == 200
    api_tokens.delete(world.conn, world.conn.execute("SELECT max(id) AS id FROM api_keys").fetchone()["id"])
    refused_as_nobody(key)
