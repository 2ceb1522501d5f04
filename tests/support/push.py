"""Applications that get changes without polling for all flags: with event streams, or with deltas."""

from dataclasses import dataclass, field
from http.client import HTTPResponse
from pathlib import Path
from typing import Any

from tests.support.sdk import Application
from tests.support.sdk_project import Project
from tests.support.service import PATIENCE, wait_until

# The SDKs poll for all flags only once an hour.
NEVER = 3600
USER = {"userId": "7"}


@dataclass(frozen=True)
class Client:
    """An SDK in a mode. route: where it gets changes. polls: where it gets all flags. given: to its driver."""

    driver: str
    route: str
    polls: str
    given: dict[str, Any] = field(default_factory=dict)

    @property
    def is_stream(self) -> bool:
        return self.route != DELTA

    @property
    def is_page(self) -> bool:
        return self.driver == "ofrep_web.mjs"

    def application(self, project: Project, folder: Path, **options: Any) -> Application:
        """Return an application with a token for the project. options: more of those of the SDK."""
        token = project.token("frontend" if self.is_page else "client")
        given = self.given | {"options": self.given["options"] | options}
        return Application(self.driver, folder, url=project.service.origin, token=token, appName=project.id, **given)


DELTA, STREAMING, FEATURES = "/api/client/delta", "/api/client/streaming", "/api/client/features"
NODE_STREAMING = {"options": {"experimentalMode": {"type": "streaming"}, "refreshInterval": NEVER * 1000}}
NODE_DELTA = {"options": {"experimentalMode": {"type": "polling", "format": "delta"}}}
OLD_NODE = {"package": "unleash-client-6.7.0"}
PYTHON_STREAMING = {"options": {"experimental_mode": {"type": "streaming"}, "refresh_interval": NEVER}}
WEB = {"streams": True, "options": {"pollInterval": 0}}
CLIENTS = {
    "node-streaming": Client("unleash_client.mjs", STREAMING, FEATURES, NODE_STREAMING),
    "node-delta": Client("unleash_client.mjs", DELTA, FEATURES, NODE_DELTA),
    "old-node-streaming": Client("unleash_client.mjs", STREAMING, FEATURES, NODE_STREAMING | OLD_NODE),
    "old-node-delta": Client("unleash_client.mjs", DELTA, FEATURES, NODE_DELTA | OLD_NODE),
    "python-streaming": Client("unleash_client.py", STREAMING, FEATURES, PYTHON_STREAMING),
    "web-streaming": Client("ofrep_web.mjs", "/ofrep/v1/stream", "/ofrep/v1/evaluate/flags", WEB),
}


def wait_for(application: Application, flag: str, expected: bool, what: str, patience: float = PATIENCE) -> None:
    """Return when the application sees the flag so for its user."""
    wait_until(lambda: application.is_enabled(flag, **USER) is expected, f"the application saw: {what}", patience)


def read_event(stream: HTTPResponse) -> dict[str, str]:
    """Return the fields of the next event of a stream."""
    lines = [line.decode().rstrip("\n") for line in iter(stream.readline, b"\n")]
    return dict(line.split(": ", 1) for line in lines if not line.startswith(":"))
