"""An application is deleted while it reports, on connections that commit."""

from concurrent.futures import ThreadPoolExecutor

from sql.database import Connection, value
from tests.support.races import wait_for
from tests.support.reports import METRICS, metrics
from tests.support.world import Caller, World

YES = {"yes": 1, "no": 0}
AGE = "UPDATE flag_sightings SET last_at = now() - interval '1 hour', first_at = now() - interval '1 hour'"
LOCK = "LOCK TABLE application_instances IN EXCLUSIVE MODE"


def test_a_report_and_the_deletion_of_its_application_do_not_wait_in_a_circle(
    world: World, admin: Caller, conn: Connection, gate: Connection, name: str
) -> None:
    world.flag(name)
    client = world.api_key("client")
    document = metrics({name: YES}, app=name)
    assert client.post(METRICS, json=document).status_code == 202
    conn.execute(AGE)
    with ThreadPoolExecutor(2) as pool:
        with gate.transaction():
            gate.execute(LOCK)
            # The sightings are written, the application is not, because it was seen just now. The instance is new.
            report = pool.submit(client.post, METRICS, json=document | {"connectionId": "new"})
            wait_for(conn, [report])
            deletion = pool.submit(admin.delete, f"/api/admin/metrics/applications/{name}")
            wait_for(conn, [report, deletion])
        assert (report.result().status_code, deletion.result().status_code) == (202, 200)
    assert value(conn, "SELECT sum(yes)::integer FROM usage_metrics WHERE flag_name = %(name)s", {"name": name}) == 2
