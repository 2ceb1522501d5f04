"""Documents of flags, for the tests of import."""

import json
from typing import Any

from sql.flags import records as flag_records
from tests.support.world import Caller, World

IMPORT = "/api/admin/features-batch/import"
VALIDATE = "/api/admin/features-batch/validate"
ROLLOUT = {"rollout": "25", "stickiness": "default", "groupId": "f"}


def document(*features: Any, **more: Any) -> dict[str, Any]:
    """Return a document with these flags (names, or whole entries), and more lists."""
    whole = [{"name": feature} if isinstance(feature, str) else feature for feature in features]
    return {"features": whole, "featureStrategies": [], "tagTypes": [], **more}


def body(data: Any, project: str = "default", environment: str = "development") -> dict[str, Any]:
    return {"project": project, "environment": environment, "data": data}


def strategy(flag: str = "f", **more: Any) -> dict[str, Any]:
    return {"featureName": flag, "name": "flexibleRollout", "parameters": ROLLOUT, **more}


def state(flag: str = "f", **more: Any) -> dict[str, Any]:
    return {"name": flag, "featureName": flag, "environment": "elsewhere", **more}


def bring_in(caller: Caller, data: Any, **where: Any) -> None:
    """Import a document, and assert that this succeeds."""
    response = caller.post(IMPORT, json=body(data, **where))
    assert (response.status_code, response.get_data()) == (200, b""), response.text


def validated(caller: Caller, data: Any, **where: Any) -> dict[str, dict[str, list[str]]]:
    """Validate a document, and return {"errors" | "warnings" | "permissions": {message: names}}."""
    response = caller.post(VALIDATE, json=body(data, **where))
    assert response.status_code == 200, response.text
    return {kind: {one["message"]: one["affectedItems"] for one in found} for kind, found in response.json.items()}


def happened(world: World, since: int) -> list[tuple[str, str | None]]:
    """Return the types of the events since then, each with its flag."""
    return [(event["type"], event["feature_name"]) for event in world.events(since)]


def flag(world: World, name: str = "f", project: str = "default") -> Any:
    """The Flag record; None: no such live flag."""
    text = flag_records.get(world.conn, project, name, None)
    return None if text is None else json.loads(text)


def place(world: World, name: str = "f", environment: str = "development") -> Any:
    return next(one for one in flag(world, name)["environments"] if one["name"] == environment)


def links(child: str, *parents: str):
    return {"feature": child, "dependencies": [{"feature": parent} for parent in parents]}
