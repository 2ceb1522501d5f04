"""What the log line of a slow request says more: which statements took how long."""

import json
from typing import Any

import pytest
from flask import Flask

from serving import slow_requests
from sql.database import timing
from tests.support.instance import ADMIN_KEY
from tests.support.request_log import KEYS, line_of
from tests.support.world import Caller

SLOW_INSERT = """
    CREATE FUNCTION be_slow() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN PERFORM pg_sleep(0.1); RETURN new; END';
    CREATE TRIGGER slow BEFORE INSERT ON tag_types FOR EACH ROW EXECUTE FUNCTION be_slow()
"""
SECRET = "a-secret-in-a-value"


@pytest.fixture(scope="module")
def url(make_database) -> str:
    """The address of a database of our own."""
    return make_database()


def statements(capsys: pytest.CaptureFixture[str]) -> list[dict[str, Any]]:
    """Return the statements in the one line since the last call."""
    line = line_of(capsys)
    assert set(line) == {*KEYS, "slow"}
    assert set(line["slow"]) == {"statements"}
    return line["slow"]["statements"]


def test_a_slow_request_logs_statements_without_values(app, conn, alice, capsys, monkeypatch):
    monkeypatch.setitem(app.config, "SLOW_REQUEST_MS", 90)
    conn.execute(SLOW_INSERT)
    assert alice.post("/api/admin/tag-types", json={"name": SECRET, "description": SECRET}).status_code == 201
    out = capsys.readouterr().out
    line = json.loads(out)
    assert (line["method"], line["route"], line["status"]) == ("POST", "/api/admin/tag-types", 201)
    first, *others = line["slow"]["statements"]
    assert (first["statement"], first["times"]) == ("vocabulary.tag_types.INSERT", 1)
    assert 100 <= first["ms"] <= line["ms"]
    assert "events.INSERT" in [other["statement"] for other in others]
    for other in others:
        assert set(other) == {"statement", "times", "ms"}
        assert other["ms"] <= first["ms"]
    assert SECRET not in out


def test_the_line_has_the_ten_slowest_statements_each_once():
    noted = [(f"statement {number}", float(number)) for number in range(12)] + [("statement 5", 20.0)]
    listed = slow_requests.facts(noted, 1000, 66_000.0)["slow"]["statements"]
    assert [(one["statement"], one["times"], one["ms"]) for one in listed[:2]] == [
        ("statement 5", 2, 25_000.0),
        ("statement 11", 1, 11_000.0),
    ]
    assert len(listed) == 10


def test_lines_of_other_requests_have_no_statements(alice, capsys):
    assert alice.get("/api/admin/tag-types").status_code == 200
    assert set(line_of(capsys)) == KEYS


def test_statements_are_not_measured_if_the_setting_is_0(make_app, shared_url, capsys):
    timing.statements.set(None)
    app = make_app(shared_url, SLOW_REQUEST_MS=0)
    assert Caller(app, ADMIN_KEY).get("/api/admin/tag-types").status_code == 200
    assert set(line_of(capsys)) == KEYS
    assert timing.statements.get() is None


def everything(make_app, url: str) -> Flask:
    """A service to which every request is slow."""
    return make_app(url, SLOW_REQUEST_MS=-1)


def test_a_request_does_not_have_the_statements_of_the_one_before(make_app, url, capsys):
    caller = Caller(everything(make_app, url), ADMIN_KEY)
    for _ in range(2):
        assert caller.get("/api/admin/tag-types").status_code == 200
        assert [one["times"] for one in statements(capsys) if one["statement"] == "vocabulary.tag_types.LIST"] == [1]


def test_a_composed_statement_is_logged_by_its_first_words(make_app, url, capsys):
    caller = Caller(everything(make_app, url), ADMIN_KEY)
    assert caller.get(f"/api/admin/search/events?query={SECRET}&feature=IS:{SECRET}").status_code == 200
    listed = statements(capsys)
    assert SECRET not in json.dumps(listed)
    names = [one["statement"] for one in listed]
    assert len(names) > 1
    assert all(len(name) <= 61 and "\n" not in name for name in names)


def test_the_time_of_a_commit_is_logged(make_app, url, capsys):
    caller = Caller(everything(make_app, url), ADMIN_KEY)
    assert caller.post("/api/admin/tag-types", json={"name": "told"}).status_code == 201
    assert "COMMIT" in [one["statement"] for one in statements(capsys)]
