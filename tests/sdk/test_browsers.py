"""The Unleash SDK of browsers, in Node.js. test_cross_origin.py runs it in a browser."""

from pathlib import Path

import pytest

from tests.support.sdk import Application
from tests.support.sdk_project import BANNER, ENVIRONMENT, Project
from tests.support.service import Service, wait_until

pytestmark = pytest.mark.slow
DRIVER = "unleash_proxy_client.mjs"
ROUTE = "/api/frontend"


@pytest.mark.parametrize("method", ["GET", "POST"])
def test_a_page_sees_flags_and_reports_their_usage(method: str, service: Service, tmp_path: Path) -> None:
    project = Project(service, f"browser.{method}")
    everybody, testers, last = (project.name(flag) for flag in ("everybody", "testers", "last"))
    given = {"url": service.origin, "token": project.token("frontend"), "usePOSTrequests": method == "POST"}
    with Application(DRIVER, tmp_path, appName=project.id, **given) as page:
        page.wait()
        assert not page.is_enabled(last)
        project.fill()
        wait_until(lambda: page.is_enabled(last), "the new flags reached the page")
        assert page.is_enabled(everybody)
        # The SDK sends the ETag of the answer for another user.
        assert page.is_enabled(testers, userId="7")
        assert not page.is_enabled(testers, userId="8")
        assert page.is_enabled(testers, userId="12")
        assert not page.is_enabled(testers)
        assert page.variant(project.name("variant"), userId="1") == ("sale", BANNER)
        assert page.variant(project.name("strategy-variant"), userId="1") == ("sale", BANNER)
        project.switch("everybody", "off")
        wait_until(lambda: not page.is_enabled(everybody, userId="1"), "the change reached the page")
        project.wait_for_status(ROUTE, 304)
        page.call("sendReport")
        project.check_usage(page, "testers")


def test_a_page_keeps_its_flags_when_its_token_is_deleted(service: Service, tmp_path: Path) -> None:
    project = Project(service, "browser.deleted")
    project.flag("last")
    token = project.token("frontend")
    with Application(DRIVER, tmp_path, url=service.origin, token=token) as page:
        page.wait()
        project.delete_token(token)
        project.wait_for_status(ROUTE, 401)
        assert page.is_enabled(project.name("last"))


@pytest.mark.parametrize(("kind", "status"), [("unknown", 401), ("client", 403)])
def test_a_page_with_a_wrong_token_gets_no_flags(kind: str, status: int, service: Service, tmp_path: Path) -> None:
    project = Project(service, f"browser.{kind}")
    project.flag("last")
    token = project.token("client") if kind == "client" else f"{project.id}:{ENVIRONMENT}.unknown"
    with Application(DRIVER, tmp_path, url=service.origin, token=token) as page:
        project.wait_for_status(ROUTE, status)
        assert not page.is_enabled(project.name("last"))
        assert not page.is_ready()
