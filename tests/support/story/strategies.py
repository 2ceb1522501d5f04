"""How flags reach people: segments, strategies, switches, variants, dependencies, and a clone of it all."""

from typing import Any

from tests.support.story import Event, Having, Story, answered, event
from tests.support.story.flags import BLUE, MOON, PROJECTS, happened
from tests.support.world import Caller

SEGMENTS = "/api/admin/segments"
ON_MARS = {"contextName": "planet", "operator": "IN", "values": ["mars"]}


def place(flag: str, environment: str, project: str = "apollo") -> str:
    """The address of a flag in an environment."""
    return f"{PROJECTS}/{project}/features/{flag}/environments/{environment}"


def there(type: str, flag: str, environment: str, **columns: Any) -> Event:
    """An event of a flag of apollo in an environment; the flag launch has its tags."""
    tags = [MOON, BLUE] if flag == "launch" else []
    return happened(type, "apollo", flag, **({"environment": environment, "tags": tags} | columns))


def tell(story: Story) -> None:
    """Segments, then strategies that use them, then switches; what they give to others."""
    make_segments(story)
    plan(story)
    switch(story)
    switch_many(story)
    vary(story)
    depend(story)
    clone(story)


def make_segments(story: Story) -> None:
    """Martians are everywhere, the crew is apollo's, and the third one is deleted."""
    eve = story.people["eve"]
    story.step(eve, "POST /api/admin/constraints/validate", ON_MARS)
    story.step(eve, f"POST {SEGMENTS}/validate", {"name": "martians"})
    martians = story.step(
        eve, f"POST {SEGMENTS}", {"name": "martians", "constraints": [ON_MARS]}, event("segment-created", data=answered)
    )
    story.ids["martians"] = martians["id"]
    recorded = event("segment-created", project="apollo", data=answered)
    crew = story.step(eve, f"POST {SEGMENTS}", {"name": "crew", "project": "apollo", "constraints": []}, recorded)
    change = {"name": "the crew", "project": "apollo", "description": "On board", "constraints": []}
    recorded = event("segment-updated", project="apollo", data=Having(change, id=crew["id"]), preData=crew)
    story.step(eve, f"PUT {SEGMENTS}/{crew['id']}", change, recorded)
    short_lived = story.step(
        eve, f"POST {SEGMENTS}", {"name": "short-lived", "constraints": []}, event("segment-created", data=answered)
    )
    story.step(eve, f"DELETE {SEGMENTS}/{short_lived['id']}", None, event("segment-deleted", preData=short_lived))


def add(story: Story, caller: Caller, flag: str, environment: str, body: dict[str, Any]) -> Any:
    """A strategy, as it was answered."""
    recorded = there("feature-strategy-add", flag, environment, data=answered)
    return story.step(caller, f"POST {place(flag, environment)}/strategies", body, recorded)


def plan(story: Story) -> None:
    """The flag launch gets two strategies in development, which change places; the one that came first goes by
    operation 4.
    """
    max, path = story.people["max"], f"{place('launch', 'development')}/strategies"
    half = {
        "name": "flexibleRollout",
        "parameters": {"rollout": 50},
        "constraints": [ON_MARS],
        "segments": [story.ids["martians"]],
    }
    first = add(story, max, "launch", "development", half)
    assert first["parameters"] == {"rollout": "50", "groupId": "launch", "stickiness": "default"}
    second = add(story, max, "launch", "development", {"name": "moonPhase", "parameters": {"phase": "new"}})
    assert (first["sortOrder"], second["sortOrder"]) == (0, 1)
    change = {"name": "moonPhase", "title": "Full moon", "parameters": {"phase": "full"}}
    recorded = there("feature-strategy-update", "launch", "development", data=answered, preData=second)
    second = story.step(max, f"PUT {path}/{second['id']}", change, recorded)
    ids = {"strategyIds": [first["id"], second["id"]]}
    recorded = there(
        "strategy-order-changed", "launch", "development", data={"strategyIds": ids["strategyIds"][::-1]}, preData=ids
    )
    order = [{"id": second["id"], "sortOrder": 0}, {"id": first["id"], "sortOrder": 1}]
    story.step(max, f"POST {path}/set-sort-order", order, recorded)
    body = {
        "projectId": "apollo",
        "environmentId": "development",
        "strategyId": second["id"],
        "segmentIds": [story.ids["martians"]],
    }
    after = Having(id=second["id"], segments=[story.ids["martians"]])
    recorded = there(
        "feature-strategy-update", "launch", "development", data=after, preData=Having(id=second["id"], segments=[])
    )
    story.step(max, f"POST {SEGMENTS}/strategies", body, recorded)
    first |= {"sortOrder": 1}
    recorded = there("feature-strategy-remove", "launch", "development", preData=first)
    story.answers["operation 4"] = story.step(max, f"DELETE {path}/{first['id']}", None, recorded)


def switch(story: Story) -> None:
    """Environments are switched on with and without strategies, and go off with the last one of them."""
    max, olga, robot = story.people["max"], story.people["olga"], story.people["robot"]
    story.step(
        max,
        f"POST {place('launch', 'development')}/on",
        None,
        there("feature-environment-enabled", "launch", "development"),
    )
    story.step(max, f"POST {place('launch', 'development')}/on")
    quarter = Having(title="A quarter", parameters={"rollout": "25", "stickiness": "userId", "groupId": "launch"})
    everybody = Having(
        name="flexibleRollout", parameters={"rollout": "100", "stickiness": "default", "groupId": "launch"}
    )
    for environment, given in (("production", quarter), ("staging", everybody)):
        recorded = [
            there("feature-strategy-add", "launch", environment, data=given),
            there("feature-environment-enabled", "launch", environment),
        ]
        flag = story.step(max, f"POST {place('launch', environment)}/on", None, *recorded)
        assert {entry["name"]: entry["enabled"] for entry in flag["environments"]}[environment] is True
    recorded = there("feature-environment-disabled", "launch", "staging")
    story.step(robot, f"POST {place('launch', 'staging')}/off", None, recorded)
    enabled, disabled = (there(f"feature-environment-{word}", "engine", "staging") for word in ("enabled", "disabled"))
    path = place("engine", "staging")
    created = add(story, olga, "engine", "staging", {"name": "default"})
    story.step(olga, f"POST {path}/on", None, enabled)
    off = there("feature-strategy-update", "engine", "staging", data=created | {"disabled": True}, preData=created)
    body = {"name": "default", "disabled": True}
    story.step(olga, f"PUT {path}/strategies/{created['id']}", body, disabled, off)
    on = there("feature-strategy-update", "engine", "staging", data=created, preData=created | {"disabled": True})
    story.step(olga, f"POST {path}/on?shouldActivateDisabledStrategies=true", None, on, enabled)
    recorded = [disabled, there("feature-strategy-remove", "engine", "staging", preData=created)]
    story.step(olga, f"DELETE {path}/strategies/{created['id']}", None, *recorded)


def switch_many(story: Story) -> None:
    """Mail and post go to production at once, and mail comes back."""
    max, path = story.people["max"], f"{PROJECTS}/hermes/bulk_features/environments/production"
    recorded = [
        happened(type, "hermes", flag, environment="production", data=data)
        for type, data in (
            ("feature-strategy-add", Having(name="flexibleRollout", segments=[])),
            ("feature-environment-enabled", None),
        )
        for flag in ("mail", "post")
    ]
    story.step(max, f"POST {path}/on", {"features": ["mail", "post"]}, *recorded)
    story.step(max, f"POST {path}/on", {"features": ["mail", "post"]})
    recorded = happened("feature-environment-disabled", "hermes", "mail", environment="production")
    story.step(max, f"POST {path}/off", {"features": ["mail", "letter"]}, recorded)


def vary(story: Story) -> None:
    """The flag launch has colours: two, then one more, and in two environments at once."""
    max, eve, type = story.people["max"], story.people["eve"], "feature-environment-variants-updated"
    path = f"{place('launch', 'development')}/variants"

    def colours(**weights: int) -> list[Having]:
        return [Having(name=name, weight=weight, weightType="variable") for name, weight in weights.items()]

    red, blue, green = ({"name": name, "weight": 1, "stickiness": "default"} for name in ("red", "blue", "green"))
    two, three = colours(blue=500, red=500), colours(blue=334, green=333, red=333)
    recorded = there(type, "launch", "development", data=Having(variants=two), preData={"variants": []})
    story.step(max, f"PUT {path}", [red, blue], recorded)
    recorded = there(type, "launch", "development", data=Having(variants=three), preData=Having(variants=two))
    story.step(
        max, f"PATCH {path}", [{"op": "add", "path": "/1", "value": green | {"weightType": "variable"}}], recorded
    )
    recorded = [
        there(type, "launch", "development", data=Having(variants=two), preData=Having(variants=three)),
        there(type, "launch", "staging", data=Having(variants=two), preData={"variants": []}),
    ]
    body = {"variants": [red, blue], "environments": ["development", "staging"]}
    story.step(eve, f"PUT {PROJECTS}/apollo/features/launch/variants-batch", body, *recorded)


def depend(story: Story) -> None:
    """Boost and launch need the engine; relay and relic did for a while; fossil stops when it is archived."""
    max, path = story.people["max"], f"{PROJECTS}/apollo/features"
    parent = {"feature": "engine", "enabled": True}
    for name in ("boost", "launch", "relay", "relic", "fossil"):
        recorded = happened(
            "feature-dependency-added",
            "apollo",
            name,
            data=Having(parent),
            tags=[MOON, BLUE] if name == "launch" else [],
        )
        story.step(max, f"POST {path}/{name}/dependencies", {"feature": "engine"}, recorded)
    recorded = happened("feature-dependency-removed", "apollo", "relic", data={"feature": "engine"})
    story.step(max, f"DELETE {path}/relic/dependencies/engine", None, recorded)
    story.step(max, f"DELETE {path}/relic/dependencies/engine")
    recorded = happened("feature-dependencies-removed", "apollo", "relay")
    story.step(max, f"DELETE {path}/relay/dependencies", None, recorded)
    recorded = [
        happened("feature-archived", "apollo", "fossil"),
        happened("feature-dependencies-removed", "apollo", "fossil"),
    ]
    story.step(max, f"DELETE {path}/fossil", None, *recorded)


def clone(story: Story) -> None:
    """The flag lunar is launch once more, off everywhere."""
    variants = Having(variants=[Having(name="blue"), Having(name="red")])
    recorded = [
        happened("feature-created", "apollo", "lunar", data=answered),
        there(
            "feature-strategy-add",
            "lunar",
            "development",
            data=Having(title="Full moon", segments=[story.ids["martians"]]),
        ),
        there("feature-strategy-add", "lunar", "staging", data=Having(name="flexibleRollout")),
        there("feature-strategy-add", "lunar", "production", data=Having(title="A quarter")),
        there("feature-environment-variants-updated", "lunar", "development", data=variants, preData={"variants": []}),
        there("feature-environment-variants-updated", "lunar", "staging", data=variants, preData={"variants": []}),
        happened("feature-dependency-added", "apollo", "lunar", data=Having(feature="engine", enabled=True)),
    ]
    body = {"name": "lunar", "replaceGroupId": True}
    story.step(story.people["olga"], f"POST {PROJECTS}/apollo/features/launch/clone", body, *recorded)
