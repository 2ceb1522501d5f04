"""Scheduled change requests: the clock applies them, notes what prevents it, and suspends those with conflicts."""

from typing import Any

import pytest
from flask import Flask

from rules.access import SYSTEM
from serving import clock
from sql.events import Event, record
from tests.support import fixtures, segments
from tests.support.event_log import event, events
from tests.support.teams import Team, later
from tests.support.world import World, refused

PLACE = {"project": "shop", "environment": "production"}


@pytest.fixture
def team(world: World) -> Team:
    """The project with its people."""
    return Team(world)


@pytest.fixture
def tick(app: Flask, team: Team):
    """Move the time of all scheduled requests to yesterday, or not, and do what is due."""

    def run(*, due: bool = True) -> None:
        if due:
            moved = (
                "UPDATE change_requests SET scheduled_at = scheduled_at - interval '1 day' WHERE state = 'Scheduled'"
            )
            team.world.conn.execute(moved)
        with app.app_context():
            clock.keep_schedules()
            clock.run_jobs()

    return run


def schedule(team: Team, request: int) -> Any:
    """The state of a request, the status of its schedule and the reason."""
    found = team.get(request)
    plan = found.get("schedule", {})
    assert plan.get("reason") == plan.get("failureReason")
    return found["state"], plan.get("status"), plan.get("reason")


def test_request_is_applied_once_by_its_scheduler_and_not_before(team, tick):
    request, since = team.sent("Approved", "Scheduled"), team.world.last_event_id()
    tick(due=False)
    assert (schedule(team, request), team.is_on()) == (("Scheduled", "pending", None), False)
    assert team.world.events(since) == []
    tick()
    tick()
    assert (schedule(team, request), team.is_on()) == (("Applied", None, None), True)
    recorded = team.world.events(since)
    assert [one["type"] for one in recorded] == [
        "change-request-applied",
        "feature-strategy-add",
        "feature-environment-enabled",
        "change-request-scheduled-application-success",
    ]
    applier = team.people["applier"]
    assert {(one["created_by"], one["created_by_user_id"]) for one in recorded} == {(applier.email, applier.id)}
    assert recorded[-1]["data"].keys() == {"id", "title", "state", "minApprovals", "scheduledAt"}
    assert recorded[-1]["data"]["state"] == "Applied"


REFUSALS = {
    "lost permission": (
        "DELETE FROM role_permissions WHERE permission = 'APPLY_CHANGE_REQUEST'",
        "shop-applier@example.org may no longer apply change requests here.",
    ),
    "deleted scheduler": (
        "UPDATE users SET deleted_at = now() WHERE username = 'shop-applier'",
        "shop-applier@example.org may no longer apply change requests here.",
    ),
    "lost approval": (
        "DELETE FROM role_permissions WHERE permission = 'APPROVE_CHANGE_REQUEST'",
        "1 approval is needed, 0 count: shop-reviewer@example.org may no longer approve.",
    ),
    "conflict": (
        "UPDATE flags SET archived_at = now() WHERE name = 'shop-one'",
        None,
    ),
}


@pytest.mark.parametrize("cause", REFUSALS)
def test_what_is_refused_fails_with_the_reason_and_is_not_tried_again(team, tick, cause):
    request, since = team.sent("Approved", "Scheduled"), team.world.last_event_id()
    statement, reason = REFUSALS[cause]
    with team.world.conn.transaction(force_rollback=True):
        team.world.conn.execute(statement)
        tick()
        tick()
        state, status, found = schedule(team, request)
        assert (state, status) == ("Scheduled", "failed")
        assert found == (reason or found)
        [recorded] = events(team.world, since)
        data = recorded["data"]
        assert (data.pop("reason"), data["state"]) == (found, "Scheduled")
        expected = event("change-request-scheduled-application-failure", team.people["applier"], **PLACE, data=data)
        assert recorded == expected
        assert not team.is_on()
    # Nothing stays locked: it can be scheduled again, applied at once, or withdrawn.
    assert team.put(request, "Applied", "applier").status_code == 200


def test_conflict_suspends_and_the_author_can_mend_it(team, tick):
    request = team.sent("Approved", "Scheduled")
    team.world.api_key().delete("/api/admin/projects/shop/features/shop-one")
    since = team.world.last_event_id()
    tick(due=False)
    tick(due=False)
    tick()
    assert schedule(team, request) == ("Scheduled", "suspended", "The flag is archived.")
    [recorded] = team.world.events(since)
    assert (recorded["type"], recorded["created_by"]) == ("change-request-schedule-suspended", "system")
    assert recorded["data"]["reason"] == "The flag is archived."
    refused(team.put(request, "Scheduled", "applier", scheduledAt=later(hours=1)), 409, "ConflictError")
    team.world.conn.execute("UPDATE flags SET archived_at = NULL")
    team.move(request, "Scheduled")
    assert schedule(team, request) == ("Scheduled", "pending", None)


CHANGES = {
    "flag": ("feature-updated", {"project": "shop", "feature": "shop-one"}, True),
    "another flag": ("feature-updated", {"project": "shop", "feature": "shop-two"}, False),
    "project": ("project-updated", {"project": "shop"}, True),
    "another project": ("project-updated", {"project": "default"}, False),
    "segment": ("segment-updated", {}, True),
    "request": ("change-request-created", {"project": "shop"}, False),
    "favorite": ("feature-favorited", {"project": "shop", "feature": "shop-one"}, False),
}


@pytest.mark.parametrize("name", CHANGES)
def test_conflicts_are_looked_for_where_something_has_just_changed(team, tick, name):
    type, place, is_found = CHANGES[name]
    request = team.sent("Approved", "Scheduled")
    team.world.conn.execute("UPDATE flags SET archived_at = now() WHERE name = 'shop-one'")
    record(team.world.conn, Event("segment-created", SYSTEM))
    team.world.conn.execute("UPDATE events SET created_at = created_at - interval '1 hour'")
    tick(due=False)
    assert schedule(team, request)[1] == "pending"
    record(team.world.conn, Event(type, SYSTEM, **place))
    tick(due=False)
    assert schedule(team, request)[1] == ("suspended" if is_found else "pending")


def test_reason_names_no_flag_of_a_private_project(team, tick, alice):
    segment = segments.make(alice)
    change = {"action": "deleteSegment", "payload": {"id": segment}}
    request = team.propose(change).json["id"]
    team.move(request, "In review", "Approved")
    team.people["applier"] = alice
    team.move(request, "Scheduled")
    hidden = team.world.flag("hidden", team.world.project("secret", mode="private"))
    fixtures.add_segment(team.world.conn, team.world.strategy(hidden), segment)
    tick()
    reason = f"segment {segment}: The segment is used by 1 hidden place. Remove it there first."
    assert schedule(team, request) == ("Scheduled", "failed", reason)
    # Readers of the request see the flags of its own project.
    fixtures.update(team.world.conn, "projects", "shop", mode="private")
    fixtures.update(team.world.conn, "flags", hidden, project_id="shop")
    assert "used by flag hidden in development." in refused(
        team.put(request, "Applied", "applier"), 409, "ConflictError"
    )


def test_several_are_applied_in_the_order_of_their_times(team, tick):
    first = team.sent("Approved", "Scheduled")
    draft: Any = team.propose(team.change(enabled=False)).json
    team.move(draft["id"], "In review", "Approved")
    team.put(draft["id"], "Scheduled", "applier", scheduledAt=later(minutes=5))
    since = team.world.last_event_id()
    tick()
    applied = [one["data"]["id"] for one in team.world.events(since) if one["type"] == "change-request-applied"]
    assert (applied, team.is_on()) == ([draft["id"], first], True)


def test_unexpected_error_does_not_delay_others_and_is_tried_again(team, tick):
    first, second = (team.sent("Approved", "Scheduled", changes=(flag,)) for flag in ("one", "two"))
    change = "UPDATE change_request_changes SET action = %s WHERE change_request_id = %s"
    team.world.conn.execute(change, ["unknown", first])
    tick()
    assert (team.is_on("one"), team.is_on("two")) == (False, True)
    team.world.conn.execute(change, ["updateEnabled", first])
    tick()
    assert (team.is_on("one"), schedule(team, second)[0]) == (True, "Applied")
