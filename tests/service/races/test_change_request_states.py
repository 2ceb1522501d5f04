"""Change requests at once, on connections that commit."""

from typing import Any

import pytest

from serving import clock
from sql.database import value
from tests.support.races import at_once, statuses
from tests.support.teams import REVIEWER, Team


@pytest.fixture
def team(world, name):
    """A project with its people, each of whom was seen just now."""
    team = Team(world, name)
    for person in team.people.values():
        assert person.get(team.path).status_code == 200
    return team


LOCK = "SELECT FROM change_requests WHERE id = %s FOR UPDATE"


def test_of_two_appliers_one_applies(team, types):
    request = team.sent("Approved")
    before = len(types())
    answers = at_once(*[lambda: team.put(request, "Applied", "applier")] * 2)
    assert statuses(answers) == {200: 1, 409: 1}
    assert types()[before:] == ["change-request-applied", "feature-strategy-add", "feature-environment-enabled"]


def test_of_two_approvals_for_the_last_place_one_completes(team, types):
    request = team.sent()
    team.join("second", *REVIEWER)
    answers = at_once(*[lambda by=by: team.put(request, "Approved", by) for by in ("reviewer", "second")])
    assert statuses(answers) == {200: 2}
    assert types().count("change-request-approved") == 1
    assert len(team.get(request)["approvals"]) == 2


def test_an_approval_that_waits_for_an_edit_is_refused(team, queue):
    request = team.sent()
    record = team.get(request)
    change = f"{team.path}/{request}/changes/{record['features'][0]['changes'][0]['id']}"
    edited, approved = queue(
        LOCK,
        lambda: team.people["author"].put(change, json=team.change(enabled=False)),
        lambda: team.put(request, "Approved", "reviewer", revision=record["revision"]),
        params=[request],
    )
    assert (edited.status_code, approved.status_code) == (200, 409)
    assert team.get(request)["approvals"] == []


@pytest.mark.parametrize("states", [("Applied", "Rejected"), ("Rejected", "Applied"), ("Cancelled", "Applied")])
def test_the_first_of_two_final_states_stays(team, queue, states):
    who = {"Applied": "applier", "Rejected": "reviewer", "Cancelled": "author"}
    request = team.sent("Approved")
    calls = [lambda state=state: team.put(request, state, who[state]) for state in states]
    assert [answer.status_code for answer in queue(LOCK, *calls, params=[request])] == [200, 409]
    assert team.get(request)["state"] == states[0]
    assert team.is_on() is (states[0] == "Applied")


def test_two_changes_at_once_make_one_draft(team):
    answers: Any = at_once(*[lambda flag=flag: team.propose(team.change(flag)) for flag in ("one", "two")])
    assert statuses(answers) == {200: 2}
    assert answers[0].json["id"] == answers[1].json["id"]
    assert len(team.get(answers[0].json["id"], "author")["features"]) == 2


def test_a_draft_and_a_withdrawal_at_once_leave_one_draft(team):
    request = team.sent()
    answers = at_once(lambda: team.put(request, "Draft"), lambda: team.propose(team.change("two")))
    assert set(statuses(answers)) <= {200, 409}
    drafts = "SELECT count(*) FROM change_requests WHERE state = 'Draft' AND project_id = %(project)s"
    assert value(team.world.conn, drafts, {"project": team.project}) == 1


@pytest.mark.parametrize("result", ["success", "failure"])
def test_two_ticks_apply_once(app, team, types, queue, result):
    request = team.sent("Approved", "Scheduled")
    moved = "UPDATE change_requests SET scheduled_at = now() - interval '1 minute' WHERE id = %s"
    team.world.conn.execute(moved, [request])
    if result == "failure":
        team.world.conn.execute("DELETE FROM project_user_roles WHERE user_id = %s", [team.people["applier"].id])

    def tick() -> Any:
        with app.app_context():
            clock.keep_schedules()
        return team.people["author"].get(team.path)

    queue(LOCK, tick, tick, params=[request])
    assert types().count(f"change-request-scheduled-application-{result}") == 1
    assert types().count("change-request-applied") == (result == "success")


def test_environment_is_deleted_while_a_request_is_applied(team, world, admin, queue, name):
    request = team.sent("Approved")
    world.conn.execute("INSERT INTO environments (name, type, sort_order) VALUES (%s, 'test', 99)", [name])
    world.conn.execute("INSERT INTO project_environments (project_id, environment) VALUES (%s, %s)", [name, name])
    world.conn.execute("UPDATE change_requests SET environment = %s WHERE id = %s", [name, request])
    world.conn.execute("UPDATE role_permissions SET environment = NULL WHERE permission = 'APPROVE_CHANGE_REQUEST'")
    # The deletion has the request when it waits for the flag. If it had the flag first, both would wait for each other.
    deleted, applied = queue(
        "SELECT FROM flags WHERE project_id = %s FOR UPDATE",
        lambda: admin.delete(f"/api/admin/environments/{name}"),
        lambda: admin.put(f"{team.path}/{request}/state", json={"state": "Applied"}),
        params=[name],
    )
    assert (deleted.status_code, applied.status_code) == (200, 409)
    assert team.get(request)["state"] == "Cancelled"


@pytest.mark.parametrize("has_draft", [True, False])
def test_project_is_deleted_while_a_change_is_proposed(team, admin, queue, has_draft):
    if has_draft:
        assert team.propose().status_code == 200
    team.world.conn.execute("UPDATE flags SET archived_at = now() WHERE project_id = %s", [team.project])
    deleted, proposed = queue(
        "SELECT FROM projects WHERE id = %s FOR NO KEY UPDATE",
        lambda: admin.delete(f"/api/admin/projects/{team.project}"),
        team.propose,
        params=[team.project],
    )
    assert (deleted.status_code, proposed.status_code) == (200, 404)
