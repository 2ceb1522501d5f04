"""The requests of the Unleash web UI 6.10, with the bodies and the order that it sends in Chromium, and their statuses;
and the requests of pages of 8.2.

Pages of parts that do not exist here are 404, and show nothing or little: docs/reference/compatibility.md.
"""

from typing import Any
from urllib.parse import parse_qs, quote, urlsplit

import pytest
from flask import Flask

from sql.database import Connection
from tests.support import records
from tests.support.instance import SETTINGS

PROJECT = "projects/default"
FLAGS = f"{PROJECT}/features"
NEW = {"type": "experiment", "name": "walk", "description": "A walk", "impressionData": True}


class Browser:
    """Sends what a page of the web UI sends: JSON, with the cookie of a login, from the same origin."""

    def __init__(self, app: Flask) -> None:
        self.app = app
        self.client = app.test_client()

    def ask(self, operation: str, body: Any = None, status: int = 200) -> Any:
        """Send a request (its path after /api/admin/, or whole), and return the JSON of the response."""
        method, path = operation.split(" ")
        # The UI declares JSON on every request that is no GET, also on those without a body.
        headers = {} if method == "GET" else {"Origin": "http://localhost", "Sec-Fetch-Site": "same-origin"}
        content = {} if method == "GET" else {"content_type": "application/json"}
        content |= {} if body is None else {"data": self.app.json.dumps(body)}
        path = path if path.startswith("/") else f"/api/admin/{path}"
        response = self.client.open(path, method=method, headers=headers, buffered=True, **content)
        assert response.status_code == status, f"{operation}: {response.status_code} {response.text}"
        records.check(self.app, response)
        return response.json if response.data and response.is_json else None

    def log_in(self, username: str, password: str) -> None:
        """Log in as the login form does."""
        self.ask("POST /auth/simple/login", {"username": username, "password": password})


@pytest.fixture
def ui(app: Flask, conn: Connection) -> Browser:  # noqa: ARG001
    """The web UI, after the administrator logged in."""
    browser = Browser(app)
    browser.log_in("admin", str(SETTINGS["INIT_ADMIN_PASSWORD"]))
    return browser


# --- Pages ------------------------------------------------------------------------------------------------------------

LIST = "search/features?offset=0&limit=25&favoritesFirst=true&sortBy=createdAt&sortOrder=desc"
SINCE = "from=IS%3A2025-11-22&to=IS%3A2026-11-22"
LOG = f"search/events?offset=0&limit=25&{SINCE}"
TIMELINE = """
    strategy-reactivated strategy-updated segment-updated segment-deleted feature-created feature-updated
    feature-variants-updated feature-archived feature-revived feature-strategy-update feature-strategy-add
    feature-strategy-remove feature-environment-enabled feature-environment-disabled release-plan-added
    release-plan-removed release-plan-milestone-started
""".split()
READ = """
    ui-config banners auth/simple/settings auth/oidc/settings user user/profile user/tokens user-admin user-admin/1
    invite-link/tokens environments projects/default/change-requests/config
    environments/project/default projects projects?archived=true projects/default/flag-creators
    projects/default/overview projects/default/dependencies projects/default/api-tokens api-tokens tags tags/simple
    tag-types feature-types features/walk/tags projects/default/features/walk?variantEnvironments=true
    projects/default/features/walk/parent-variants client-metrics/features/walk
    client-metrics/features/walk/raw?hoursBack=48 segments context context/userId context/userId/strategies strategies
    strategies/flexibleRollout archive/features metrics/applications?
    metrics/applications?offset=0&limit=25&sortBy=appName&sortOrder=asc
    search/features?sortBy=environment%3Adevelopment&sortOrder=asc&offset=0&limit=25&favoritesFirst=true
    search/events?query=walk&offset=0&limit=25&from=IS%3A2026-11-01&to=IS%3A2026-11-22
    projects/default/applications?offset=0&limit=25&sortBy=createdAt&sortOrder=desc user-admin/1/permissions
    personal-dashboard personal-dashboard/default projects/default/status lifecycle/count metrics/sdks/outdated
    projects/default/context?include=root flag-creators?limit=10000 addons
""".split()
# The lists of flags with each of their filters.
FILTERS = """
    archived=IS%3Atrue state=IS%3Astale type=IS_ANY_OF%3Arelease%2Cexperiment tag=INCLUDE%3Asimple%3Ateam
    createdBy=IS%3A1 createdAt=IS_ON_OR_AFTER%3A2026-11-20 segment=INCLUDE%3Aglobal query=walk
""".split()
READ += [LIST, *(f"{LIST}&project=IS%3Adefault&{text}" for text in FILTERS)]
READ += [LOG, f"{LOG}&project=IS%3Adefault", f"{LOG}&feature=IS%3Awalk"]
READ += [f"search/events?{SINCE}&type=IS_ANY_OF%3A{'%2C'.join(TIMELINE)}"]
READ += [f"{LOG}&createdBy=IS%3A1&type=IS%3Afeature-created&feature=IS%3Awalk&project=IS%3Adefault"]
MISSING = """
    projects/default/insights projects/undefined/overview instance-admin/statistics
    projects/default/features/default/parent-variants /api/instance/trafficBundles maintenance invoices
    metrics/traffic-search?grouping=daily&from=2026-11-01&to=2026-11-30 /api/instance/refresh telemetry/settings
    license license/check user-access-requests release-plan-templates
    scim-settings licensed-users insights/lifecycle?projects=
""".split()


def test_pages(ui):
    ui.ask(f"POST {FLAGS}", NEW, 201)
    for path in READ:
        ui.ask(f"GET {path}")
    for path in MISSING:
        ui.ask(f"GET {path}", status=404)


# --- Flags ------------------------------------------------------------------------------------------------------------


def create_flags(ui: Browser, *names: str) -> dict[str, list[str]]:
    """Fill in the form of a new flag, and return the body of a bulk action with these flags."""
    for name in names:
        ui.ask("POST features/validate", {"name": name, "projectId": "default"})
        ui.ask(f"POST {FLAGS}", NEW | {"name": name}, 201)
    return {"features": [*names]}


def test_create_and_edit_a_flag(ui):
    create_flags(ui, "walk")
    flag, path = ui.ask(f"GET {FLAGS}/walk?variantEnvironments=true"), f"{FLAGS}/walk"
    assert flag | NEW | {"project": "default"} == flag
    ui.ask("POST features/validate", {"name": "walk", "projectId": "default"}, 409)
    ui.ask("POST features/validate", {"name": "copy", "projectId": "default"})
    ui.ask(f"POST {path}/clone", {"name": "copy", "replaceGroupId": True}, 201)
    assert ui.ask(f"GET {FLAGS}/copy")["type"] == "experiment"
    for change in ({"description": "A longer walk", "type": "release"}, {"stale": True}, {"stale": False}):
        ui.ask(
            f"PATCH {path}",
            [{"op": "replace", "path": f"/{name}", "value": value} for name, value in change.items()],
        )
        flag = ui.ask(f"GET {path}")
        assert flag | change == flag
    place = f"{path}/environments/development"
    for switch, enabled in (("on?shouldActivateDisabledStrategies=false", True), ("off", False)):
        ui.ask(f"POST {place}/{switch}")
        assert ui.ask(f"GET {place}")["enabled"] is enabled
    for method, favorite in (("POST", True), ("DELETE", False)):
        ui.ask(f"{method} {path}/favorites")
        assert ui.ask(f"GET {path}")["favorite"] is favorite


def test_archive_revive_and_delete_a_flag(ui):
    one = create_flags(ui, "walk")
    for method, body in (("revive", one), ("delete", one)):
        ui.ask(f"POST {PROJECT}/archive/validate", one)
        ui.ask(f"DELETE {FLAGS}/walk", status=202)
        assert [flag["name"] for flag in ui.ask("GET archive/features")["features"]] == ["walk"]
        ui.ask(f"POST {PROJECT}/{method}", body)
        assert ui.ask("GET archive/features")["features"] == []


def test_bulk_actions(ui):
    both = create_flags(ui, "walk", "second")
    bulk = f"{PROJECT}/bulk_features/environments/development"
    ui.ask(f"POST {PROJECT}/stale", both | {"stale": True}, 202)
    ui.ask(f"POST {PROJECT}/stale", both | {"stale": False}, 202)
    ui.ask(f"POST {bulk}/on?shouldActivateDisabledStrategies=false", both)
    ui.ask(f"POST {bulk}/off?shouldActivateDisabledStrategies=false", both)
    ui.ask(f"POST {PROJECT}/archive/validate", both)
    ui.ask(f"POST {PROJECT}/archive", both, 202)
    archived = ui.ask(f"GET {LIST}&project=IS%3Adefault&archived=IS%3Atrue")["features"]
    assert {flag["name"] for flag in archived} == {"walk", "second"}
    ui.ask(f"POST {PROJECT}/revive", both)
    assert ui.ask(f"GET {FLAGS}")["features"][0]["archived"] is False


def test_export_and_import(ui):
    both = create_flags(ui, "walk", "second")
    # The button above the list sends no names.
    every = ui.ask("POST features-batch/export", {"features": [], "environment": "development", "project": "default"})
    assert {flag["name"] for flag in every["features"]} == {"walk", "second"}
    document = ui.ask("POST features-batch/export", {"features": ["walk"], "environment": "development"})
    assert [flag["name"] for flag in document["features"]] == ["walk"]
    # As if it came from another instance.
    ui.ask(f"POST {PROJECT}/archive", both, 202)
    ui.ask(f"POST {PROJECT}/delete", both)
    body = {"environment": "development", "project": "default", "data": document}
    assert ui.ask("POST features-batch/validate", body) == {"errors": [], "warnings": [], "permissions": []}
    ui.ask("POST features-batch/import", body)
    assert ui.ask(f"GET {FLAGS}/walk")["description"] == "A walk"


def test_tags(ui):
    both, tag, path = create_flags(ui, "walk", "second"), {"value": "team", "type": "simple"}, "features/walk/tags"
    ui.ask("POST tags", tag, 201)
    ui.ask(f"PUT {path}", {"addedTags": [tag], "removedTags": []})
    assert ui.ask(f"GET {path}")["tags"] == [tag]
    ui.ask(f"PUT {path}", {"addedTags": [], "removedTags": [tag]})
    assert ui.ask(f"GET {path}")["tags"] == []
    assert tag in ui.ask("GET tags/simple")["tags"]
    ui.ask(f"PUT {PROJECT}/tags", both | {"tags": {"addedTags": [tag], "removedTags": []}})
    for name in both["features"]:
        assert ui.ask(f"GET features/{name}/tags")["tags"] == [tag]


# --- Strategies -------------------------------------------------------------------------------------------------------

STRATEGIES = f"{FLAGS}/walk/environments/development/strategies"
CONSTRAINT = {
    "contextName": "appName",
    "operator": "IN",
    "values": ["shop", "cellar"],
    "caseInsensitive": False,
    "inverted": False,
}
VARIANT = {
    "stickiness": "default",
    "name": "blue",
    "weight": 1000,
    "payload": {"type": "string", "value": "sky"},
    "weightType": "variable",
}
FORM = {
    "name": "flexibleRollout",
    "title": "half of them",
    "constraints": [CONSTRAINT],
    "parameters": {"rollout": "100", "stickiness": "default", "groupId": "walk"},
    "variants": [VARIANT],
    "segments": [],
    "disabled": False,
}


def shown(ui: Browser, environment: str = "development") -> list[dict[str, Any]]:
    """The strategies that the page of the flag shows for an environment."""
    flag = ui.ask(f"GET {FLAGS}/walk?variantEnvironments=true")
    return next(place["strategies"] for place in flag["environments"] if place["name"] == environment)


def test_create_edit_and_copy_a_strategy(ui):
    create_flags(ui, "walk")
    ui.ask("POST constraints/validate", CONSTRAINT, 204)
    ui.ask(f"POST {STRATEGIES}", FORM)
    [strategy] = shown(ui)
    assert strategy | FORM == strategy
    path = f"{STRATEGIES}/{strategy['id']}"
    for disabled in (True, False):
        ui.ask(f"PATCH {path}", [{"path": "/disabled", "value": disabled, "op": "replace"}])
        assert [strategy["disabled"] for strategy in shown(ui)] == [disabled]
    # A copy is sent with the id and the place of the original.
    copy = {name: strategy[name] for name in (*FORM, "sortOrder", "id")}
    ui.ask(f"POST {FLAGS}/walk/environments/production/strategies", copy)
    ui.ask(f"POST {STRATEGIES}", copy)
    copies = [*shown(ui, "production"), *(each for each in shown(ui) if each["id"] != strategy["id"])]
    assert [each | FORM for each in copies] == copies
    assert len({strategy["id"], *(each["id"] for each in copies)}) == 3
    order = [{"id": copies[1]["id"], "sortOrder": 0}, {"id": strategy["id"], "sortOrder": 1}]
    ui.ask(f"POST {STRATEGIES}/set-sort-order", order)
    assert [each["id"] for each in shown(ui)] == [copies[1]["id"], strategy["id"]]
    ui.ask(f"DELETE {STRATEGIES}/{copies[1]['id']}")
    ui.ask(f"GET {path}")
    ui.ask(f"PUT {path}", FORM | {"title": "edited", "parameters": FORM["parameters"] | {"rollout": "50"}})
    [edited] = shown(ui)
    assert (edited["title"], edited["parameters"]["rollout"]) == ("edited", "50")


def test_default_strategy(ui):
    strategy = FORM | {"constraints": [], "variants": [], "parameters": FORM["parameters"] | {"groupId": ""}}
    ui.ask(f"POST {PROJECT}/environments/development/default-strategy", strategy)
    linked = ui.ask("GET environments/project/default")["environments"]
    default = next(place["defaultStrategy"] for place in linked if place["name"] == "development")
    assert default | strategy == default


# --- Catalog ----------------------------------------------------------------------------------------------------------


def test_segment(ui):
    # The form checks the name while it is typed.
    for length in range(1, 8):
        ui.ask("POST segments/validate", {"name": "walkers"[:length]}, 204)
    new = {"name": "walkers", "description": "", "project": "default", "constraints": [CONSTRAINT]}
    path = f"segments/{ui.ask('POST segments', new, 201)['id']}"
    ui.ask(f"PUT {path}", new | {"description": "For all of them"}, 204)
    assert ui.ask(f"GET {path}")["description"] == "For all of them"
    ui.ask(f"GET {path}/strategies")
    ui.ask(f"DELETE {path}", status=204)


TARIFF = {
    "name": "tariff",
    "description": "",
    "legalValues": [{"value": "small", "description": ""}],
    "stickiness": True,
}
PARAMETER = {"name": "tariffs", "type": "string", "description": "Which ones", "required": False}
BY_TARIFF = {"name": "byTariff", "description": "By tariff", "parameters": [PARAMETER]}
COPY = {"name": "copy", "type": "development", "projects": ["default"], "clonePermissions": True}
# What the forms and menus of the catalog send, in this order. The tests of the API check the effects.
FORMS: list[tuple[str, Any, int]] = [
    ("POST context/validate", {"name": "tariff"}, 200),
    ("POST context", TARIFF, 201),
    ("PUT context/tariff", TARIFF, 200),
    ("DELETE context/tariff", None, 200),
    ("POST strategies", BY_TARIFF, 201),
    ("PUT strategies/byTariff", BY_TARIFF, 200),
    ("POST strategies/byTariff/deprecate", None, 200),
    ("POST strategies/byTariff/reactivate", None, 200),
    ("DELETE strategies/byTariff", None, 200),
    ("POST tag-types/validate", {"name": "team"}, 200),
    ("POST tag-types", {"name": "team", "description": "Who cares for it"}, 201),
    ("PUT tag-types/team", {"name": "team", "description": "Who cares"}, 200),
    ("DELETE tag-types/team", None, 200),
    ("PUT feature-types/kill-switch/lifetime", {"lifetimeDays": 12}, 200),
    ("POST environments/validate", {"name": "lab"}, 200),
    ("POST environments", {"name": "lab", "type": "test"}, 201),
    ("PUT environments/update/lab", {"type": "development", "sortOrder": 3, "requiredApprovals": None}, 200),
    ("POST environments/lab/off", None, 204),
    ("POST environments/lab/on", None, 204),
    ("PUT environments/sort-order", {"lab": 1, "development": 2, "production": 3}, 200),
    ("POST environments/development/clone", COPY, 200),
    ("DELETE environments/lab", None, 200),
    (f"DELETE {PROJECT}/environments/development", None, 200),
    (f"POST {PROJECT}/environments", {"environment": "development"}, 200),
]


def test_forms(ui):
    for operation, body, status in FORMS:
        ui.ask(operation, body, status)


# --- Access -----------------------------------------------------------------------------------------------------------


def test_access_to_a_project(ui):
    access = f"{PROJECT}/access"
    user, owner = (
        ui.ask("POST user-admin", {"name": name, "email": f"{name}@example.org", "rootRole": 3}, 201)["id"]
        for name in ("max", "olga")
    )
    group = ui.ask("POST groups", {"name": "crew", "users": []}, 201)["id"]
    ui.ask("GET user-admin/access")
    ui.ask("GET user/roles?projectId=default")
    for role, given in ((4, {"users": [owner]}), (5, {"users": [user]}), (4, {"groups": [group]})):
        ui.ask(f"POST {access}", {"roles": [role], "groups": [], "users": []} | given)
    ui.ask(f"PUT {PROJECT}/users/{user}/roles", {"roles": [5, 4]})
    ui.ask(f"PUT {PROJECT}/groups/{group}/roles", {"roles": [5]})
    ui.ask(f"DELETE {PROJECT}/users/{user}/roles")
    ui.ask(f"DELETE {PROJECT}/groups/{group}/roles")
    page = ui.ask(f"GET {access}")
    assert ([user["id"] for user in page["users"]], page["groups"]) == ([owner], [])


@pytest.mark.parametrize(
    ("tokens", "form", "created"),
    [
        (f"{PROJECT}/api-tokens", {"type": "CLIENT", "projects": ["default"]}, ("client", "default")),
        ("api-tokens", {"type": "FRONTEND", "projects": ["*"]}, ("frontend", "*")),
    ],
)
def test_api_token(ui, tokens, form, created):
    token = ui.ask(f"POST {tokens}", {"username": "walk-token", "environment": "development"} | form, 201)
    assert (token["tokenName"], token["type"], token["project"]) == ("walk-token", *created)
    assert token["secret"].startswith(f"{created[1]}:development.")
    assert token["secret"] in {each["secret"] for each in ui.ask(f"GET {tokens}")["tokens"]}
    # The colon and the star are not encoded.
    ui.ask(f"DELETE {tokens}/{quote(token['secret'], safe=':*')}")
    assert token["secret"] not in {each["secret"] for each in ui.ask(f"GET {tokens}")["tokens"]}


def test_personal_token(ui):
    created = ui.ask("POST user/tokens", {"description": "walk pat", "expiresAt": "2099-12-22T17:51:06.136Z"}, 201)
    assert created["secret"].startswith("user:")
    assert [pat["description"] for pat in ui.ask("GET user/tokens")["pats"]] == ["walk pat"]
    ui.ask(f"DELETE user/tokens/{created['id']}")
    assert ui.ask("GET user/tokens")["pats"] == []


# --- Users ------------------------------------------------------------------------------------------------------------

WALTER = {"name": "Walter Walker", "email": "walter@example.org", "sendEmail": False, "rootRole": 2}
FIRST, SECOND, THIRD = "Walk-1-the-line!", "Walk-2-the-line!", "Walk-3-the-line!"


def set_password(app: Flask, link: str, page: str, password: str) -> dict[str, Any]:
    """Open a link, set a password and log in with it; return what the page of the link shows."""
    parts = urlsplit(link)
    assert parts.path == page
    token, guest = parse_qs(parts.query)["token"][0], Browser(app)
    shown = guest.ask(f"GET /auth/reset/validate?token={token}")
    # The form checks the password while it is typed.
    guest.ask("POST /auth/reset/validate-password", {"password": password[:4]}, 400)
    guest.ask("POST /auth/reset/validate-password", {"password": password})
    guest.ask("POST /auth/reset/password", {"token": token, "password": password})
    guest.log_in(shown["email"], password)
    assert guest.ask("GET user")["user"]["email"] == shown["email"]
    return shown


def test_user(ui, app):
    created = ui.ask("POST user-admin", WALTER, 201)
    path = f"user-admin/{created['id']}"
    page = ui.ask("GET user-admin")
    assert "walter@example.org" in {user.get("email") for user in page["users"]}
    assert {role["id"] for role in page["rootRoles"]} == {1, 2, 3}
    shown = set_password(app, created["inviteLink"], "/new-user", FIRST)
    assert (shown["name"], shown["createdBy"], shown["role"]["name"]) == ("Walter Walker", "admin", "Editor")
    link = ui.ask("POST user-admin/reset-password", {"id": "walter@example.org"})["resetPasswordUrl"]
    set_password(app, link, "/reset-password", SECOND)
    # The form sends the id of the address bar, as text.
    ui.ask(f"PUT {path}", WALTER | {"name": "Walt Walker", "rootRole": 3, "id": str(created["id"])})
    user = ui.ask(f"GET {path}")
    assert (user["name"], user["rootRole"]) == ("Walt Walker", 3)
    ui.ask(f"DELETE {path}")
    ui.ask(f"GET {path}", status=404)


def test_passwords(ui, app):
    path = f"user-admin/{ui.ask('POST user-admin', WALTER, 201)['id']}/change-password"
    ui.ask(f"POST {path}", {"password": SECOND})
    own = Browser(app)
    own.log_in("walter@example.org", SECOND)
    body = {"password": THIRD, "confirmPassword": THIRD, "oldPassword": "wrong"}
    own.ask("GET user/profile")
    own.ask("POST user/change-password", body, 401)
    own.ask("POST user/change-password", body | {"oldPassword": SECOND})
    own.ask("GET user", status=401)
    own.log_in("walter@example.org", THIRD)
    assert own.client.post("/logout").status_code == 302
    own.ask("GET user", status=401)


def test_signup(ui, app):
    tokens, guest = "invite-link/tokens", Browser(app)
    token = ui.ask(f"POST {tokens}", {"name": "default", "expiresAt": "2099-11-24T17:49:26.400Z"}, 201)
    assert token["url"] == f"http://localhost/new-user?invite={token['secret']}"
    path, invite = f"{tokens}/{token['secret']}", f"/invite/{token['secret']}"
    ui.ask(f"PUT {path}", {"expiresAt": "2099-12-24T17:50:13.651Z"})
    guest.ask(f"GET {invite}/validate")
    grace = {"name": "Grace", "email": "grace@example.org", "password": THIRD}
    guest.ask(f"POST {invite}/signup", grace)
    guest.log_in("grace@example.org", THIRD)
    assert guest.ask("GET user")["user"]["email"] == "grace@example.org"
    # "Delete link" disables it.
    ui.ask(f"PUT {path}", {"enabled": False})
    guest.ask(f"GET {invite}/validate", status=403)
    guest.ask(f"POST {invite}/signup", grace | {"email": "late@example.org"}, 403)
