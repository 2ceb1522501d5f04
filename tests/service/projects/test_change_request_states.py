"""The states of change requests: who can bring a request from each into each, and what that records."""

from typing import Any

import pytest

from sql.database import value
from tests.support import fixtures
from tests.support.teams import APPLIER, REVIEWER, Team, later

# The callers with the right to ask for each state, and to do each other act.
WHO = {
    "Draft": {"author"},
    "In review": {"author"},
    "Approved": {"reviewer", "admin"},
    "Rejected": {"reviewer", "admin"},
    "Cancelled": {"author", "admin", "token"},
    "Applied": {"applier", "robot", "admin", "token"},
    "Scheduled": {"applier", "robot", "admin"},
    "rename": {"author"},
    "edit": {"author"},
    "discard change": {"author"},
    "delete": {"author"},
    "comment": {"author", "member", "reviewer", "applier", "robot", "admin"},
}
# Each state, what can be done in it, and the types of the events without change-request-.
TABLE: dict[str, dict[str, str]] = {
    "Draft": {
        "In review": "created change-added change-added sent-to-review",
        "Cancelled": "cancelled",
        "delete": "",
        **dict.fromkeys(("rename", "comment", "edit", "discard change"), ""),
    },
    "In review": {
        "Draft": "",
        "Approved": "approval-added approved",
        "Rejected": "rejected",
        "Cancelled": "cancelled",
        **dict.fromkeys(("rename", "comment"), ""),
        "edit": "change-edited sent-to-review",
        "discard change": "change-discarded sent-to-review",
    },
    "Approved": {
        "Draft": "",
        "Approved": "approval-added",
        "Rejected": "rejected",
        "Cancelled": "cancelled",
        "Applied": "applied feature-strategy-add feature-environment-enabled",
        "Scheduled": "scheduled",
        **dict.fromkeys(("rename", "comment"), ""),
        "edit": "change-edited sent-to-review",
        "discard change": "change-discarded sent-to-review",
    },
    "Scheduled": {
        "Approved": "approval-added",
        "Rejected": "rejected",
        "Cancelled": "cancelled",
        "Applied": "applied feature-strategy-add feature-environment-enabled",
        "Scheduled": "scheduled",
        **dict.fromkeys(("rename", "comment"), ""),
    },
    "Applied": {},
    "Cancelled": {},
    "Rejected": {},
}
TABLE["Stopped"] = TABLE["Scheduled"] | {"Draft": ""}
STEPS = {"In review": [], "Scheduled": ["Approved", "Scheduled"], "Applied": ["Approved", "Applied"]}
CALLERS = ("author", "member", "reviewer", "applier", "robot", "outsider", "admin", "token")


@pytest.fixture
def team(world, alice, victor) -> Team:
    """The project with everybody: the robot is a service account with all permissions, the outsider no member."""
    team = Team(world)
    robot = team.join("robot", *REVIEWER, *APPLIER)
    fixtures.update(world.conn, "users", robot.id or 0, account_type="Service Account")
    team.people |= {"outsider": victor, "admin": alice, "token": world.api_key(name="a token")}
    return team


def in_state(team: Team, state: str) -> int:
    """A request of two changes in a state, approved by another reviewer."""
    draft: Any = team.propose(team.change(), team.change("two", enabled=False)).json
    request = draft["id"]
    if state != "Draft":
        team.move(request, "In review")
    if state not in ("Draft", "In review"):
        team.join("other", *REVIEWER)
        team.put(request, "Approved", "other")
    if state == "Stopped":
        team.move(request, "Scheduled")
        team.world.conn.execute("UPDATE change_requests SET schedule_status = 'suspended', schedule_reason = 'why'")
    elif state not in ("Draft", "In review", "Approved"):
        team.move(request, state)
    return request


def act(team: Team, request: int, what: str, by: str) -> Any:
    """Do something with a request."""
    caller, path = team.people[by], f"{team.path}/{request}"
    change = value(team.world.conn, "SELECT max(id) FROM change_request_changes")
    match what:
        case "rename":
            return caller.put(f"{path}/title", json={"title": "Launch"})
        case "comment":
            return caller.post(f"{path}/comments", json={"text": "Hm."})
        case "edit":
            return caller.put(f"{path}/changes/{change}", json=team.change("two"))
        case "discard change":
            return caller.delete(f"{path}/changes/{change}")
        case "delete":
            return caller.delete(path)
    return team.put(request, what, by, **({"scheduledAt": later(days=2)} if what == "Scheduled" else {}))


@pytest.mark.parametrize("state", TABLE)
def test_who_can_do_what_in_each_state(team, state):
    request = in_state(team, state)
    wrong = []
    for by in CALLERS:
        for what, able in WHO.items():
            with team.world.conn.transaction(force_rollback=True):
                since = team.world.last_event_id()
                answer = act(team, request, what, by)
                recorded = " ".join(event["type"].replace("change-request-", "") for event in team.world.events(since))
            if state == "Draft" and by != "author":
                # Only users can do what is no change of the state.
                status = 403 if by == "token" and what[0].islower() else 404
            elif by not in able:
                status = 403
            else:
                status = answer.status_code if what in TABLE[state] and answer.status_code in (200, 204) else 409
            if answer.status_code != status or (status < 300 and recorded != TABLE[state][what]):
                wrong.append(f"{by}: {what}: {answer.status_code}, not {status}; {recorded}; {answer.text:.150}")
            if status >= 300 and recorded:
                wrong.append(f"{by}: {what} is refused and records {recorded}")
    assert not wrong, "\n".join(wrong)
