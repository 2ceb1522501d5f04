"""A project with flags, for applications that ask a real service for them."""

from datetime import UTC, datetime
from typing import Any

from tests.support.instance import ADMIN_KEY
from tests.support.sdk import Application
from tests.support.service import Service, wait_until

ENVIRONMENT = "development"
INSIGHTS = "/api/admin/insights"
BANNER = '{"text": "Free delivery"}'
SALE = {
    "name": "sale",
    "weight": 1000,
    "weightType": "variable",
    "stickiness": "default",
    "payload": {"type": "json", "value": BANNER},
}


class Project:
    """A project of its own in a service. It begins without flags.

    The names of its flags and segments begin with its id, because they are unique in the instance.
    """

    def __init__(self, service: Service, project_id: str) -> None:
        # Usage is counted by hours.
        wait_until(lambda: datetime.now(UTC).strftime("%M:%S") < "59:30", "a new hour began", 60)
        self.service = service
        self.id = project_id
        self.features = f"/api/admin/projects/{project_id}/features"
        self.earlier = len(service.lines)
        self.create("/api/admin/projects", {"id": project_id, "name": project_id})

    def request(self, method: str, path: str, body: Any = None) -> Any:
        """Send a request of an administrator that succeeds, and return the record."""
        answer = self.service.request(method, path, body, headers={"Authorization": ADMIN_KEY})
        assert answer.status in (200, 201, 202, 204), (method, path, answer.status, answer.body)
        return answer.json if answer.body else None

    def get(self, path: str) -> Any:
        return self.request("GET", path)

    def create(self, path: str, body: Any = None) -> Any:
        return self.request("POST", path, body)

    def token(self, kind: str, name: str = "application", **more: Any) -> str:
        body = {"type": kind, "tokenName": name, "environment": ENVIRONMENT, "projects": [self.id]}
        return self.create("/api/admin/api-tokens", body | more)["secret"]

    def delete_token(self, secret: str) -> None:
        self.request("DELETE", f"/api/admin/api-tokens/{secret}")

    def name(self, flag: str) -> str:
        return f"{self.id}.{flag}"

    def flag(self, flag: str, strategy: Any = None, variants: Any = None) -> None:
        """Create a flag and switch it on. Without a strategy, it is on for everybody."""
        self.create(self.features, {"name": self.name(flag), "type": "release"})
        place = f"{self.features}/{self.name(flag)}/environments/{ENVIRONMENT}"
        self.create(f"{place}/strategies", strategy or {"name": "flexibleRollout", "parameters": {"rollout": "100"}})
        if variants:
            self.request("PUT", f"{place}/variants", variants)
        self.switch(flag, "on")

    def switch(self, flag: str, state: str) -> None:
        self.create(f"{self.features}/{self.name(flag)}/environments/{ENVIRONMENT}/{state}")

    def fill(self) -> None:
        """Create the flags of the tests, the flag `last` at the end."""
        constraint = {"contextName": "userId", "operator": "IN", "values": ["7", "12"]}
        segment = self.create("/api/admin/segments", {"name": self.name("testers"), "constraints": [constraint]})
        self.flag("everybody")
        self.flag("testers", {"name": "default", "segments": [segment["id"]]})
        self.flag("variant", variants=[SALE])
        self.flag("strategy-variant", {"name": "flexibleRollout", "variants": [SALE]})
        self.flag("last")

    def statuses(self, route: str) -> list[int]:
        """Return the statuses of the requests for a route since the project was created."""
        return [line["status"] for line in self.service.lines[self.earlier :] if line["route"] == route]

    def wait_for_status(self, route: str, status: int) -> None:
        wait_until(lambda: status in self.statuses(route), f"a request for {route} got {status}")

    def check_usage(self, application: Application, flag: str) -> None:
        """Compare the usage of a flag in all places that show it with the answers of the application."""
        name, app_name = self.name(flag), application.given["appName"]
        yes, no = (application.answers[name][answer] for answer in ("yes", "no"))
        usage = self.get(f"/api/admin/client-metrics/features/{name}")
        assert [{**row, "timestamp": None} for row in usage["lastHourUsage"]] == [
            {"environment": ENVIRONMENT, "timestamp": None, "yes": yes, "no": no}
        ]
        assert usage["seenApplications"] == [app_name]
        record = self.get(f"{self.features}/{name}")
        (environment,) = (entry for entry in record["environments"] if entry["name"] == ENVIRONMENT)
        assert (environment["yes"], environment["no"]) == (yes, no)
        assert record["lastSeenAt"] == environment["lastSeenAt"] is not None
        (week,) = (week for week in self.get(INSIGHTS)["metricsSummaryTrends"] if week["project"] == self.id)
        assert (week["totalApps"], week["totalEnvironments"]) == (1, 1)
        assert week["totalYes"] >= yes
        assert week["totalNo"] >= no
