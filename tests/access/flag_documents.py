"""Who may export the flags of a project: who may see it."""

from tests.access import Props
from tests.world import Caller, World

TABLE = """
    route                                    project  alice  eve  victor  olga  max  admin  client  frontend  stranger

    POST /api/admin/features-batch/export    default  200    200  200     200   200  200    403     403       401
    POST /api/admin/features-batch/export    hermes   200    200  200     200   200  200    403     403       401
    POST /api/admin/features-batch/export    apollo   200    200  404     200   200  200    403     403       401
    POST /api/admin/features-batch/export    nowhere  404    404  404     404   404  404    403     403       401
"""


def furnish(world: World, cast: dict[str, Caller]) -> Props:  # noqa: ARG001
    """The environment, for each project."""
    return Props(bodies={"POST /api/admin/features-batch/export": lambda project: {"project": project, "environment": "development"}})
