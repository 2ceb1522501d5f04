"""The words in which flags are described: context fields, types of tags, tags, types of strategies, and how long flags
live.
"""

from typing import Any

from tests.support.story import Having, Story, answered, event

ADMIN = "/api/admin"


def tell(story: Story) -> None:
    """Eve finds the words; the administrator says how long a flag of some kind lives."""
    make_context_fields(story)
    make_tag_types(story)
    make_strategy_types(story)
    path, names = f"{ADMIN}/feature-types/operational/lifetime", ("id", "name", "description")
    known = {flag_type["id"]: flag_type for flag_type in story.read(f"{ADMIN}/feature-types")["types"]}["operational"]
    before = {name: known[name] for name in names} | {"lifetimeDays": 7}
    recorded = event("feature-type-updated", data=before | {"lifetimeDays": 30}, preData=before)
    story.step(story.people["root"], f"PUT {path}", {"lifetimeDays": 30}, recorded)
    story.step(story.people["root"], f"PUT {path}", {"lifetimeDays": 30})


def make_context_fields(story: Story) -> None:
    """Flags may ask which planet somebody is on; a field of gravity goes again."""
    eve, path = story.people["eve"], f"{ADMIN}/context"
    story.step(eve, f"POST {path}/validate", {"name": "planet"})
    planet: dict[str, Any] = {
        "name": "planet",
        "stickiness": True,
        "sortOrder": 9,
        "legalValues": [{"value": "mars"}, {"value": "moon"}],
    }
    story.step(eve, f"POST {path}", planet, event("context-field-created", data=answered))
    change = {"description": "Where somebody is"}
    recorded = event("context-field-updated", data=Having(planet | change), preData=Having(planet, description=None))
    story.step(eve, f"PUT {path}/planet", change, recorded)
    story.step(eve, f"PUT {path}/planet", change)
    gravity = story.step(eve, f"POST {path}", {"name": "gravity"}, event("context-field-created", data=answered))
    story.step(eve, f"DELETE {path}/gravity", None, event("context-field-deleted", preData=gravity))


def make_tag_types(story: Story) -> None:
    """Flags are of a team; a type of moods goes, with its tags."""
    eve, path = story.people["eve"], f"{ADMIN}/tag-types"
    team = {"name": "team", "description": "Who cares", "icon": None}
    story.step(eve, f"POST {path}/validate", team)
    story.step(eve, f"POST {path}", team, event("tag-type-created", data=team))
    change = {"description": "Who cares for it"}
    recorded = event("tag-type-updated", data=team | change, preData=team)
    story.step(eve, f"PUT {path}/team", change, recorded)
    mood = {"name": "mood", "description": "", "icon": None}
    story.step(eve, f"POST {path}", {"name": "mood"}, event("tag-type-created", data=mood))
    for type, value in (("team", "blue"), ("mood", "gloomy")):
        tag = {"type": type, "value": value}
        story.step(eve, f"POST {ADMIN}/tags", tag, event("tag-created", data=tag))
    story.step(eve, f"DELETE {path}/mood", None, event("tag-type-deleted", preData=mood))


def make_strategy_types(story: Story) -> None:
    """A strategy by phase of the moon is deprecated for a while; one by tides goes again."""
    eve, path = story.people["eve"], f"{ADMIN}/strategies"
    moon = {
        "name": "moonPhase",
        "parameters": [{"name": "phase", "type": "string", "description": "", "required": True}],
    }
    created = story.step(eve, f"POST {path}", moon, event("strategy-created", data=Having(moon)))
    assert created["editable"] is True
    change = moon | {"description": "By the phase of the moon"}
    recorded = event("strategy-updated", data=Having(change), preData=Having(moon))
    story.step(eve, f"PUT {path}/moonPhase", change, recorded)
    name = {"name": "moonPhase"}
    story.step(eve, f"POST {path}/moonPhase/deprecate", None, event("strategy-deprecated", data=name))
    story.step(eve, f"POST {path}/moonPhase/reactivate", None, event("strategy-reactivated", data=name))
    tide = {"name": "tide", "parameters": []}
    story.step(eve, f"POST {path}", tide, event("strategy-created", data=Having(tide)))
    story.step(eve, f"DELETE {path}/tide", None, event("strategy-deleted", data={"name": "tide"}))
