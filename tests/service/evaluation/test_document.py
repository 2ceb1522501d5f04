"""Documents: results, their text for browsers, parents, contexts, and what is compiled again."""

import copy
import gc
import json
from typing import Any

import pytest

from evaluation.document import Document
from evaluation.rollout import bucket_of

HALF = {"name": "flexibleRollout", "parameters": {"rollout": "50", "stickiness": "userId", "groupId": "g"}}
PLAN = {"contextName": "plan", "operator": "IN", "values": ["gold"]}
ALWAYS = {"name": "default"}


def flag(name: str = "flag", *strategies: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"name": name, "enabled": True, "strategies": [*strategies], **more}


def document(*flags: dict[str, Any], segments: tuple[dict[str, Any], ...] = ()) -> Document:
    return Document({"version": 2, "features": [*flags], "segments": [*segments]})


def variant(name: str, weight: int = 1, **more: Any) -> dict[str, Any]:
    return {"name": name, "weight": weight, "stickiness": "userId", **more}


def test_unknown_flag_is_off_without_facts():
    result = document(flag()).evaluate("unknown", {})
    assert (result.enabled, result.variant, result.facts) == (False, None, None)


def test_facts_of_a_flag():
    payload = {"type": "string", "value": "x"}
    parsed = flag(
        type="release", project="shop", stale=True, impressionData=True, variants=[variant("a", payload=payload)]
    )
    facts = document(parsed).evaluate("flag", {}).facts
    assert facts is not None
    facts = facts._asdict()
    assert [facts.pop(name) for name in ("name", "project", "type")] == ["flag", "shop", "release"]
    assert facts == dict.fromkeys(("stale", "impression_data", "enabled", "has_payloads"), True)


@pytest.mark.parametrize(
    ("parsed", "enabled", "reason"),
    [
        (flag(), True, "STATIC"),
        (flag("flag", {**HALF, "parameters": {"rollout": "100"}}), True, "STATIC"),
        (flag("flag", ALWAYS, variants=[variant("a"), variant("b", 0)]), True, "STATIC"),
        (flag("flag", HALF), True, "SPLIT"),
        (flag("flag", ALWAYS, variants=[variant("a"), variant("b")]), True, "SPLIT"),
        (flag("flag", {**ALWAYS, "constraints": [PLAN]}), True, "TARGETING_MATCH"),
        (flag("flag", {"name": "custom"}, ALWAYS), True, "TARGETING_MATCH"),
        (flag("flag", {**HALF, "parameters": {"rollout": "0"}}), False, "TARGETING_MATCH"),
        (flag("flag", ALWAYS, dependencies=[{"feature": "missing"}]), False, "TARGETING_MATCH"),
        (flag("flag", dependencies=[{"feature": "parent"}]), True, "TARGETING_MATCH"),
        (flag("flag", ALWAYS, enabled=False), False, "DISABLED"),
    ],
)
def test_reason(parsed, enabled, reason):
    result = document(parsed, flag("parent")).evaluate("flag", {"userId": "0", "properties": {"plan": "gold"}})
    assert (result.enabled, result.reason) == (enabled, reason)


def test_text_for_browsers():
    payload = {"type": "json", "value": '{"ø": 1}'}
    made = document(flag('ø"', impressionData=True, variants=[variant("v", payload=payload)]), flag("plain"))
    chosen = {"name": "v", "enabled": True, "feature_enabled": True, "featureEnabled": True, "payload": payload}
    expected = {"name": 'ø"', "enabled": True, "impressionData": True, "variant": chosen}
    assert json.loads(made.evaluate('ø"', {}).text) == expected
    assert made.evaluate("plain", {}).text == (
        '{"name":"plain","enabled":true,"impressionData":false,'
        '"variant":{"name":"disabled","enabled":false,"feature_enabled":true,"featureEnabled":true}}'
    )
    assert made.evaluate("plain", {}).text is made.evaluate("plain", {}).text


def test_all_returns_the_flags_that_are_on_in_their_order():
    made = document(flag("b"), flag("a", enabled=False), flag("c"), flag("child", dependencies=[{"feature": "a"}]))
    assert [(one.name, result.enabled) for one, result in made.evaluate_all({})] == [("b", True), ("c", True)]


def test_random_rollout_decides_the_same_for_a_parent_and_its_child():
    coin = {"name": "flexibleRollout", "parameters": {"rollout": "50", "stickiness": "random"}}
    made = document(flag("child", dependencies=[{"feature": "parent"}]), flag("parent", coin))
    seen = {tuple(one.name for one, _ in made.evaluate_all({})) for _ in range(100)}
    assert seen == {(), ("child", "parent")}


@pytest.mark.parametrize(
    ("context", "enabled"),
    [
        ({"properties": {"plan": "gold"}}, True),
        ({"plan": "gold"}, True),
        ({"plan": "gold", "properties": {"plan": "free"}}, True),
        ({"plan": None, "properties": {"plan": "gold"}}, True),
        ({"plan": {"a": 1}, "properties": {"plan": "gold"}}, True),
        ({"plan": "free", "properties": {"plan": "gold"}}, False),
        ({}, False),
    ],
)
def test_top_of_a_context_wins(context, enabled):
    assert document(flag("flag", {**ALWAYS, "constraints": [PLAN]})).evaluate("flag", context).enabled is enabled


@pytest.mark.parametrize(
    ("value", "text"),
    [(7, "7"), (7.0, "7.0"), (1e-7, "1e-7"), (1e21, "1e+21"), (True, "true"), (False, "false"), ("\ud800", "?")],
)
def test_values_of_a_context_become_text(value, text):
    explanation = document(flag("flag", {**ALWAYS, "constraints": [PLAN]})).explain(
        "flag", {"properties": {"plan": value}}
    )
    assert explanation.strategies[0].constraints[0].found == text


def test_without_a_current_time_it_is_now():
    dated = {"contextName": "currentTime", "operator": "DATE_AFTER", "value": "2026-01-01T00:00:00Z"}
    made = document(flag("flag", {**ALWAYS, "constraints": [dated]}))
    assert made.evaluate("flag", {}).enabled
    assert not made.evaluate("flag", {"currentTime": "2025-12-31T23:59:59Z"}).enabled


def test_empty_words_match_no_user():
    """Our choice: the engine of the SDKs matches an empty userId here."""
    made = document(flag("flag", {"name": "userWithId", "parameters": {"userIds": "a, ,b"}}))
    matching = [user for user in ("a", "b", "", " ") if made.evaluate("flag", {"userId": user}).enabled]
    assert matching == ["a", "b"]


def test_empty_user_is_a_user():
    """As in the engine: the session does not replace it."""
    rollout = {"name": "flexibleRollout", "parameters": {"rollout": "50", "groupId": "g"}}
    made = document(flag("flag", rollout, variants=[{"name": name, "weight": 1} for name in "ab"]))
    seen = {made.evaluate("flag", {"userId": "", "sessionId": str(number)}).text for number in range(30)}
    assert len(seen) == 1


def test_variants_are_sticky_to_the_address_without_a_user_and_a_session():
    made = document(flag(variants=[{"name": name, "weight": 1} for name in "ab"]))
    for number in range(30):
        address = f"10.0.0.{number}"
        expected = "a" if bucket_of("flag", address, 2, 86028157) == 1 else "b"
        assert made.evaluate("flag", {"remoteAddress": address}).variant_name == expected


def test_group_of_a_rollout_defaults_to_the_name_of_the_flag():
    for parameters in ({}, {"groupId": ""}, {"groupId": None}, {"groupId": "other"}):
        rollout = {"name": "flexibleRollout", "parameters": {"rollout": "50", "stickiness": "userId", **parameters}}
        made = document(flag("flag", rollout))
        group = "flag" if parameters.get("groupId") is None else parameters["groupId"]
        for user in map(str, range(50)):
            assert made.evaluate("flag", {"userId": user}).enabled is (bucket_of(group, user, 100) <= 50)


@pytest.mark.parametrize("name", ["gradualRolloutUserId", "gradualRolloutSessionId"])
def test_older_rollouts_need_a_group_as_in_the_engine(name: str) -> None:
    context = {"userId": "7", "sessionId": "7"}
    for parameters, expected in (({}, False), ({"groupId": ""}, True)):
        strategy = {"name": name, "parameters": {"percentage": "100", **parameters}}
        assert document(flag("flag", strategy)).evaluate("flag", context).enabled is expected


def test_lone_surrogate_does_not_end_the_process():
    assert bucket_of("\ud800", "\udfff", 100) == bucket_of("?", "?", 100)


PARSED = {
    "features": [
        flag("a", HALF),
        flag("b", {**ALWAYS, "segments": [1]}),
        flag("c", {**ALWAYS, "segments": [2]}),
        flag("d", {**ALWAYS, "segments": [3]}),
        flag("e", dependencies=[{"feature": "a"}]),
    ],
    "segments": [{"id": 1, "constraints": [PLAN]}, {"id": 2, "constraints": []}],
}


def compiled_again(change: Any) -> set[str]:
    """Return the names of the flags that are compiled again after a change."""
    parsed: dict[str, Any] = json.loads(json.dumps(PARSED))
    before = Document(copy.deepcopy(parsed))
    change(parsed)
    after, anew = Document(parsed, before), Document(parsed)
    for context in ({"userId": "0"}, {"userId": "1", "plan": "gold"}):
        assert [result.text for _, result in after.evaluate_all(context)] == [
            result.text for _, result in anew.evaluate_all(context)
        ]
    return {name for name, one in after.flags.items() if one is not before.flags.get(name)}


def test_only_flags_that_changed_are_compiled_again():
    broken = {"d"}  # segment 3 does not exist
    assert compiled_again(lambda _: None) == broken
    assert compiled_again(lambda parsed: parsed["features"][0].update(enabled=False)) == {"a"} | broken
    # JSON knows the difference, although Python says 1 == True.
    assert compiled_again(lambda parsed: parsed["features"][0].update(enabled=1)) == {"a"} | broken
    assert compiled_again(lambda parsed: parsed["segments"][0].update(constraints=[])) == {"b"} | broken
    assert compiled_again(lambda parsed: parsed["segments"].pop(0)) == {"b"} | broken
    assert compiled_again(lambda parsed: parsed["segments"].append({"id": 3})) == broken
    assert compiled_again(lambda parsed: parsed["features"].pop(0)) == broken
    assert compiled_again(lambda parsed: parsed["features"].append(flag("new"))) == {"new"} | broken


def test_values_that_are_nested_too_deeply_are_always_compiled_again():
    deep: list[Any] = []
    for _ in range(5000):
        deep = [deep]
    segments = ({"id": 1, "constraints": [], "x": deep},)
    before = document(flag("a", x=deep), flag("b", {**ALWAYS, "segments": [1]}), segments=segments)
    off, empty = flag("a", x=deep, enabled=False), {"id": 1, "constraints": [PLAN], "x": deep}
    after = Document({"features": [off, flag("b", {**ALWAYS, "segments": [1]})], "segments": [empty]}, before)
    assert [one.name for one, _ in before.evaluate_all({})] == ["a", "b"]
    assert after.evaluate_all({}) == []


def test_child_can_want_its_parent_off():
    parent = flag("parent", enabled=False, variants=[variant("a")])
    for wanted in ([], ["a"]):
        child = flag("child", dependencies=[{"feature": "parent", "enabled": False, "variants": wanted}])
        assert document(parent, child).evaluate("child", {}).enabled
        assert not document({**parent, "enabled": True}, child).evaluate("child", {}).enabled


def test_parent_without_a_variant_satisfies_no_name_but_disabled():
    for wanted, enabled in (([], True), (["a"], False), (["disabled"], True)):
        child = flag("child", dependencies=[{"feature": "parent", "variants": wanted}])
        assert document(flag("parent"), child).evaluate("child", {}).enabled is enabled


def test_id_of_a_segment_is_a_number():
    segments = ({"id": 1, "constraints": [PLAN]}, {"id": True, "constraints": []})
    assert document(flag("flag", {**ALWAYS, "segments": [1]}), segments=segments).evaluate_all({}) == []


def test_garbage_collector_pauses_while_compiling():
    collections: list[str] = []
    flags = [flag(str(number), HALF) for number in range(2000)]
    gc.callbacks.append(lambda phase, _: collections.append(phase))
    try:
        compiled = document(*flags)
    finally:
        gc.callbacks.pop()
    assert len(compiled.flags) == 2000
    # Each collection counts twice. One may follow the compilation.
    assert len(collections) <= 4


def test_garbage_collector_runs_again_after_compiling():
    # Another thread can have paused it at the begin, and not at the end.
    gc.disable()
    Document(PARSED)
    assert gc.isenabled()
