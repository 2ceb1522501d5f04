"""Change requests. The one in each path is a draft of Alice, which no other user can see."""

from typing import Any

from tests.access import PROJECTS, Arguments
from tests.support.world import Caller, World

ONE = "/api/admin/projects/<project_id>/change-requests/<change_request_id>"
CONFIGURE = "PUT /api/admin/projects/<project_id>/environments/<environment>/change-requests/config"
PROPOSE = "POST /api/admin/projects/<project_id>/environments/<environment>/change-requests"
EDIT = f"PUT {ONE}/changes/<change_id>"
SET_STATE = f"PUT {ONE}/state"

TABLE = """
    route                                                                                            project  alice  eve  victor  olga  max  admin  client  frontend  stranger  trips

    GET /api/admin/projects/<project_id>/change-requests/config                                      default  200    200  200     200   200  200    403     403       401       2
    GET /api/admin/projects/<project_id>/change-requests/config                                      hermes   200    200  200     200   200  200    403     403       401       -
    GET /api/admin/projects/<project_id>/change-requests/config                                      apollo   200    200  404     200   200  200    403     403       401       -
    GET /api/admin/projects/<project_id>/change-requests/config                                      nowhere  404    404  404     404   404  404    403     403       401       -
    PUT /api/admin/projects/<project_id>/environments/<environment>/change-requests/config           default  204    204  403     403   403  204    403     403       401       6
    PUT /api/admin/projects/<project_id>/environments/<environment>/change-requests/config           hermes   204    403  403     403   403  204    403     403       401       -
    PUT /api/admin/projects/<project_id>/environments/<environment>/change-requests/config           apollo   204    403  403     204   403  204    403     403       401       -
    PUT /api/admin/projects/<project_id>/environments/<environment>/change-requests/config           nowhere  404    403  403     403   403  404    403     403       401       -
    GET /api/admin/projects/<project_id>/change-requests                                             default  200    200  200     200   200  200    403     403       401       2
    GET /api/admin/projects/<project_id>/change-requests                                             hermes   200    200  200     200   200  200    403     403       401       -
    GET /api/admin/projects/<project_id>/change-requests                                             apollo   200    200  404     200   200  200    403     403       401       -
    GET /api/admin/projects/<project_id>/change-requests                                             nowhere  404    404  404     404   404  404    403     403       401       -
    GET /api/admin/projects/<project_id>/change-requests/pending                                     default  200    200  200     200   200  200    403     403       401       2
    GET /api/admin/projects/<project_id>/change-requests/pending                                     hermes   200    200  200     200   200  200    403     403       401       -
    GET /api/admin/projects/<project_id>/change-requests/pending                                     apollo   200    200  404     200   200  200    403     403       401       -
    GET /api/admin/projects/<project_id>/change-requests/pending                                     nowhere  404    404  404     404   404  404    403     403       401       -
    GET /api/admin/projects/<project_id>/change-requests/pending/<feature_name>                      default  200    200  200     200   200  200    403     403       401       2
    GET /api/admin/projects/<project_id>/change-requests/pending/<feature_name>                      hermes   200    200  200     200   200  200    403     403       401       -
    GET /api/admin/projects/<project_id>/change-requests/pending/<feature_name>                      apollo   200    200  404     200   200  200    403     403       401       -
    GET /api/admin/projects/<project_id>/change-requests/pending/<feature_name>                      nowhere  404    404  404     404   404  404    403     403       401       -
    GET /api/admin/projects/<project_id>/change-requests/count                                       default  200    200  200     200   200  200    403     403       401       2
    GET /api/admin/projects/<project_id>/change-requests/count                                       hermes   200    200  200     200   200  200    403     403       401       -
    GET /api/admin/projects/<project_id>/change-requests/count                                       apollo   200    200  404     200   200  200    403     403       401       -
    GET /api/admin/projects/<project_id>/change-requests/count                                       nowhere  404    404  404     404   404  404    403     403       401       -
    GET /api/admin/projects/<project_id>/change-requests/actionable                                  default  200    200  200     200   200  200    403     403       401       2
    GET /api/admin/projects/<project_id>/change-requests/actionable                                  hermes   200    200  200     200   200  200    403     403       401       -
    GET /api/admin/projects/<project_id>/change-requests/actionable                                  apollo   200    200  404     200   200  200    403     403       401       -
    GET /api/admin/projects/<project_id>/change-requests/actionable                                  nowhere  404    404  404     404   404  404    403     403       401       -
    GET /api/admin/projects/<project_id>/change-requests/scheduled                                   default  200    200  200     200   200  200    403     403       401       2
    GET /api/admin/projects/<project_id>/change-requests/scheduled                                   hermes   200    200  200     200   200  200    403     403       401       -
    GET /api/admin/projects/<project_id>/change-requests/scheduled                                   apollo   200    200  404     200   200  200    403     403       401       -
    GET /api/admin/projects/<project_id>/change-requests/scheduled                                   nowhere  404    404  404     404   404  404    403     403       401       -
    GET /api/admin/projects/<project_id>/change-requests/<change_request_id>                         default  200    404  404     404   404  404    403     403       401       9
    GET /api/admin/projects/<project_id>/change-requests/<change_request_id>                         hermes   200    404  404     404   404  404    403     403       401       -
    GET /api/admin/projects/<project_id>/change-requests/<change_request_id>                         apollo   200    404  404     404   404  404    403     403       401       -
    GET /api/admin/projects/<project_id>/change-requests/<change_request_id>                         nowhere  404    404  404     404   404  404    403     403       401       -
    POST /api/admin/projects/<project_id>/environments/<environment>/change-requests                 default  200    200  200     200   200  403    403     403       401       32
    POST /api/admin/projects/<project_id>/environments/<environment>/change-requests                 hermes   200    200  200     200   200  403    403     403       401       -
    POST /api/admin/projects/<project_id>/environments/<environment>/change-requests                 apollo   200    403  404     200   200  403    403     403       401       -
    POST /api/admin/projects/<project_id>/environments/<environment>/change-requests                 nowhere  404    404  404     404   404  403    403     403       401       -
    PUT /api/admin/projects/<project_id>/change-requests/<change_request_id>/state                   default  200    404  404     404   404  404    403     403       401       9
    PUT /api/admin/projects/<project_id>/change-requests/<change_request_id>/state                   hermes   200    404  404     404   404  404    403     403       401       -
    PUT /api/admin/projects/<project_id>/change-requests/<change_request_id>/state                   apollo   200    404  404     404   404  404    403     403       401       -
    PUT /api/admin/projects/<project_id>/change-requests/<change_request_id>/state                   nowhere  404    404  404     404   404  404    403     403       401       -
    PUT /api/admin/projects/<project_id>/change-requests/<change_request_id>/title                   default  204    404  404     404   404  403    403     403       401       6
    PUT /api/admin/projects/<project_id>/change-requests/<change_request_id>/title                   hermes   204    404  404     404   404  403    403     403       401       -
    PUT /api/admin/projects/<project_id>/change-requests/<change_request_id>/title                   apollo   204    404  404     404   404  403    403     403       401       -
    PUT /api/admin/projects/<project_id>/change-requests/<change_request_id>/title                   nowhere  404    404  404     404   404  403    403     403       401       -
    POST /api/admin/projects/<project_id>/change-requests/<change_request_id>/comments               default  204    404  404     404   404  403    403     403       401       6
    POST /api/admin/projects/<project_id>/change-requests/<change_request_id>/comments               hermes   204    404  404     404   404  403    403     403       401       -
    POST /api/admin/projects/<project_id>/change-requests/<change_request_id>/comments               apollo   204    404  404     404   404  403    403     403       401       -
    POST /api/admin/projects/<project_id>/change-requests/<change_request_id>/comments               nowhere  404    404  404     404   404  403    403     403       401       -
    PUT /api/admin/projects/<project_id>/change-requests/<change_request_id>/changes/<change_id>     default  200    404  404     404   404  403    403     403       401       32
    PUT /api/admin/projects/<project_id>/change-requests/<change_request_id>/changes/<change_id>     hermes   200    404  404     404   404  403    403     403       401       -
    PUT /api/admin/projects/<project_id>/change-requests/<change_request_id>/changes/<change_id>     apollo   200    404  404     404   404  403    403     403       401       -
    PUT /api/admin/projects/<project_id>/change-requests/<change_request_id>/changes/<change_id>     nowhere  404    404  404     404   404  403    403     403       401       -
    DELETE /api/admin/projects/<project_id>/change-requests/<change_request_id>/changes/<change_id>  default  200    404  404     404   404  403    403     403       401       8
    DELETE /api/admin/projects/<project_id>/change-requests/<change_request_id>/changes/<change_id>  hermes   200    404  404     404   404  403    403     403       401       -
    DELETE /api/admin/projects/<project_id>/change-requests/<change_request_id>/changes/<change_id>  apollo   200    404  404     404   404  403    403     403       401       -
    DELETE /api/admin/projects/<project_id>/change-requests/<change_request_id>/changes/<change_id>  nowhere  404    404  404     404   404  403    403     403       401       -
    DELETE /api/admin/projects/<project_id>/change-requests/<change_request_id>                      default  200    404  404     404   404  403    403     403       401       6
    DELETE /api/admin/projects/<project_id>/change-requests/<change_request_id>                      hermes   200    404  404     404   404  403    403     403       401       -
    DELETE /api/admin/projects/<project_id>/change-requests/<change_request_id>                      apollo   200    404  404     404   404  403    403     403       401       -
    DELETE /api/admin/projects/<project_id>/change-requests/<change_request_id>                      nowhere  404    404  404     404   404  403    403     403       401       -
    GET /api/admin/search/change-requests                                                            -        200    200  200     200   200  200    403     403       401       2
"""


def prepare(world: World, cast: dict[str, Caller]) -> Arguments:
    """A draft with a change in each project. Their environment development has change requests for all that follows."""
    world.conn.execute("UPDATE project_environments SET required_approvals = 1 WHERE environment = 'development'")
    proposal = {"action": "updateEnabled", "payload": {"enabled": True}}

    def propose(project: str) -> dict[str, Any]:
        return proposal | {"feature": f"flag-of-{project}"}

    words: dict[str, dict[str, Any]] = {"*": {"change_request_id": 2**31 - 1, "change_id": 2**31 - 1}}
    for project in PROJECTS:
        path = f"/api/admin/projects/{project}/environments/development/change-requests"
        draft: Any = cast["alice"].post(path, json=propose(project)).json
        change = draft["features"][0]["changes"][0]["id"]
        words[project] = {"change_request_id": draft["id"], "change_id": change}
    bodies = {PROPOSE: propose, EDIT: propose, SET_STATE: {"state": "Cancelled"}}
    return Arguments(words, bodies | {CONFIGURE: {"changeRequestsEnabled": True, "requiredApprovals": 2}})
