"""What the log line of a slow request says more: which statement took how long, and how long it waited for its turn and a connection."""

import json
import time
from io import BytesIO
from typing import Any

import pytest
from flask import Flask
from psycopg_pool import PoolTimeout

from blueprints import slow_requests
from sql import connection, timing
from tests.conftest import ADMIN_KEY
from tests.service import free_port
from tests.test_request_log import KEYS, line_of
from tests.world import Caller, refused

SLOW_INSERT = """
    CREATE FUNCTION be_slow() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN PERFORM pg_sleep(0.1); RETURN new; END';
    CREATE TRIGGER slow BEFORE INSERT ON tag_types FOR EACH ROW EXECUTE FUNCTION be_slow()
"""
SECRET = "a-secret-in-a-value"


@pytest.fixture(scope="module")
def url(make_database) -> str:
    """The address of a database of our own."""
    return make_database()


def told(capsys: pytest.CaptureFixture[str], *more: str) -> dict[str, Any]:
    """What the one line since the last look says of a slow request."""
    line = line_of(capsys)
    assert set(line) == {*KEYS, "slow", *more}
    assert set(line["slow"]) == {"bodyMs", "turnMs", "connectionMs", "statements"}
    return line["slow"]


def test_a_slow_request_says_which_statement_took_how_long_and_tells_no_value(app, conn, alice, capsys, monkeypatch):
    monkeypatch.setitem(app.config, "SLOW_REQUEST_MS", 90)
    conn.execute(SLOW_INSERT)
    assert alice.post("/api/admin/tag-types", json={"name": SECRET, "description": SECRET}).status_code == 201
    out = capsys.readouterr().out
    line = json.loads(out)
    assert (line["method"], line["route"], line["status"]) == ("POST", "/api/admin/tag-types", 201)
    first, *others = line["slow"]["statements"]
    assert (first["statement"], first["times"]) == ("tag_types.INSERT", 1)
    assert 100 <= first["ms"] <= line["ms"]
    assert "events.INSERT" in [other["statement"] for other in others]
    for other in others:
        assert set(other) == {"statement", "times", "ms"}
        assert other["ms"] <= first["ms"]
    assert SECRET not in out


def test_no_more_than_the_ten_slowest_statements_are_told():
    spent = timing.Spent({f"statement {number}": (1, float(number)) for number in range(12)})
    slow = slow_requests.told(spent, 1000, 66_000.0)["slow"]
    assert [statement["ms"] for statement in slow["statements"]] == [1000.0 * number for number in range(11, 1, -1)]


def test_other_requests_say_nothing_of_it(alice, capsys):
    assert alice.get("/api/admin/tag-types").status_code == 200
    assert set(line_of(capsys)) == KEYS


def test_nobody_counts_when_it_is_off(make_app, shared_url, capsys, monkeypatch):
    monkeypatch.setattr(timing, "begin", lambda: pytest.fail("somebody counted"))
    app = make_app(shared_url, SLOW_REQUEST_MS=0)
    assert Caller(app, ADMIN_KEY).get("/api/admin/tag-types").status_code == 200
    assert set(line_of(capsys)) == KEYS


def everything(make_app, url: str, **settings: object) -> Flask:
    """A service to which every request is slow."""
    return make_app(url, SLOW_REQUEST_MS=-1, **settings)


def test_a_statement_that_was_put_together_is_told_by_its_first_words(make_app, url, capsys):
    caller = Caller(everything(make_app, url), ADMIN_KEY)
    assert caller.get(f"/api/admin/search/events?query={SECRET}&feature=IS:{SECRET}").status_code == 200
    slow = told(capsys)
    assert SECRET not in json.dumps(slow)
    names = [statement["statement"] for statement in slow["statements"]]
    assert len(names) > 1
    assert all(len(name) <= 61 and "\n" not in name for name in names)


def test_the_time_that_a_commit_takes_is_told(make_app, url, capsys):
    caller = Caller(everything(make_app, url), ADMIN_KEY)
    assert caller.post("/api/admin/tag-types", json={"name": "told"}).status_code == 201
    assert "COMMIT" in [statement["statement"] for statement in told(capsys)["statements"]]


class SlowBody(BytesIO):
    """What a client takes a while to send."""

    def readinto(self, buffer: Any) -> int:
        time.sleep(0.05)
        return super().readinto(buffer)


def test_the_wait_for_a_body_is_told(make_app, url, capsys):
    body = SlowBody(b'{"name": "late"}')
    caller = Caller(everything(make_app, url), ADMIN_KEY)
    headers = {"Content-Type": "application/json", "Content-Length": "16"}
    assert caller.post("/api/admin/tag-types", input_stream=body, headers=headers).status_code == 201
    slow = told(capsys)
    assert 50 <= slow["bodyMs"] < 5000
    assert slow["turnMs"] == 0.0


def test_the_wait_for_a_connection_is_told(make_app, url, capsys):
    app = everything(make_app, url, DATABASE_POOL_SIZE=1, WAIT_SECONDS=0.2)
    with app.app_context(), connection():
        refused(Caller(app, ADMIN_KEY).get("/api/admin/tag-types"), 503, "UnavailableError")
    slow = told(capsys, "errorId", "error")
    assert 200 <= slow["connectionMs"] < 5000
    assert (slow["turnMs"], slow["statements"]) == (0.0, [])


def test_a_wait_counts_once_for_who_has_another_connection_already(make_app, url):
    app = make_app(url, DATABASE_POOL_SIZE=1, WAIT_SECONDS=0.2)
    spent = timing.begin()
    began = time.perf_counter()
    with app.app_context(), pytest.raises(PoolTimeout), connection(), connection():
        pytest.fail("there is one connection")
    assert 0.2 <= spent.connection <= time.perf_counter() - began


def test_the_wait_for_a_database_that_is_away_is_told(make_app, capsys):
    app = everything(make_app, f"postgresql://127.0.0.1:{free_port()}/x")
    refused(Caller(app, ADMIN_KEY).get("/api/admin/tag-types"), 503, "UnavailableError")
    line = json.loads(capsys.readouterr().out)
    assert line["slow"]["connectionMs"] > line["ms"] / 2
