"""Signups and changes of their tokens at once, on connections that commit."""

import pytest

from sql.database import value
from tests.support.races import at_once, statuses, while_hashing
from tests.support.signup import invitation, sign_up
from tests.support.signup_tokens import put, stored
from tests.support.world import Caller, refused


@pytest.fixture
def secret(world):
    """A signup token."""
    return invitation(world)


@pytest.fixture
def signups(app, secret, name):
    """signups(number): calls that sign different people up."""

    def signups(number, **same):
        people = [{"email": f"{name}-{n}@example.org", "username": f"{name}-{n}"} | same for n in range(number)]
        return [lambda person=person: sign_up(Caller(app), secret, **person) for person in people]

    return signups


@pytest.mark.parametrize("waits", [False, True])
@pytest.mark.parametrize("field", ["email", "username"])
def test_of_eight_signups_with_one_name_one_succeeds(conn, queue, signups, name, log, field, waits):
    calls = signups(8, **{"email": {"email": f"{name}@EXAMPLE.org"}, "username": {"username": name}}[field])
    answers = queue("LOCK TABLE users IN EXCLUSIVE MODE", *calls) if waits else at_once(*calls)
    assert statuses(answers) == {200: 1, 409: 7}
    messages = [refused(answer, 409, "NameExistsError") for answer in answers if answer.status_code == 409]
    assert {message.partition(":")[0] for message in messages} == {field}
    [winner] = [answer.get_json()["id"] for answer in answers if answer.status_code == 200]
    links = "SELECT array_agg(user_id) FROM signup_token_users WHERE user_id >= %(id)s"
    assert value(conn, "SELECT count(*) FROM users WHERE id >= %(id)s", {"id": winner}) == 1
    assert value(conn, links, {"id": winner}) == [winner]
    assert [(event["type"], event["created_by_user_id"]) for event in log()] == [
        ("user-created", winner),
        ("public-signup-token-user-added", winner),
    ]


def test_eight_changes_of_a_token_follow_one_another(admin, conn, queue, secret, log):
    before = stored(conn, secret)
    changes = [
        {"expiresAt": f"20{50 + n}-01-01T00:00:00.000Z"} | ({"enabled": False} if n == 3 else {}) for n in range(8)
    ]
    calls = [lambda change=change: put(admin, secret, **change) for change in changes]
    answers = queue(f"SELECT FROM signup_tokens WHERE secret = '{secret}' FOR UPDATE", *calls)
    assert statuses(answers) == {200: 8}
    events = log()
    assert [event["pre_data"] for event in events] == [before, *(event["data"] for event in events[:-1])]
    assert events[-1]["data"] == stored(conn, secret)
    assert {event["data"]["expiresAt"] for event in events} == {change["expiresAt"] for change in changes}
    # Each answer is what that change made, not what a later one did.
    recorded = {event["data"]["expiresAt"]: event["data"]["enabled"] for event in events}
    assert {answer.get_json()["expiresAt"]: answer.get_json()["enabled"] for answer in answers} == recorded


def test_a_signup_comes_before_the_disabling_or_is_refused(admin, conn, signups, secret, name, types):
    disabled, *answers = at_once(lambda: put(admin, secret, enabled=False), *signups(7))
    assert disabled.status_code == 200
    assert set(statuses(answers)) <= {200, 403}
    number = statuses(answers)[200]
    assert len(types()) == 1 + 2 * number
    assert types()[-1] == "public-signup-token-updated"
    assert value(conn, "SELECT count(*) FROM users WHERE username ^@ %(name)s", {"name": name}) == number


def test_signups_with_a_token_being_disabled_are_refused(queue, signups, secret, types):
    statement = f"UPDATE signup_tokens SET enabled = false WHERE secret = '{secret}'"
    assert statuses(queue(statement, *signups(8))) == {403: 8}
    assert types() == []


def test_a_token_disabled_while_hashing_refuses_the_signup(admin, app, conn, signups, secret, name, types):
    with while_hashing(app, conn, *signups(1)) as future:
        assert put(admin, secret, enabled=False).status_code == 200
    refused(future.result(), 403, "NoAccessError")
    assert types() == ["public-signup-token-updated"]
    assert value(conn, "SELECT count(*) FROM users WHERE username ^@ %(name)s", {"name": name}) == 0


def test_changes_with_the_same_token_do_not_wait_for_each_other(world, gate, name):
    for caller, table in ((world.api_key(name=name), "api_keys"), (world.user(name), "personal_tokens")):
        with gate.transaction():
            gate.execute(f"SELECT FROM {table} FOR UPDATE")
            assert caller.get("/api/admin/projects/default/overview").status_code == 200
