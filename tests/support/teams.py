"""A project with change requests in production, those who work on them, and what they do."""

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from werkzeug.test import TestResponse

from sql.people import roles
from tests.support import fixtures
from tests.support.world import Caller, World

ON = {"enabled": True}
REVIEWER = ("APPROVE_CHANGE_REQUEST",)
APPLIER = ("APPLY_CHANGE_REQUEST",)


def later(**delta: float) -> str:
    """A time in the future, or in the past, such as hours=-1."""
    return (datetime.now(UTC) + timedelta(**delta)).isoformat(timespec="milliseconds").replace("+00:00", "Z")


@dataclass
class Team:
    """A protected project with the flags one and two: people by name, and requests of its author."""

    world: World
    project: str = "shop"
    approvals: int = 1
    mode: str = "protected"
    people: dict[str, Caller] = field(default_factory=dict[str, Caller])

    def __post_init__(self) -> None:
        self.world.project(self.project, mode=self.mode)
        self.require(self.approvals)
        self.flags = {name: self.world.flag(f"{self.project}-{name}", self.project) for name in ("one", "two")}
        for name in ("author", "member", "reviewer", "applier"):
            self.join(name)

    def join(self, name: str, *permissions: str) -> Caller:
        """A new member. Reviewers and appliers have a role with their permission in production."""
        permissions = permissions or {"reviewer": REVIEWER, "applier": APPLIER}.get(name, ())
        person = self.world.user(f"{self.project}-{name}")
        role = roles.insert(self.world.conn, f"{self.project} {name}", type="custom")
        for permission in permissions:
            fixtures.allow(self.world.conn, role, permission, environment="production")
        self.world.member(self.project, person, role)
        self.people[name] = person
        return person

    def require(self, approvals: int | None) -> None:
        """Change requests need so many approvals. None: they are off."""
        self.world.conn.execute(
            "UPDATE project_environments SET required_approvals = %s"
            " WHERE project_id = %s AND environment = 'production'",
            [approvals, self.project],
        )

    @property
    def path(self) -> str:
        """The address of its requests."""
        return f"/api/admin/projects/{self.project}/change-requests"

    def change(self, flag: str = "one", **payload: Any) -> dict[str, Any]:
        """A change that switches a flag on, or as the payload says."""
        return {"feature": f"{self.project}-{flag}", "action": "updateEnabled", "payload": payload or ON}

    def propose(self, *changes: dict[str, Any], by: str = "author") -> TestResponse:
        """Add changes to the draft of somebody: without any, one that switches a flag on."""
        path = f"/api/admin/projects/{self.project}/environments/production/change-requests"
        return self.people[by].post(path, json=list(changes) or self.change())

    def put(self, request: int, state: str, by: str = "author", **body: Any) -> TestResponse:
        """Ask for another state of a request."""
        return self.people[by].put(f"{self.path}/{request}/state", json={"state": state} | body)

    def move(self, request: int, *steps: str, **body: Any) -> Any:
        """Bring a request through states, each by the person who can. Return its record."""
        who = {"Approved": "reviewer", "Rejected": "reviewer", "Applied": "applier", "Scheduled": "applier"}
        answer: Any = None
        for state in steps:
            more = {"scheduledAt": later(hours=1)} if state == "Scheduled" else {}
            answer = self.put(request, state, who.get(state, "author"), **more | body)
            assert answer.status_code == 200, answer.text
        return answer.json

    def sent(self, *steps: str, changes: tuple[str, ...] = ("one",)) -> int:
        """A request that switches flags on, sent to review, and brought through further states."""
        draft: Any = self.propose(*map(self.change, changes)).json
        self.move(draft["id"], "In review", *steps)
        return draft["id"]

    def get(self, request: int, by: str = "member") -> Any:
        """The record of a request."""
        return self.people[by].get(f"{self.path}/{request}").json

    def is_on(self, flag: str = "one") -> bool:
        """Whether a flag is on in production."""
        statement = "SELECT enabled FROM flag_environments WHERE flag_id = %s AND environment = 'production'"
        row = self.world.conn.execute(statement, [self.flags[flag]]).fetchone()
        assert row is not None
        return row["enabled"]
