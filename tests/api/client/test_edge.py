"""POST /edge/validate: which of some tokens are valid."""

from datetime import UTC, datetime, timedelta

from tests.support.world import Caller, World, refused


def test_only_valid_api_tokens_are_returned(world: World, stranger: Caller, alice: Caller) -> None:
    for project in ("hermes", "apollo"):
        world.project(project)
    past = datetime.now(UTC) - timedelta(days=1)
    admin, of_all = world.api_key(), world.api_key("client")
    of_two = world.api_key("frontend", projects=("hermes", "apollo"), environment="production")
    backend = world.api_key("backend", projects=("apollo",))
    expired = world.api_key("client", expires_at=past)
    tokens = [of_two, admin, expired, of_all, alice, backend, of_all]
    body = {"tokens": [token.key for token in tokens] + ["", "unknown", "x" * 10_000], "other": 1}
    response = stranger.post("/edge/validate", json=body)
    assert response.json == {
        "tokens": [
            {"token": of_two.key, "type": "frontend", "projects": ["apollo", "hermes"], "environment": "production"},
            {"token": admin.key, "type": "admin", "projects": ["*"], "environment": "*"},
            {"token": of_all.key, "type": "client", "projects": ["*"], "environment": "development"},
            {"token": backend.key, "type": "client", "projects": ["apollo"], "environment": "development"},
        ]
    }
    assert stranger.post("/edge/validate", json={"tokens": []}).json == {"tokens": []}


def test_the_number_of_tokens_is_limited(stranger: Caller) -> None:
    assert stranger.post("/edge/validate", json={"tokens": ["x"] * 100}).status_code == 200
    message = refused(stranger.post("/edge/validate", json={"tokens": ["x"] * 101}))
    assert message == "tokens: must have at most 100 items"
