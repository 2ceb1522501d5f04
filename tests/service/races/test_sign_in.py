"""Two first logins at once get one user. Logins, changes of groups and a deletion do not block each other for ever."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from flask import Flask
from werkzeug.test import TestResponse

from sql.database import Connection, rows, value
from sql.people import groups
from tests.support.identity_provider import Browser, IdentityProvider, provider_of
from tests.support.races import at_once, at_the_gate, wait_for
from tests.support.sign_in import refusal, sign_in
from tests.support.world import Caller, World


@pytest.fixture
def provider(app: Flask) -> Iterator[IdentityProvider]:
    """A provider that the service uses, and that sends groups."""
    with provider_of(app) as provider:
        app.config["OIDC_GROUPS_CLAIM"] = "groups"
        yield provider


@pytest.mark.parametrize("is_known", [False, True])
@pytest.mark.parametrize("has_address", [False, True])
def test_two_first_logins_get_one_user(
    provider: IdentityProvider, world: World, conn: Connection, name: str, is_known: bool, has_address: bool
) -> None:
    if is_known:
        world.user(name)
    who = {"sub": name, "email": f"{name}@example.org" if has_address else None, "preferred_username": f"{name}2"}
    sessions = at_once(*(lambda: sign_in(provider, **who) for _ in range(8)))  # pyright: ignore
    assert len(set(map(str, sessions))) == 8
    [linked] = rows(conn, "SELECT user_id FROM user_identities WHERE subject = %(name)s", {"name": name})
    counted = "SELECT count(*) FROM sessions WHERE user_id = %(id)s"
    assert value(conn, counted, {"id": linked["user_id"]}) == 8


def test_two_identities_with_one_address_get_one_link(
    provider: IdentityProvider, world: World, conn: Connection, name: str
) -> None:
    ida = world.user(name)

    def log_in(subject: str) -> TestResponse:
        return Browser(provider.app, provider).log_in(sub=subject, email=ida.email, groups=[])

    answers = at_once(lambda: log_in(f"{name} 1"), lambda: log_in(f"{name} 2"))
    assert sorted(answer.status_code for answer in answers) == [302, 403]
    assert value(conn, "SELECT count(*) FROM user_identities WHERE user_id = %(id)s", {"id": ida.id}) == 1


def test_logins_and_changes_of_groups_do_not_deadlock(
    provider: IdentityProvider, world: World, conn: Connection, admin: Caller, name: str
) -> None:
    ids = [groups.insert(conn, f"{name} {number}", mappings_sso=[f"{name} {number}"]) for number in range(4)]
    people = [world.user(f"{name}{number}") for number in range(3)]
    orders = [[f"{name} {number}" for number in order] for order in ((0, 1, 2, 3), (3, 2, 1, 0), ())]

    def log_in(number: int) -> str:
        return sign_in(provider, sub=f"{name}{number}", email=people[number].email, groups=orders[number])

    def change(group: int) -> int:
        users = [{"user": {"id": user.id}} for user in people]
        body = {"name": f"{name} again {group}", "mappingsSSO": [f"{name} {ids.index(group)}"], "users": users}
        return admin.put(f"/api/admin/groups/{group}", json=body).status_code

    with ThreadPoolExecutor(7) as threads:
        for _ in range(5):
            logins = [threads.submit(log_in, number) for number in range(3)]
            changes = [threads.submit(change, group) for group in ids]
            assert all(login.result() for login in logins)
            assert [changed.result() for changed in changes] == [200] * 4


@pytest.mark.parametrize("is_member", [False, True])
def test_two_logins_change_a_membership_once(
    provider: IdentityProvider, world: World, conn: Connection, gate: Connection, name: str, is_member: bool
) -> None:
    ida, group = world.user(name), groups.insert(conn, name, mappings_sso=[name])
    groups.set_users(conn, group, [ida.id or 0] if is_member else [], created_by="alice")
    sign_in(provider, sub=name, email=ida.email, groups=[name] if is_member else [])
    since = world.last_event_id()

    def log_in() -> str:
        return sign_in(provider, sub=name, email=ida.email, groups=[] if is_member else [name])

    lock = f"SELECT FROM groups WHERE id = {group} FOR UPDATE"
    sessions = at_the_gate(conn, gate, lock, log_in, log_in)  # pyright: ignore
    assert len(set(map(str, sessions))) == 2
    kind = "group-user-removed" if is_member else "group-user-added"
    assert [event["type"] for event in world.events(since)] == [kind]


def test_user_who_is_deleted_meanwhile_is_refused(
    provider: IdentityProvider, world: World, conn: Connection, gate: Connection, name: str
) -> None:
    ida = world.user(name)
    who = {"sub": name, "email": ida.email, "groups": []}
    sign_in(provider, **who)
    events: Callable[[], int] = world.last_event_id
    before = events()
    with ThreadPoolExecutor(1) as threads:
        with gate.transaction():
            gate.execute("UPDATE users SET deleted_at = now() WHERE id = %s", [ida.id])
            login: Any = threads.submit(refusal, provider, **who | {"name": "Other"})
            wait_for(conn, [login])
        assert login.result() == "There is no account for you here."
    assert events() == before
