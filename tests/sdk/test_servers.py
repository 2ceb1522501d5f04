"""The Unleash SDKs of server applications, in Python, Node.js and Ruby."""

from pathlib import Path

import pytest

from tests.support.sdk import Application
from tests.support.sdk_project import BANNER, ENVIRONMENT, Project
from tests.support.service import Service, wait_until

pytestmark = [
    pytest.mark.slow,
    pytest.mark.parametrize("driver", ["unleash_client.py", "unleash_client.mjs", "unleash.rb"]),
]
ROUTE = "/api/client/features"


def test_an_application_sees_flags_and_reports_their_usage(driver: str, service: Service, tmp_path: Path) -> None:
    project = Project(service, driver)
    everybody, testers, last = (project.name(flag) for flag in ("everybody", "testers", "last"))
    with Application(driver, tmp_path, url=service.origin, token=project.token("client")) as application:
        application.wait()
        assert not application.is_enabled(last)
        project.fill()
        wait_until(lambda: application.is_enabled(last), "the new flags reached the application")
        assert application.is_enabled(everybody, userId="1")
        assert application.is_enabled(testers, userId="7")
        assert not application.is_enabled(testers, userId="8")
        assert not application.is_enabled(testers)
        assert application.variant(project.name("variant"), userId="1") == ("sale", BANNER)
        # Version 3 of the Ruby SDK does not know variants of strategies.
        expected = ("disabled", None) if driver.endswith(".rb") else ("sale", BANNER)
        assert application.variant(project.name("strategy-variant"), userId="1") == expected
        project.switch("everybody", "off")
        wait_until(lambda: not application.is_enabled(everybody), "the change reached the application")
        project.wait_for_status(ROUTE, 304)
        application.call("sendReport")
        project.check_usage(application, "testers")


def test_an_application_keeps_its_flags_when_its_token_is_deleted(
    driver: str, service: Service, tmp_path: Path
) -> None:
    project = Project(service, f"deleted.{driver}")
    project.flag("last")
    token = project.token("client")
    with Application(driver, tmp_path, url=service.origin, token=token) as application:
        application.wait()
        project.delete_token(token)
        project.wait_for_status(ROUTE, 401)
        assert application.is_enabled(project.name("last"))


def test_an_application_with_an_unknown_token_gets_no_flags(driver: str, service: Service, tmp_path: Path) -> None:
    project = Project(service, f"unknown.{driver}")
    project.flag("last")
    given = {"url": service.origin, "token": f"{project.id}:{ENVIRONMENT}.unknown"}
    with Application(driver, tmp_path, **given) as application:
        project.wait_for_status(ROUTE, 401)
        assert not application.is_enabled(project.name("last"))
        assert not application.is_ready()
