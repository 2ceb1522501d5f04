"""The playground evaluates flags for a context, and says why each is on or off."""

from typing import Any

import pytest

from sql.database import Connection
from tests.support.flags import depend
from tests.support.world import Caller, World, refused

PATH = "/api/admin/playground"
FLAG = "/api/admin/projects/default/features/checkout"
STRATEGIES = f"{FLAG}/environments/development/strategies"
Json = dict[str, Any]


@pytest.fixture(autouse=True)
def checkout(world: World) -> int:
    """The flag checkout, on in development."""
    return world.flag("checkout", enabled_in=("development",))


def evaluated(caller: Caller, context: Json | None = None, flag: str = FLAG) -> Json:
    """The record of a flag in development."""
    response = caller.post(f"{flag}/environments/development/evaluate", json={"context": context or {}})
    assert response.status_code == 200, response.text
    return response.json


def add_strategy(caller: Caller, **strategy: Any) -> str:
    """Add a strategy to checkout in development, and return its id."""
    response = caller.post(STRATEGIES, json={"name": "default", **strategy})
    assert response.status_code == 200, response.text
    return response.json["id"]


def playground(caller: Caller, **body: Any) -> Json:
    """The response of the playground for development."""
    response = caller.post(PATH, json={"environment": "development", "context": {}, **body})
    assert response.status_code == 200, response.text
    return response.json


USER_7 = {"contextName": "userId", "operator": "IN", "values": ["7"]}


def test_the_playground_shows_each_flag_with_its_strategies(world: World, alice: Caller) -> None:
    rollout = {"rollout": "100", "stickiness": "userId", "groupId": "g"}
    first = add_strategy(alice, constraints=[USER_7])
    second = add_strategy(alice, name="flexibleRollout", title="All", parameters=rollout)
    third = add_strategy(alice, disabled=True)
    world.flag("banner")
    context = {"userId": "8", "plan": "gold"}
    found = playground(alice, projects=["default"], context=context)
    assert found["input"] == {
        "environment": "development",
        "projects": ["default"],
        "context": {"userId": "8", "properties": {"plan": "gold"}},
    }
    banner, checkout = found["features"]
    assert (banner["name"], banner["isEnabled"], banner["isEnabledInCurrentEnvironment"]) == ("banner", False, False)
    assert banner["reason"] == "The flag is off in this environment."
    data = checkout.pop("strategies")
    assert checkout == {
        "name": "checkout",
        "projectId": "default",
        "isEnabled": True,
        "isEnabledInCurrentEnvironment": True,
        "reason": "Strategy 2 (flexibleRollout) matches.",
        "hasUnsatisfiedDependency": False,
        "variant": {"name": "disabled", "enabled": False, "feature_enabled": True},
        "variants": [],
    }
    assert data["result"] is True
    assert [(one["id"], one["title"], one["disabled"], one["result"]) for one in data["data"]] == [
        (first, None, False, {"evaluationStatus": "complete", "enabled": False}),
        (second, "All", False, {"evaluationStatus": "complete", "enabled": True}),
        (third, None, True, {"evaluationStatus": "unevaluated", "enabled": "unknown"}),
    ]
    [constraint] = data["data"][0]["constraints"]
    assert (constraint["contextValue"], constraint["result"]) == ("8", False)


def test_a_rollout_shows_the_bucket(alice: Caller) -> None:
    add_strategy(alice, name="flexibleRollout", parameters={"rollout": "25", "stickiness": "userId", "groupId": "g"})
    results = {}
    for user in map(str, range(20)):
        found = evaluated(alice, {"userId": user})
        [strategy] = found["strategies"]["data"]
        rollout = strategy["rollout"]
        assert (rollout["percentage"], rollout["groupId"], rollout["stickiness"]) == (25, "g", "userId")
        assert rollout["identity"] == user
        assert rollout["result"] is found["isEnabled"] is (rollout["bucket"] <= 25)
        verb = "matches." if found["isEnabled"] else "does not match."
        bucket = f"{user} is in bucket {rollout['bucket']} of 100 in the group g. The rollout is 25 %."
        assert found["reason"] == f"Strategy 1 (flexibleRollout) {verb} {bucket}"
        results[found["isEnabled"]] = user
    assert set(results) == {True, False}
    assert evaluated(alice)["reason"] == (
        "Strategy 1 (flexibleRollout) does not match. The context has no userId, which the rollout needs."
    )


@pytest.mark.parametrize(
    ("context", "reason"),
    [
        ({}, "userId is missing. It must be: IN 7."),
        ({"userId": "8"}, "userId is “8”. It must be: IN 7."),
        ({"userId": "7", "country": "no"}, "country is “no”. It must be: not STR_STARTS_WITH n."),
    ],
)
def test_a_constraint_says_what_it_requires(alice: Caller, context: Json, reason: str) -> None:
    country = {"contextName": "country", "operator": "STR_STARTS_WITH", "values": ["n"], "inverted": True}
    assert alice.post("/api/admin/context", json={"name": "country"}).status_code == 201
    add_strategy(alice, constraints=[USER_7, country])
    found = evaluated(alice, context)
    assert found["reason"] == f"Strategy 1 (default) does not match. {reason}"
    assert found["isEnabled"] is found["strategies"]["result"] is False


def test_a_reason_counts_disabled_strategies(alice: Caller) -> None:
    add_strategy(alice, disabled=True)
    add_strategy(alice, constraints=[USER_7])
    assert evaluated(alice, {"userId": "7"})["reason"] == "Strategy 2 (default) matches."
    assert evaluated(alice, {"userId": "8"})["reason"].startswith("Strategy 2 (default) does not match.")


def test_segments_show_their_constraints(alice: Caller) -> None:
    segment = alice.post("/api/admin/segments", json={"name": "sevens", "constraints": [USER_7]}).json["id"]
    add_strategy(alice, segments=[segment])
    found = evaluated(alice, {"userId": "8"})
    [strategy] = found["strategies"]["data"]
    [shown] = strategy["segments"]
    assert (shown["id"], shown["name"], shown["result"]) == (segment, "sevens", False)
    assert [(one["contextName"], one["contextValue"]) for one in shown["constraints"]] == [("userId", "8")]
    assert found["reason"].endswith("userId is “8”. It must be: IN 7.")
    assert evaluated(alice, {"userId": 7})["isEnabled"] is True


def test_an_unsatisfied_parent_is_the_reason(world: World, alice: Caller, conn: Connection, checkout: int) -> None:
    depend(conn, checkout, world.flag("parent"))
    found = evaluated(alice)
    assert (found["isEnabled"], found["hasUnsatisfiedDependency"]) == (False, True)
    assert found["reason"] == "The parent flag parent must be on. It is off."
    # Its strategies match all the same.
    assert found["strategies"]["result"] is True


def test_the_variant_has_its_payload(alice: Caller) -> None:
    variant = {"name": "blue", "weight": 1000, "weightType": "variable", "stickiness": "default"}
    payload = {"type": "number", "value": "3.0"}
    add_strategy(alice, variants=[variant | {"payload": payload}])
    found = evaluated(alice, {"userId": "7"})
    assert found["variant"] == {"name": "blue", "enabled": True, "feature_enabled": True, "payload": payload}
    assert [one["name"] for one in found["variants"]] == ["blue"]


def test_only_applications_can_evaluate_a_custom_strategy(alice: Caller) -> None:
    assert alice.post("/api/admin/strategies", json={"name": "own", "parameters": []}).status_code == 201
    add_strategy(alice, name="own")
    found = evaluated(alice)
    assert (found["isEnabled"], found["strategies"]["result"]) == (False, "unknown")
    [strategy] = found["strategies"]["data"]
    assert strategy["result"] == {"evaluationStatus": "incomplete", "enabled": "unknown"}


def test_constraints_on_the_environment_see_the_one_of_the_request(alice: Caller) -> None:
    add_strategy(alice, constraints=[{"contextName": "environment", "operator": "IN", "values": ["development"]}])
    assert evaluated(alice, {"environment": "production"})["isEnabled"] is True


def test_projects_that_the_caller_cannot_see_are_hidden(world: World, victor: Caller, max: Caller) -> None:
    world.flag("secret", "apollo")
    for projects in ("*", ["*"]):
        assert [flag["name"] for flag in playground(max, projects=projects)["features"]] == ["checkout", "secret"]
        assert [flag["name"] for flag in playground(victor, projects=projects)["features"]] == ["checkout"]
    assert [flag["name"] for flag in playground(max, projects=["apollo"])["features"]] == ["secret"]
    messages = {
        project: refused(victor.post(PATH, json={"environment": "development", "projects": [project], "context": {}}))
        for project in ("apollo", "nowhere")
    }
    assert messages == {project: f"projects: unknown projects: {project}" for project in messages}


def test_archived_flags_and_flags_of_other_environments_are_not_shown(world: World, alice: Caller) -> None:
    alice.delete(FLAG)
    world.project("small", environments=("production",))
    world.flag("elsewhere", "small")
    assert playground(alice)["features"] == []
    for path in (FLAG, "/api/admin/projects/small/features/elsewhere"):
        refused(alice.post(f"{path}/environments/development/evaluate", json={}), 404, "NotFoundError")


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({"environment": "nowhere"}, "environment: must be an existing environment, not nowhere"),
        ({"projects": "default"}, "projects: must be a list of projects or *"),
        ({"context": {"properties": "x"}}, "context.properties: must be a JSON object"),
        ({"context": {"userId": "x" * 1001}}, "context.userId: must be at most 1000 characters long"),
        ({"context": {"userId": "\ud800"}}, "context.userId: must not contain lone surrogates"),
        ({"context": {str(number): "x" for number in range(101)}}, "context.properties: must be at most 100"),
    ],
)
def test_an_invalid_request_is_refused(alice: Caller, body: Json, message: str) -> None:
    assert refused(alice.post(PATH, json={"environment": "development"} | body)) == message


def test_a_number_that_is_too_large_is_refused(alice: Caller) -> None:
    body = b'{"environment": "development", "context": {"weight": 1e999}}'
    message = refused(alice.post(PATH, data=body, content_type="application/json"))
    assert message == "context.weight: must not be a number that is too large"


def test_a_comparison_has_a_result_for_each_combination(world: World, alice: Caller) -> None:
    add_strategy(alice, constraints=[USER_7])
    world.project("small", environments=("production",))
    world.flag("banner", "small", enabled_in=("production",))
    context = {"userId": "7, 8,,7", "vip": True, "properties": {"plan": "gold,silver"}}
    body = {"environments": ["production", "development"], "projects": ["default", "small"], "context": context}
    response = alice.post(f"{PATH}/advanced", json=body)
    assert response.status_code == 200, response.text
    given = {"userId": "7, 8,,7", "properties": {"vip": True, "plan": "gold,silver"}}
    assert response.json["input"] == body | {"context": given}
    banner, checkout = response.json["features"]
    assert (banner["name"], checkout["name"], checkout["projectId"]) == ("banner", "checkout", "default")
    found = [(one["context"], one["isEnabled"]) for one in checkout["environments"]["development"]]
    assert found == [
        ({"vip": True, "plan": plan, "userId": user}, user == "7") for plan in ("gold", "silver") for user in ("7", "8")
    ]
    assert [one["isEnabled"] for one in banner["environments"]["production"]] == [True] * 4
    assert banner["environments"]["development"] == []
    assert {one["environment"] for one in checkout["environments"]["production"]} == {"production"}


def test_a_comparison_shows_what_the_playground_shows(alice: Caller) -> None:
    strategy = add_strategy(alice, constraints=[USER_7])
    context = {"userId": "8", "properties": {"plan": "gold"}}
    body = {"environments": ["development"], "context": context}
    [flag] = alice.post(f"{PATH}/advanced", json=body).json["features"]
    [result] = flag["environments"]["development"]
    assert result.pop("environment") == "development"
    assert result.pop("context") == {"plan": "gold", "userId": "8"}
    [shown] = result["strategies"]["data"]
    edit = "/projects/default/features/checkout/strategies/edit?environmentId=development"
    assert shown.pop("links") == {"edit": f"{edit}&strategyId={strategy}"}
    assert [result] == playground(alice, context=context)["features"]


def test_a_comparison_is_limited(world: World, alice: Caller) -> None:
    many = ",".join(map(str, range(100)))
    body = {"environments": ["development"], "context": {"userId": many, "appName": many, "sessionId": "1,"}}
    assert len(alice.post(f"{PATH}/advanced", json=body).json["features"][0]["environments"]["development"]) == 10_000
    # No flag makes no result, whatever the number of contexts.
    world.project("empty")
    everything = {str(field): many for field in range(20)}
    empty = alice.post(f"{PATH}/advanced", json=body | {"projects": ["empty"], "context": everything})
    assert empty.json["features"] == []
    long = {str(field): "x" * 1000 for field in range(10)}
    message = "context: makes results of more than 67108864 bytes"
    assert refused(alice.post(f"{PATH}/advanced", json=body | {"context": body["context"] | long})) == message
    world.flag("banner")
    message = "context: makes more than 10000 results of all flags and environments"
    for context in (body["context"], everything):
        assert refused(alice.post(f"{PATH}/advanced", json=body | {"context": context})) == message


def test_a_comparison_of_no_environment_is_empty(alice: Caller) -> None:
    body = {"environments": [], "projects": ["default"], "context": {"userId": "7", "properties": {}}}
    assert alice.post(f"{PATH}/advanced", json=body).json == {"input": body, "features": []}


def test_a_comparison_hides_other_projects(world: World, alice: Caller, victor: Caller) -> None:
    world.project("apollo", mode="private")
    world.flag("secret", "apollo")
    body = {"environments": ["development"], "context": {}}
    for caller, names in ((alice, ["checkout", "secret"]), (victor, ["checkout"])):
        found = caller.post(f"{PATH}/advanced", json=body).json["features"]
        assert [flag["name"] for flag in found] == names
    for change, message in (
        ({"environments": ["development", "nowhere"]}, "environment: must be an existing environment, not nowhere"),
        ({"projects": ["apollo"]}, "projects: unknown projects: apollo"),
    ):
        assert refused(victor.post(f"{PATH}/advanced", json=body | change)) == message
