"""Applications: for everybody. UPDATE_APPLICATION describes and deletes them."""

from datetime import UTC, datetime

from tests.access import Arguments
from tests.support import fixtures
from tests.support.world import Caller, World

TABLE = """
    route                                                                  project  alice  eve  victor  olga  max  admin  client  frontend  stranger  trips

    GET /api/admin/metrics/applications                                    -        200    200  200     200   200  200    403     403       401       2
    GET /api/admin/metrics/applications/<app_name>                         -        200    200  200     200   200  200    403     403       401       2
    POST /api/admin/metrics/applications/<app_name>                        -        202    202  403     403   403  202    403     403       401       5
    DELETE /api/admin/metrics/applications/<app_name>                      -        200    200  403     403   403  200    403     403       401       5
    GET /api/admin/metrics/applications/<app_name>/overview                -        200    200  200     200   200  200    403     403       401       2
    GET /api/admin/metrics/instances/<app_name>/environment/<environment>  -        200    200  200     200   200  200    403     403       401       2
    GET /api/admin/projects/<project_id>/applications                      default  200    200  200     200   200  200    403     403       401       2
    GET /api/admin/projects/<project_id>/applications                      hermes   200    200  200     200   200  200    403     403       401       -
    GET /api/admin/projects/<project_id>/applications                      apollo   200    200  404     200   200  200    403     403       401       -
    GET /api/admin/projects/<project_id>/applications                      nowhere  404    404  404     404   404  404    403     403       401       -
    GET /api/admin/metrics/sdks/outdated                                   -        200    200  200     200   200  200    403     403       401       1
    GET /api/admin/metrics/unknown-flags                                   -        200    200  200     200   200  200    403     403       401       2
"""


def prepare(world: World, cast: dict[str, Caller]) -> Arguments:  # noqa: ARG001
    """An application that uses a flag of the project default."""
    fixtures.insert(world.conn, "applications", name="web-shop")
    usage = {"environment": "production", "app": "web-shop", "at": datetime.now(UTC), "yes": 1, "no": 0}
    fixtures.report_usage(world.conn, [usage | {"project": "default", "flag": "flag-of-default"}])
    return Arguments(words={"*": {"app_name": "web-shop"}})
