"""Where things happen: environments, the private project apollo, the open project hermes, and their roles."""

from typing import Any

from tests.support.story import Having, Story, answered, event

ENVIRONMENTS = "/api/admin/environments"
PROJECTS = "/api/admin/projects"


def tell(story: Story) -> None:
    """Environments first, then the projects in them, then those who work there."""
    make_environments(story)
    make_apollo(story)
    make_hermes(story)
    let_people_into_apollo(story)
    let_people_into_hermes(story)


def make_environments(story: Story) -> None:
    """Staging stays; attic is changed, switched off and on, and goes."""
    root = story.people["root"]

    def updated(environment: str, data: dict[str, Any], before: dict[str, Any]) -> Any:
        return event("environment-updated", environment=environment, data=Having(data), preData=Having(before))

    for name, type in (("staging", "preproduction"), ("attic", "test")):
        body = {"name": name, "type": type}
        recorded = event("environment-created", environment=name, data=Having(body))
        created = story.step(root, f"POST {ENVIRONMENTS}", body, recorded)
        assert created["enabled"] is True
    change, before = {"type": "scratch", "sortOrder": 77}, {"type": "test", "sortOrder": created["sortOrder"]}
    story.step(root, f"PUT {ENVIRONMENTS}/update/attic", change, updated("attic", change, before))
    for word, now in (("off", False), ("on", True)):
        recorded = updated("attic", {"enabled": now}, {"enabled": not now})
        story.step(story.key, f"POST {ENVIRONMENTS}/attic/{word}", None, recorded)
        # Once more changes nothing.
        story.step(story.key, f"POST {ENVIRONMENTS}/attic/{word}")
    found = story.read(ENVIRONMENTS)["environments"]
    before = {entry["name"]: entry["sortOrder"] for entry in found}
    order = {"development": before["development"], "production": 20, "staging": 10}
    recorded = [
        updated(name, {"sortOrder": order[name]}, {"sortOrder": before[name]}) for name in ("production", "staging")
    ]
    story.step(story.key, f"PUT {ENVIRONMENTS}/sort-order", order, *recorded)


def make_apollo(story: Story) -> None:
    """Eve makes a private project, gives it environments and rules, and takes one environment away again."""
    eve, path = story.people["eve"], f"{PROJECTS}/apollo"
    first = {"id": "apollo", "name": "Apolo", "mode": "private", "environments": ["development"]}
    created = story.step(eve, f"POST {PROJECTS}", first, event("project-created", project="apollo", data=answered))
    assert created == first | {"defaultStickiness": "default", "featureLimit": None, "changeRequestEnvironments": []}
    change = {"name": "Apollo", "description": "To the moon"}
    recorded = event(
        "project-updated", project="apollo", data=Having(change), preData=Having(name="Apolo", description=None)
    )
    story.step(eve, f"PUT {path}", change, recorded)
    settings = {
        "featureLimit": 20,
        "featureNaming": {"pattern": "[a-z0-9-]+", "example": "lunar-1", "description": "lower case"},
    }
    recorded = event("project-updated", project="apollo", data=Having(settings), preData=Having(featureLimit=None))
    story.step(eve, f"PUT {path}/settings", settings, recorded)
    for name in ("production", "staging", "attic"):
        recorded = event("project-environment-added", project="apollo", environment=name)
        story.step(eve, f"POST {path}/environments", {"environment": name}, recorded)
    recorded = event("project-environment-removed", project="apollo", environment="attic")
    story.step(eve, f"DELETE {path}/environments/attic", None, recorded)
    story.step(eve, f"DELETE {path}/environments/attic")
    parameters = {"rollout": "25", "stickiness": "userId", "groupId": "apollo"}
    strategy = {"name": "flexibleRollout", "title": "A quarter", "parameters": parameters}
    place = {"project": "apollo", "environment": "production"}
    recorded = event("default-strategy-updated", **place, data=answered)
    created = story.step(eve, f"POST {path}/environments/production/default-strategy", strategy, recorded)
    assert created["parameters"] == parameters


def make_hermes(story: Story) -> None:
    """Olga makes an open project with all environments; attic goes, and with it what was there.

    Victor likes the project.
    """
    olga, victor, path = story.people["olga"], story.people["victor"], f"{PROJECTS}/hermes"
    created = story.step(
        olga, f"POST {PROJECTS}", {"name": "Hermes"}, event("project-created", project="hermes", data=answered)
    )
    assert (created["id"], created["environments"]) == ("hermes", ["development", "staging", "production", "attic"])
    gone = event("environment-deleted", environment="attic", preData=Having(name="attic", type="scratch"))
    story.step(story.people["root"], f"DELETE {ENVIRONMENTS}/attic", None, gone)
    for method, type, times in (("POST", "project-favorited", 2), ("DELETE", "project-unfavorited", 2)):
        for time in range(times):
            recorded = event(type, project="hermes", data={"project": "hermes"})
            story.step(victor, f"{method} {path}/favorites", None, *([recorded] if time == 0 else []))
    # Recorded less than a minute ago.
    story.step(victor, f"POST {path}/favorites")


def let_people_into_apollo(story: Story) -> None:
    """Eve lets in Max and the crew, makes Olga an Owner, and thinks better of Nora and the visitors."""
    eve, id, path = story.people["eve"], story.ids, f"{PROJECTS}/apollo"
    given = {"roles": [{"roleId": 5, "userIds": [id["max"]], "groupIds": [id["crew"]]}]}
    recorded = event("project-access-added", project="apollo", data=given)
    story.step(eve, f"POST {path}/access", {"roles": [5], "users": [id["max"]], "groups": [id["crew"]]}, recorded)

    def change(kind: str, name: str, before: list[int], after: list[int]) -> None:
        place, whom = f"{path}/{kind}s/{id[name]}/roles", {f"{kind}Id": id[name]}
        old = {"roles": before} | whom
        if after:
            recorded = event(
                f"project-access-{kind}-roles-updated", project="apollo", data={"roles": after} | whom, preData=old
            )
            story.step(eve, f"PUT {place}", {"roles": after}, recorded)
        else:
            recorded = event(f"project-access-{kind}-roles-deleted", project="apollo", preData=old)
            story.step(eve, f"DELETE {place}", None, recorded)

    change("user", "olga", [], [4])
    change("user", "nora", [], [5])
    change("user", "nora", [5], [])
    change("group", "crew", [5], [5, id["Operator"]])
    change("group", "visitors", [], [5])
    change("group", "visitors", [5], [])


def let_people_into_hermes(story: Story) -> None:
    """Olga says at once who has which role."""
    olga, id, path = story.people["olga"], story.ids, f"{PROJECTS}/hermes/access"
    before = [{"id": 4, "users": [id["olga"]], "groups": []}]
    after = [
        *before,
        {"id": 5, "users": [id["max"]], "groups": [id["visitors"]]},
        {"id": id["Operator"], "users": [], "groups": [id["crew"]]},
    ]
    recorded = event("project-access-updated", project="hermes", data={"roles": after}, preData={"roles": before})
    story.step(olga, f"PUT {path}", {"roles": after}, recorded)
    story.step(olga, f"PUT {path}", {"roles": after})
