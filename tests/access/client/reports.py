"""What applications report: for client tokens or frontend tokens, and for admin tokens. No user reports."""

from tests.access import Arguments
from tests.support.world import Caller, World
from validators.client.reports import ApplicationRegistration, UsageReport

TABLE = """
    route                                project  alice  eve  victor  olga  max  admin  client  frontend  stranger  trips

    POST /api/client/register            -        403    403  403     403   403  202    202     403       401       5
    POST /api/client/metrics             -        403    403  403     403   403  202    202     403       401       6
    POST /api/client/metrics/bulk        -        403    403  403     403   403  202    202     403       401       6
    POST /api/frontend/client/register   -        403    403  403     403   403  200    403     200       401       4
    POST /api/frontend/client/metrics    -        403    403  403     403   403  200    403     200       401       5
"""


def prepare(world: World, cast: dict[str, Caller]) -> Arguments:  # noqa: ARG001
    """A flag, and an application that has reported it before. The first report takes more round trips."""
    world.flag("new-checkout")
    client = world.api_key("client")
    client.post("/api/client/register", json=ApplicationRegistration.example)
    client.post("/api/client/metrics", json=UsageReport.example)
    return Arguments()
