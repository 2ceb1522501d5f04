"""Tags of a flag: the permissions in the project decide. In a hidden project the flag does not exist."""

from tests.access import Props
from tests.support.world import Caller, World
from validators.flags.tags import UpdateTagsOfFlags

TABLE = """
    route                                                                   project  alice  eve  victor  olga  max  admin  client  frontend  stranger  trips

    GET /api/admin/features/<feature_name>/tags                             default  200    200  200     200   200  200    403     403       401       2
    GET /api/admin/features/<feature_name>/tags                             hermes   200    200  200     200   200  200    403     403       401       -
    GET /api/admin/features/<feature_name>/tags                             apollo   200    200  404     200   200  200    403     403       401       -
    GET /api/admin/features/<feature_name>/tags                             nowhere  404    404  404     404   404  404    403     403       401       -
    POST /api/admin/features/<feature_name>/tags                            default  201    201  403     403   403  201    403     403       401       10
    POST /api/admin/features/<feature_name>/tags                            hermes   201    403  403     403   403  201    403     403       401       -
    POST /api/admin/features/<feature_name>/tags                            apollo   201    403  404     201   201  201    403     403       401       -
    POST /api/admin/features/<feature_name>/tags                            nowhere  404    404  404     404   404  404    403     403       401       -
    DELETE /api/admin/features/<feature_name>/tags/<type>/<anything:value>  default  200    200  403     403   403  200    403     403       401       7
    DELETE /api/admin/features/<feature_name>/tags/<type>/<anything:value>  hermes   200    403  403     403   403  200    403     403       401       -
    DELETE /api/admin/features/<feature_name>/tags/<type>/<anything:value>  apollo   200    403  404     200   200  200    403     403       401       -
    DELETE /api/admin/features/<feature_name>/tags/<type>/<anything:value>  nowhere  404    404  404     404   404  404    403     403       401       -
    PUT /api/admin/features/<feature_name>/tags                             default  200    200  403     403   403  200    403     403       401       12
    PUT /api/admin/features/<feature_name>/tags                             hermes   200    403  403     403   403  200    403     403       401       -
    PUT /api/admin/features/<feature_name>/tags                             apollo   200    403  404     200   200  200    403     403       401       -
    PUT /api/admin/features/<feature_name>/tags                             nowhere  404    404  404     404   404  404    403     403       401       -
    PUT /api/admin/projects/<project_id>/tags                               default  200    200  403     403   403  200    403     403       401       10
    PUT /api/admin/projects/<project_id>/tags                               hermes   200    403  403     403   403  200    403     403       401       -
    PUT /api/admin/projects/<project_id>/tags                               apollo   200    403  403     200   200  200    403     403       401       -
    PUT /api/admin/projects/<project_id>/tags                               nowhere  404    403  403     403   403  404    403     403       401       -
"""


def furnish(world: World, cast: dict[str, Caller]) -> Props:  # noqa: ARG001
    """A tag."""
    return Props(
        words={"*": {"type": "simple", "value": "beta"}},
        bodies={
            "PUT /api/admin/projects/<project_id>/tags": lambda project: (
                UpdateTagsOfFlags.example | {"features": [f"flag-of-{project}"]}
            )
        },
    )
