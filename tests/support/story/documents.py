"""What goes in and out in one piece: an export, an import, and a whole project that comes to its end."""

from typing import Any

from tests.support.story import Having, Story, answered, event
from tests.support.story.flags import PROJECTS, happened

BATCH = "/api/admin/features-batch"
FRESH = {"type": "crate", "value": "fresh"}
PARCEL: dict[str, Any] = {
    "features": [
        {
            "name": "parcel",
            "type": "experiment",
            "description": "Comes in one piece",
            "project": "elsewhere",
            "stale": False,
        }
    ],
    "featureStrategies": [
        {
            "featureName": "parcel",
            "name": "flexibleRollout",
            "parameters": {"rollout": "10", "stickiness": "default", "groupId": "parcel"},
            "constraints": [{"contextName": "weight", "operator": "NUM_GT", "value": "20"}],
            "segments": [7],
        }
    ],
    "featureEnvironments": [
        {"name": "parcel", "featureName": "parcel", "environment": "production", "enabled": True, "variants": []}
    ],
    "contextFields": [{"name": "weight", "description": "In kilograms"}],
    "featureTags": [{"featureName": "parcel", "tagType": "crate", "tagValue": "fresh"}],
    "segments": [{"id": 7, "name": "martians"}],
    "tagTypes": [{"name": "crate", "description": "How it is packed"}],
}


def tell(story: Story) -> None:
    """Max exports, the administrator imports, and the project pluto comes and goes."""
    export(story)
    take_in(story)
    end_pluto(story)


def export(story: Story) -> None:
    """Two flags of apollo, as they are in development."""
    names = ["launch", "boost"]
    body = {"environment": "development", "features": names}
    recorded = event("features-exported", data={"environment": "development", "features": sorted(names)})
    document = story.step(story.people["max"], f"POST {BATCH}/export", body, recorded)
    assert [flag["name"] for flag in document["features"]] == sorted(names)
    assert [strategy["featureName"] for strategy in document["featureStrategies"]] == ["launch"]


def take_in(story: Story) -> None:
    """The flag parcel comes into hermes, on in staging, with words that were not known here."""
    body = {"project": "hermes", "environment": "staging", "data": PARCEL}
    verdict = story.step(story.people["olga"], f"POST {BATCH}/validate", body)
    assert (verdict["errors"], verdict["warnings"]) == ([], [])
    assert verdict["permissions"] != []
    verdict = story.step(story.people["root"], f"POST {BATCH}/validate", body)
    assert verdict == {"errors": [], "warnings": [], "permissions": []}
    staging = {"environment": "staging", "tags": [FRESH]}
    recorded = [
        event("tag-type-created", data=Having(name="crate", description="How it is packed")),
        event("context-field-created", data=Having(name="weight", description="In kilograms")),
        happened(
            "feature-created", "hermes", "parcel", data=Having(name="parcel", project="hermes", type="experiment")
        ),
        event("tag-created", data=FRESH),
        happened("feature-tagged", "hermes", "parcel", data=FRESH, tags=[FRESH]),
        happened("feature-strategy-add", "hermes", "parcel", data=Having(segments=[story.ids["martians"]]), **staging),
        happened("feature-environment-enabled", "hermes", "parcel", **staging),
        event("features-imported", project="hermes", environment="staging"),
    ]
    story.step(story.people["root"], f"POST {BATCH}/import", body, *recorded)


def end_pluto(story: Story) -> None:
    """A project with a flag and a key of its own is archived, comes back, and is deleted with all that it had."""
    key, path = story.key, f"{PROJECTS}/pluto"
    body = {"id": "pluto", "name": "Pluto", "environments": ["development"]}
    story.step(key, f"POST {PROJECTS}", body, event("project-created", project="pluto", data=answered))
    recorded = event("project-favorited", project="pluto", data={"project": "pluto"})
    story.step(story.people["olga"], f"POST {path}/favorites", None, recorded)
    token = {"type": "client", "tokenName": "pluto's key", "environment": "development", "project": "pluto"}
    place = {"project": "pluto", "environment": "development"}
    recorded = event("api-token-created", data=Having(tokenName="pluto's key", projects=["pluto"]), **place)
    story.step(key, "POST /api/admin/api-tokens", token, recorded)
    ice = {"name": "ice"}
    story.step(key, f"POST {path}/features", ice, happened("feature-created", "pluto", "ice", data=answered))
    story.step(key, f"POST {path}/archive", {"features": ["ice"]}, happened("feature-archived", "pluto", "ice"))
    story.step(key, f"POST {PROJECTS}/archive/pluto", None, event("project-archived", project="pluto"))
    story.step(key, f"POST {PROJECTS}/revive/pluto", None, event("project-revived", project="pluto"))
    recorded = [
        happened("feature-deleted", "pluto", "ice", preData=Having(name="ice", archived=True)),
        event("api-token-deleted", preData=Having(tokenName="pluto's key"), **place),
        event("project-deleted", project="pluto"),
    ]
    story.step(key, f"DELETE {path}", None, *recorded)
    assert [project["id"] for project in story.read(PROJECTS)["projects"]] == ["apollo", "default", "hermes"]
