"""The life of flags: created, described, tagged, liked, marked stale, archived, revived, deleted, moved."""

from typing import Any

from tests.support.story import Event, Having, Story, answered, event
from tests.support.world import Caller

PROJECTS = "/api/admin/projects"
MOON = {"type": "simple", "value": "moon"}
BLUE = {"type": "team", "value": "blue"}


def happened(type: str, project: str, flag: str, **columns: Any) -> Event:
    """An event of a flag."""
    return event(type, project=project, featureName=flag, **columns)


def make(story: Story, caller: Caller, project: str, name: str, type: str = "release", **fields: Any) -> Any:
    """A flag without tags, as it was answered."""
    body = {"name": name, "type": type} | fields
    recorded = happened("feature-created", project, name, data=answered)
    created = story.step(caller, f"POST {PROJECTS}/{project}/features", body, recorded)
    core = {"name": name, "type": type, "project": project, "stale": False, "archived": False} | fields
    assert created == Having(core), created
    return created


def tell(story: Story) -> None:
    """Max and Olga make flags; some of them go the way of all flags."""
    olga, max = story.people["olga"], story.people["max"]
    launch = {"name": "launch", "tags": [MOON]}
    recorded = [
        happened("feature-created", "apollo", "launch", data=answered),
        event("tag-created", data=MOON),
        happened("feature-tagged", "apollo", "launch", data=MOON, tags=[MOON]),
    ]
    story.step(max, f"POST {PROJECTS}/apollo/features", launch, *recorded)
    make(story, max, "apollo", "engine", "operational", description="What drives it")
    make(story, max, "apollo", "boost", "experiment", impressionData=True)
    make(story, olga, "apollo", "relay")
    for name in ("debris", "relic", "fossil", "dust"):
        story.answers[name] = make(story, olga, "apollo", name, "kill-switch" if name == "relic" else "release")
    make(story, max, "hermes", "mail", "permission")
    make(story, max, "hermes", "post")
    make(story, olga, "hermes", "letter")
    make(story, max, "hermes", "orbit", "experiment")
    tag(story)
    describe(story)
    complete(story)
    archive(story)
    move(story)
    like(story)


def tag(story: Story) -> None:
    """The flag launch is the blue team's as well; the flag mail was for a while; a tag that is used goes from the flags
    that have it.
    """
    max, victor = story.people["max"], story.people["victor"]
    recorded = happened("feature-tagged", "apollo", "launch", data=BLUE, tags=[MOON, BLUE])
    path = "/api/admin/features"
    story.step(max, f"POST {path}/launch/tags", BLUE, recorded)
    story.step(max, f"POST {path}/launch/tags", BLUE)
    sun = {"type": "simple", "value": "sun"}
    recorded = [event("tag-created", data=sun), happened("feature-tagged", "hermes", "mail", data=sun, tags=[sun])]
    story.step(max, f"POST {path}/mail/tags", sun, *recorded)
    story.step(
        max, f"DELETE {path}/mail/tags/simple/sun", None, happened("feature-untagged", "hermes", "mail", preData=sun)
    )
    story.step(max, f"DELETE {path}/mail/tags/simple/sun")
    recorded = happened("feature-tagged", "hermes", "post", data=sun, tags=[sun])
    story.step(max, f"POST {path}/post/tags", sun, recorded)
    recorded = [happened("feature-untagged", "hermes", "post", preData=sun), event("tag-deleted", data=sun)]
    story.step(max, "DELETE /api/admin/tags/simple/sun", None, *recorded)
    assert victor.get(f"{path}/launch/tags").status_code == 404


def describe(story: Story) -> None:
    """The flag mail gets a description and is stale; post was stale for a while, letter stays so."""
    max = story.people["max"]
    path = f"{PROJECTS}/hermes"
    before = {"description": None, "type": "permission"}
    change = {"description": "Who gets mail", "type": "permission"}
    recorded = [
        happened("feature-metadata-updated", "hermes", "mail", data=Having(change), preData=Having(before)),
        happened("feature-stale-on", "hermes", "mail"),
    ]
    story.step(max, f"PUT {path}/features/mail", change | {"stale": True}, *recorded)
    story.step(max, f"PUT {path}/features/mail", change | {"stale": True})
    recorded = [happened("feature-stale-on", "hermes", name) for name in ("post", "letter")]
    story.step(max, f"POST {path}/stale", {"features": ["mail", "post", "letter"], "stale": True}, *recorded)
    story.step(
        max,
        f"POST {path}/stale",
        {"features": ["post"], "stale": False},
        happened("feature-stale-off", "hermes", "post"),
    )


def complete(story: Story) -> None:
    """Olga completes the flag relay, and thinks better of it."""
    olga, path = story.people["olga"], f"{PROJECTS}/apollo/features/relay/lifecycle"
    recorded = happened("feature-completed", "apollo", "relay", data={"status": "kept", "kept": True})
    story.step(olga, f"POST {path}/complete", {"status": "kept"}, recorded)
    recorded = happened("feature-uncompleted", "apollo", "relay")
    story.step(olga, f"POST {path}/uncomplete", None, recorded)


def archive(story: Story) -> None:
    """Debris is archived and deleted; relic and fossil come back; dust stays archived."""
    olga, path, archived = story.people["olga"], f"{PROJECTS}/apollo", "/api/admin/archive"
    for name in ("debris", "relic"):
        story.step(olga, f"DELETE {path}/features/{name}", None, happened("feature-archived", "apollo", name))
    recorded = [happened("feature-archived", "apollo", name) for name in ("fossil", "dust")]
    story.step(olga, f"POST {path}/archive", {"features": ["fossil", "dust"]}, *recorded)
    gone = {"name": "debris", "type": "release", "project": "apollo", "archived": True}
    recorded = happened("feature-deleted", "apollo", "debris", preData=Having(gone))
    story.step(olga, f"DELETE {archived}/debris", None, recorded)
    story.step(olga, f"POST {archived}/revive/relic", None, happened("feature-revived", "apollo", "relic"))
    story.step(olga, f"POST {path}/revive", {"features": ["fossil"]}, happened("feature-revived", "apollo", "fossil"))


def move(story: Story) -> None:
    """The administrator moves the flag orbit to where it belongs."""
    recorded = happened(
        "feature-project-change", "apollo", "orbit", data={"oldProject": "hermes", "newProject": "apollo"}
    )
    path = f"{PROJECTS}/hermes/features/orbit/changeProject"
    story.step(story.people["root"], f"POST {path}", {"newProjectId": "apollo"}, recorded)


def like(story: Story) -> None:
    """Victor likes the flags post and mail, and mail no longer."""
    victor, path = story.people["victor"], f"{PROJECTS}/hermes/features"
    for name, method, type in (
        ("post", "POST", "feature-favorited"),
        ("mail", "POST", "feature-favorited"),
        ("mail", "DELETE", "feature-unfavorited"),
    ):
        recorded = happened(type, "hermes", name, data={"feature": name})
        story.step(victor, f"{method} {path}/{name}/favorites", None, recorded)
        story.step(victor, f"{method} {path}/{name}/favorites")
