"""A move of API tokens: with their secrets, never for more projects, and never with a secret in the report."""

import pytest

from rules.import_report import Conflicts
from tests.support.moves import SECRET, contents, move, project, token

RANDOM = "0123456789abcdef0123456789abcdef"
NOTHING = "Nothing to move: everything exists."


def tokens(*moved, **lists):
    return contents(projects=[project(), project("shop")], api_tokens=[*moved], **lists)


def records(alice):
    """The API tokens of this instance by their secrets, without admin tokens."""
    found = alice.get("/api/admin/api-tokens").json["tokens"]
    return {token["secret"]: token for token in found if token["type"] != "admin"}


def test_a_token_keeps_its_secret_scope_and_dates(app, alice, world):
    frontend = token("old-secret-without-a-scope", type="frontend", projects=["*"], environment="development")
    several = token("[]:production.init:and.some-more-characters", projects=["shop", "default"], tokenName="two")
    since = world.last_event_id()
    report = move(app, tokens(token(expiresAt="2100-01-01T00:00:00.000Z"), frontend, several))
    found = records(alice)
    keys = ("tokenName", "type", "environment", "projects", "createdAt", "expiresAt", "seenAt")
    dates = "2024-05-31T12:00:00.000Z", "2100-01-01T00:00:00.000Z"
    assert [found[SECRET][key] for key in keys] == ["web", "client", "production", ["default"], *dates, None]
    assert [found[frontend["secret"]][key] for key in keys[1:4]] == ["frontend", "development", ["*"]]
    assert [found[several["secret"]][key] for key in keys[1:4]] == ["client", "production", ["default", "shop"]]
    assert report.warnings() == []
    created = [event for event in world.events(since) if event["type"] == "api-token-created"]
    assert [event["project"] for event in created] == ["default", "*", "default,shop"]
    assert not any(RANDOM in str(event) or "old-secret" in str(event) for event in world.events(since))


def test_an_expired_token_stays_expired_and_is_named(app):
    report = move(app, tokens(token(expiresAt="2024-06-01T00:00:00.000Z")))
    assert report.warnings() == ['This API token has expired, and stays expired: Token "web" (client, production)']
    assert app.test_client().get("/api/client/features", headers={"Authorization": SECRET}).status_code == 401


def test_a_token_is_never_for_more_projects(app, alice):
    shop = token(SECRET.replace("shop", "a"), projects=["elsewhere", "shop"])
    report = move(app, tokens(shop, token(projects=["elsewhere"], tokenName="lost")))
    assert {token["project"] for token in records(alice).values()} == {"shop"}
    assert sorted(report.warnings()) == [
        'This API token does not get a project that does not move: Token "web" (client, production): elsewhere',
        'Token "lost" (client, production): its projects do not move.',
    ]
    assert report.counts["API token"] == {"new": 1, "not moved": 1}


@pytest.mark.parametrize(
    ("secret", "type"),
    [
        (None, "client"),
        ("default:production.short", "backend"),
        ("default:production.0123456789abcdef0123****", "frontend"),
    ],
)
def test_a_hashed_token_is_named_with_a_command(app, alice, secret, type):
    report = move(app, tokens(token(secret, tokenName="my app", type=type, projects=["default", "shop"])))
    options = f"--name 'my app' --type {type} --environment production --project default --project shop"
    assert report.warnings() == [
        f'Token "my app" ({type}, production): its secret is not stored in Unleash. Take it from your application\'s '
        f"settings: ./flags api-token create {options} --secret-file F, or INIT_{type.upper()}_API_TOKENS before the "
        "first start"
    ]
    assert records(alice) == {}


@pytest.mark.parametrize(
    ("moved", "reason"),
    [
        (token("fifteen-letters"), "its secret is shorter than 16 characters."),
        (token(environment="*"), "it is for the environment *, which does not exist."),
    ],
)
def test_other_tokens_that_are_not_moved_are_named(app, alice, moved, reason):
    report = move(app, tokens(moved))
    assert report.warnings() == [f'Token "web" (client, {moved["environment"]}): {reason}']
    assert records(alice) == {}


def test_admin_tokens_are_named_with_their_last_use(app):
    admin = {"type": "admin", "environment": "*", "projects": ["*"]}
    used = token("*:*." + RANDOM, tokenName="terraform", seenAt="2026-11-02T08:00:00.000Z", **admin)
    report = move(app, tokens(used, token(None, tokenName="old", **admin)))
    command = "./flags api-token create --name NAME --type admin"
    names = '"terraform" (last used 2026-11-02T08:00:00.000Z), "old" (last used never)'
    assert report.warnings() == [f"Admin tokens are not moved. Create new ones with {command}: {names}"]
    assert RANDOM not in str(report.lines())
    assert report.table()[-1] == ("API tokens", 0, 0, 0, 0, 2, "")


def test_a_token_that_exists_is_compared(app, alice):
    move(app, tokens(token(type="frontend")))
    assert move(app, tokens(token(type="frontend"))).summary() == NOTHING
    alice.put(f"/api/admin/api-tokens/{SECRET}", json={"expiresAt": "2100-01-01T00:00:00Z"})
    report = move(app, tokens(token(type="frontend", tokenName="site")))
    assert report.differences == ["API token site (tokenName, expiresAt)"]
    report = move(app, tokens(token(type="frontend", expiresAt="2100-01-01T01:00:00+01:00")))
    assert report.summary() == NOTHING


@pytest.mark.parametrize("scope", [{"projects": ["*"]}, {"environment": "development"}, {"type": "frontend"}])
def test_a_secret_with_another_scope_is_a_conflict(app, scope):
    move(app, tokens(token()))
    with pytest.raises(Conflicts) as refusal:
        move(app, tokens(token(**scope)))
    (conflict,) = refusal.value.conflicts
    assert conflict.endswith("its secret exists here with another scope (client, production, default).")
    assert RANDOM not in conflict
