"""OFREP: which results depend on the targeting key, and that the same key always gets the same result."""

import pytest

from tests.support.evaluation import Json, one_of, rollout, switched_on
from tests.support.ofrep import PATH, add_variants, evaluated, listed
from tests.support.world import Caller, World, refused


@pytest.fixture
def app_token(world: World) -> Caller:
    """An application with a client token for development."""
    return world.api_key("client")


STICKY = {
    "default": rollout(50, "default"),
    "session": rollout(50, "sessionId"),
    "random": rollout(50, "random"),
    "user": rollout(50, "userId"),
}
NO_KEY = "context.targetingKey: is required, because a rollout or the variants of this flag depend on it"


@pytest.mark.parametrize("strategy", STICKY.values(), ids=STICKY)
def test_a_targeting_key_always_gets_the_same_result(world: World, app_token: Caller, strategy: Json) -> None:
    switched_on(world, strategy=strategy)
    seen: set[bool] = set()
    for key in map(str, range(20)):
        found = {evaluated(app_token, targetingKey=key)["value"] for _ in range(8)}
        assert len(found) == 1
        seen |= found
        etag = app_token.post(PATH, json={"context": {"targetingKey": key}}).headers["ETag"]
        again = app_token.post(PATH, json={"context": {"targetingKey": key}}, headers={"If-None-Match": etag})
        assert again.status_code == 304
    assert seen == {True, False}


def test_no_session_is_invented(world: World, app_token: Caller) -> None:
    session = {"contextName": "sessionId", "operator": "STR_CONTAINS", "values": ["7"]}
    switched_on(world, strategy={"constraints": [session]})
    switched_on(world, "by-session", strategy=rollout(50, "sessionId"))
    assert evaluated(app_token, targetingKey="7")["value"] is False
    # A session of the context decides, not the key.
    by_session = {str(n): evaluated(app_token, "by-session", targetingKey="1", sessionId=str(n)) for n in range(20)}
    assert {one["value"] for one in by_session.values()} == {True, False}


@pytest.mark.parametrize("context", [{}, {"targetingKey": ""}, {"targetingKey": None, "userId": ""}, {"plan": "gold"}])
@pytest.mark.parametrize("strategy", STICKY.values(), ids=STICKY)
def test_a_sticky_rollout_needs_a_targeting_key(world: World, app_token: Caller, strategy: Json, context: Json) -> None:
    switched_on(world, strategy=strategy)
    response = app_token.post(f"{PATH}/f", json={"context": context})
    assert refused(response) == NO_KEY
    error = {"key": "f", "errorCode": "TARGETING_KEY_MISSING", "errorDetails": NO_KEY}
    assert error.items() <= response.json.items()
    switched_on(world, "kill-switch")
    switched_on(world, "off", strategy=rollout(0, "userId"))
    switched_on(world, "all", strategy=rollout(100, "default"))
    found = listed(app_token.post(PATH, json={"context": context}))
    assert found.pop("f") == error
    assert {key: flag["value"] for key, flag in found.items()} == {"kill-switch": True, "off": False, "all": True}


@pytest.mark.parametrize("stickiness", ["default", "random", "userId", "sessionId"])
def test_several_variants_need_a_targeting_key(world: World, alice: Caller, app_token: Caller, stickiness: str) -> None:
    switched_on(world)
    add_variants(alice, None, None, stickiness=stickiness)
    response = app_token.post(f"{PATH}/f", json={})
    assert (refused(response), response.json["errorCode"]) == (NO_KEY, "TARGETING_KEY_MISSING")
    assert evaluated(app_token, userId="7")["value"] is True


@pytest.mark.parametrize("user", ["", None])
def test_an_empty_user_does_not_hide_the_targeting_key(world: World, app_token: Caller, user: str | None) -> None:
    switched_on(world, strategy=one_of("userId", "7"))
    assert evaluated(app_token, targetingKey="7", userId=user)["value"] is True
