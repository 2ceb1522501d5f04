"""Flags of a project: by the permissions in the project."""

from datetime import UTC, datetime

from tests.access import PROJECTS, Arguments
from tests.support.world import Caller, World

TABLE = """
    route                                                                        project  alice  eve  victor  olga  max  admin  client  frontend  stranger  trips

    GET /api/admin/projects/<project_id>/features                                default  200    200  200     200   200  200    403     403       401       2
    GET /api/admin/projects/<project_id>/features                                hermes   200    200  200     200   200  200    403     403       401       -
    GET /api/admin/projects/<project_id>/features                                apollo   200    200  404     200   200  200    403     403       401       -
    GET /api/admin/projects/<project_id>/features                                nowhere  404    404  404     404   404  404    403     403       401       -
    POST /api/admin/projects/<project_id>/features                               default  201    201  403     403   403  201    403     403       401       13
    POST /api/admin/projects/<project_id>/features                               hermes   201    403  403     403   403  201    403     403       401       -
    POST /api/admin/projects/<project_id>/features                               apollo   201    403  403     201   201  201    403     403       401       -
    POST /api/admin/projects/<project_id>/features                               nowhere  404    403  403     403   403  404    403     403       401       -
    GET /api/admin/projects/<project_id>/features/<feature_name>                 default  200    200  200     200   200  200    403     403       401       2
    GET /api/admin/projects/<project_id>/features/<feature_name>                 hermes   200    200  200     200   200  200    403     403       401       -
    GET /api/admin/projects/<project_id>/features/<feature_name>                 apollo   200    200  404     200   200  200    403     403       401       -
    GET /api/admin/projects/<project_id>/features/<feature_name>                 nowhere  404    404  404     404   404  404    403     403       401       -
    PUT /api/admin/projects/<project_id>/features/<feature_name>                 default  200    200  403     403   403  200    403     403       401       8
    PUT /api/admin/projects/<project_id>/features/<feature_name>                 hermes   200    403  403     403   403  200    403     403       401       -
    PUT /api/admin/projects/<project_id>/features/<feature_name>                 apollo   200    403  403     200   200  200    403     403       401       -
    PUT /api/admin/projects/<project_id>/features/<feature_name>                 nowhere  404    403  403     403   403  404    403     403       401       -
    DELETE /api/admin/projects/<project_id>/features/<feature_name>              default  202    202  403     403   403  202    403     403       401       8
    DELETE /api/admin/projects/<project_id>/features/<feature_name>              hermes   202    403  403     403   403  202    403     403       401       -
    DELETE /api/admin/projects/<project_id>/features/<feature_name>              apollo   202    403  403     202   202  202    403     403       401       -
    DELETE /api/admin/projects/<project_id>/features/<feature_name>              nowhere  404    403  403     403   403  404    403     403       401       -
    POST /api/admin/projects/<project_id>/features/<feature_name>/clone          default  201    201  403     403   403  201    403     403       401       19
    POST /api/admin/projects/<project_id>/features/<feature_name>/clone          hermes   201    403  403     403   403  201    403     403       401       -
    POST /api/admin/projects/<project_id>/features/<feature_name>/clone          apollo   201    403  403     201   201  201    403     403       401       -
    POST /api/admin/projects/<project_id>/features/<feature_name>/clone          nowhere  404    403  403     403   403  404    403     403       401       -
    POST /api/admin/projects/<project_id>/features/<feature_name>/changeProject  default  200    200  403     403   403  200    403     403       401       7
    POST /api/admin/projects/<project_id>/features/<feature_name>/changeProject  hermes   200    403  403     403   403  200    403     403       401       -
    POST /api/admin/projects/<project_id>/features/<feature_name>/changeProject  apollo   200    403  403     200   403  200    403     403       401       -
    POST /api/admin/projects/<project_id>/features/<feature_name>/changeProject  nowhere  404    403  403     403   403  404    403     403       401       -
    POST /api/admin/projects/<project_id>/stale                                  default  202    202  403     403   403  202    403     403       401       7
    POST /api/admin/projects/<project_id>/stale                                  hermes   202    403  403     403   403  202    403     403       401       -
    POST /api/admin/projects/<project_id>/stale                                  apollo   202    403  403     202   202  202    403     403       401       -
    POST /api/admin/projects/<project_id>/stale                                  nowhere  404    403  403     403   403  404    403     403       401       -
    POST /api/admin/projects/<project_id>/archive                                default  202    202  403     403   403  202    403     403       401       8
    POST /api/admin/projects/<project_id>/archive                                hermes   202    403  403     403   403  202    403     403       401       -
    POST /api/admin/projects/<project_id>/archive                                apollo   202    403  403     202   202  202    403     403       401       -
    POST /api/admin/projects/<project_id>/archive                                nowhere  404    403  403     403   403  404    403     403       401       -
    POST /api/admin/projects/<project_id>/revive                                 default  200    200  403     403   403  200    403     403       401       7
    POST /api/admin/projects/<project_id>/revive                                 hermes   200    403  403     403   403  200    403     403       401       -
    POST /api/admin/projects/<project_id>/revive                                 apollo   200    403  403     200   200  200    403     403       401       -
    POST /api/admin/projects/<project_id>/revive                                 nowhere  404    403  403     403   403  404    403     403       401       -
    POST /api/admin/features/validate                                            -        200    200  200     200   200  200    403     403       401       3
    GET /api/admin/flag-creators                                                 -        200    200  200     200   200  200    403     403       401       2
    GET /api/admin/projects/<project_id>/flag-creators                           default  200    200  200     200   200  200    403     403       401       2
    GET /api/admin/projects/<project_id>/flag-creators                           hermes   200    200  200     200   200  200    403     403       401       -
    GET /api/admin/projects/<project_id>/flag-creators                           apollo   200    200  404     200   200  200    403     403       401       -
    GET /api/admin/projects/<project_id>/flag-creators                           nowhere  404    404  404     404   404  404    403     403       401       -
    POST /api/admin/projects/<project_id>/archive/validate                       default  200    200  403     403   403  200    403     403       401       4
    POST /api/admin/projects/<project_id>/archive/validate                       hermes   200    403  403     403   403  200    403     403       401       -
    POST /api/admin/projects/<project_id>/archive/validate                       apollo   200    403  403     200   200  200    403     403       401       -
    POST /api/admin/projects/<project_id>/archive/validate                       nowhere  404    403  403     403   403  404    403     403       401       -
    POST /api/admin/projects/<project_id>/delete                                 default  200    200  403     403   403  200    403     403       401       7
    POST /api/admin/projects/<project_id>/delete                                 hermes   200    403  403     403   403  200    403     403       401       -
    POST /api/admin/projects/<project_id>/delete                                 apollo   200    403  403     200   200  200    403     403       401       -
    POST /api/admin/projects/<project_id>/delete                                 nowhere  404    403  403     403   403  404    403     403       401       -
    PATCH /api/admin/projects/<project_id>/features/<feature_name>               default  200    200  403     403   403  200    403     403       401       8
    PATCH /api/admin/projects/<project_id>/features/<feature_name>               hermes   200    403  403     403   403  200    403     403       401       -
    PATCH /api/admin/projects/<project_id>/features/<feature_name>               apollo   200    403  403     200   200  200    403     403       401       -
    PATCH /api/admin/projects/<project_id>/features/<feature_name>               nowhere  404    403  403     403   403  404    403     403       401       -
"""


def prepare(world: World, cast: dict[str, Caller]) -> Arguments:  # noqa: ARG001
    """An archived flag in each project."""
    for project in PROJECTS:
        world.flag(f"old-flag-of-{project}", project, archived_at=datetime.now(UTC))

    def named(project: str) -> dict[str, object]:
        return {"features": [f"flag-of-{project}"]}

    path = "POST /api/admin/projects/<project_id>"
    bodies: dict[str, object] = {f"{path}/{change}": named for change in ("archive", "revive", "archive/validate")}
    bodies |= {
        f"{path}/features/<feature_name>/changeProject": lambda project: {"newProjectId": project},
        f"{path}/stale": lambda project: named(project) | {"stale": True},
        f"{path}/delete": lambda project: {"features": [f"old-flag-of-{project}"]},
    }
    return Arguments(bodies=bodies)
