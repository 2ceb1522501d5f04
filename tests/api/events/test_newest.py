"""GET /api/admin/events: the newest 100 events, deprecated and for administrators."""

import pytest

from sql.database import Connection
from tests.support.event_search import Log
from tests.support.world import Caller

PATH = "/api/admin/events"


@pytest.fixture
def log(conn: Connection) -> Log:
    """An empty log."""
    return Log(conn)


def test_the_newest_events_are_listed(alice: Caller, log: Log) -> None:
    for _ in range(101):
        log.add("tag-created")
    response = alice.get(PATH)
    assert response.json == alice.post(f"{PATH}/search", json={}).json
    assert (len(response.json["events"]), response.json["totalEvents"]) == (100, 101)
    assert response.headers["Deprecation"] == "true"
    assert response.headers["Link"] == '<http://localhost/api/admin/search/events>; rel="successor-version"'


def test_the_events_of_one_project_are_listed(alice: Caller, log: Log) -> None:
    log.add("tag-created")
    log.add("project-created", project="apollo")
    answer = alice.get(PATH, query_string={"project": "apollo"}).json
    assert ([event["type"] for event in answer["events"]], answer["totalEvents"]) == (["project-created"], 1)
    assert alice.get(PATH, query_string={"project": "nowhere"}).json == {"version": 1, "events": [], "totalEvents": 0}
