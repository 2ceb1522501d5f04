"""A story: users run a whole instance over HTTP alone.

Each step names exactly the events that it records, and the ledger keeps them.
"""

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any
from unittest.mock import ANY

from flask import Flask

from tests.support.instance import ADMIN_KEY
from tests.support.world import Caller

SEARCH = "/api/admin/search/events"
PASSWORDS = {name: f"{name}'s horse, battery, staple" for name in ("eve", "olga", "max", "victor", "robot")}
SOON = "2099-05-31T22:00:00.000Z"
LATER = "2032-01-01T00:00:00.000Z"
MOON, SUN = ({"type": "simple", "value": value} for value in ("moon", "sun"))
BLUE = {"type": "team", "value": "blue"}
FRESH = {"type": "crate", "value": "fresh"}

Event = dict[str, Any]
Json = dict[str, Any]


def event(type: str, place: str = "", **columns: Any) -> Event:
    """An event by the caller of the step. place: its project, project/flag or project/flag/environment.

    Other columns are empty. A function instead of a value gets the answer of the step.
    """
    project, flag, environment = (*place.split("/"), "", "")[:3]
    about = {"project": project or None, "featureName": flag or None, "environment": environment or None}
    empty = {"tags": [MOON, BLUE] if flag == "launch" else [], "data": None, "preData": None}
    return {"type": type} | about | empty | columns


def answered(answer: Any) -> Any:
    """The data of an event that contains the answer of the step."""
    return answer


class Having:
    """Equal to each dict that has these entries, whatever else it has."""

    def __init__(self, entries: Json | None = None, **fields: Any) -> None:
        self.entries = (entries or {}) | fields

    def __eq__(self, other: object) -> bool:
        return isinstance(other, dict) and all(
            key in other and other[key] == value for key, value in self.entries.items()
        )

    def __repr__(self) -> str:
        return f"Having({self.entries})"

    __hash__ = None  # pyright: ignore


@dataclass
class Session(Caller):
    """Somebody who logged in and has a cookie."""

    cookie: str = ""

    def request(self, method: str, path: str, **kwargs: Any) -> Any:
        return super().request(method, path, headers={"Cookie": f"session={self.cookie}"}, **kwargs)


@dataclass
class Story:
    """What was done so far: who there is, the ids of what was made, and all events."""

    app: Flask
    key: Caller
    people: dict[str, Caller] = field(default_factory=dict[str, Caller])
    ids: Json = field(default_factory=dict[str, Any])
    answers: Json = field(default_factory=dict[str, Any])
    ledger: list[Event] = field(default_factory=list[Event])
    response: Any = None

    def step(self, by: str | Caller, operation: str, body: Any = None, *expect: Event) -> Any:
        """The answer to a request. AssertionError unless it succeeds and records exactly these events in this order.

        by: a name, or "key" for the API token. The path of the operation is below /api/admin/, or begins with a slash.
        """
        caller = by if isinstance(by, Caller) else self.key if by == "key" else self.people[by]
        method, path = operation.split(" ")
        path = path if path.startswith("/") else f"/api/admin/{path}"
        response = self.response = caller.request(method, path, **({} if body is None else {"json": body}))
        asked = f"{operation} {body}"
        assert response.status_code < 400, f"{asked}: {response.status_code} {response.text}"
        answer = response.get_json(silent=True)
        author = {"createdBy": caller.email, "createdByUserId": caller.id}
        recorded = self.since(len(expect) + 3)
        types = [event["type"] for event in recorded]
        assert types == [event["type"] for event in expect], f"{asked} recorded {types}"
        for found, event in zip(recorded, expect, strict=True):
            for column, wanted in (author | event).items():
                value = wanted(answer) if callable(wanted) else wanted
                # A payload may have more properties than the story names. The tests of each route compare all.
                value = Having(value) if isinstance(value, dict) else value
                assert found.get(column) == value, f"{asked} recorded {found['type']} with {found}, not {value}"
        self.ledger += recorded
        return answer

    def read(self, path: str, by: str | None = None, **query: Any) -> Any:
        """What somebody (without a name: the API token) reads at an address."""
        response = (self.people[by] if by else self.key).get(path, query_string=query)
        assert response.status_code == 200, f"{path}: {response.text}"
        return response.get_json()

    def total(self, by: str | None = None, **filters: str) -> int:
        """Return the number of events that the search finds; it must show as many."""
        found = self.read(SEARCH, by, limit=1000, **filters)
        assert len(found["events"]) == found["total"]
        return found["total"]

    def since(self, limit: int = 1000) -> list[Event]:
        """The events that are not in the ledger yet, oldest first."""
        found = self.read(SEARCH, limit=limit)
        new = found["total"] - len(self.ledger)
        assert new <= limit, f"{new} events, and fewer were expected: {[event['type'] for event in found['events']]}"
        return found["events"][:new][::-1]

    def count(self, **columns: Any) -> int:
        """How many events of the ledger have these values in their columns."""
        return sum(all(event.get(column) == value for column, value in columns.items()) for event in self.ledger)


def whole_story(app: Flask) -> Story:
    """A new instance, and all chapters in order."""
    story = Story(app, Caller(app, ADMIN_KEY))
    story.key.email = story.read("/api/admin/api-tokens")["tokens"][0]["tokenName"]
    story.ledger = story.since()
    first = [("user-created", "system"), ("api-token-created", "system")]
    assert [(event["type"], event["createdBy"]) for event in story.ledger] == first
    for chapter in (
        make_roles,
        make_users,
        invite_victor,
        change_users,
        make_groups,
        make_service_account,
        make_api_tokens,
        make_environments,
        make_apollo,
        make_hermes,
        give_access,
        make_catalog,
        make_banner,
        make_strategy_types,
        make_flags,
        change_flags,
        archive_flags,
        make_segments,
        change_strategies,
        switch_flags,
        change_variants,
        change_dependencies,
        clone_flag,
        export_and_import,
        delete_project,
        make_integration,
    ):
        chapter(story)
    return story


# --- People -----------------------------------------------------------------------------------------------------------


def log_in(story: Story, name: str, password: str) -> Session:
    """The session of a user, known by address or, without one, by user name."""
    user = story.step(Caller(story.app), "POST /auth/simple/login", {"username": name, "password": password})
    story.answers.setdefault("logins", []).append(user)
    cookie = story.response.headers["Set-Cookie"].split("session=")[1].split(";")[0]
    return Session(story.app, None, user["id"], user.get("email") or user["username"], cookie)


def personal_token(story: Story, session: Session, name: str) -> Caller:
    body = {"description": name, "expiresAt": SOON}
    created = story.step(session, "POST user/tokens", body, event("pat-created", data={**body, "userId": session.id}))
    story.ids[name] = created["id"]
    return Caller(story.app, created["secret"], session.id, session.email)


def make_roles(story: Story) -> None:
    """A root role of founders, a project role of operators, a changed root role, and a deleted one."""
    story.people["root"] = log_in(story, "admin", str(story.app.config["INIT_ADMIN_PASSWORD"]))

    def make(name: str, type: str, *permissions: Json) -> Json:
        body = {"name": name, "description": "", "type": type, "permissions": [*permissions]}
        made = event("role-created", data=body | {"project": None})
        return body | {"id": story.step("key", "POST roles", body, made)["roles"]["id"], "project": None}

    switch = {"name": "UPDATE_FEATURE_ENVIRONMENT"}
    production = {"environment": "production"}
    story.ids["Founder"] = make("Founder", "root-custom", {"name": "CREATE_PROJECT"})["id"]
    story.ids["Operator"] = make(
        "Operator", "custom", {"name": "CREATE_FEATURE_STRATEGY"} | production, switch | production
    )["id"]
    before = make("Machine", "root-custom", switch)
    path = f"roles/{before['id']}"
    after = {"name": "Automaton", "description": "Works without a human", "type": "root-custom"}
    after |= {"permissions": [{"name": "UPDATE_FEATURE"}, switch]}
    story.step("key", f"PUT {path}", after, event("role-updated", data=before | after, preData=before))
    story.ids["Automaton"] = before["id"]
    role = make("Short-lived", "custom")
    story.step("key", f"DELETE roles/{role['id']}", None, event("role-deleted", preData=role))


def make_users(story: Story) -> None:
    """Eve edits, Olga may create projects, Max views until a project gives a role, Nora never logs in."""

    def make(by: str, name: str, root_role: int | str, number: int, **fields: str) -> None:
        known = {"name": name.title(), "email": f"{name}@example.org"}
        known |= {key: text for key, text in fields.items() if key != "password"}
        made = event("user-created", data={**known, "rootRole": number})
        story.ids[name] = story.step(by, "POST user-admin", {"rootRole": root_role} | known | fields, made)["id"]

    founder = story.ids["Founder"]
    make("root", "eve", 2, 2, username="eve", password=PASSWORDS["eve"])
    make("root", "olga", founder, founder, password=PASSWORDS["olga"])
    make("root", "max", "Viewer", 3, username="max")
    make("key", "nora", 3, 3)
    max = {"id": story.ids["max"], "name": "Max", "username": "max", "email": "max@example.org", "rootRole": 3}
    link = story.step("root", "POST user-admin/reset-password", {"id": "max"})["resetPasswordUrl"]
    first = {"token": link.partition("token=")[2], "password": "a first password of Max"}
    updated = event("user-updated", data=max, preData=max)
    by_max = {"createdBy": max["email"], "createdByUserId": max["id"]}
    story.step(Caller(story.app), "POST /auth/reset/password", first, updated | by_max)
    story.step("root", f"POST user-admin/{max['id']}/change-password", {"password": PASSWORDS["max"]}, updated)
    for name in ("eve", "olga", "max"):
        session = log_in(story, f"{name}@example.org", PASSWORDS[name])
        story.people[name] = personal_token(story, session, f"{name}'s token")


def invite_victor(story: Story) -> None:
    """Victor signs up with a token that was disabled for a while."""
    created = {"name": "newcomers", "enabled": True, "expiresAt": SOON}
    body: Json = {"name": "newcomers", "expiresAt": SOON}
    token = story.step("root", "POST invite-link/tokens", body, event("public-signup-token-created", data=created))
    secret = story.ids["newcomers"] = token["secret"]
    before = created
    for by, body in (("root", {"enabled": False}), ("key", {"enabled": True, "expiresAt": LATER})):
        after = before | body
        updated = event("public-signup-token-updated", data=after, preData=before)
        story.answers["invitation"] = story.step(by, f"PUT invite-link/tokens/{secret}", body, updated)
        usable = Caller(story.app).get(f"/invite/{secret}/validate").status_code
        assert usable == (200 if after["enabled"] else 403)
        before = after
    victor = {"name": "Victor", "username": "victor", "email": "victor@example.org"}
    author = {"createdBy": "victor@example.org", "createdByUserId": lambda answer: answer["id"]}
    created = event("user-created", data=lambda answer: {"id": answer["id"], "rootRole": 3} | victor, **author)
    added = event("public-signup-token-user-added", data=lambda answer: {"userId": answer["id"]}, **author)
    body = victor | {"password": PASSWORDS["victor"]}
    signed_up = story.step(Caller(story.app), f"POST /invite/{secret}/signup", body, created, added)
    story.ids["victor"], story.answers["signup"] = signed_up["id"], signed_up
    session = log_in(story, "victor", PASSWORDS["victor"])
    story.people["victor"] = personal_token(story, session, "victor's token")
    personal_token(story, session, "spare")
    spare = {"id": story.ids.pop("spare"), "description": "spare", "expiresAt": SOON, "userId": session.id}
    story.step(session, f"DELETE user/tokens/{spare['id']}", None, event("pat-deleted", data=spare))
    story.step(session, "POST /logout")
    assert session.get("/api/admin/user").status_code == 401
    assert story.people["victor"].get("/api/admin/user").status_code == 200


def change_users(story: Story) -> None:
    """Nora gets a longer name, Rex is deleted, and Eve takes another password."""
    nora = {"id": story.ids["nora"], "name": "Nora", "email": "nora@example.org", "rootRole": 3}
    updated = event("user-updated", data=nora | {"name": "Nora N."}, preData=nora)
    story.step("root", f"PUT user-admin/{nora['id']}", {"name": "Nora N."}, updated)
    rex = {"username": "rex", "rootRole": 1}
    rex["id"] = story.step("root", "POST user-admin", rex, event("user-created", data=rex))["id"]
    story.step("root", f"DELETE user-admin/{rex['id']}", None, event("user-deleted", preData=rex))
    session = log_in(story, "eve", PASSWORDS["eve"])
    new = "Eve's other horse, battery, staple"
    change = {"oldPassword": PASSWORDS["eve"], "password": new, "confirmPassword": new}
    story.step(session, "POST user/change-password", change)
    assert session.get("/api/admin/user").status_code == 401
    assert log_in(story, "eve", new).get("/logout").status_code == 302


def make_groups(story: Story) -> None:
    """A crew of Max and Nora, visitors of whom Nora stays, and a deleted group."""

    def make(name: str, *users: str) -> Json:
        body = {"name": name, "description": None, "mappingsSSO": [], "rootRole": None}
        members = [{"user": {"id": story.ids[user]}} for user in users]
        made = body | {"users": [story.ids[user] for user in users]}
        created = story.step("key", "POST groups", body | {"users": members}, event("group-created", data=made))
        story.ids[name] = created["id"]
        return made | {"id": created["id"]}

    make("crew", "max", "nora")
    visitors, nora = make("visitors", "nora", "victor"), story.ids["nora"]
    change = {"name": "visitors", "description": "Look around", "mappingsSSO": ["guests"], "rootRole": 3}
    updated = event("group-updated", data=visitors | change | {"users": [nora]}, preData=visitors)
    story.step("key", f"PUT groups/{visitors['id']}", change | {"users": [{"user": {"id": nora}}]}, updated)
    group = make("short-lived")
    story.step("key", f"DELETE groups/{group['id']}", None, event("group-deleted", preData=group))


def make_service_account(story: Story) -> None:
    """A robot that may switch flags everywhere, by a token; a deleted token and a deleted account."""

    def make(username: str) -> Json:
        body = {"username": username, "name": username.title(), "rootRole": 3}
        made = event("service-account-created", data=body)
        return body | {"id": story.step("key", "POST service-account", body, made)["id"]}

    robot = make("robot")
    path, change = f"service-account/{robot['id']}", {"rootRole": story.ids["Automaton"]}
    story.step("key", f"PUT {path}", change, event("service-account-updated", data=robot | change, preData=robot))
    story.ids["robot"] = robot["id"]
    created, token = {}, {}
    for name in ("work", "spare"):
        body = {"description": name, "expiresAt": SOON}
        token = body | {"userId": robot["id"]}
        created = story.step("key", f"POST {path}/token", body, event("pat-created", data=token))
        if name == "work":
            story.people["robot"] = Caller(story.app, created["secret"], robot["id"], "robot")
    token |= {"id": created["id"]}
    story.step("key", f"DELETE {path}/token/{created['id']}", None, event("pat-deleted", data=token))
    spare = make("spare")
    deleted = event("service-account-deleted", preData=spare)
    story.step("key", f"DELETE service-account/{spare['id']}", None, deleted)


def make_api_tokens(story: Story) -> None:
    """A token of each kind; that of frontends gets an expiry, that of the administrator is deleted."""

    def without_secret(answer: Any) -> Any:
        return {name: value for name, value in answer.items() if name != "secret"}

    for kind, environment in (("client", "development"), ("frontend", "production"), ("admin", "*")):
        body = {"type": kind, "tokenName": f"{kind} key", "environment": environment, "projects": ["*"]}
        place = {"project": "*", "environment": environment}
        made = event("api-token-created", data=without_secret, **place)
        created = story.answers[kind] = story.step("key", "POST api-tokens", body, made)
        caller, path = Caller(story.app, created["secret"]), f"api-tokens/{created['secret']}"
        before = without_secret(created)
        if kind == "client":
            application = {"appName": "shop", "strategies": ["default"], "interval": 15}
            known = event("application-created", data={"appName": "shop"}, createdBy="system", createdByUserId=None)
            story.step(caller, "POST /api/client/register", application, known)
        if kind == "frontend":
            updated = event("api-token-updated", data=before | {"expiresAt": SOON}, preData=before, **place)
            story.step("key", f"PUT {path}", {"expiresAt": SOON}, updated)
        if kind == "admin":
            assert caller.get("/api/admin/api-tokens").status_code == 200
            deleted = event("api-token-deleted", preData=before | {"seenAt": ANY}, **place)
            story.step("key", f"DELETE {path}", None, deleted)
            assert caller.get("/api/admin/api-tokens").status_code == 401


# --- Environments and projects ----------------------------------------------------------------------------------------


def make_environments(story: Story) -> None:
    """Staging stays; attic is changed, and switched off and on."""

    def updated(environment: str, data: Json, before: Json) -> Event:
        return event("environment-updated", environment=environment, data=data, preData=before)

    created: Json = {}
    for name, type in (("staging", "preproduction"), ("attic", "test")):
        body = {"name": name, "type": type}
        made = event("environment-created", environment=name, data=body)
        created = story.step("root", "POST environments", body, made)
        assert created["enabled"] is True
    change, before = {"type": "scratch", "sortOrder": 77}, {"type": "test", "sortOrder": created["sortOrder"]}
    story.step("root", "PUT environments/update/attic", change, updated("attic", change, before))
    for word, now in (("off", False), ("on", True)):
        switched = updated("attic", {"enabled": now}, {"enabled": not now})
        story.step("key", f"POST environments/attic/{word}", None, switched)
    before = {each["name"]: each["sortOrder"] for each in story.read("/api/admin/environments")["environments"]}
    order = {"development": before["development"], "production": 20, "staging": 10}
    moved = [
        updated(name, {"sortOrder": order[name]}, {"sortOrder": before[name]}) for name in ("production", "staging")
    ]
    story.step("key", "PUT environments/sort-order", order, *moved)


def make_apollo(story: Story) -> None:
    """Eve creates a private project, gives it environments and rules, and takes one environment away again."""
    first = {"id": "apollo", "name": "Apolo", "mode": "private", "environments": ["development"]}
    created = story.step("eve", "POST projects", first, event("project-created", "apollo", data=answered))
    assert created == first | {"defaultStickiness": "default", "featureLimit": None, "changeRequestEnvironments": []}
    change = {"name": "Apollo", "description": "To the moon"}
    updated = event("project-updated", "apollo", data=change, preData={"name": "Apolo", "description": None})
    story.step("eve", "PUT projects/apollo", change, updated)
    naming = {"pattern": "[a-z0-9-]+", "example": "lunar-1", "description": "lower case"}
    settings = {"featureLimit": 20, "featureNaming": naming}
    updated = event("project-updated", "apollo", data=settings, preData={"featureLimit": None})
    story.step("eve", "PUT projects/apollo/settings", settings, updated)
    path = "projects/apollo/environments"
    for name in ("production", "staging", "attic"):
        added = event("project-environment-added", "apollo", environment=name)
        story.step("eve", f"POST {path}", {"environment": name}, added)
    removed = event("project-environment-removed", "apollo", environment="attic")
    story.step("eve", f"DELETE {path}/attic", None, removed)
    parameters = {"rollout": "25", "stickiness": "userId", "groupId": "apollo"}
    strategy = {"name": "flexibleRollout", "title": "A quarter", "parameters": parameters}
    updated = event("default-strategy-updated", "apollo", environment="production", data=answered)
    created = story.step("eve", f"POST {path}/production/default-strategy", strategy, updated)
    assert created["parameters"] == parameters
    states = [{"changeRequestsEnabled": False}, {"changeRequestsEnabled": True, "requiredApprovals": 2}]
    for before, after in (states, states[::-1]):
        configured = event(
            "change-request-configuration-updated", "apollo", environment="staging", data=after, preData=before
        )
        story.step("eve", f"PUT {path}/staging/change-requests/config", after, configured)


def make_hermes(story: Story) -> None:
    """Olga creates an open project with all environments. Attic is deleted. Victor marks the project as a favorite."""
    created = story.step("olga", "POST projects", {"name": "Hermes"}, event("project-created", "hermes", data=answered))
    assert (created["id"], created["environments"]) == ("hermes", ["development", "staging", "production", "attic"])
    deleted = event("environment-deleted", environment="attic", preData={"name": "attic", "type": "scratch"})
    story.step("root", "DELETE environments/attic", None, deleted)
    for method, type in (("POST", "project-favorited"), ("DELETE", "project-unfavorited")):
        changed = event(type, "hermes", data={"project": "hermes"})
        story.step("victor", f"{method} projects/hermes/favorites", None, changed)
    # Recorded less than a minute ago.
    story.step("victor", "POST projects/hermes/favorites")


def give_access(story: Story) -> None:
    """Eve adds Max and the crew to apollo, makes Olga an Owner, and removes Nora and the visitors. Olga sets the access
    to hermes.
    """
    id = story.ids
    given = {"roles": [{"roleId": 5, "userIds": [id["max"]], "groupIds": [id["crew"]]}]}
    body = {"roles": [5], "users": [id["max"]], "groups": [id["crew"]]}
    story.step("eve", "POST projects/apollo/access", body, event("project-access-added", "apollo", data=given))

    def change(kind: str, name: str, before: list[int], after: list[int]) -> None:
        path, whom = f"projects/apollo/{kind}s/{id[name]}/roles", {f"{kind}Id": id[name]}
        old, new, type = {"roles": before} | whom, {"roles": after} | whom, f"project-access-{kind}-roles"
        if after:
            updated = event(f"{type}-updated", "apollo", data=new, preData=old)
            story.step("eve", f"PUT {path}", {"roles": after}, updated)
        else:
            story.step("eve", f"DELETE {path}", None, event(f"{type}-deleted", "apollo", preData=old))

    change("user", "olga", [], [4])
    change("user", "nora", [], [5])
    change("user", "nora", [5], [])
    change("group", "crew", [5], [5, id["Operator"]])
    change("group", "visitors", [], [5])
    change("group", "visitors", [5], [])
    before = [{"id": 4, "users": [id["olga"]], "groups": []}]
    members = {"id": 5, "users": [id["max"]], "groups": [id["visitors"]]}
    after = {"roles": [*before, members, {"id": id["Operator"], "users": [], "groups": [id["crew"]]}]}
    updated = event("project-access-updated", "hermes", data=after, preData={"roles": before})
    story.step("olga", "PUT projects/hermes/access", after, updated)


# --- Catalog ----------------------------------------------------------------------------------------------------------


def make_catalog(story: Story) -> None:
    """Context fields, types of tags and tags. One field and one type are deleted."""
    planet: Json = {"name": "planet", "stickiness": True, "sortOrder": 9}
    planet |= {"legalValues": [{"value": "mars"}, {"value": "moon"}]}
    story.step("eve", "POST context", planet, event("context-field-created", data=answered))
    change = {"description": "Where somebody is"}
    updated = event("context-field-updated", data=planet | change, preData=planet | {"description": None})
    story.step("eve", "PUT context/planet", change, updated)
    gravity = story.step("eve", "POST context", {"name": "gravity"}, event("context-field-created", data=answered))
    story.step("eve", "DELETE context/gravity", None, event("context-field-deleted", preData=gravity))
    team = {"name": "team", "description": "Who cares", "icon": None}
    story.step("eve", "POST tag-types", team, event("tag-type-created", data=team))
    change = {"description": "Who cares for it"}
    story.step("eve", "PUT tag-types/team", change, event("tag-type-updated", data=team | change, preData=team))
    mood = {"name": "mood", "description": "", "icon": None}
    story.step("eve", "POST tag-types", {"name": "mood"}, event("tag-type-created", data=mood))
    for tag in (BLUE, {"type": "mood", "value": "gloomy"}):
        story.step("eve", "POST tags", tag, event("tag-created", data=tag))
    story.step("eve", "DELETE tag-types/mood", None, event("tag-type-deleted", preData=mood))


def make_banner(story: Story) -> None:
    """An administrator writes a banner, switches it off twice and deletes it."""
    created = event("banner-created", data=answered)
    banner = story.step("root", "POST banners", {"message": "Welcome to the moon"}, created)
    off = event("banner-updated", data={"enabled": False}, preData=banner)
    changed = story.step("root", f"POST banners/{banner['id']}/off", None, off)
    story.step("root", f"POST banners/{banner['id']}/off", None)
    story.step("root", f"DELETE banners/{banner['id']}", None, event("banner-deleted", preData=changed))


def make_strategy_types(story: Story) -> None:
    """A type is deprecated for a while; another one is deleted. Operational flags get a longer lifetime."""
    parameter = {"name": "phase", "type": "string", "description": "", "required": True}
    moon, name, path = {"name": "moonPhase", "parameters": [parameter]}, {"name": "moonPhase"}, "strategies/moonPhase"
    created = story.step("eve", "POST strategies", moon, event("strategy-created", data=moon))
    assert created["editable"] is True
    change = moon | {"description": "By the phase of the moon"}
    story.step("eve", f"PUT {path}", change, event("strategy-updated", data=change, preData=moon))
    story.step("eve", f"POST {path}/deprecate", None, event("strategy-deprecated", data=name))
    story.step("eve", f"POST {path}/reactivate", None, event("strategy-reactivated", data=name))
    tide = {"name": "tide", "parameters": []}
    story.step("eve", "POST strategies", tide, event("strategy-created", data=tide))
    story.step("eve", "DELETE strategies/tide", None, event("strategy-deleted", data={"name": "tide"}))
    known = {kind["id"]: kind for kind in story.read("/api/admin/feature-types")["types"]}["operational"]
    before = {name: known[name] for name in ("id", "name", "description")} | {"lifetimeDays": 7}
    updated = event("feature-type-updated", data=before | {"lifetimeDays": 30}, preData=before)
    story.step("root", "PUT feature-types/operational/lifetime", {"lifetimeDays": 30}, updated)


# --- Flags ------------------------------------------------------------------------------------------------------------


def make_flags(story: Story) -> None:
    """Max and Olga create flags and tag them. A tag is deleted from the flag that has it."""

    def make(by: str, project: str, name: str, type: str = "release", **fields: Any) -> None:
        body = {"name": name, "type": type} | fields
        created = event("feature-created", f"{project}/{name}", data=answered)
        flag = story.step(by, f"POST projects/{project}/features", body, created)
        core = {"name": name, "type": type, "project": project, "stale": False, "archived": False} | fields
        assert flag == Having(core), flag

    story.step(
        "max",
        "POST projects/apollo/features",
        {"name": "launch", "tags": [MOON]},
        event("feature-created", "apollo/launch", data=answered, tags=[]),
        event("tag-created", data=MOON),
        event("feature-tagged", "apollo/launch", data=MOON, tags=[MOON]),
    )
    make("max", "apollo", "engine", "operational", description="What drives it")
    make("max", "apollo", "boost", "experiment", impressionData=True)
    make("olga", "apollo", "relay")
    for name in ("debris", "relic", "fossil", "dust"):
        make("olga", "apollo", name, "kill-switch" if name == "relic" else "release")
    make("max", "hermes", "mail", "permission")
    make("max", "hermes", "post")
    make("olga", "hermes", "letter")
    make("max", "hermes", "orbit", "experiment")
    story.step("max", "POST features/launch/tags", BLUE, event("feature-tagged", "apollo/launch", data=BLUE))
    tagged = event("feature-tagged", "hermes/mail", data=SUN, tags=[SUN])
    story.step("max", "POST features/mail/tags", SUN, event("tag-created", data=SUN), tagged)
    untagged = event("feature-untagged", "hermes/mail", preData=SUN)
    story.step("max", "DELETE features/mail/tags/simple/sun", None, untagged)
    tagged = event("feature-tagged", "hermes/post", data=SUN, tags=[SUN])
    story.step("max", "POST features/post/tags", SUN, tagged)
    untagged = event("feature-untagged", "hermes/post", preData=SUN)
    story.step("max", "DELETE tags/simple/sun", None, untagged, event("tag-deleted", data=SUN))
    assert story.people["victor"].get("/api/admin/features/launch/tags").status_code == 404
    link, other = ({"url": f"https://issues.example.com/{number}", "title": None} for number in (1, 2))
    path = "projects/hermes/features/letter/link"
    story.step("olga", f"POST {path}", link, event("feature-link-added", "hermes/letter", data=link))
    [found] = story.read("/api/admin/projects/hermes/features/letter")["links"]
    updated = event("feature-link-updated", "hermes/letter", data=other, preData=link)
    story.step("olga", f"PUT {path}/{found['id']}", other, updated)
    removed = event("feature-link-removed", "hermes/letter", preData=other)
    story.step("olga", f"DELETE {path}/{found['id']}", None, removed)


def change_flags(story: Story) -> None:
    """Mail gets a description and is stale; post was stale for a while, letter stays so. Relay is completed for a
    while.
    """
    before, change = {"description": None, "type": "permission"}, {"description": "Who gets mail", "type": "permission"}
    updated = event("feature-metadata-updated", "hermes/mail", data=change, preData=before)
    body = change | {"stale": True}
    stale = {name: event("feature-stale-on", f"hermes/{name}") for name in ("mail", "post", "letter")}
    story.step("max", "PUT projects/hermes/features/mail", body, updated, stale["mail"])
    body = {"features": [*stale], "stale": True}
    story.step("max", "POST projects/hermes/stale", body, stale["post"], stale["letter"])
    body = {"features": ["post"], "stale": False}
    story.step("max", "POST projects/hermes/stale", body, event("feature-stale-off", "hermes/post"))
    path = "projects/apollo/features/relay/lifecycle"
    completed = event("feature-completed", "apollo/relay", data={"status": "kept", "kept": True})
    story.step("olga", f"POST {path}/complete", {"status": "kept"}, completed)
    story.step("olga", f"POST {path}/uncomplete", None, event("feature-uncompleted", "apollo/relay"))


def archive_flags(story: Story) -> None:
    """Debris is archived and deleted; relic and fossil are revived; dust stays archived. Orbit moves. Victor has
    favorites.
    """
    for name in ("debris", "relic"):
        archived = event("feature-archived", f"apollo/{name}")
        story.step("olga", f"DELETE projects/apollo/features/{name}", None, archived)
    archived = [event("feature-archived", f"apollo/{name}") for name in ("fossil", "dust")]
    story.step("olga", "POST projects/apollo/archive", {"features": ["fossil", "dust"]}, *archived)
    gone = {"name": "debris", "type": "release", "project": "apollo", "archived": True}
    story.step("olga", "DELETE archive/debris", None, event("feature-deleted", "apollo/debris", preData=gone))
    story.step("olga", "POST archive/revive/relic", None, event("feature-revived", "apollo/relic"))
    revived = event("feature-revived", "apollo/fossil")
    story.step("olga", "POST projects/apollo/revive", {"features": ["fossil"]}, revived)
    moved = event("feature-project-change", "apollo/orbit", data={"oldProject": "hermes", "newProject": "apollo"})
    path = "projects/hermes/features"
    story.step("root", f"POST {path}/orbit/changeProject", {"newProjectId": "apollo"}, moved)
    for name, method, type in (
        ("post", "POST", "feature-favorited"),
        ("mail", "POST", "feature-favorited"),
        ("mail", "DELETE", "feature-unfavorited"),
    ):
        changed = event(type, f"hermes/{name}", data={"feature": name})
        story.step("victor", f"{method} {path}/{name}/favorites", None, changed)


# --- Strategies -------------------------------------------------------------------------------------------------------

LAUNCH = "projects/apollo/features/launch"
ON_MARS = {"contextName": "planet", "operator": "IN", "values": ["mars"]}


def make_segments(story: Story) -> None:
    """Martians are for all projects, the crew is apollo's, and the third one is deleted."""

    def make(place: str = "", **body: Any) -> Json:
        return story.step("eve", "POST segments", body, event("segment-created", place, data=answered))

    story.ids["martians"] = make(name="martians", constraints=[ON_MARS])["id"]
    crew = make("apollo", name="crew", project="apollo", constraints=[])
    change = {"name": "the crew", "project": "apollo", "description": "On board", "constraints": []}
    updated = event("segment-updated", "apollo", data=change | {"id": crew["id"]}, preData=crew)
    story.step("eve", f"PUT segments/{crew['id']}", change, updated)
    segment = make(name="short-lived", constraints=[])
    story.step("eve", f"DELETE segments/{segment['id']}", None, event("segment-deleted", preData=segment))


def add(story: Story, by: str, flag: str, environment: str, body: Json) -> Json:
    added = event("feature-strategy-add", f"apollo/{flag}/{environment}", data=answered)
    return story.step(by, f"POST projects/apollo/features/{flag}/environments/{environment}/strategies", body, added)


def change_strategies(story: Story) -> None:
    """Launch gets two strategies in development, which change places; the one that came first is deleted by operation
    4.
    """
    path, here = f"{LAUNCH}/environments/development/strategies", "apollo/launch/development"
    segments = [story.ids["martians"]]
    half = {"name": "flexibleRollout", "parameters": {"rollout": 50}, "constraints": [ON_MARS], "segments": segments}
    first = add(story, "max", "launch", "development", half)
    assert first["parameters"] == {"rollout": "50", "groupId": "launch", "stickiness": "default"}
    second = add(story, "max", "launch", "development", {"name": "moonPhase", "parameters": {"phase": "new"}})
    assert (first["sortOrder"], second["sortOrder"]) == (0, 1)
    change = {"name": "moonPhase", "title": "Full moon", "parameters": {"phase": "full"}}
    updated = event("feature-strategy-update", here, data=answered, preData=second)
    second = story.step("max", f"PUT {path}/{second['id']}", change, updated)
    ids = [first["id"], second["id"]]
    changed = event("strategy-order-changed", here, data={"strategyIds": ids[::-1]}, preData={"strategyIds": ids})
    order = [{"id": second["id"], "sortOrder": 0}, {"id": first["id"], "sortOrder": 1}]
    story.step("max", f"POST {path}/set-sort-order", order, changed)
    body = {"projectId": "apollo", "environmentId": "development", "strategyId": second["id"], "segmentIds": segments}
    after, before = ({"id": second["id"], "segments": each} for each in (segments, []))
    updated = event("feature-strategy-update", here, data=after, preData=before)
    story.step("max", "POST segments/strategies", body, updated)
    removed = event("feature-strategy-remove", here, preData=first | {"sortOrder": 1})
    story.answers["operation 4"] = story.step("max", f"DELETE {path}/{first['id']}", None, removed)


def switch_flags(story: Story) -> None:
    """Flags are switched on with and without strategies, off with their last strategy, and in bulk."""

    def switched(place: str, word: str = "enabled") -> Event:
        return event(f"feature-environment-{word}", place)

    place = "apollo/launch/development"
    story.step("max", f"POST {LAUNCH}/environments/development/on", None, switched(place))
    quarter = {"title": "A quarter", "parameters": {"rollout": "25", "stickiness": "userId", "groupId": "launch"}}
    parameters = {"rollout": "100", "stickiness": "default", "groupId": "launch"}
    everybody = {"name": "flexibleRollout", "parameters": parameters}
    for environment, given in (("production", quarter), ("staging", everybody)):
        place = f"apollo/launch/{environment}"
        added = event("feature-strategy-add", place, data=given)
        flag = story.step("max", f"POST {LAUNCH}/environments/{environment}/on", None, added, switched(place))
        assert {each["name"]: each["enabled"] for each in flag["environments"]}[environment] is True
    disabled = switched("apollo/launch/staging", "disabled")
    story.step("robot", f"POST {LAUNCH}/environments/staging/off", None, disabled)
    path, place = "projects/apollo/features/engine/environments/staging", "apollo/engine/staging"
    created = add(story, "olga", "engine", "staging", {"name": "default"})
    enabled, disabled = switched(place), switched(place, "disabled")
    story.step("olga", f"POST {path}/on", None, enabled)
    off = event("feature-strategy-update", place, data=created | {"disabled": True}, preData=created)
    body = {"name": "default", "disabled": True}
    story.step("olga", f"PUT {path}/strategies/{created['id']}", body, disabled, off)
    on = event("feature-strategy-update", place, data=created, preData=created | {"disabled": True})
    story.step("olga", f"POST {path}/on?shouldActivateDisabledStrategies=true", None, on, enabled)
    removed = event("feature-strategy-remove", place, preData=created)
    story.step("olga", f"DELETE {path}/strategies/{created['id']}", None, disabled, removed)
    path = "projects/hermes/bulk_features/environments/production"
    places = [f"hermes/{name}/production" for name in ("mail", "post")]
    data = {"name": "flexibleRollout", "segments": []}
    added = [event("feature-strategy-add", place, data=data) for place in places]
    story.step("max", f"POST {path}/on", {"features": ["mail", "post"]}, *added, *map(switched, places))
    story.step("max", f"POST {path}/off", {"features": ["mail", "letter"]}, switched(places[0], "disabled"))


def change_variants(story: Story) -> None:
    """Launch gets two variants, then one more, and two in two environments at once."""

    def changed(before: list[Having], after: list[Having], environment: str = "development") -> Event:
        change = {"data": {"variants": after}, "preData": {"variants": before}}
        return event("feature-environment-variants-updated", f"apollo/launch/{environment}", **change)

    def colours(**weights: int) -> list[Having]:
        return [Having(name=name, weight=weight, weightType="variable") for name, weight in weights.items()]

    path = f"{LAUNCH}/environments/development/variants"
    red, blue, green = ({"name": name, "weight": 1, "stickiness": "default"} for name in ("red", "blue", "green"))
    two, three = colours(blue=500, red=500), colours(blue=334, green=333, red=333)
    story.step("max", f"PUT {path}", [red, blue], changed([], two))
    patch = [{"op": "add", "path": "/1", "value": green | {"weightType": "variable"}}]
    story.step("max", f"PATCH {path}", patch, changed(two, three))
    body = {"variants": [red, blue], "environments": ["development", "staging"]}
    story.step("eve", f"PUT {LAUNCH}/variants-batch", body, changed(three, two), changed([], two, "staging"))


def change_dependencies(story: Story) -> None:
    """Boost and launch depend on engine; relay and relic did for a while; fossil stops when it is archived."""
    path, parent = "projects/apollo/features", {"feature": "engine", "enabled": True}
    for name in ("boost", "launch", "relay", "relic", "fossil"):
        added = event("feature-dependency-added", f"apollo/{name}", data=parent)
        story.step("max", f"POST {path}/{name}/dependencies", {"feature": "engine"}, added)
    removed = event("feature-dependency-removed", "apollo/relic", data={"feature": "engine"})
    story.step("max", f"DELETE {path}/relic/dependencies/engine", None, removed)
    removed = event("feature-dependencies-removed", "apollo/relay")
    story.step("max", f"DELETE {path}/relay/dependencies", None, removed)
    removed = event("feature-dependencies-removed", "apollo/fossil")
    story.step("max", f"DELETE {path}/fossil", None, event("feature-archived", "apollo/fossil"), removed)


def clone_flag(story: Story) -> None:
    """Lunar is a copy of launch that is off everywhere."""
    two, type = {"variants": [Having(name="blue"), Having(name="red")]}, "feature-environment-variants-updated"
    moon = {"title": "Full moon", "segments": [story.ids["martians"]]}
    story.step(
        "olga",
        f"POST {LAUNCH}/clone",
        {"name": "lunar", "replaceGroupId": True},
        event("feature-created", "apollo/lunar", data=answered),
        event("feature-strategy-add", "apollo/lunar/development", data=moon),
        event("feature-strategy-add", "apollo/lunar/staging", data={"name": "flexibleRollout"}),
        event("feature-strategy-add", "apollo/lunar/production", data={"title": "A quarter"}),
        event(type, "apollo/lunar/development", data=two, preData={"variants": []}),
        event(type, "apollo/lunar/staging", data=two, preData={"variants": []}),
        event("feature-dependency-added", "apollo/lunar", data={"feature": "engine", "enabled": True}),
    )


# --- Documents --------------------------------------------------------------------------------------------------------

PARCEL: Json = {
    "features": [{"name": "parcel", "type": "experiment", "description": "In one piece", "project": "elsewhere"}],
    "featureStrategies": [
        {
            "featureName": "parcel",
            "name": "flexibleRollout",
            "parameters": {"rollout": "10", "stickiness": "default", "groupId": "parcel"},
            "constraints": [{"contextName": "weight", "operator": "NUM_GT", "value": "20"}],
            "segments": [7],
        }
    ],
    "featureEnvironments": [{"name": "parcel", "featureName": "parcel", "environment": "production", "enabled": True}],
    "contextFields": [{"name": "weight", "description": "In kilograms"}],
    "featureTags": [{"featureName": "parcel", "tagType": "crate", "tagValue": "fresh"}],
    "segments": [{"id": 7, "name": "martians"}],
    "tagTypes": [{"name": "crate", "description": "How it is packed"}],
}


def export_and_import(story: Story) -> None:
    """Max exports two flags of apollo. The administrator imports parcel into hermes, with a new context field."""
    body = {"environment": "development", "features": ["launch", "boost"]}
    exported = event("features-exported", data={"environment": "development", "features": ["boost", "launch"]})
    document = story.step("max", "POST features-batch/export", body, exported)
    assert [flag["name"] for flag in document["features"]] == ["boost", "launch"]
    assert [strategy["featureName"] for strategy in document["featureStrategies"]] == ["launch"]
    body = {"project": "hermes", "environment": "staging", "data": PARCEL}
    found = story.step("olga", "POST features-batch/validate", body)
    assert (found["errors"], found["warnings"]) == ([], [])
    assert found["permissions"] != []
    found = story.step("root", "POST features-batch/validate", body)
    assert found == {"errors": [], "warnings": [], "permissions": []}
    segments, place = {"segments": [story.ids["martians"]]}, "hermes/parcel/staging"
    story.step(
        "root",
        "POST features-batch/import",
        body,
        event("tag-type-created", data={"name": "crate", "description": "How it is packed"}),
        event("context-field-created", data={"name": "weight", "description": "In kilograms"}),
        event("feature-created", "hermes/parcel", data={"name": "parcel", "project": "hermes", "type": "experiment"}),
        event("tag-created", data=FRESH),
        event("feature-tagged", "hermes/parcel", data=FRESH, tags=[FRESH]),
        event("feature-strategy-add", place, data=segments, tags=[FRESH]),
        event("feature-environment-enabled", place, tags=[FRESH]),
        event("features-imported", "hermes", environment="staging"),
    )


def propose_changes(story: Story) -> None:
    """Olga proposes changes of ice, which change nothing, and root decides."""
    here, path = "projects/pluto/environments/development/change-requests", "projects/pluto/change-requests"
    change: Json = {"feature": "ice", "action": "updateEnabled", "payload": {"enabled": False}}
    no_variants = change | {"action": "patchVariant", "payload": {"variants": []}}
    on = {"changeRequestsEnabled": True, "requiredApprovals": 1}
    configured = event("change-request-configuration-updated", "pluto//development", data=on, preData=ANY)
    story.step("key", f"PUT {here}/config", on, configured)

    def step(by: str, operation: str, body: Any, *types: str) -> Any:
        places = ["pluto//development" if "request" in type else "pluto/ice/development" for type in types]
        events = map(event, types, places)
        return story.step(by, operation, body, *(one | {"data": ANY, "preData": ANY} for one in events))

    def draft() -> Any:
        """The path of a request in review, and the paths of its changes."""
        answer = step("olga", f"POST {here}", [change, no_variants])
        one = f"{path}/{answer['id']}"
        first = ["change-request-created", "change-added", "change-added", "change-request-sent-to-review"]
        step("olga", f"PUT {one}/state", {"state": "In review"}, *first)
        return one, [f"{one}/changes/{change['id']}" for change in answer["features"][0]["changes"]]

    one, (first, second) = draft()
    step("olga", f"PUT {first}", change, "change-edited", "change-request-sent-to-review")
    step("olga", f"DELETE {second}", None, "change-discarded", "change-request-sent-to-review")
    approved = "change-request-approval-added", "change-request-approved"
    step("root", f"PUT {one}/state", {"state": "Approved"}, *approved)
    later = {"state": "Scheduled", "scheduledAt": (datetime.now(UTC) + timedelta(days=1)).isoformat()}
    step("root", f"PUT {one}/state", later, "change-request-scheduled")
    step("root", f"PUT {one}/state", {"state": "Applied"}, "change-request-applied")
    step("root", f"PUT {draft()[0]}/state", {"state": "Rejected"}, "change-request-rejected")
    step("olga", f"PUT {draft()[0]}/state", {"state": "Cancelled"}, "change-request-cancelled")
    one, _ = draft()
    step("olga", f"PUT {one}/state", {"state": "Draft"})
    step("olga", f"DELETE {one}", None, "change-request-discarded")


def delete_project(story: Story) -> None:
    """A project with a flag and a token of its own is archived, revived, and deleted with both."""
    body: Json = {"id": "pluto", "name": "Pluto", "environments": ["development"]}
    story.step("key", "POST projects", body, event("project-created", "pluto", data=answered))
    favorite = event("project-favorited", "pluto", data={"project": "pluto"})
    story.step("olga", "POST projects/pluto/favorites", None, favorite)
    body = {"type": "client", "tokenName": "pluto's key", "environment": "development", "project": "pluto"}
    token = {"tokenName": "pluto's key", "projects": ["pluto"]}
    created = event("api-token-created", "pluto", environment="development", data=token)
    story.step("key", "POST api-tokens", body, created)
    created = event("feature-created", "pluto/ice", data=answered)
    story.step("key", "POST projects/pluto/features", {"name": "ice"}, created)
    propose_changes(story)
    archived = event("feature-archived", "pluto/ice")
    story.step("key", "POST projects/pluto/archive", {"features": ["ice"]}, archived)
    story.step("key", "POST projects/archive/pluto", None, event("project-archived", "pluto"))
    story.step("key", "POST projects/revive/pluto", None, event("project-revived", "pluto"))
    story.step(
        "key",
        "DELETE projects/pluto",
        None,
        event("feature-deleted", "pluto/ice", preData={"name": "ice", "archived": True}),
        event("api-token-deleted", "pluto", environment="development", preData={"tokenName": "pluto's key"}),
        event("project-deleted", "pluto"),
    )
    assert [each["id"] for each in story.read("/api/admin/projects")["projects"]] == ["apollo", "default", "hermes"]


def make_integration(story: Story) -> None:
    """An integration that is changed and deleted."""
    body: Json = {"provider": "slack", "enabled": False, "events": ["feature-created"]}
    parameters = {"url": "https://hooks.example.org/moon"}
    made = body | {"description": None, "projects": [], "environments": []}
    created = event("addon-config-created", data=made)
    path = f"addons/{story.step('eve', 'POST addons', body | {'parameters': parameters}, created)['id']}"
    change = {"projects": ["apollo"], "description": "Launches"}
    data = made | change | {"changedParameters": ["username"]}
    updated = event("addon-config-updated", data=data, preData=made)
    body |= change | {"parameters": {"url": "*****", "username": "Houston"}}
    story.step("eve", f"PUT {path}", body, updated)
    story.step("eve", f"DELETE {path}", None, event("addon-config-deleted", preData=made | change))
