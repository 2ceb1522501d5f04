"""Reports of applications for tests, and the rows that they leave."""

from datetime import UTC, datetime, timedelta
from typing import Any

from sql.database import Connection, rows
from tests.support.world import Caller

METRICS = "/api/client/metrics"
BULK = "/api/client/metrics/bulk"
REGISTER = "/api/client/register"


def hour(**ago: int) -> datetime:
    """Return the present hour, or an earlier one."""
    return (datetime.now(UTC) - timedelta(**ago)).replace(minute=0, second=0, microsecond=0)


def metrics(flags: dict[str, Any], app: str = "shop", start: Any = None, **more: Any) -> dict[str, Any]:
    """Return the body of a report of usage, by default in the present hour."""
    start = hour().isoformat() if start is None else start
    return {"appName": app, "instanceId": "i-1", "bucket": {"start": start, "stop": start, "toggles": flags}, **more}


def report(caller: Caller, flags: dict[str, Any], app: str = "shop", start: Any = None, **more: Any) -> None:
    """Report usage, and assert that it is accepted."""
    response = caller.post(METRICS, json=metrics(flags, app, start, **more))
    assert (response.status_code, response.data) == (202, b"")


def usage(conn: Connection) -> list[tuple[Any, ...]]:
    """Return (flag, environment, application, hour, yes, no) of all usage."""
    statement = """
        SELECT flag_name, environment, app_name, hour, yes, no
          FROM usage_metrics ORDER BY flag_name, environment, app_name, hour
    """
    return [tuple(row.values()) for row in rows(conn, statement)]


def counts(conn: Connection) -> dict[str, tuple[int, int]]:
    """Return yes and no of each flag, over all hours and applications."""
    statement = "SELECT flag_name, sum(yes)::bigint AS yes, sum(no)::bigint AS no FROM usage_metrics GROUP BY 1"
    return {row["flag_name"]: (row["yes"], row["no"]) for row in rows(conn, statement)}


def variants(conn: Connection) -> list[tuple[Any, ...]]:
    """Return (flag, variant, count) of all usage."""
    statement = "SELECT flag_name, variant, count FROM usage_variants ORDER BY flag_name, variant, hour"
    return [tuple(row.values()) for row in rows(conn, statement)]


def unknown(conn: Connection) -> list[tuple[str, str, str]]:
    """Return (flag, application, environment) of the unknown flags."""
    statement = "SELECT flag_name, app_name, environment FROM unknown_flags ORDER BY 1, 2, 3"
    return [(row["flag_name"], row["app_name"], row["environment"]) for row in rows(conn, statement)]


def names(conn: Connection) -> list[str]:
    return [row["name"] for row in rows(conn, "SELECT name FROM applications ORDER BY name")]


def instances(conn: Connection) -> list[dict[str, Any]]:
    """Return the rows of the instances without the times."""
    statement = "SELECT * FROM application_instances ORDER BY app_name, environment, connection"
    return [{name: each for name, each in row.items() if name != "seen_at"} for row in rows(conn, statement)]


def register(caller: Caller, **body: Any) -> None:
    response = caller.post(REGISTER, json=body)
    assert (response.status_code, response.data) == (202, b"")
