"""Tags of a flag: the permissions in the project decide. In a hidden project the flag does not exist."""

from typing import Any

from tests.access import Arguments
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


def of_flag(project: str) -> dict[str, Any]:
    """Return the tags of a flag of the project."""
    return UpdateTagsOfFlags.example | {"features": [f"flag-of-{project}"]}


BODIES = {"PUT /api/admin/projects/<project_id>/tags": of_flag}
ARGUMENTS = Arguments(words={"*": {"type": "simple", "value": "beta"}}, bodies=BODIES)
