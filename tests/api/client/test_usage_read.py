"""What servers and browsers report is what people read: insights, overviews, flags, applications."""

from typing import Any

import pytest

from sql.database import Connection, value
from tests.support import reports
from tests.support.world import Caller, World

FLAG = "/api/admin/projects/default/features/f"


@pytest.mark.parametrize(("kind", "path", "status"), [("client", "", 202), ("frontend", "/frontend", 200)])
def test_reported_usage_is_read_everywhere(
    world: World, alice: Caller, conn: Connection, kind: str, path: str, status: int
) -> None:
    world.flag("f", enabled_in=("production",), created_at=value(conn, "SELECT now() - interval '1 minute'"))
    overview = "/api/admin/projects/default/overview"
    assert alice.get(overview).json["onboardingStatus"]["status"] == "first-flag-created"
    caller = world.api_key(kind, environment="production")
    body: dict[str, Any] = reports.metrics({"f": {"yes": 3, "no": 4}, "typo": {"yes": 1, "no": 0}})
    url = f"/api{path}/client/metrics"
    assert [caller.post(url, json=body).status_code for _ in range(2)] == [status, status]
    assert alice.get(overview).json["onboardingStatus"] == {"status": "onboarded"}
    flag = alice.get(FLAG).json
    assert [(place["yes"], place["no"]) for place in flag["environments"]] == [(0, 0), (6, 8)]
    assert flag["lastSeenAt"] is not None
    assert [stage["stage"] for stage in alice.get(f"{FLAG}/lifecycle").json] == ["initial", "live"]
    [trend] = alice.get("/api/admin/insights").json["metricsSummaryTrends"]
    totals = {"totalYes": 6, "totalNo": 8, "totalRequests": 14, "totalApps": 1, "totalFlags": 1, "totalEnvironments": 1}
    assert {name: trend[name] for name in totals} == totals
    [row] = alice.get("/api/admin/client-metrics/features/f/raw").json["data"]
    assert (row["appName"], row["environment"], row["yes"], row["no"]) == ("shop", "production", 6, 8)
    assert alice.get("/api/admin/client-metrics/features/f").json["seenApplications"] == ["shop"]
    shop = alice.get("/api/admin/metrics/applications/shop").json
    assert shop["usage"] == [{"project": "default", "environments": ["production"]}]
    [unknown] = alice.get("/api/admin/metrics/unknown-flags").json["unknownFlags"]
    assert (unknown["name"], unknown["appName"], unknown["environment"]) == ("typo", "shop", "production")
