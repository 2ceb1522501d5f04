"""The people: users of each root role with their tokens, a service account, roles, groups, an invitation, keys for
machines.
"""

from typing import Any

from tests.support.story import PASSWORDS, Having, Session, Story, event, of
from tests.support.world import Caller

SOON = "2031-05-31T22:00:00.000Z"
LATER = "2032-01-01T00:00:00.000Z"
USERS = "/api/admin/user-admin"


def log_in(story: Story, name: str, password: str) -> Session:
    """The session of a user, known by address or, without one, by user name."""
    body = {"username": name, "password": password}
    user = story.step(Caller(story.app), "POST /auth/simple/login", body)
    story.answers.setdefault("logins", []).append(user)
    cookie = story.response.headers["Set-Cookie"].split("session=")[1].split(";")[0]
    return Session(story.app, None, user["id"], user.get("email") or user["username"], cookie)


def personal_token(story: Story, session: Session, name: str) -> Caller:
    """The same user with a personal access token."""
    body = {"description": name, "expiresAt": SOON}
    recorded = event("pat-created", data=of(**body, userId=session.id))
    created = story.step(session, "POST /api/admin/user/tokens", body, recorded)
    story.ids[name] = created["id"]
    return Caller(story.app, created["secret"], session.id, session.email)


def tell(story: Story) -> None:
    """The administrator logs in and lets everybody in."""
    root = story.people["root"] = log_in(story, "admin", str(story.app.config["INIT_ADMIN_PASSWORD"]))
    make_roles(story)
    make_users(story, root)
    invite_victor(story, root)
    change_users(story, root)
    make_groups(story)
    make_service_account(story)
    make_api_tokens(story)


def make_roles(story: Story) -> None:
    """A root role of founders, a project role of operators, and one that goes again."""

    def make(name: str, type: str, *permissions: dict[str, Any]) -> int:
        body = {"name": name, "description": "", "type": type, "permissions": list(permissions)}
        recorded = event("role-created", data=of(**body, project=None))
        answer = story.step(story.key, "POST /api/admin/roles", body, recorded)
        return answer["roles"]["id"]

    story.ids["Founder"] = make("Founder", "root-custom", {"name": "CREATE_PROJECT"})
    story.ids["Operator"] = make(
        "Operator",
        "custom",
        {"name": "CREATE_FEATURE_STRATEGY", "environment": "production"},
        {"name": "UPDATE_FEATURE_ENVIRONMENT", "environment": "production"},
    )
    role = story.ids["Automaton"] = make("Machine", "root-custom", {"name": "UPDATE_FEATURE_ENVIRONMENT"})
    before = {"id": role, "name": "Machine", "description": "", "type": "root-custom"}
    permissions = [{"name": "UPDATE_FEATURE"}, {"name": "UPDATE_FEATURE_ENVIRONMENT"}]
    after = {
        "name": "Automaton",
        "description": "Works without a human",
        "type": "root-custom",
        "permissions": permissions,
    }
    before |= {"project": None, "permissions": permissions[1:]}
    changed = event("role-updated", data=before | after, preData=before)
    story.step(story.key, f"PUT /api/admin/roles/{role}", after, changed)
    role = make("Short-lived", "custom")
    gone = {"id": role, "name": "Short-lived", "description": "", "type": "custom", "project": None, "permissions": []}
    story.step(story.key, f"DELETE /api/admin/roles/{role}", None, event("role-deleted", preData=gone))


def make_users(story: Story, root: Session) -> None:
    """Eve edits, Olga may found projects, Max views until a project gives a role, Nora never logs in."""

    def make(caller: Caller, root_role: int | str, **fields: str) -> int:
        known = {name: text for name, text in fields.items() if name != "password"}
        role = {"Viewer": 3, "Editor": 2}.get(str(root_role), root_role)
        recorded = event("user-created", data=of(**known, rootRole=role))
        return story.step(caller, f"POST {USERS}", {"rootRole": root_role} | fields, recorded)["id"]

    eve = {"name": "Eve", "username": "eve", "email": "eve@example.org"}
    story.ids["eve"] = make(root, 2, **eve, password=PASSWORDS["eve"])
    story.ids["olga"] = make(
        root, story.ids["Founder"], name="Olga", email="olga@example.org", password=PASSWORDS["olga"]
    )
    max = {"name": "Max", "username": "max", "email": "max@example.org"}
    story.ids["max"] = make(root, "Viewer", **max)
    story.ids["nora"] = make(story.key, 3, name="Nora", email="nora@example.org")
    recorded = {"id": story.ids["max"], "rootRole": 3} | max
    link = story.step(root, f"POST {USERS}/reset-password", {"id": "max"})["resetPasswordUrl"]
    by_max = {"createdBy": max["email"], "createdByUserId": story.ids["max"]}
    first = {"token": link.partition("token=")[2], "password": "a first password of Max"}
    changed = event("user-updated", data=recorded, preData=recorded, **by_max)
    story.step(Caller(story.app), "POST /auth/reset/password", first, changed)
    place = f"{USERS}/{story.ids['max']}/change-password"
    story.step(
        root, f"POST {place}", {"password": PASSWORDS["max"]}, event("user-updated", data=recorded, preData=recorded)
    )
    for name in ("eve", "olga", "max"):
        session = log_in(story, f"{name}@example.org", PASSWORDS[name])
        story.people[name] = personal_token(story, session, f"{name}'s token")


def invite_victor(story: Story, root: Session) -> None:
    """Victor follows an invitation, which was disabled for a while."""
    tokens = "/api/admin/invite-link/tokens"
    created = {"name": "newcomers", "enabled": True, "expiresAt": SOON}
    token = story.step(
        root,
        f"POST {tokens}",
        {"name": "newcomers", "expiresAt": SOON},
        event("public-signup-token-created", data=of(**created)),
    )
    story.ids["newcomers"] = token["secret"]
    place = f"{tokens}/{token['secret']}"
    off = created | {"enabled": False}
    body: dict[str, Any]
    for caller, body, before, after in (
        (root, {"enabled": False}, created, off),
        (story.key, {"enabled": True, "expiresAt": LATER}, off, created | {"expiresAt": LATER}),
    ):
        recorded = event("public-signup-token-updated", data=of(**after), preData=of(**before))
        story.answers["invitation"] = story.step(caller, f"PUT {place}", body, recorded)
        usable = Caller(story.app).get(f"/invite/{token['secret']}/validate").status_code
        assert usable == (200 if after["enabled"] else 403)
    victor = {"name": "Victor", "username": "victor", "email": "victor@example.org"}

    def his_id(answer: Any) -> int:
        return answer["id"]

    author = {"createdBy": "victor@example.org", "createdByUserId": his_id}
    recorded = [
        event("user-created", data=lambda answer: {"id": answer["id"], "rootRole": 3} | victor, **author),
        event(
            "public-signup-token-user-added", data=lambda answer: of(name="newcomers", userId=answer["id"]), **author
        ),
    ]
    stranger = Caller(story.app)
    password = {"password": PASSWORDS["victor"]}
    signed_up = story.step(stranger, f"POST /invite/{token['secret']}/signup", victor | password, *recorded)
    story.ids["victor"] = signed_up["id"]
    story.answers["signup"] = signed_up
    session = log_in(story, "victor", PASSWORDS["victor"])
    story.people["victor"] = personal_token(story, session, "victor's token")
    spare = {"description": "spare", "expiresAt": SOON, "userId": session.id}
    personal_token(story, session, "spare")
    id = story.ids.pop("spare")
    story.step(session, f"DELETE /api/admin/user/tokens/{id}", None, event("pat-deleted", data={"id": id} | spare))
    story.step(session, "POST /logout")
    assert session.get("/api/admin/user").status_code == 401
    assert story.people["victor"].get("/api/admin/user").status_code == 200


def change_users(story: Story, root: Session) -> None:
    """Nora gets a longer name, Rex goes, and Eve takes another password."""
    nora = {"id": story.ids["nora"], "name": "Nora", "email": "nora@example.org", "rootRole": 3}
    recorded = event("user-updated", data=nora | {"name": "Nora N."}, preData=nora)
    story.step(root, f"PUT {USERS}/{nora['id']}", {"name": "Nora N."}, recorded)
    rex = {"username": "rex", "rootRole": 1}
    rex["id"] = story.step(root, f"POST {USERS}", rex, event("user-created", data=of(**rex)))["id"]
    story.step(root, f"DELETE {USERS}/{rex['id']}", None, event("user-deleted", preData=rex))
    session = log_in(story, "eve", PASSWORDS["eve"])
    new = "Eve's other horse, battery, staple"
    change = {"oldPassword": PASSWORDS["eve"], "password": new, "confirmPassword": new}
    story.step(session, "POST /api/admin/user/change-password", change)
    assert session.get("/api/admin/user").status_code == 401
    assert log_in(story, "eve", new).get("/logout").status_code == 302


def make_groups(story: Story) -> None:
    """A crew of Max and Nora, visitors of whom Nora stays, and a group that goes again."""

    def make(name: str, *users: str) -> dict[str, Any]:
        body = {"name": name, "description": None, "mappingsSSO": [], "rootRole": None}
        members = [{"user": {"id": story.ids[user]}} for user in users]
        recorded = of(**body, users=[story.ids[user] for user in users])
        created = story.step(
            story.key, "POST /api/admin/groups", body | {"users": members}, event("group-created", data=recorded)
        )
        story.ids[name] = created["id"]
        return recorded | {"id": created["id"]}

    make("crew", "max", "nora")
    visitors = make("visitors", "nora", "victor")
    change = {"name": "visitors", "description": "Look around", "mappingsSSO": ["guests"], "rootRole": 3}
    recorded = event("group-updated", data=visitors | change | {"users": [story.ids["nora"]]}, preData=visitors)
    members = [{"user": {"id": story.ids["nora"]}}]
    story.step(story.key, f"PUT /api/admin/groups/{visitors['id']}", change | {"users": members}, recorded)
    short_lived = make("short-lived")
    story.step(
        story.key, f"DELETE /api/admin/groups/{short_lived['id']}", None, event("group-deleted", preData=short_lived)
    )


def make_service_account(story: Story) -> None:
    """A robot that may switch flags everywhere, by a token; and one that goes again."""
    path = "/api/admin/service-account"

    def make(username: str, root_role: int) -> dict[str, Any]:
        body = {"username": username, "name": username.title(), "rootRole": root_role}
        recorded = event("service-account-created", data=of(**body))
        return body | {"id": story.step(story.key, f"POST {path}", body, recorded)["id"]}

    robot = make("robot", 3)
    change = {"rootRole": story.ids["Automaton"]}
    recorded = event("service-account-updated", data=robot | change, preData=robot)
    story.step(story.key, f"PUT {path}/{robot['id']}", change, recorded)
    story.ids["robot"] = robot["id"]
    for name in ("work", "spare"):
        body = {"description": name, "expiresAt": SOON}
        token = of(**body, userId=robot["id"])
        created = story.step(story.key, f"POST {path}/{robot['id']}/token", body, event("pat-created", data=token))
        if name == "work":
            story.people["robot"] = Caller(story.app, created["secret"], robot["id"], "robot")
    place = f"{path}/{robot['id']}/token/{created['id']}"
    story.step(story.key, f"DELETE {place}", None, event("pat-deleted", data=token | {"id": created["id"]}))
    spare = make("spare", 3)
    story.step(story.key, f"DELETE {path}/{spare['id']}", None, event("service-account-deleted", preData=spare))


def make_api_tokens(story: Story) -> None:
    """A key of each kind; that of the browsers is prolonged, that of the administrator revoked."""
    path = "/api/admin/api-tokens"

    def without_secret(answer: Any) -> Any:
        return {name: value for name, value in answer.items() if name != "secret"}

    for kind, environment in (("client", "development"), ("frontend", "production"), ("admin", "*")):
        body = {"type": kind, "tokenName": f"{kind} key", "environment": environment, "projects": ["*"]}
        recorded = event("api-token-created", project="*", environment=environment, data=without_secret)
        created = story.step(story.key, f"POST {path}", body, recorded)
        story.answers[kind] = created
        if kind == "client":
            application = {"appName": "shop", "strategies": ["default"], "interval": 15}
            known = event("application-created", createdBy="system", createdByUserId=None, data={"appName": "shop"})
            sdk = Caller(story.app, created["secret"])
            story.step(sdk, "POST /api/client/register", application, known)
        before = without_secret(created)
        place = {"project": "*", "environment": environment}
        if kind == "frontend":
            recorded = event("api-token-updated", data=before | {"expiresAt": SOON}, preData=before, **place)
            story.step(story.key, f"PUT {path}/{created['secret']}", {"expiresAt": SOON}, recorded)
        if kind == "admin":
            admin = Caller(story.app, created["secret"])
            assert admin.get(path).status_code == 200
            seen = Having({name: value for name, value in before.items() if name != "seenAt"})
            story.step(
                story.key, f"DELETE {path}/{created['secret']}", None, event("api-token-deleted", preData=seen, **place)
            )
            assert admin.get(path).status_code == 401
