"""Eight changes at once: one winner or one order, and exactly the events of it. On real connections that commit."""

from collections import Counter
from uuid import uuid4

import pytest
from werkzeug.test import TestResponse

from sql.database import value
from tests.support.races import at_once, at_the_gate, statuses, while_hashing
from tests.support.signup import invitation, sign_up
from tests.support.signup_tokens import put, stored
from tests.support.strategy_deletion import delete
from tests.support.world import Caller, World, refused


@pytest.fixture(params=range(3), ids="round {}".format)
def name() -> str:
    """A name that no other race uses. Each race is run three times."""
    return f"race-{uuid4().hex}"


def test_of_eight_deletions_of_a_strategy_one_succeeds(world, admin, conn, name):
    strategy = world.strategy(world.flag(name, enabled_in=("development",)))
    since = world.last_event_id()
    answers = at_once(*[lambda: delete(admin, strategy, flag=name)] * 8)
    assert statuses(answers) == {200: 1, 404: 7}
    assert [event["type"] for event in world.events(since)] == [
        "feature-environment-disabled",
        "feature-strategy-remove",
    ]
    assert value(conn, "SELECT count(*) FROM strategies WHERE id = %(id)s", {"id": strategy}) == 0


@pytest.mark.parametrize("table", ["flag_environments", "strategies"])
def test_one_of_eight_deletions_that_wait_for_the_row_succeeds(world, admin, conn, gate, name, table):
    flag = world.flag(name)
    strategy = world.strategy(flag)
    since = world.last_event_id()
    statement = f"SELECT FROM {table} WHERE flag_id = {flag} FOR UPDATE"
    answers = at_the_gate(conn, gate, statement, *[lambda: delete(admin, strategy, flag=name)] * 8)
    assert statuses(answers) == {200: 1, 404: 7}
    assert [event["type"] for event in world.events(since)] == ["feature-strategy-remove"]


def switches_off_once(world: World, flag: int, since: int) -> bool:
    """Whether the flag lost eight strategies and, just before the last of them, its environment was switched off."""
    types = [event["type"] for event in world.events(since)]
    on = value(
        world.conn,
        "SELECT enabled FROM flag_environments WHERE flag_id = %(id)s AND environment = 'development'",
        {"id": flag},
    )
    return not on and types == [
        *["feature-strategy-remove"] * 7,
        "feature-environment-disabled",
        "feature-strategy-remove",
    ]


def test_eight_deletions_of_eight_strategies_switch_off_once(world, admin, name):
    flag = world.flag(name, enabled_in=("development",))
    ids = [world.strategy(flag) for _ in range(8)]
    since = world.last_event_id()
    answers = at_once(*[lambda strategy=strategy: delete(admin, strategy, flag=name) for strategy in ids])
    assert statuses(answers) == {200: 8}
    assert switches_off_once(world, flag, since)
    assert {event["pre_data"]["id"] for event in world.events(since) if event["pre_data"]} == set(ids)


def test_eight_deletions_that_wait_for_the_environment_switch_the_flag_off_once(world, admin, conn, gate, name):
    flag = world.flag(name, enabled_in=("development",))
    ids = [world.strategy(flag) for _ in range(8)]
    since = world.last_event_id()
    calls = [lambda strategy=strategy: delete(admin, strategy, flag=name) for strategy in ids]
    answers = at_the_gate(conn, gate, f"SELECT FROM flag_environments WHERE flag_id = {flag} FOR UPDATE", *calls)
    assert statuses(answers) == {200: 8}
    assert switches_off_once(world, flag, since)


def one_of_eight_signed_up(world: World, answers: list[TestResponse], since: int, field: str) -> bool:
    """Whether one signup made one user and two events, and the others got the field that was taken."""
    assert statuses(answers) == {200: 1, 409: 7}
    told_so = [answer.json for answer in answers if answer.status_code == 409]
    assert {(body["name"], body["message"].partition(":")[0]) for body in told_so} == {("NameExistsError", field)}
    (winner,) = (answer.json["id"] for answer in answers if answer.status_code == 200)
    links = "SELECT array_agg(user_id) FROM signup_token_users WHERE user_id >= %(id)s"
    assert value(world.conn, "SELECT count(*) FROM users WHERE id >= %(id)s", {"id": winner}) == 1
    assert value(world.conn, links, {"id": winner}) == [winner]
    recorded = [(event["type"], event["created_by_user_id"]) for event in world.events(since)]
    return recorded == [("user-created", winner), ("public-signup-token-user-added", winner)]


@pytest.mark.parametrize("field", ["email", "username"])
def test_of_eight_signups_with_one_name_one_succeeds(world, app, name, field):
    secret, since = invitation(world), world.last_event_id()
    shared = {"email": f"{name}@example.org", "username": name}[field]
    people = [{"email": f"{name}-{n}@example.org", "username": f"{name}-{n}"} | {field: shared} for n in range(8)]
    answers = at_once(*[lambda person=person: sign_up(Caller(app), secret, **person) for person in people])
    assert one_of_eight_signed_up(world, answers, since, field)


def test_one_of_eight_signups_that_wait_for_the_users_succeeds(world, app, conn, gate, name):
    secret, since = invitation(world), world.last_event_id()
    calls = [
        lambda n=n: sign_up(Caller(app), secret, email=f"{name}@EXAMPLE.org", username=f"{name}-{n}") for n in range(8)
    ]
    answers = at_the_gate(conn, gate, "LOCK TABLE users IN EXCLUSIVE MODE", *calls)
    assert one_of_eight_signed_up(world, answers, since, "email")


def test_eight_people_sign_up_with_one_token(world, app, conn, name):
    secret, since = invitation(world), world.last_event_id()
    calls = [
        lambda n=n: sign_up(Caller(app), secret, email=f"{name}-{n}@example.org", username=f"{name}-{n}")
        for n in range(8)
    ]
    answers = at_once(*calls)
    assert statuses(answers) == {200: 8}
    links = (
        "SELECT array_agg(user_id) FROM signup_token_users JOIN signup_tokens ON id = token_id "
        "WHERE secret = %(secret)s"
    )
    assert set(value(conn, links, {"secret": secret})) == {answer.json["id"] for answer in answers}
    assert Counter(event["type"] for event in world.events(since)) == {
        "user-created": 8,
        "public-signup-token-user-added": 8,
    }


@pytest.mark.parametrize("gated", [False, True])
@pytest.mark.usefixtures("name")
def test_eight_changes_of_a_token_follow_one_another(world, admin, conn, gate, gated):
    secret = invitation(world)
    before, since = stored(conn, secret), world.last_event_id()
    changes = [
        {"expiresAt": f"20{50 + n}-01-01T00:00:00.000Z"} | ({"enabled": False} if n == 3 else {}) for n in range(8)
    ]
    calls = [lambda change=change: put(admin, secret, **change) for change in changes]
    lock = f"SELECT FROM signup_tokens WHERE secret = '{secret}' FOR UPDATE"
    answers = at_the_gate(conn, gate, lock, *calls) if gated else at_once(*calls)
    assert statuses(answers) == {200: 8}
    events = world.events(since)
    assert [event["pre_data"] for event in events] == [before, *(event["data"] for event in events[:-1])]
    assert events[-1]["data"] == stored(conn, secret)
    assert {event["data"]["expiresAt"] for event in events} == {change["expiresAt"] for change in changes}
    # Each answer is what that change made, not what a later one did.
    recorded = {event["data"]["expiresAt"]: event["data"]["enabled"] for event in events}
    assert {answer.json["expiresAt"]: answer.json["enabled"] for answer in answers} == recorded


def test_a_signup_comes_before_the_disabling_or_is_refused(world, admin, app, conn, name):
    secret, since = invitation(world), world.last_event_id()
    calls = [
        lambda n=n: sign_up(Caller(app), secret, email=f"{name}-{n}@example.org", username=f"{name}-{n}")
        for n in range(7)
    ]
    disabled, *answers = at_once(lambda: put(admin, secret, enabled=False), *calls)
    assert disabled.status_code == 200
    assert set(statuses(answers)) <= {200, 403}
    events = world.events(since)
    (end,) = (event["id"] for event in events if event["type"] == "public-signup-token-updated")
    assert all(event["id"] < end for event in events if event["id"] != end)
    assert len(events) == 1 + 2 * statuses(answers)[200]
    assert (
        value(conn, "SELECT count(*) FROM users WHERE username ^@ %(name)s", {"name": name}) == statuses(answers)[200]
    )


def test_a_signup_waits_for_the_disabling_and_is_refused(world, app, conn, gate, name):
    secret, since = invitation(world), world.last_event_id()
    calls = [
        lambda n=n: sign_up(Caller(app), secret, email=f"{name}-{n}@example.org", username=f"{name}-{n}")
        for n in range(8)
    ]
    answers = at_the_gate(conn, gate, f"UPDATE signup_tokens SET enabled = false WHERE secret = '{secret}'", *calls)
    assert statuses(answers) == {403: 8}
    assert world.events(since) == []


def test_a_token_disabled_while_hashing_refuses_the_signup(world, admin, app, conn, name):
    secret, since = invitation(world), world.last_event_id()
    with while_hashing(
        app, conn, lambda: sign_up(Caller(app), secret, email=f"{name}@example.org", username=name)
    ) as future:
        assert put(admin, secret, enabled=False).status_code == 200
    refused(future.result(), 403, "NoAccessError")
    assert [event["type"] for event in world.events(since)] == ["public-signup-token-updated"]
    assert value(conn, "SELECT count(*) FROM users WHERE username = %(name)s", {"name": name}) == 0


def test_changes_with_the_same_token_do_not_wait_for_each_other(world, gate, name):
    for caller, table in ((world.api_key(name=name), "api_keys"), (world.user(name), "personal_tokens")):
        with gate.transaction():
            gate.execute(f"SELECT FROM {table} FOR UPDATE")
            assert caller.get("/api/admin/projects/default/overview").status_code == 200
