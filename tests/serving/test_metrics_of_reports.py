"""/metrics: what is dropped from the reports of applications because of a limit."""

from sql.client import applications, quotas
from tests.support.metrics import TOKEN, Scraped
from tests.support.reports import metrics
from tests.support.world import Caller


def test_what_is_dropped_from_reports_is_counted(make_app, make_database, monkeypatch):
    scraped = Scraped(make_app(make_database(), METRICS_TOKEN=TOKEN))
    monkeypatch.setattr(applications, "MAX_INSTANCES", 0)
    monkeypatch.setattr(applications, "MAX_FRONTEND_APPLICATIONS", 1)
    monkeypatch.setattr(quotas, "MAX_ROWS", 1)
    for name in ("f", "g", "h"):
        path = "/api/admin/projects/default/features"
        assert scraped.admin.post(path, json={"name": name}).status_code == 201
    tokens = [
        scraped.admin.post(
            "/api/admin/api-tokens", json={"tokenName": kind, "type": kind, "environment": "development"}
        ).json["secret"]
        for kind in ("frontend", "client")
    ]
    page, server = (Caller(scraped.app, token) for token in tokens)
    flags = {name: {"yes": 1, "no": 0} for name in ("f", "g", "h")}
    for app in ("a", "b"):
        assert page.post("/api/frontend/client/metrics", json=metrics(flags, app)).status_code == 200
    assert server.post("/api/client/register", json={"appName": "server"}).status_code == 202
    dropped = {
        what: scraped.total("reports_dropped_total", what=what) for what in ("applications", "instances", "usage_rows")
    }
    assert dropped == {"applications": 1, "instances": 1, "usage_rows": 2}
