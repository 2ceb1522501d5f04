"""The Unleash SDKs of server applications, in Python, Node.js and Ruby, and that of browsers, in Node.js."""

from pathlib import Path
from typing import Any

import pytest

from tests.support.sdk import Application
from tests.support.sdk_project import BANNER, ENVIRONMENT, Project
from tests.support.service import Service, wait_until

BROWSER = "unleash_proxy_client.mjs"
DRIVERS = ("unleash_client.py", "unleash_client.mjs", "unleash.rb", BROWSER)
pytestmark = pytest.mark.slow


def route(driver: str) -> str:
    """Return the route from which an SDK gets its flags."""
    return "/api/frontend" if driver == BROWSER else "/api/client/features"


def kind(driver: str) -> str:
    """Return the type of the API token of an SDK."""
    return "frontend" if driver == BROWSER else "client"


@pytest.mark.parametrize(
    ("driver", "options"),
    [*((driver, {}) for driver in DRIVERS), (BROWSER, {"usePOSTrequests": True})],
    ids=[*DRIVERS, "browser-post"],
)
def test_application_sees_flags_and_reports_their_usage(
    driver: str, options: dict[str, Any], service: Service, tmp_path: Path
) -> None:
    project = Project(service, f"{driver}.{len(options)}")
    everybody, testers, last = (project.name(flag) for flag in ("everybody", "testers", "last"))
    given = {"url": service.origin, "token": project.token(kind(driver)), "appName": project.id} | options
    with Application(driver, tmp_path, **given) as application:
        application.wait()
        assert not application.is_enabled(last)
        project.fill()
        wait_until(lambda: application.is_enabled(last), "the new flags reached the application")
        assert application.is_enabled(everybody, userId="1")
        # The SDK of browsers sends the ETag of the answer for another user.
        for user, expected in (("7", True), ("8", False), ("12", True)):
            assert application.is_enabled(testers, userId=user) is expected
        assert not application.is_enabled(testers)
        assert application.variant(project.name("variant"), userId="1") == ("sale", BANNER)
        # Version 3 of the Ruby SDK does not know variants of strategies.
        expected = ("disabled", None) if driver.endswith(".rb") else ("sale", BANNER)
        assert application.variant(project.name("strategy-variant"), userId="1") == expected
        project.switch("everybody", "off")
        wait_until(lambda: not application.is_enabled(everybody, userId="1"), "the change reached the application")
        project.wait_for_status(route(driver), 304)
        application.call("sendReport")
        project.check_usage(application, "testers")


@pytest.mark.parametrize("driver", DRIVERS)
def test_application_keeps_its_flags_when_its_token_is_deleted(driver: str, service: Service, tmp_path: Path) -> None:
    project = Project(service, f"deleted.{driver}")
    project.flag("last")
    token = project.token(kind(driver))
    with Application(driver, tmp_path, url=service.origin, token=token) as application:
        application.wait()
        project.delete_token(token)
        project.wait_for_status(route(driver), 401)
        assert application.is_enabled(project.name("last"))


@pytest.mark.parametrize(
    ("driver", "token", "status"), [*((driver, "unknown", 401) for driver in DRIVERS), (BROWSER, "client", 403)]
)
def test_application_with_a_wrong_token_gets_no_flags(
    driver: str, token: str, status: int, service: Service, tmp_path: Path
) -> None:
    project = Project(service, f"{token}.{driver}")
    project.flag("last")
    secret = project.token("client") if token == "client" else f"{project.id}:{ENVIRONMENT}.unknown"
    with Application(driver, tmp_path, url=service.origin, token=secret) as application:
        project.wait_for_status(route(driver), status)
        assert not application.is_enabled(project.name("last"))
        assert not application.is_ready()
