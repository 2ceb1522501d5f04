"""Reports that wait for each other, in tests of races."""

from collections.abc import Callable

from rules.report_writer import ReportWriter
from sql.database import Connection, value
from tests.support.reports import METRICS, metrics
from tests.support.world import Caller

YES = {"yes": 1, "no": 0}
LOCK = "LOCK TABLE flag_sightings IN EXCLUSIVE MODE"


def send(client: Caller, flag: str, app: str = "shop") -> Callable:
    """Return a call that reports one evaluation of a flag."""
    return lambda: client.post(METRICS, json=metrics({flag: YES}, app=app))


def yes(conn: Connection, flag: str) -> int:
    """Return how often a flag was reported as on."""
    return value(conn, "SELECT coalesce(sum(yes), 0)::bigint FROM usage_metrics WHERE flag_name = %(f)s", {"f": flag})


def waiting(writer: ReportWriter) -> int:
    """Return how many reports wait in the open group."""
    return len(writer._open.reports)
