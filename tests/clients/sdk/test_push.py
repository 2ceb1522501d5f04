"""SDKs in streaming and delta mode, and web pages with event streams: they see each change, and survive failures."""

import json
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import pytest

from operations.postgres import embedded
from tests.support.embedded_server import own_server
from tests.support.instance import ADMIN_KEY
from tests.support.push import CLIENTS, USER, read_event, wait_for
from tests.support.sdk_project import ENVIRONMENT, Project
from tests.support.service import PATIENCE, Service, wait_until

pytestmark = pytest.mark.slow
EACH = pytest.mark.parametrize("name", CLIENTS)
# By the design: a page asks again after 20 s, UnleashClient after at most 30 s.
SECONDS_WITHOUT_STREAMS = 31


@pytest.fixture(scope="module")
def own_database() -> Iterator[embedded.Server]:
    """A PostgreSQL that the service does not start: ensure() starts it, release() stops it."""
    with own_server() as server:
        yield server


@pytest.fixture(scope="module")
def fragile(own_database: embedded.Server, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """The service on that server. Tests restart both."""
    given = {"INIT_ADMIN_API_TOKENS": ADMIN_KEY, "WAIT_SECONDS": 2}
    with Service(own_database.ensure(), tmp_path_factory.mktemp("fragile"), **given) as service:
        yield service


def colour(value: str) -> list[dict[str, Any]]:
    """Return a list of one variant that everybody gets."""
    payload = {"type": "string", "value": value}
    return [{"name": "c", "weight": 1000, "weightType": "variable", "stickiness": "default", "payload": payload}]


def segment(project: Project, *users: str) -> dict[str, Any]:
    """Return the record of the segment of these users."""
    constraint = {"contextName": "userId", "operator": "IN", "values": users}
    return {"name": project.name("testers"), "constraints": [constraint]}


@EACH
def test_application_sees_each_change(name: str, service: Service, tmp_path: Path) -> None:
    client, project = CLIENTS[name], Project(service, f"push.{name}")
    everybody, testers, coloured, archived = map(project.name, ("everybody", "testers", "coloured", "archived"))
    project.flag("everybody")
    project.flag("archived")
    project.flag("coloured", variants=colour("red"))
    with client.application(project, tmp_path) as application:
        application.wait()
        wait_for(application, everybody, True, "its first flags")

        project.switch("everybody", "off")
        wait_for(application, everybody, False, "a flag off")
        project.switch("everybody", "on")
        wait_for(application, everybody, True, "a flag on")

        strategies = f"{project.features}/{everybody}/environments/{ENVIRONMENT}/strategies"
        (strategy,) = project.get(strategies)
        project.request("PUT", f"{strategies}/{strategy['id']}", strategy | {"parameters": {"rollout": "0"}})
        wait_for(application, everybody, False, "a changed strategy")

        made = project.create("/api/admin/segments", segment(project, "7", "12"))
        project.flag("testers", {"name": "default", "segments": [made["id"]]})
        wait_for(application, testers, True, "a new flag with a new segment")
        project.request("PUT", f"/api/admin/segments/{made['id']}", segment(project, "12"))
        wait_for(application, testers, False, "a changed segment")

        assert application.variant(coloured, **USER) == ("c", "red")
        place = f"{project.features}/{coloured}/environments/{ENVIRONMENT}/variants"
        project.request("PUT", place, colour("blue"))
        wait_until(lambda: application.variant(coloured, **USER) == ("c", "blue"), "it saw a changed variant")

        assert application.is_enabled(archived, **USER)
        project.request("DELETE", f"{project.features}/{archived}")
        wait_for(application, archived, False, "an archived flag")

        # No SDK has polled for all flags. Pages read them for their context and after each change.
        assert client.is_page or project.statuses(client.polls) == []
        assert not client.is_stream or project.statuses(client.route) == [200]


def test_page_reads_again_after_a_change_that_was_undone_at_once(service: Service) -> None:
    project = Project(service, "undone")
    project.flag("last")
    headers = {"Authorization": project.token("frontend")}
    flags = service.request("POST", "/ofrep/v1/evaluate/flags", {"context": {}}, headers).json
    with closing(HTTPConnection("127.0.0.1", service.port, timeout=PATIENCE)) as connection:
        connection.request("GET", flags["eventStreams"][0]["endpoint"]["requestUri"])
        stream = connection.getresponse()
        # It opens the stream soon after a change.
        first = read_event(stream)
        # Both changes are faster than two looks at the database. The page may have read its flags in between.
        project.switch("last", "off")
        project.switch("last", "on")
        again = read_event(stream)
        while again["id"] != first["id"]:
            again = read_event(stream)
        assert json.loads(again["data"])["type"] == "refetchEvaluation"


@EACH
def test_stream_ends_with_its_token(name: str, service: Service, tmp_path: Path) -> None:
    client, project = CLIENTS[name], Project(service, f"token.{name}")
    project.flag("last")
    with client.application(project, tmp_path) as application:
        application.wait()
        wait_for(application, project.name("last"), True, "its first flags")
        project.delete_token(application.given["token"])
        project.wait_for_status(client.route, 401)
        assert application.is_enabled(project.name("last"), **USER)


@EACH
def test_application_keeps_its_flags_while_the_server_restarts(name: str, fragile: Service, tmp_path: Path) -> None:
    client, project = CLIENTS[name], Project(fragile, f"restart.{name}")
    project.flag("last")
    with client.application(project, tmp_path) as application:
        application.wait()
        wait_for(application, project.name("last"), True, "its first flags")
        fragile.stop()
        assert application.is_enabled(project.name("last"), **USER)
        fragile.start().ready()
        assert application.is_enabled(project.name("last"), **USER)
        project.switch("last", "off")
        wait_for(application, project.name("last"), False, "a change after the restart")


@EACH
def test_stream_stays_open_while_the_database_is_away(
    name: str, fragile: Service, own_database: embedded.Server, tmp_path: Path
) -> None:
    client, project = CLIENTS[name], Project(fragile, f"away.{name}")
    project.flag("last")
    with client.application(project, tmp_path) as application:
        application.wait()
        wait_for(application, project.name("last"), True, "its first flags")
        noticed = fragile.err.count("Streams wait")
        own_database.release()
        try:
            wait_until(lambda: fragile.get("/ready").status == 503, "the service knew it")
            if client.is_stream:
                wait_until(lambda: fragile.err.count("Streams wait") > noticed, "the streams waited")
            assert application.is_enabled(project.name("last"), **USER)
        finally:
            own_database.ensure()
        wait_until(lambda: fragile.get("/ready").status == 200, "the database was back")
        project.switch("last", "off")
        wait_for(application, project.name("last"), False, "a change after that")
        assert not client.is_stream or project.statuses(client.route) == [200]


@pytest.mark.timing
def test_applications_without_streams_have_flags_at_once_and_see_a_change_soon(
    make_database: Callable[..., str], tmp_path: Path
) -> None:
    with Service(make_database(), tmp_path, CLIENT_STREAMS=0) as service, ExitStack() as stack:
        running = []
        for name, client in CLIENTS.items():
            # The mode delta is not about streams. unleash-client polls every 15 s by default.
            if not client.is_stream:
                continue
            project = Project(service, f"full.{name}")
            project.flag("last")
            more = {"refreshInterval": 15_000} if client.driver == "unleash_client.mjs" else {}
            application = stack.enter_context(client.application(project, tmp_path / name, **more))
            application.is_ready()
            began = time.monotonic()
            application.wait()
            wait_for(application, project.name("last"), True, "its first flags")
            assert time.monotonic() - began < 1
            running.append((project, application))
        for project, _ in running:
            project.switch("last", "off")
        began = time.monotonic()
        for project, application in running:
            left = began + SECONDS_WITHOUT_STREAMS - time.monotonic()
            wait_for(application, project.name("last"), False, "a change", left)
        # A page reads at its start and for its context. Then it connects and reads once in 20 s.
        page = CLIENTS["web-streaming"]
        assert len(running[0][0].statuses(page.polls) + running[0][0].statuses(page.route)) <= 8
