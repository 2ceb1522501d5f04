"""API tokens: which are listed to whom, how they are made, changed and deleted, and what the log says of it."""

import re

import pytest

from sql.database import value
from sql.tokens import api_tokens
from tests.support.api_tokens import CLIENT, EXPIRY, PATH, described, holder, stored
from tests.support.event_log import event, events
from tests.support.fingerprint import fingerprint
from tests.support.world import Caller, refused

# Lists


def test_sdk_tokens_are_listed_with_secrets_admin_tokens_masked(world, alice, conn):
    conn.execute("DELETE FROM api_keys")
    admin, client, frontend = (world.api_key(kind, name=f"a {kind}").key for kind in ("admin", "client", "frontend"))
    answer = alice.get(PATH)
    assert answer.status_code == 200
    mask = admin.removeprefix("*:*.")[:8] + "…"
    assert answer.json == {
        "tokens": [
            {"secret": mask} | described(conn, "a admin", "admin", "*", "*"),
            {"secret": client} | described(conn, "a client", "client", "development", "*"),
            {"secret": frontend} | described(conn, "a frontend", "frontend", "development", "*"),
        ]
    }
    assert admin.removeprefix("*:*.")[:9] not in answer.text


def test_the_list_is_empty_without_tokens(alice, conn):
    conn.execute("DELETE FROM api_keys")
    assert alice.get(PATH).json == {"tokens": []}


def test_a_token_has_its_scope_and_the_time_of_its_last_use(world, alice, conn):
    world.project("hermes"), world.project("ares")
    world.api_key("client", name="it", environment="production", projects=["hermes", "ares"])
    conn.execute(
        "UPDATE api_keys SET seen_at = '2026-05-31T09:30:00.1239Z', expires_at = '2026-06-30T00:00:00Z' "
        "WHERE name = 'it'"
    )
    (token,) = alice.get(f"{PATH}/it").json["tokens"]
    assert (token["project"], token["projects"], token["environment"]) == (
        "ares,hermes",
        ["ares", "hermes"],
        "production",
    )
    assert (token["seenAt"], token["expiresAt"]) == ("2026-05-31T09:30:00.123Z", "2026-06-30T00:00:00.000Z")


def test_tokens_are_listed_in_the_order_of_their_creation(world, alice):
    for name, day in (("second", "2026-01-02"), ("first", "2026-01-01"), ("third", "2026-01-03")):
        world.api_key("client", name=name, created_at=f"{day}T00:00:00Z")
    assert [token["tokenName"] for token in alice.get(PATH).json["tokens"] if token["type"] == "client"] == [
        "first",
        "second",
        "third",
    ]


def test_a_name_finds_all_that_are_called_so_exactly(world, alice):
    for name in ("one/two", "one", "One", "one"):
        world.api_key("client", name=name)
    assert [token["tokenName"] for token in alice.get(f"{PATH}/one").json["tokens"]] == ["one", "one"]
    for name in ("none", "o%25e", "%20one", "%ff", "%00"):
        assert alice.get(f"{PATH}/{name}").json == {"tokens": []}, name


@pytest.mark.parametrize(
    ("permissions", "kinds"),
    [
        (["READ_CLIENT_API_TOKEN"], {"client", "backend"}),
        (["READ_FRONTEND_API_TOKEN"], {"frontend"}),
        (["READ_CLIENT_API_TOKEN", "READ_FRONTEND_API_TOKEN"], {"client", "backend", "frontend"}),
    ],
)
def test_only_the_kinds_that_the_caller_may_read_are_listed(world, permissions, kinds):
    for kind in ("admin", "client", "backend", "frontend"):
        world.api_key(kind, name="the name")
    caller = holder(world, *permissions)
    for path in (PATH, f"{PATH}/the%20name"):
        assert {token["type"] for token in caller.get(path).json["tokens"]} == kinds


def test_an_editor_reads_all_but_admin_tokens(world, eve):
    for kind in ("admin", "client", "frontend"):
        world.api_key(kind)
    assert {token["type"] for token in eve.get(PATH).json["tokens"]} == {"client", "frontend"}


def test_callers_without_any_read_permission_get_403(world, victor):
    world.api_key("client", name="it")
    for caller in (victor, holder(world, "CREATE_CLIENT_API_TOKEN", "UPDATE_FRONTEND_API_TOKEN", "READ_ROLE")):
        for path in (PATH, f"{PATH}/it", f"{PATH}/none"):
            refused(caller.get(path), 403, "NoAccessError")


def test_the_terraform_provider_finds_its_token_by_the_secret(world, alice):
    world.api_key("client")
    for kind in ("client", "frontend"):
        created = alice.post(PATH, json={"type": kind, "tokenName": "tf", "environment": "production"}).json
        assert created["secret"] in [token["secret"] for token in alice.get(PATH).json["tokens"]]
        assert created == next(
            token for token in alice.get(PATH).json["tokens"] if token["secret"] == created["secret"]
        )


# Making one


def test_a_client_token_is_for_one_environment_and_all_projects(world, alice, conn):
    since = world.last_event_id()
    answer = alice.post(PATH, json={"type": "client", "tokenName": "sdk", "environment": "production"})
    assert (answer.status_code, answer.headers["Location"]) == (201, "api-tokens/sdk")
    secret = answer.json["secret"]
    assert re.fullmatch(r"\*:production\.[0-9a-f]{64}", secret)
    description = described(conn, "sdk", "client", "production", "*")
    assert answer.json == {"secret": secret} | description
    (row,) = stored(conn)
    assert (row["name"], row["kind"], row["environment"], row["projects"], row["expires_at"]) == (
        "sdk",
        "client",
        "production",
        [],
        None,
    )
    assert (row["secret"], row["mask"], bytes(row["digest"])) == (secret, None, api_tokens.digest(secret))
    assert events(world, since) == [
        event("api-token-created", alice, project="*", environment="production", data=description)
    ]


def test_an_admin_token_is_for_everything_and_shown_this_once(world, alice, conn):
    since = world.last_event_id()
    answer = alice.post(PATH, json={"type": "ADMIN", "tokenName": "deploy"})
    secret = answer.json["secret"]
    assert re.fullmatch(r"\*:\*\.[0-9a-f]{64}", secret)
    description = described(conn, "deploy", "admin", "*", "*")
    assert answer.json == {"secret": secret} | description
    (row,) = stored(conn)
    assert (row["secret"], row["mask"], bytes(row["digest"])) == (None, f"{secret[4:12]}…", api_tokens.digest(secret))
    assert events(world, since) == [event("api-token-created", alice, project="*", environment="*", data=description)]
    assert secret[4:13] not in alice.get(f"{PATH}/deploy").text
    assert Caller(world.app, secret).get(PATH).status_code == 200


@pytest.mark.parametrize(
    ("asked", "kept", "prefix"),
    [
        ({"project": "hermes"}, ["hermes"], "hermes:development."),
        ({"projects": ["hermes"]}, ["hermes"], "hermes:development."),
        ({"projects": ["hermes", "ares", "hermes"]}, ["ares", "hermes"], "[]:development."),
        ({"project": "*"}, [], "*:development."),
        ({"projects": ["hermes", "*"]}, [], "*:development."),
        ({"projects": ["no-such-project", "*"]}, [], "*:development."),
    ],
)
def test_a_token_can_be_limited_to_projects(world, alice, conn, asked, kept, prefix):
    world.project("hermes"), world.project("ares")
    since = world.last_event_id()
    answer = alice.post(PATH, json={"type": "frontend", "tokenName": "web", "environment": "development"} | asked)
    assert answer.status_code == 201
    assert answer.json["secret"].startswith(prefix)
    assert (answer.json["project"], answer.json["projects"]) == (",".join(kept) or "*", kept or ["*"])
    (row,) = stored(conn)
    assert row["projects"] == kept
    description = described(conn, "web", "frontend", "development", *(kept or ["*"]))
    assert events(world, since) == [
        event("api-token-created", alice, project=",".join(kept) or "*", environment="development", data=description)
    ]


@pytest.mark.parametrize("type", ["client", "Client", "CLIENT", "frontend", "FRONTEND", "backend", "Backend"])
def test_types_ignore_case_and_backend_means_client(world, alice, conn, type):
    answer = alice.post(PATH, json={"type": type, "username": "by the old word"})
    assert (answer.json["type"], answer.json["tokenName"]) == (type.lower(), "by the old word")
    assert stored(conn)[0]["kind"] == type.lower()
    refused(Caller(world.app, answer.json["secret"]).get(PATH), 403, "NoAccessError")


@pytest.mark.parametrize("credential", ["client", "backend", "frontend"])
def test_client_and_frontend_keys_cannot_read_the_admin_api(world, credential):
    refused(world.api_key(credential).get("/api/admin/permissions"), 403, "NoAccessError")
    refused(world.api_key(credential).get("/api/admin/insights"), 403, "NoAccessError")


def test_a_token_without_an_environment_is_for_default_or_development(alice, conn):
    asked = {"type": "client", "tokenName": "sdk"}
    assert alice.post(PATH, json=asked).json["environment"] == "development"
    conn.execute("INSERT INTO environments (name, type, sort_order) VALUES ('default', 'production', 3)")
    assert alice.post(PATH, json=asked).json["environment"] == "default"
    conn.execute("DELETE FROM environments WHERE name IN ('default', 'development')")
    assert refused(alice.post(PATH, json=asked)) == "environment: must be an existing environment"


def test_an_expired_token_can_be_created_and_is_invalid(world, alice):
    late = alice.post(PATH, json={"type": "admin", "tokenName": "late", "expiresAt": "2020-01-01T02:00:00+02:00"})
    assert (late.status_code, late.json["expiresAt"]) == (201, "2020-01-01T00:00:00.000Z")
    refused(Caller(world.app, late.json["secret"]).get(PATH), 401, "AuthenticationRequired")
    works = alice.post(PATH, json={"type": "admin", "tokenName": "works", "expiresAt": EXPIRY})
    assert works.json["expiresAt"] == EXPIRY
    assert Caller(world.app, works.json["secret"]).get(PATH).status_code == 200


def test_names_need_not_be_unique_and_an_odd_one_is_found_at_its_place(alice):
    asked = {"type": "client", "tokenName": "für uns/alle?"}
    for number in (1, 2):
        assert alice.post(PATH, json=asked).headers["Location"] == "api-tokens/f%C3%BCr%20uns%2Falle%3F"
        found = alice.get(f"{PATH}/f%C3%BCr%20uns%2Falle%3F").json["tokens"]
        assert [token["tokenName"] for token in found] == ["für uns/alle?"] * number
    assert alice.get(f"{PATH}/für uns/alle%3F").json["tokens"] == found


@pytest.mark.parametrize("end", ["", "/", "sdk/", "sdk//", "/sdk", "a//b"])
def test_a_slash_too_many_is_no_address(alice, end):
    alice.post(PATH, json={"type": "client", "tokenName": "sdk"})
    refused(alice.get(f"{PATH}/{end}"), 404, "NotFoundError")


def test_the_author_of_a_token_is_the_key_that_created_the_token(world):
    since = world.last_event_id()
    assert world.api_key(name="robot").post(PATH, json={"type": "client", "tokenName": "sdk"}).status_code == 201
    assert [(row["created_by"], row["created_by_user_id"]) for row in world.events(since)] == [("robot", None)]


ADMIN = {"type": "admin", "tokenName": "all"}


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({}, "type: is required"),
        ({"type": "client"}, "tokenName: is required"),
        ({"tokenName": "sdk"}, "type: is required"),
        (CLIENT | {"type": "proxy"}, "type: must be admin, client, backend or frontend"),
        (CLIENT | {"type": 1}, "type: must be a string"),
        (CLIENT | {"type": None}, "type: must not be null"),
        (CLIENT | {"username": "other"}, "username: must be omitted with tokenName, or equal to it"),
        (CLIENT | {"tokenName": ""}, "tokenName: must not be empty"),
        (CLIENT | {"tokenName": "x" * 256}, "tokenName: must be at most 255 characters long"),
        (CLIENT | {"environment": "*"}, "environment: must be one environment; only admin tokens are for all"),
        (CLIENT | {"environment": "moon"}, "environment: must be an existing environment"),
        (CLIENT | {"environment": "Development"}, "environment: must be an existing environment"),
        (CLIENT | {"environment": ""}, "environment: must be an existing environment"),
        (CLIENT | {"tokenName": None}, "tokenName: is required"),
        (CLIENT | {"project": "moon"}, "projects: unknown projects: moon"),
        (CLIENT | {"projects": ["mars", "default", "moon"]}, "projects: unknown projects: mars, moon"),
        (CLIENT | {"projects": []}, "projects: must have at least one project; omit it for all projects"),
        (CLIENT | {"projects": [5]}, "projects.0: must be a string"),
        (
            CLIENT | {"project": "default", "projects": ["*"]},
            "projects: must be omitted with project, or equal to it",
        ),
        (
            CLIENT | {"expiresAt": "2030-01-01"},
            "expiresAt: must be a date-time with an offset such as 2024-05-31T12:00:00Z",
        ),
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


def test_an_admin_token_may_name_the_stars(alice):
    assert alice.post(PATH, json=ADMIN | {"environment": "*", "project": "*"}).status_code == 201
    assert alice.post(PATH, json=ADMIN | {"environment": "*", "projects": ["*"]}).status_code == 201


def test_the_number_of_tokens_is_limited(alice, conn, app, monkeypatch):
    monkeypatch.setitem(app.config, "MAX_API_TOKENS", value(conn, "SELECT count(*) FROM api_keys") + 1)
    assert alice.post(PATH, json=CLIENT).status_code == 201
    before = fingerprint(conn)
    assert "API tokens" in refused(alice.post(PATH, json=CLIENT))
    assert fingerprint(conn) == before
