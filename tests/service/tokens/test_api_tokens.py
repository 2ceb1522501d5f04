"""API tokens: listed, created, updated and deleted, their origins, and who may do that."""

import re
from collections.abc import Callable, Iterator
from urllib.parse import quote

import pytest
from flask import Flask

from sql.database import connect, rows, value
from sql.tokens import api_tokens
from tests.support.api_tokens import CLIENT, EXPIRY, PATH, described, holder, stored
from tests.support.event_log import event, events
from tests.support.fingerprint import fingerprint
from tests.support.races import at_once, at_the_gate
from tests.support.world import Caller, World, refused

KINDS = ("admin", "client", "backend", "frontend")
ADMIN = {"type": "admin", "tokenName": "all"}
FRONTEND = {"type": "frontend", "tokenName": "web", "environment": "development"}
ORIGINS = ["https://shop.example.org", "http://localhost:3000"]


def place(secret: str | None) -> str:
    """The path of a token."""
    return f"{PATH}/{quote(secret or '', safe='')}"


# Lists


def test_sdk_tokens_are_listed_with_secrets_and_admin_tokens_masked(world, alice, conn):
    assert [(token["tokenName"], token["secret"]) for token in alice.get(PATH).json["tokens"]] == [("init-1", "…")]
    conn.execute("DELETE FROM api_keys")
    assert alice.get(PATH).json == {"tokens": []}
    admin, client, frontend = (world.api_key(kind, name=f"a {kind}").key for kind in ("admin", "client", "frontend"))
    answer = alice.get(PATH)
    mask = admin.removeprefix("*:*.")[:8] + "…"
    assert answer.json == {
        "tokens": [
            {"secret": mask} | described(conn, "a admin", "admin", "*", "*"),
            {"secret": client} | described(conn, "a client", "client", "development", "*"),
            {"secret": frontend} | described(conn, "a frontend", "frontend", "development", "*"),
        ]
    }
    assert admin.removeprefix("*:*.")[:9] not in answer.text


def test_a_listed_token_has_its_scope_and_its_last_use(world, alice, conn):
    world.project("hermes")
    world.project("ares")
    world.api_key("client", name="it", environment="production", projects=["hermes", "ares"])
    conn.execute(
        "UPDATE api_keys SET seen_at = '2026-05-31T09:30:00.1239Z', expires_at = '2026-06-30T00:00:00Z' "
        "WHERE name = 'it'"
    )
    (token,) = alice.get(f"{PATH}/it").json["tokens"]
    scope = {"project": "ares,hermes", "projects": ["ares", "hermes"], "environment": "production"}
    assert token == token | scope | {"seenAt": "2026-05-31T09:30:00.123Z", "expiresAt": "2026-06-30T00:00:00.000Z"}


def test_tokens_are_listed_by_creation_and_found_by_their_exact_name(world, alice):
    for name, day in (("second", "2026-01-02"), ("first", "2026-01-01"), ("third", "2026-01-03")):
        world.api_key("client", name=name, created_at=f"{day}T00:00:00Z")
    names = [token["tokenName"] for token in alice.get(PATH).json["tokens"]]
    assert names[:3] == ["first", "second", "third"]
    for name in ("one/two", "one", "One", "one"):
        world.api_key("client", name=name)
    assert [token["tokenName"] for token in alice.get(f"{PATH}/one").json["tokens"]] == ["one", "one"]
    for name in ("none", "o%25e", "%20one", "%ff", "%00"):
        assert alice.get(f"{PATH}/{name}").json == {"tokens": []}, name
    for end in ("", "/", "one/", "one//", "/one", "a//b"):
        refused(alice.get(f"{PATH}/{end}"), 404, "NotFoundError")


@pytest.mark.parametrize(
    ("permissions", "kinds"),
    [
        (["READ_CLIENT_API_TOKEN"], {"client", "backend"}),
        (["READ_FRONTEND_API_TOKEN"], {"frontend"}),
        (["READ_CLIENT_API_TOKEN", "READ_FRONTEND_API_TOKEN"], {"client", "backend", "frontend"}),
        (["CREATE_CLIENT_API_TOKEN", "UPDATE_FRONTEND_API_TOKEN", "READ_ROLE"], None),
    ],
)
def test_only_the_kinds_that_the_caller_may_read_are_listed(world, permissions, kinds):
    for kind in KINDS:
        world.api_key(kind, name="the name")
    caller = holder(world, *permissions)
    for path in (PATH, f"{PATH}/the%20name"):
        if kinds:
            assert {token["type"] for token in caller.get(path).json["tokens"]} == kinds
        else:
            refused(caller.get(path), 403, "NoAccessError")


# Creating


@pytest.mark.parametrize(
    ("body", "kind", "environment", "projects", "prefix"),
    [
        ({"type": "client", "environment": "production"}, "client", "production", [], "*:production."),
        ({"type": "ADMIN"}, "admin", "*", [], "*:*."),
        ({"type": "admin", "environment": "*", "project": "*"}, "admin", "*", [], "*:*."),
        ({"type": "admin", "environment": "*", "projects": ["*"]}, "admin", "*", [], "*:*."),
        *(
            (FRONTEND | asked, "frontend", "development", kept, prefix)
            for asked, kept, prefix in (
                ({"project": "hermes"}, ["hermes"], "hermes:development."),
                ({"projects": ["hermes"]}, ["hermes"], "hermes:development."),
                ({"projects": ["hermes", "ares", "hermes"]}, ["ares", "hermes"], "[]:development."),
                ({"project": "*"}, [], "*:development."),
                ({"projects": ["hermes", "*"]}, [], "*:development."),
                ({"projects": ["no-such-project", "*"]}, [], "*:development."),
            )
        ),
    ],
)
def test_a_new_token_is_returned_and_recorded(world, alice, conn, body, kind, environment, projects, prefix):
    world.project("hermes")
    world.project("ares")
    since = world.last_event_id()
    answer = alice.post(PATH, json=body | {"tokenName": "sdk"})
    assert (answer.status_code, answer.headers["Location"]) == (201, "api-tokens/sdk")
    secret = answer.json["secret"]
    assert re.fullmatch(rf"{re.escape(prefix)}[0-9a-f]{{64}}", secret)
    description = described(conn, "sdk", kind, environment, *(projects or ["*"]))
    assert answer.json == {"secret": secret} | description
    scope = {"project": ",".join(projects) or "*", "environment": environment}
    assert events(world, since) == [event("api-token-created", alice, **scope, data=description)]
    (row,) = stored(conn)
    kept = {"name": "sdk", "kind": kind, "projects": projects, "environment": None if kind == "admin" else environment}
    kept |= {"secret": None, "mask": f"{secret[4:12]}…"} if kind == "admin" else {"secret": secret, "mask": None}
    assert row == row | kept | {"expires_at": None}
    assert bytes(row["digest"]) == api_tokens.digest(secret)
    if kind == "admin":
        assert secret[4:13] not in alice.get(f"{PATH}/sdk").text
        assert Caller(world.app, secret).get(PATH).status_code == 200


@pytest.mark.parametrize("type", ["client", "Client", "CLIENT", "frontend", "FRONTEND", "backend", "Backend"])
def test_types_ignore_case_and_backend_means_client(world, alice, conn, type):
    answer = alice.post(PATH, json={"type": type, "username": "by the old word"})
    assert (answer.json["type"], answer.json["tokenName"]) == (type.lower(), "by the old word")
    assert stored(conn)[0]["kind"] == type.lower()
    refused(Caller(world.app, answer.json["secret"]).get(PATH), 403, "NoAccessError")


def test_the_default_environment_is_default_or_development(alice, conn):
    asked = {"type": "client", "tokenName": "sdk"}
    assert alice.post(PATH, json=asked).json["environment"] == "development"
    conn.execute("INSERT INTO environments (name, type, sort_order) VALUES ('default', 'production', 3)")
    assert alice.post(PATH, json=asked).json["environment"] == "default"
    conn.execute("DELETE FROM environments WHERE name IN ('default', 'development')")
    assert refused(alice.post(PATH, json=asked)) == "environment: must be an existing environment"


def test_an_expired_token_can_be_created_and_is_invalid(world, alice):
    for expiry, normal, status in (
        ("2020-01-01T02:00:00+02:00", "2020-01-01T00:00:00.000Z", 401),
        (EXPIRY, EXPIRY, 200),
    ):
        created = alice.post(PATH, json=ADMIN | {"expiresAt": expiry})
        assert (created.status_code, created.json["expiresAt"]) == (201, normal)
        assert Caller(world.app, created.json["secret"]).get(PATH).status_code == status


def test_names_need_not_be_unique_and_the_location_quotes_them(alice):
    asked = {"type": "client", "tokenName": "für uns/alle?"}
    for number in (1, 2):
        assert alice.post(PATH, json=asked).headers["Location"] == "api-tokens/f%C3%BCr%20uns%2Falle%3F"
        found = alice.get(f"{PATH}/f%C3%BCr%20uns%2Falle%3F").json["tokens"]
        assert [token["tokenName"] for token in found] == ["für uns/alle?"] * number


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({"type": "client"}, "tokenName: is required"),
        (CLIENT | {"tokenName": None}, "tokenName: is required"),
        (CLIENT | {"tokenName": "  "}, "tokenName: must not be blank"),
        (CLIENT | {"type": "proxy"}, "type: must be admin, client, backend or frontend"),
        (CLIENT | {"type": 1}, "type: must be a string"),
        (CLIENT | {"username": "other"}, "username: must be omitted with tokenName, or equal to it"),
        (CLIENT | {"environment": "*"}, "environment: must be one environment; only admin tokens are for all"),
        (CLIENT | {"environment": "moon"}, "environment: must be an existing environment"),
        (CLIENT | {"environment": "Development"}, "environment: must be an existing environment"),
        (CLIENT | {"environment": ""}, "environment: must be an existing environment"),
        (CLIENT | {"project": "moon"}, "projects: unknown projects: moon"),
        (CLIENT | {"projects": ["mars", "default", "moon"]}, "projects: unknown projects: mars, moon"),
        (CLIENT | {"projects": []}, "projects: must have at least one project; omit it for all projects"),
        (CLIENT | {"project": "default", "projects": ["*"]}, "projects: must be omitted with project, or equal to it"),
        (ADMIN | {"environment": "development"}, "environment: must be * for an admin token"),
        (ADMIN | {"project": "default"}, "project: must be * for an admin token"),
        (ADMIN | {"projects": ["default"]}, "projects: must be * for an admin token"),
    ],
)
def test_an_invalid_body_is_refused(alice, conn, body, message):
    before = fingerprint(conn)
    assert refused(alice.post(PATH, json=body)) == message
    assert fingerprint(conn) == before


def test_null_and_an_alias_change_nothing_about_a_new_token(alice):
    plain = alice.post(PATH, json=CLIENT).json
    nulls = dict.fromkeys(("username", "project", "projects", "environment", "expiresAt"))
    for more in (nulls, {"alias": "old-name"}):
        created = alice.post(PATH, json=CLIENT | more).json
        assert created | dict.fromkeys(("secret", "createdAt")) == plain | dict.fromkeys(("secret", "createdAt"))
    assert plain["expiresAt"] is plain["alias"] is None


def test_the_number_of_tokens_is_limited(alice, conn, app, monkeypatch):
    monkeypatch.setitem(app.config, "MAX_API_TOKENS", value(conn, "SELECT count(*) FROM api_keys") + 1)
    assert alice.post(PATH, json=CLIENT).status_code == 201
    before = fingerprint(conn)
    assert "API tokens" in refused(alice.post(PATH, json=CLIENT))
    assert fingerprint(conn) == before


# Permissions


@pytest.mark.parametrize("held", ["CLIENT", "FRONTEND"])
@pytest.mark.parametrize("kind", KINDS)
def test_each_kind_has_its_own_permissions(world, conn, held, kind):
    may = held == {"client": "CLIENT", "backend": "CLIENT", "frontend": "FRONTEND"}.get(kind)
    secret = world.api_key(kind).key
    since = world.last_event_id()
    for verb, call, success in (
        ("CREATE", lambda caller: caller.post(PATH, json={"type": kind, "tokenName": "new"}), 201),
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


# Updating


def test_an_expiry_is_updated_and_recorded_once(world, alice, conn):
    secret = world.api_key("client", name="sdk", environment="production").key
    since, before = world.last_event_id(), described(conn, "sdk", "client", "production", "*")
    for expiry in (EXPIRY, None):
        for _ in range(2):
            answer = alice.put(place(secret), json={"expiresAt": expiry})
            assert (answer.status_code, answer.data) == (200, b"")
        assert value(conn, "SELECT iso(expires_at) FROM api_keys WHERE name = 'sdk'") == expiry
    after, scope = before | {"expiresAt": EXPIRY}, {"project": "*", "environment": "production"}
    assert events(world, since) == [
        event("api-token-updated", alice, **scope, data=after, pre_data=before),
        event("api-token-updated", alice, **scope, data=before, pre_data=after),
    ]


def test_an_update_or_a_deletion_counts_at_once(world, alice, conn):
    api_tokens.insert(conn, "made/up/by an operator", name="ops")
    for robot in (world.api_key("admin"), Caller(world.app, "made/up/by an operator")):
        assert robot.get(PATH).status_code == 200
        assert alice.put(place(robot.key), json={"expiresAt": "2020-01-01T00:00:00Z"}).status_code == 200
        refused(robot.get(PATH), 401, "AuthenticationRequired")
        assert alice.put(place(robot.key), json={"expiresAt": EXPIRY}).status_code == 200
        assert robot.get(PATH).status_code == 200
        assert alice.delete(place(robot.key)).status_code == 200
        refused(robot.get(PATH), 401, "AuthenticationRequired")


@pytest.mark.parametrize("name", ["tokenName", "username", "type", "environment", "project", "projects"])
def test_only_the_expiry_of_a_token_can_change(world, alice, conn, name):
    secret = world.api_key("client").key
    before = fingerprint(conn)
    message = refused(alice.put(place(secret), json={"expiresAt": EXPIRY, name: "other"}))
    assert message == f"{name}: must be omitted or unchanged"
    assert refused(alice.put(place(secret), json={})) == "body: must have expiresAt or origins"
    assert fingerprint(conn) == before


@pytest.mark.parametrize("kind", ["client", "admin"])
def test_a_listed_token_can_be_sent_back(world, alice, kind):
    world.project("other")
    projects = [] if kind == "admin" else ["default", "other"]
    secret = world.api_key(kind, name="sdk", expires_at=EXPIRY, projects=projects).key
    since = world.last_event_id()
    [token] = alice.get(place("sdk")).json["tokens"]
    assert alice.put(place(secret), json=token).status_code == 200
    assert world.events(since) == []
    created = alice.post(PATH, json=token).json
    assert created["secret"] not in (secret, token["secret"])
    new = dict.fromkeys(("secret", "createdAt", "seenAt"))
    assert created | new == token | new


def test_unknown_secrets_are_404_in_an_update_and_ignored_in_a_deletion(world, alice, conn):
    admin = world.api_key("admin", name="deploy").key or ""
    before = fingerprint(conn)
    for secret in ("unknown", "deploy", f"{admin[4:12]}…", admin[:-1], admin.upper(), f"{admin} ", "%00"):
        refused(alice.put(place(secret), json={"expiresAt": EXPIRY}), 404, "NotFoundError")
        assert alice.delete(place(secret)).status_code == 200, secret
    assert fingerprint(conn) == before


# Deleting


@pytest.mark.parametrize(
    ("kind", "environment", "projects"), [("client", "production", ["ares", "hermes"]), ("admin", None, [])]
)
def test_a_deleted_token_is_gone_and_recorded(world, alice, conn, kind, environment, projects):
    world.project("hermes")
    world.project("ares")
    secret = world.api_key(kind, name="sdk", environment=environment, projects=projects).key
    since = world.last_event_id()
    answer = alice.delete(place(secret))
    assert (answer.status_code, answer.data) == (200, b"")
    assert stored(conn) == []
    assert value(conn, "SELECT count(*) FROM api_key_projects") == 0
    scope = {"project": ",".join(projects) or "*", "environment": environment or "*"}
    before = described(conn, "sdk", kind, environment or "*", *(projects or ["*"]))
    assert events(world, since) == [event("api-token-deleted", alice, **scope, pre_data=before)]


# Origins of a frontend token: the web pages that can use it


def origins(conn) -> list[str] | None:
    """The stored origins of the token web."""
    return value(conn, "SELECT origins FROM api_keys WHERE name = 'web'")


def test_a_frontend_token_is_created_with_origins_and_sent_back(world, alice, conn):
    since = world.last_event_id()
    response = alice.post(PATH, json=FRONTEND | {"origins": ORIGINS})
    token = described(conn, "web", "frontend", "development", "*", origins=ORIGINS)
    assert (response.status_code, response.json) == (201, {"secret": response.json["secret"]} | token)
    assert origins(conn) == ORIGINS
    created = event("api-token-created", alice, project="*", environment="development", data=token)
    [listed] = alice.get(f"{PATH}/web").json["tokens"]
    assert listed == response.json
    assert alice.put(place(listed["secret"]), json=listed).status_code == 200
    assert events(world, since) == [created]
    new = {name: member for name, member in listed.items() if name not in ("username", "project")}
    assert alice.post(PATH, json=new).json["origins"] == ORIGINS


def test_a_token_of_a_project_can_have_origins(max, conn):
    response = max.post("/api/admin/projects/apollo/api-tokens", json=FRONTEND | {"origins": ORIGINS})
    assert (response.status_code, response.json["origins"], origins(conn)) == (201, ORIGINS, ORIGINS)


def test_a_token_without_origins_has_no_such_property(alice, conn):
    for body in (FRONTEND, FRONTEND | {"origins": None}, FRONTEND | {"type": "client", "origins": None}):
        response = alice.post(PATH, json=body)
        assert (response.status_code, "origins" in response.json, origins(conn)) == (201, False, None)


@pytest.mark.parametrize(
    ("sent", "kept"),
    [
        (["HTTPS://Shop.Example.org:443", "https://shop.example.org"], ["https://shop.example.org"]),
        (["http://shop.example.org:80"], ["http://shop.example.org"]),
        (["https://shop.example.org:8443"], ["https://shop.example.org:8443"]),
        (["http://[::1]:5173", "capacitor://localhost"], ["http://[::1]:5173", "capacitor://localhost"]),
        (["https://shop.example.org", "*"], ["*"]),
    ],
)
def test_origins_are_kept_as_browsers_write_them(alice, conn, sent, kept):
    assert alice.post(PATH, json=FRONTEND | {"origins": sent}).json["origins"] == kept
    assert origins(conn) == kept


INVALID = ["", "shop.example.org", "https://", "https://shop.example.org/", "https://a b", "https://*.example.org"]
INVALID += ["null", "https://user@shop.example.org", "https://shop.example.org:", "https://shop.example.org\r\nX: 1"]
INVALID += [f"https://{'a' * 300}"]


@pytest.mark.parametrize("sent", [*([origin] for origin in (*INVALID, 5, None)), [], "*", {}, ["https://a.b"] * 101])
def test_invalid_origins_are_refused(alice, sent):
    assert re.match(r"origins(\.0)?: must", refused(alice.post(PATH, json=FRONTEND | {"origins": sent})))


@pytest.mark.parametrize("kind", ["admin", "client", "backend"])
def test_only_a_frontend_token_has_origins(world, alice, conn, kind):
    secret = world.api_key(kind).key
    before = fingerprint(conn)
    message = "origins: must be omitted or null; only a frontend token has origins"
    assert refused(alice.post(PATH, json={"type": kind, "tokenName": "x", "origins": ["*"]})) == message
    assert refused(alice.put(place(secret), json={"origins": ["*"]})) == message
    assert fingerprint(conn) == before


def test_origins_are_updated_without_the_expiry_and_the_reverse(world, alice, conn):
    secret = world.api_key("frontend", name="web", expires_at=EXPIRY).key
    since = world.last_event_id()
    assert alice.put(place(secret), json={"origins": ORIGINS}).status_code == 200
    before = described(conn, "web", "frontend", "development", "*", expiresAt=EXPIRY)
    data, scope = before | {"origins": ORIGINS}, {"project": "*", "environment": "development"}
    assert events(world, since) == [event("api-token-updated", alice, **scope, data=data, pre_data=before)]
    assert alice.put(place(secret), json={"expiresAt": None}).status_code == 200
    [token] = alice.get(f"{PATH}/web").json["tokens"]
    assert (token["expiresAt"], token["origins"], origins(conn)) == (None, ORIGINS, ORIGINS)
    assert alice.put(place(secret), json={"origins": None}).status_code == 200
    assert origins(conn) is None


# Secrets


def test_no_secret_reaches_the_log_or_an_event(alice, conn, capfd):
    secrets = [alice.post(PATH, json={"type": kind, "tokenName": f"a {kind}"}).json["secret"] for kind in KINDS]
    for secret in secrets:
        alice.put(place(secret), json={"expiresAt": EXPIRY})
        alice.put(place(secret), json={})
        alice.delete(place(secret))
        alice.delete(place(secret))
        alice.put(place(secret), json={"expiresAt": EXPIRY})
    log = capfd.readouterr().out
    assert log.count(f'"route": "{PATH}/<slashed:api_token>"') == 5 * len(KINDS)
    written = log + "".join(row["all"] for row in rows(conn, 'SELECT to_jsonb(events)::text AS "all" FROM events'))
    assert [secret for secret in secrets if secret.partition(".")[2][:8] in written] == []


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


# At once


@pytest.fixture
def committed(own_url: str, make_app: Callable[..., Flask]) -> Iterator[World]:
    """What the database contains, with room for one more token."""
    with connect(own_url) as own:
        yield World(make_app(own_url, MAX_API_TOKENS=value(own, "SELECT count(*) FROM api_keys") + 2), own)


def test_of_eight_tokens_at_once_one_takes_the_last_place(committed):
    admin = committed.api_key()
    since = committed.last_event_id()
    answers = at_once(*[lambda: admin.post(PATH, json=CLIENT)] * 8)
    assert sorted(answer.status_code for answer in answers) == [201] + [400] * 7
    assert len(committed.events(since)) == 1


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
    ("create", "delete", "scope"),
    [
        (
            "INSERT INTO environments (name, type, sort_order) VALUES ('brief', 'test', 9)",
            "DELETE FROM environments WHERE name = 'brief'",
            {"environment": "brief"},
        ),
        (
            "INSERT INTO projects (id, name) VALUES ('brief', 'Brief')",
            "DELETE FROM projects WHERE id = 'brief'",
            {"projects": ["brief"]},
        ),
    ],
)
def test_a_project_or_environment_under_deletion_gets_no_token(committed, gate, create, delete, scope):
    committed.conn.execute(create)
    admin = committed.api_key()
    committed.app.config["MAX_API_TOKENS"] += 10
    [answer] = at_the_gate(committed.conn, gate, delete, lambda: admin.post(PATH, json=CLIENT | scope))
    refused(answer)
