"""Flags and strategies, to be sent back."""

from tests.support.returned.sendable import ADMIN, CONSTRAINT, SEGMENT, Json, Sendable, posted
from tests.support.world import Caller, World
from validators.flags import core as flags
from validators.flags import strategies


def flag(_: World, caller: Caller) -> Json:
    """A flag of a user that has something of everything."""
    base = "projects/default/features"
    posted(caller, base, {"name": "parent"})
    tags = [{"type": "simple", "value": "one"}, {"type": "simple", "value": "two"}]
    body = {"name": "checkout", "type": "experiment", "description": "One page.", "impressionData": True, "stale": True}
    created = posted(caller, base, body | {"tags": tags})
    assert caller.post(f"{ADMIN}/{base}/checkout/dependencies", json={"feature": "parent"}).status_code == 200
    assert caller.post(f"{ADMIN}/{base}/checkout/favorites").status_code == 200
    variants = [{"name": name, "weight": 500, "weightType": "variable", "stickiness": "default"} for name in "ab"]
    place = f"{base}/checkout/environments/development"
    assert caller.put(f"{ADMIN}/{place}/variants", json=variants).status_code == 200
    posted(caller, f"{place}/strategies", strategy_body(posted(caller, "segments", SEGMENT)["id"]))
    assert caller.post(f"{ADMIN}/{place}/on").status_code == 200
    return created


def strategy_body(segment_id: int) -> Json:
    """A strategy that has something of everything."""
    variant = {"name": "a", "weight": 1000, "weightType": "variable", "stickiness": "default"}
    parameters = {"rollout": "25", "stickiness": "default", "groupId": "g"}
    payload = {"type": "json", "value": '{"a": 1}'}
    return {
        "name": "flexibleRollout",
        "title": "Some",
        "disabled": False,
        "sortOrder": 3,
        "constraints": [CONSTRAINT, {"contextName": "appName", "operator": "SEMVER_EQ", "value": "1.2.3"}],
        "variants": [variant | {"payload": payload}],
        "parameters": parameters,
        "segments": [segment_id],
    }


def strategy(_: World, caller: Caller) -> Json:
    """A strategy of a flag, with a segment."""
    posted(caller, "projects/default/features", {"name": "f"})
    body = strategy_body(posted(caller, "segments", SEGMENT)["id"])
    return posted(caller, "projects/default/features/f/environments/development/strategies", body)


FLAGS = (
    Sendable(
        "flag",
        flags.FLAG,
        flags.UpdateFlag,
        flags.CreateFlag,
        ("flag", "flagCore", "flagItem", "featureSearch.features", "archivedFlag"),
        flag,
        ("projects/default/features/{name}", "projects/default/features", "search/features"),
        "projects/default/features/{name}",
        "projects/default/features",
        {"name": "checkout-2"},
        {
            "name": "other",
            "project": "apollo",
            "enabled": False,
            "archived": True,
            "environments": [],
            "favorite": False,
            "tags": [],
            "children": ["other"],
            "dependencies": [],
            "variants": [],
            "createdBy": {"id": 0},
        },
    ),
    Sendable(
        "strategy",
        strategies.STRATEGY,
        strategies.StrategyChange,
        strategies.StrategyInput,
        ("strategy",),
        strategy,
        (
            "projects/default/features/f/environments/development/strategies/{id}",
            "projects/default/features/f/environments/development/strategies",
            "projects/default/features/f",
        ),
        "projects/default/features/f/environments/development/strategies/{id}",
        "projects/default/features/f/environments/development/strategies",
        {},
        {"featureName": "other", "sortOrder": 9},
    ),
)
