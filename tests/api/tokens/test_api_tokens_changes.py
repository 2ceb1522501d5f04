"""API tokens: who may make, change and delete which kind, and that no secret is written down."""

from collections.abc import Callable, Iterator
from urllib.parse import quote

import pytest
from flask import Flask

from sql.database import Connection, connect, rows, value
from sql.tokens import api_tokens
from tests.support.api_tokens import CLIENT, EXPIRY, PATH, described, holder, stored
from tests.support.event_log import event, events
from tests.support.fingerprint import fingerprint
from tests.support.races import at_once, at_the_gate
from tests.support.world import Caller, World, refused


def place(secret: str) -> str:
    """Where a token is changed and deleted."""
    return f"{PATH}/{quote(secret, safe='')}"


# Permissions

KINDS = ("admin", "client", "backend", "frontend")
OF = {"client": "CLIENT", "backend": "CLIENT", "frontend": "FRONTEND"}


@pytest.mark.parametrize("held", ["CLIENT", "FRONTEND"])
@pytest.mark.parametrize("kind", KINDS)
def test_each_kind_has_its_own_permission(world, conn, held, kind):
    may = OF.get(kind) == held
    secret = world.api_key(kind).key
    body = {"type": kind, "tokenName": "new"}
    since = world.last_event_id()
    for verb, call, success in (
        ("CREATE", lambda caller: caller.post(PATH, json=body), 201),
        ("UPDATE", lambda caller: caller.put(place(secret), json={"expiresAt": EXPIRY}), 200),
        ("DELETE", lambda caller: caller.delete(place(secret)), 200),
    ):
        caller = holder(world, f"{verb}_{held}_API_TOKEN")
        before = fingerprint(conn)
        answer = call(caller)
        if may:
            assert answer.status_code == success
        else:
            refused(answer, 403, "NoAccessError")
            assert fingerprint(conn) == before
    assert len(world.events(since)) == (3 if may else 0)


def test_permission_to_read_allows_nothing_else(world, eve, conn):
    secret = world.api_key("client").key
    before = fingerprint(conn)
    for caller in (eve, holder(world, "READ_CLIENT_API_TOKEN", "READ_FRONTEND_API_TOKEN")):
        before = fingerprint(conn)
        refused(caller.post(PATH, json=CLIENT), 403, "NoAccessError")
        refused(caller.put(place(secret), json={"expiresAt": EXPIRY}), 403, "NoAccessError")
        refused(caller.delete(place(secret)), 403, "NoAccessError")
        assert fingerprint(conn) == before


def test_the_token_and_body_are_not_checked_without_permission(world, victor):
    secret = world.api_key("client").key
    answers = [
        victor.put(place(key), **body)
        for key in (secret, "unknown")
        for body in ({"json": {"expiresAt": EXPIRY}}, {"data": b"x"})
    ]
    answers += [victor.delete(place(key)) for key in (secret, "unknown")]
    assert {(answer.status_code, answer.json["name"]) for answer in answers} == {(403, "NoAccessError")}
    assert len({answer.json["message"] for answer in answers}) == 2
    refused(victor.post(PATH, data=b"x", content_type="text/plain"), 403, "NoAccessError")


# Changing one


def test_another_expiry_is_kept_and_recorded(world, alice, conn):
    secret = world.api_key("client", name="sdk", environment="production").key
    since = world.last_event_id()
    answer = alice.put(place(secret), json={"expiresAt": EXPIRY})
    assert (answer.status_code, answer.data) == (200, b"")
    assert value(conn, "SELECT iso(expires_at) FROM api_keys WHERE name = 'sdk'") == EXPIRY
    before = described(conn, "sdk", "client", "production", "*")
    after = before | {"expiresAt": EXPIRY}
    assert events(world, since) == [
        event("api-token-updated", alice, project="*", environment="production", data=after, pre_data=before)
    ]


def test_a_changed_expiry_ends_or_revives_a_token_at_once(world, alice):
    robot = world.api_key("admin")
    assert robot.get(PATH).status_code == 200
    assert alice.put(place(robot.key), json={"expiresAt": "2020-01-01T00:00:00Z"}).status_code == 200
    refused(robot.get(PATH), 401, "AuthenticationRequired")
    assert alice.put(place(robot.key), json={"expiresAt": EXPIRY}).status_code == 200
    assert robot.get(PATH).status_code == 200


def test_setting_the_same_expiry_again_changes_nothing(world, alice):
    secret = world.api_key("client", expires_at=EXPIRY).key
    since = world.last_event_id()
    assert alice.put(place(secret), json={"expiresAt": EXPIRY}).status_code == 200
    assert world.events(since) == []


def test_null_means_that_a_token_never_expires(world, alice, conn):
    secret = world.api_key("client", name="sdk", expires_at=EXPIRY).key
    since = world.last_event_id()
    for _ in range(2):
        assert alice.put(place(secret), json={"expiresAt": None}).status_code == 200
    assert value(conn, "SELECT expires_at FROM api_keys WHERE name = 'sdk'") is None
    assert [(event["pre_data"]["expiresAt"], event["data"]["expiresAt"]) for event in world.events(since)] == [
        (EXPIRY, None)
    ]


@pytest.mark.parametrize("body", [{}, {"expiresAt": "tomorrow"}, {"expiresAt": EXPIRY, "other": "x"}, []])
def test_a_change_that_does_not_fit_is_refused(world, alice, conn, body):
    secret = world.api_key("client").key
    before = fingerprint(conn)
    refused(alice.put(place(secret), json=body))
    assert fingerprint(conn) == before


def test_an_unknown_token_cannot_be_changed(world, alice, conn):
    known = world.api_key("client", name="sdk").key
    before = fingerprint(conn)
    for secret in ("unknown", "sdk", known[:-1], known.upper(), f"{known} ", "%00"):
        refused(alice.put(place(secret), json={"expiresAt": EXPIRY}), 404, "NotFoundError")
    assert fingerprint(conn) == before


# Deleting one


@pytest.mark.parametrize(("kind", "environment"), [("client", "production"), ("admin", None)])
def test_a_deleted_token_is_gone_and_recorded(world, alice, conn, kind, environment):
    secret = world.api_key(kind, name="sdk", environment=environment).key
    since = world.last_event_id()
    answer = alice.delete(place(secret))
    assert (answer.status_code, answer.data) == (200, b"")
    assert stored(conn) == []
    before = described(conn, "sdk", kind, environment or "*", "*")
    assert events(world, since) == [
        event("api-token-deleted", alice, project="*", environment=environment or "*", pre_data=before)
    ]


def test_a_deleted_token_stops_working_at_once(world, alice):
    robot = world.api_key("admin")
    assert robot.get(PATH).status_code == 200
    assert alice.delete(place(robot.key)).status_code == 200
    refused(robot.get(PATH), 401, "AuthenticationRequired")


def test_a_token_with_slashes_can_be_changed_and_deleted(world, alice, conn):
    api_tokens.insert(conn, "made/up/by an operator", name="ops")
    robot = Caller(world.app, "made/up/by an operator")
    assert alice.put(place(robot.key), json={"expiresAt": EXPIRY}).status_code == 200
    assert robot.get(PATH).status_code == 200
    assert alice.delete(place(robot.key)).status_code == 200
    refused(robot.get(PATH), 401, "AuthenticationRequired")


def test_a_token_limited_to_projects_is_deleted_with_its_limits(world, alice, conn):
    world.project("hermes"), world.project("ares")
    secret = alice.post(PATH, json=CLIENT | {"projects": ["hermes", "ares"]}).json["secret"]
    assert secret.startswith("[]:")
    since = world.last_event_id()
    assert alice.delete(place(secret)).status_code == 200
    assert value(conn, "SELECT count(*) FROM api_key_projects") == 0
    assert [(row["project"], row["pre_data"]["projects"]) for row in world.events(since)] == [
        ("ares,hermes", ["ares", "hermes"])
    ]


def test_deleting_an_unknown_token_changes_and_records_nothing(world, alice, conn):
    admin = world.api_key("admin", name="deploy").key
    before = fingerprint(conn)
    for secret in ("unknown", "deploy", f"{admin[4:12]}…", admin[:-1]):
        assert alice.delete(place(secret)).status_code == 200, secret
    assert fingerprint(conn) == before


# Secrets


def test_no_secret_reaches_the_log_or_an_event(alice, conn, capfd):
    asked = [{"type": kind, "tokenName": f"a {kind}"} for kind in KINDS]
    secrets = [alice.post(PATH, json=body).json["secret"] for body in asked]
    for secret in secrets:
        alice.put(place(secret), json={"expiresAt": EXPIRY})
        alice.put(place(secret), json={})
        alice.delete(place(secret))
        alice.delete(place(secret))
        alice.put(place(secret), json={"expiresAt": EXPIRY})
    log = capfd.readouterr().out
    assert log.count(f'"route": "{PATH}/<slashed:api_token>"') == 5 * len(KINDS)
    written = "".join(row["all"] for row in rows(conn, 'SELECT to_jsonb(events)::text AS "all" FROM events'))
    for secret in secrets:
        random = secret.partition(".")[2]
        assert random[:8] not in log
        assert random[:8] not in written


@pytest.mark.parametrize(
    ("secret", "mask"),
    [
        (f"*:*.{'0123456789abcdef' * 4}", "01234567…"),
        (f"*:*.{'0123456789abcdef' * 2}", "01234567…"),
        (f"*:*.{'0123456789abcdef' * 2}"[:-1], "…"),
        ("0123456789abcdef" * 4, "…"),
        ("*:*.test-admin-key-of-the-template", "…"),
        (f"a.short.{'x' * 40}", "xxxxxxxx…"),
        (f"{'x' * 40}.end", "…"),
        (f"{'x' * 40}.", "…"),
    ],
)
def test_a_mask_reveals_little_of_a_short_secret(secret, mask):
    assert api_tokens.mask(secret) == mask


def test_a_key_of_the_settings_is_listed_by_its_mask(alice):
    assert [(token["tokenName"], token["secret"]) for token in alice.get(PATH).json["tokens"]] == [("init-1", "…")]


# At once


@pytest.fixture(scope="module")
def own_url(make_database: Callable[..., str]) -> str:
    """A database that commits."""
    return make_database()


@pytest.fixture
def committed(own_url: str, make_app: Callable[..., Flask]) -> Iterator[World]:
    """What there is in it, with room for one more token."""
    with connect(own_url) as own:
        yield World(make_app(own_url, MAX_API_TOKENS=value(own, "SELECT count(*) FROM api_keys") + 2), own)


def test_of_eight_tokens_at_once_one_takes_the_last_place(committed):
    admin = committed.api_key()
    since = committed.last_event_id()
    answers = at_once(*[lambda: admin.post(PATH, json=CLIENT)] * 8)
    assert sorted(answer.status_code for answer in answers) == [201] + [400] * 7
    assert len(committed.events(since)) == 1


@pytest.fixture
def gate(own_url: str) -> Iterator[Connection]:
    """A connection that holds what others must wait for."""
    with connect(own_url) as gate:
        yield gate


def test_of_eight_deletions_at_once_one_is_recorded(committed, gate):
    admin, secret = committed.api_key(), committed.api_key("client").key
    # Once the key has been seen lately, its row is not written, and the eight do not wait for one another there.
    assert admin.get(PATH).status_code == 200
    since = committed.last_event_id()
    statement = "SELECT FROM api_keys WHERE kind = 'client' FOR UPDATE"
    answers = at_the_gate(committed.conn, gate, statement, *[lambda: admin.delete(place(secret))] * 8)
    assert {answer.status_code for answer in answers} == {200}
    assert [row["type"] for row in committed.events(since)] == ["api-token-deleted"]


@pytest.mark.parametrize(
    ("statement", "scope"),
    [
        ("DELETE FROM environments WHERE name = 'brief'", {"environment": "brief"}),
        ("DELETE FROM projects WHERE id = 'brief'", {"projects": ["brief"]}),
    ],
)
def test_a_project_or_environment_under_deletion_gets_no_token(committed, gate, statement, scope):
    committed.conn.execute(
        "INSERT INTO environments (name, type, sort_order) VALUES ('brief', 'test', 9) ON CONFLICT DO NOTHING"
    )
    committed.conn.execute("INSERT INTO projects (id, name) VALUES ('brief', 'Brief') ON CONFLICT DO NOTHING")
    admin = committed.api_key()
    committed.app.config["MAX_API_TOKENS"] += 10
    answers = at_the_gate(committed.conn, gate, statement, lambda: admin.post(PATH, json=CLIENT | scope))
    refused(answers[0])
