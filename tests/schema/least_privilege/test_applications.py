"""The database roles of docs/how-to/deploy.md: the service's role can do all that applications ask for."""

from collections.abc import Callable

import pytest
from flask import Flask

from sql.database import Connection, rows
from tests.support.deployment import Deployment
from tests.support.instance import ADMIN_KEY
from tests.support.reports import BULK, METRICS, REGISTER, hour, metrics
from tests.support.world import Caller

FLAGS = "/api/admin/projects/default/features"
FLAG = f"{FLAGS}/checkout"
STATE = f"{FLAG}/environments/development"
APPLICATION = "/api/admin/metrics/applications/shop"
FRONTEND = "/api/frontend"
OFREP = "/ofrep/v1/evaluate/flags"
USAGE = {"checkout": {"yes": 2, "no": 1, "variants": {"red": 2}}, "misspelt": {"yes": 1, "no": 0}}
OF_ONE = {"appName": "shop", "featureName": "checkout", "environment": "development", "yes": 1, "no": 0}


@pytest.fixture(scope="module")
def app(deployed: Deployment, make_app: Callable[..., Flask]) -> Flask:
    """A service with the role of the page, which keeps no token."""
    return make_app(deployed.address("service"))


@pytest.fixture(scope="module")
def admin_api(app: Flask) -> Caller:
    """An administrator. The flag checkout is on in development, with a variant."""
    admin = Caller(app, ADMIN_KEY)
    assert admin.post(FLAGS, json={"name": "checkout"}).status_code == 201
    assert admin.post(f"{STATE}/on").status_code == 200
    variant = {"name": "red", "weight": 1000, "weightType": "variable", "stickiness": "userId"}
    assert admin.put(f"{STATE}/variants", json=[variant]).status_code == 200
    return admin


def token(admin: Caller, kind: str) -> Caller:
    """An application with a new token."""
    body = {"type": kind, "tokenName": kind, "environment": "development"}
    return Caller(admin.app, admin.post("/api/admin/api-tokens", json=body).json["secret"])


def test_the_service_serves_flags(admin_api: Caller) -> None:
    server, browser = token(admin_api, "client"), token(admin_api, "frontend")
    assert Caller(server.app).post("/edge/validate", json={"tokens": [server.key]}).status_code == 200
    for state in ("off", "on"):
        assert admin_api.post(f"{STATE}/{state}").status_code == 200
        [flag] = server.get("/api/client/features").json["features"]
        assert flag["enabled"] is (state == "on")
    assert server.get("/api/client/features/checkout").status_code == 200
    for response in (browser.get(FRONTEND), browser.post(FRONTEND, json={"context": {}})):
        assert [flag["name"] for flag in response.json["toggles"]] == ["checkout"]
    assert browser.post(OFREP, json={}).status_code == 200
    assert browser.post(f"{OFREP}/checkout", json={}).json["variant"] == "red"


def test_the_service_writes_and_forgets_reports(admin_api: Caller, admin: Connection) -> None:
    server, browser = token(admin_api, "client"), token(admin_api, "frontend")
    body = {"appName": "shop", "instanceId": "i-1", "strategies": ["default"], "interval": 15}
    bulk = {"applications": [body], "metrics": [OF_ONE | {"timestamp": hour().isoformat()}]}
    # The first report inserts rows, and the second one updates them.
    for _ in range(2):
        assert server.post(REGISTER, json=body).status_code == 202
        assert server.post(METRICS, json=metrics(USAGE)).status_code == 202
        assert server.post(BULK, json=bulk).status_code == 202
        assert browser.post(f"{FRONTEND}/client/register", json=body).status_code == 200
        assert browser.post(f"{FRONTEND}/client/metrics", json=metrics(USAGE)).status_code == 200
    found = (
        "SELECT sum(yes)::integer AS yes, (SELECT sum(count)::integer FROM usage_variants) AS red FROM usage_metrics"
    )
    assert rows(admin, found) == [{"yes": 10, "red": 8}]
    assert rows(admin, "SELECT flag_name FROM unknown_flags") == [{"flag_name": "misspelt"}]
    assert len(rows(admin, "SELECT FROM flag_sightings")) == 1
    # Instances and names that were not seen for long are deleted when new ones arrive, and so are applications.
    admin.execute("UPDATE unknown_flags SET seen_at = now() - interval '8 days'")
    admin.execute("UPDATE application_instances SET seen_at = now() - interval '8 days'")
    admin.execute("UPDATE applications SET seen_at = now() - interval '31 days'")
    assert server.post(REGISTER, json=body | {"appName": "new"}).status_code == 202
    assert server.post(METRICS, json=metrics({"another": {"yes": 1, "no": 0}}, app="shop")).status_code == 202
    assert rows(admin, "SELECT flag_name FROM unknown_flags") == [{"flag_name": "another"}]


def test_the_service_shows_and_changes_applications(admin_api: Caller) -> None:
    assert token(admin_api, "client").post(METRICS, json=metrics(USAGE)).status_code == 202
    for path in (
        "/api/admin/metrics/applications",
        APPLICATION,
        f"{APPLICATION}/overview",
        "/api/admin/metrics/instances/shop/environment/development",
        "/api/admin/metrics/unknown-flags",
        "/api/admin/client-metrics/features/checkout",
        "/api/admin/client-metrics/features/checkout/raw",
        f"{FLAG}/lifecycle",
    ):
        assert admin_api.get(path).status_code == 200, path
    assert admin_api.post(APPLICATION, json={"description": "The shop"}).status_code == 202
    assert admin_api.delete(APPLICATION).status_code == 200
    playground = {"environment": "development", "projects": "*", "context": {}}
    assert admin_api.post("/api/admin/playground", json=playground).status_code == 200
    for verb, body in (("complete", {"status": "kept"}), ("uncomplete", None)):
        assert admin_api.post(f"{FLAG}/lifecycle/{verb}", json=body).status_code == 200
    # The sightings of a deleted flag are deleted too.
    assert admin_api.delete(FLAG).status_code == 202
    assert admin_api.delete("/api/admin/archive/checkout").status_code == 200
