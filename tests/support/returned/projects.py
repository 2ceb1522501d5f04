"""Projects, to be sent back."""

from tests.support.returned.sendable import ADMIN, Json, Sendable, posted
from tests.support.world import Caller, World
from validators.projects import core as projects


def project(world: World, caller: Caller) -> Json:
    """A project with a naming pattern, a default strategy, a flag, an owner and a group, and a favorite of the caller.

    Its place has the name too, because overviews have no id.
    """
    names = {"id": "mobile", "name": "Mobile app", "description": "The app."}
    posted(caller, "projects", names | {"mode": "protected", "defaultStickiness": "userId", "featureLimit": 10})
    base = f"{ADMIN}/projects/mobile"
    naming = {"featureNaming": {"pattern": "[a-z-]+", "example": "a-b", "description": "Lower case."}}
    assert caller.put(f"{base}/settings", json=naming).status_code == 200
    strategy = {"name": "flexibleRollout", "parameters": {"rollout": "50"}}
    assert caller.post(f"{base}/environments/development/default-strategy", json=strategy).status_code == 200
    assert caller.post(f"{base}/favorites").status_code == 200
    posted(caller, "projects/mobile/features", {"name": "a-flag"})
    world.member("mobile", world.user("Bob"))
    return {"name": "Mobile app", "project": "mobile"}


WRONG = {"environments": [], "featureNaming": {"pattern": "x"}, "favorite": False, "owners": []}
RECORDS = ("project", "projectCreated", "projectOverview", "legacyProjectOverview", "healthReport")
GETS = ("projects", "projects/mobile/overview", "projects/mobile", "projects/mobile/health-report")
PROJECTS = (
    Sendable(
        "project",
        projects.PROJECT,
        projects.ProjectChange,
        projects.NewProject,
        RECORDS,
        project,
        GETS,
        "projects/mobile",
        "projects",
        {"id": "mobile", "name": "Mobile"},
        WRONG,
    ),
    Sendable(
        "project settings",
        projects.PROJECT,
        projects.ProjectSettings,
        None,
        RECORDS,
        project,
        GETS,
        "projects/mobile/settings",
        wrong=WRONG | {"name": "Other", "description": "Other."},
    ),
)
