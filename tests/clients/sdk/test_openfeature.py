"""The OpenFeature SDKs with their providers of the OpenFeature Remote Evaluation Protocol (OFREP)."""

from pathlib import Path
from typing import Any

import pytest

from tests.support.sdk import Application
from tests.support.sdk_project import ENVIRONMENT, Project
from tests.support.service import Service, wait_until

pytestmark = pytest.mark.slow
# The type of the API token for each driver.
KINDS = {"ofrep.py": "client", "ofrep.mjs": "client", "ofrep_web.mjs": "frontend"}
USER: dict[str, Any] = {"targetingKey": "1", "plan": "gold"}


def variant(kind: str, value: str) -> list[dict[str, Any]]:
    """Return a list of one variant that everybody gets."""
    payload = {"type": kind, "value": value}
    return [{"name": kind, "weight": 1000, "weightType": "variable", "stickiness": "default", "payload": payload}]


@pytest.mark.parametrize("driver", KINDS)
def test_application_gets_values_of_each_type_and_sees_a_change(driver: str, service: Service, tmp_path: Path) -> None:
    project = Project(service, f"types.{driver}")
    project.fill()
    project.flag("text", variants=variant("string", "blue"))
    project.flag("number", variants=variant("number", "3"))
    project.flag("object", variants=variant("json", '{"text": "Free delivery"}'))
    with Application(driver, tmp_path, url=service.origin, token=project.token(KINDS[driver])) as application:

        def value(flag: str, default: Any, **context: Any) -> Any:
            found = application.evaluate(project.name(flag), default, USER | context)
            assert found["error"] is None, found
            return found["value"]

        assert value("everybody", False) is True
        assert value("text", "red") == "blue"
        assert value("number", 1) == 3
        assert value("object", {}) == {"text": "Free delivery"}
        assert value("testers", False, targetingKey="7") is True
        assert value("testers", True, targetingKey="8") is False
        # While targetingKey stays the same, the provider for browsers sends the ETag of the last context.
        assert value("testers", True) is False
        assert value("testers", False, userId="7") is True
        missing = application.evaluate(project.name("missing"), True, USER)
        assert (missing["value"], missing["error"]) == (True, "FLAG_NOT_FOUND")
        mismatch = application.evaluate(project.name("text"), 1, USER)
        assert (mismatch["value"], mismatch["error"]) == (1, "TYPE_MISMATCH")
        project.switch("everybody", "off")
        wait_until(lambda: not value("everybody", True), "the change reached the application")


@pytest.mark.parametrize("driver", KINDS)
def test_application_with_an_unknown_token_gets_the_default(driver: str, service: Service, tmp_path: Path) -> None:
    project = Project(service, f"unknown.{driver}")
    project.flag("last")
    given = {"url": service.origin, "token": f"{project.id}:{ENVIRONMENT}.unknown"}
    with Application(driver, tmp_path, **given) as application:
        found = application.evaluate(project.name("last"), False, USER)
        assert found["value"] is False
        assert found["error"]
