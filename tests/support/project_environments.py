"""Read the environments of a project, and their events."""

from typing import Any

from tests.support.world import Caller, World

STRATEGY = {
    "name": "flexibleRollout",
    "title": None,
    "disabled": False,
    "constraints": [],
    "variants": [],
    "parameters": {"rollout": "50", "stickiness": "default"},
    "segments": [],
}


def read(caller: Caller, project: str = "default") -> list[dict[str, Any]]:
    """Return the environments of a project, as the API lists them."""
    answer = caller.get(f"/api/admin/environments/project/{project}")
    assert answer.status_code == 200
    assert list(answer.json) == ["version", "environments"]
    assert answer.json["version"] == 1
    return answer.json["environments"]


def logged(
    world: World, since: int, caller: Caller, environment: str, project: str = "default"
) -> list[tuple[Any, ...]]:
    """Return type, data and pre_data of the events after this id.

    Assert that all are by the caller and about this environment of the project.
    """
    found = world.events(since)
    for event in found:
        assert (event["created_by"], event["created_by_user_id"]) == (caller.email, caller.id)
        assert (event["project"], event["environment"], event["feature_name"], event["tags"]) == (
            project,
            environment,
            None,
            [],
        )
    return [(event["type"], event["data"], event["pre_data"]) for event in found]
