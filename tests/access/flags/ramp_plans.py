"""Ramp plans: by the permissions in the project and environment."""

from tests.access import PROJECTS, Arguments
from tests.support.world import Caller, World

TABLE = """
    route                                                                                                             project  alice  eve  victor  olga  max  admin  client  frontend  stranger  trips

    POST /api/admin/projects/<project_id>/features/<feature_name>/environments/<environment>/plan                     default  200    200  403     403   403  200    403     403       401       15
    POST /api/admin/projects/<project_id>/features/<feature_name>/environments/<environment>/plan                     hermes   200    403  403     403   403  200    403     403       401       -
    POST /api/admin/projects/<project_id>/features/<feature_name>/environments/<environment>/plan                     apollo   200    403  403     200   200  200    403     403       401       -
    POST /api/admin/projects/<project_id>/features/<feature_name>/environments/<environment>/plan                     nowhere  404    403  403     403   403  404    403     403       401       -
    DELETE /api/admin/projects/<project_id>/features/<feature_name>/environments/<environment>/plan/<strategy_id>     default  200    200  403     403   403  200    403     403       401       12
    DELETE /api/admin/projects/<project_id>/features/<feature_name>/environments/<environment>/plan/<strategy_id>     hermes   200    403  403     403   403  200    403     403       401       -
    DELETE /api/admin/projects/<project_id>/features/<feature_name>/environments/<environment>/plan/<strategy_id>     apollo   200    403  403     200   200  200    403     403       401       -
    DELETE /api/admin/projects/<project_id>/features/<feature_name>/environments/<environment>/plan/<strategy_id>     nowhere  404    403  403     403   403  404    403     403       401       -
    POST /api/admin/projects/<project_id>/features/<feature_name>/environments/<environment>/plan/<strategy_id>/stop  default  200    200  403     403   403  200    403     403       401       12
    POST /api/admin/projects/<project_id>/features/<feature_name>/environments/<environment>/plan/<strategy_id>/stop  hermes   200    403  403     403   403  200    403     403       401       -
    POST /api/admin/projects/<project_id>/features/<feature_name>/environments/<environment>/plan/<strategy_id>/stop  apollo   200    403  403     200   200  200    403     403       401       -
    POST /api/admin/projects/<project_id>/features/<feature_name>/environments/<environment>/plan/<strategy_id>/stop  nowhere  404    403  403     403   403  404    403     403       401       -
    POST /api/admin/projects/<project_id>/features/<feature_name>/environments/<environment>/plan/<strategy_id>/skip  default  200    200  403     403   403  200    403     403       401       17
    POST /api/admin/projects/<project_id>/features/<feature_name>/environments/<environment>/plan/<strategy_id>/skip  hermes   200    403  403     403   403  200    403     403       401       -
    POST /api/admin/projects/<project_id>/features/<feature_name>/environments/<environment>/plan/<strategy_id>/skip  apollo   200    403  403     200   200  200    403     403       401       -
    POST /api/admin/projects/<project_id>/features/<feature_name>/environments/<environment>/plan/<strategy_id>/skip  nowhere  404    403  403     403   403  404    403     403       401       -
"""

TIME = {"contextName": "currentTime", "operator": "DATE_AFTER", "values": [], "inverted": False}


def prepare(world: World, cast: dict[str, Caller]) -> Arguments:  # noqa: ARG001
    """A plan of two future steps in each project."""
    words = {}
    for project in PROJECTS:
        flag, name = world.flag(f"plan-of-{project}", project), f"plan-of-{project}"
        for year in (2098, 2099):
            step = {"parameters": {"rollout": str(year - 2097), "groupId": name, "stickiness": "default"}}
            constraint = TIME | {"value": f"{year}-01-01T00:00:00.000Z", "caseInsensitive": False}
            step_id = world.strategy(flag, constraints=[constraint], sort_order=year, **step)
        words[project] = {"feature_name": name, "strategy_id": step_id}
    return Arguments(words=words | {"nowhere": {"strategy_id": "no-such-step"}})
