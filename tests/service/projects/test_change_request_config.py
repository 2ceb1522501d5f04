"""Where changes need a change request: the configuration of a project, and its events."""

from itertools import pairwise
from typing import Any

import pytest
from werkzeug.test import TestResponse

from sql.catalog import environments
from sql.database import value
from sql.people import roles
from tests.support import fixtures
from tests.support.event_log import event, events
from tests.support.world import Caller, refused

DEFAULT = "/api/admin/projects/default"
OFF = {"changeRequestsEnabled": False, "requiredApprovals": None}


def configure(caller: Caller, environment: str = "production", **body: Any) -> TestResponse:
    """Switch change requests on in an environment of the project default, or as the body says."""
    path = f"{DEFAULT}/environments/{environment}/change-requests/config"
    return caller.put(path, json={"changeRequestsEnabled": True} | body)


def read(caller: Caller, project: str = "default") -> list[tuple[Any, ...]]:
    """The configuration of a project: name, type, whether it is on, and the number of approvals."""
    found: Any = caller.get(f"/api/admin/projects/{project}/change-requests/config").json
    return [tuple(item.values()) for item in found]


def protected(caller: Caller, project: str = "default") -> list[str]:
    """The environments of a project with change requests, as its overview has them."""
    found: Any = caller.get(f"/api/admin/projects/{project}/overview").json
    return [item["environment"] for item in found["environments"] if item["changeRequestsEnabled"]]


def test_configuration_is_read_written_and_recorded(world, alice, victor):
    since = world.last_event_id()
    assert read(victor) == [("development", "development", False, None), ("production", "production", False, None)]
    assert protected(victor) == []
    for body in ({}, {"requiredApprovals": 3}, {}, {"requiredApprovals": 0}, {"requiredApprovals": 0}):
        assert configure(alice, **body).data == b""
    assert read(victor)[1] == ("production", "production", True, 0)
    assert protected(victor) == ["production"]
    # Terraform sends this when the resource is destroyed, and again.
    for _ in range(2):
        assert configure(alice, changeRequestsEnabled=False, requiredApprovals=0).status_code == 204
    assert read(victor)[1] == ("production", "production", False, None)
    states = [OFF, *({"changeRequestsEnabled": True, "requiredApprovals": number} for number in (1, 3, 0)), OFF]
    place = {"project": "default", "environment": "production"}
    assert events(world, since) == [
        event("change-request-configuration-updated", alice, **place, data=after, pre_data=before)
        for before, after in pairwise(states)
    ]


@pytest.mark.parametrize("approvals", [-1, 11, 1.0, "1", True])
def test_number_of_approvals_is_0_to_10(alice, approvals):
    assert "requiredApprovals" in refused(configure(alice, requiredApprovals=approvals))


def test_environment_without_link_is_404(alice, conn):
    environments.insert(conn, "staging", "preproduction")
    for name in ("staging", "unknown"):
        assert refused(configure(alice, name), 404, "NotFoundError") == "The project has no such environment."


def test_permission_of_change_requests_is_enough(world, victor, conn):
    role = roles.insert(conn, "Keeper", type="custom")
    fixtures.allow(conn, role, "PROJECT_CHANGE_REQUEST_WRITE")
    refused(configure(victor), 403, "NoAccessError")
    world.member("default", victor, role)
    assert configure(victor).status_code == 204


def test_new_project_has_change_requests_from_the_start(world, alice, conn):
    wanted = [{"name": "production", "requiredApprovals": 2}, {"name": "development"}]
    body = {"name": "Moon", "changeRequestEnvironments": wanted}
    since = world.last_event_id()
    created: Any = alice.post("/api/admin/projects", json=body).json
    listed = [{"name": "development", "requiredApprovals": 1}, wanted[0]]
    assert created["changeRequestEnvironments"] == listed
    [recorded] = world.events(since)
    assert (recorded["type"], recorded["data"]) == ("project-created", created)
    assert read(alice, "moon") == [("development", "development", True, 1), ("production", "production", True, 2)]
    body |= {"name": "Sun", "environments": ["development"]}
    refusal = refused(alice.post("/api/admin/projects", json=body))
    assert refusal == "changeRequestEnvironments: must be environments of the project, unlike production"
    assert value(conn, "SELECT count(*) FROM projects WHERE id = 'sun'") == 0


def test_environment_can_be_added_with_change_requests(world, alice, conn):
    environments.insert(conn, "staging", "preproduction")
    since, body = world.last_event_id(), {"environment": "staging", "changeRequestsEnabled": True}
    assert alice.post(f"{DEFAULT}/environments", json=body).status_code == 200
    assert protected(alice) == ["staging"]
    added, configured = world.events(since)
    assert (added["type"], configured["pre_data"]) == ("project-environment-added", OFF)
    assert configured["data"] == {"changeRequestsEnabled": True, "requiredApprovals": 1}


def test_environment_with_change_requests_is_not_removed(world, alice):
    configure(alice)
    since, path = world.last_event_id(), f"{DEFAULT}/environments/production"
    refusal = "Change requests are on in this environment of the project. Switch them off first."
    assert refused(alice.delete(path), 409, "ConflictError") == refusal
    assert world.events(since) == []
    configure(alice, changeRequestsEnabled=False)
    assert alice.delete(path).status_code == 200


@pytest.mark.parametrize("type", ["change-request-configuration-updated", "change-added", "change-request-applied"])
def test_proposals_do_not_alter_the_flags_of_clients(conn, type):
    assert value(conn, "SELECT alters_client_flags(%(type)s)", {"type": type}) is False
