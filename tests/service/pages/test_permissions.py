"""Readers see a control if the API permits its request, and otherwise not."""

import json
from typing import Any, LiteralString
from xml.etree.ElementTree import Element

import pytest

from sql.database import Connection, rows, value
from sql.people import groups, roles
from tests.support import fixtures, segments
from tests.support.page import Page, open_page, text_of
from tests.support.reports import register
from tests.support.roles import make as make_role
from tests.support.world import Caller, World

PROJECT = "/projects/apollo"
FLAG = f"{PROJECT}/flags/moon"
API = "/api/admin"
PERMISSIONS = "SELECT name, type FROM permissions WHERE name <> 'ADMIN' ORDER BY id"


def prepare(world: World, alice: Caller, conn: Connection) -> list[str]:
    """Create something for each control, and return the paths of the pages."""
    world.project("apollo")
    world.project("old")
    flags = {name: world.flag(name, "apollo") for name in ("moon", "sun", "gone")}
    # A switch needs another permission if there is no strategy yet. Two of them can be moved.
    for place in ("development", "production"):
        world.strategy(flags["sun"], place)
        world.strategy(flags["moon"], place)
        strategy = world.strategy(flags["moon"], place)
    fixtures.tag(conn, flags["moon"], "simple", "beta")
    fixtures.mark_stale(conn, flags["sun"])
    register(world.api_key("client"), appName="shop")
    world.member("apollo", world.user("Sam"), 5)
    shared, own = segments.make(alice), segments.make(alice, "Ours", project="apollo")
    group = groups.insert(conn, "Team", description="", root_role=None, mappings_sso=[])
    for method, path, body in (
        ("DELETE", f"{PROJECT}/features/gone", None),
        ("POST", "/projects/archive/old", None),
        ("POST", f"{PROJECT}/features/moon/dependencies", {"feature": "sun"}),
        ("POST", f"{PROJECT}/api-tokens", {"tokenName": "a", "type": "client", "environment": "development"}),
        ("POST", f"{PROJECT}/api-tokens", {"tokenName": "b", "type": "frontend", "environment": "development"}),
    ):
        assert alice.request(method, API + path, json=body).status_code < 300, path
    return [
        *("/", "/archived-projects", PROJECT, "/projects/old", f"{PROJECT}/flags/gone", FLAG),
        *(f"{PROJECT}/{tab}" for tab in ("archive", "cleanup", "access", "environments", "tokens", "settings")),
        *(f"{PROJECT}/compare", f"{FLAG}/compare"),
        *(f"{FLAG}/environments/production/strategies/{end}" for end in ("new", strategy)),
        *("/admin/api-tokens", "/admin/environments", "/admin/tag-types", "/admin/applications", "/admin/roles"),
        *("/admin/segments", "/admin/segments/new", f"/admin/segments/{shared}", f"/admin/segments/{own}"),
        *("/admin/context-fields", "/admin/context-fields/userId", "/admin/roles/4", f"/admin/groups/{group}"),
        *(f"/admin/{name}" for name in ("users", "groups", "service-accounts", "signup-tokens")),
    ]


def requests_of(caller: Caller, path: str) -> set[tuple[str, str, str | None]] | None:
    """Return the requests that the page sends, with the bodies that are not from fields. None if it is refused."""
    response = caller.get(path, headers={"Accept": "text/html"})
    if response.status_code == 403:
        return None
    assert response.status_code == 200, response.text
    forms = Page(response).all(".//form[@data-send]")
    return {(form.get("data-send", ""), form.get("data-path", ""), form.get("data-body")) for form in forms}


def is_refused(caller: Caller, conn: Connection, method: str, path: str, body: str | None) -> bool:
    """Return whether the API refuses the request with 403. Its changes are undone."""
    sent = {} if method == "DELETE" else {"json": json.loads(body or "{}")}
    with conn.transaction(force_rollback=True):
        return caller.request(method, path.replace("{secret}", "unknown"), **sent).status_code == 403


@pytest.mark.slow
def test_controls_are_those_that_the_api_permits(world: World, alice: Caller, conn: Connection) -> None:
    pages = prepare(world, alice, conn)
    everything = {path: requests_of(alice, path) or set() for path in pages}
    assert sum(len(requests) for requests in everything.values()) >= 100
    # Each permission alone, on each page that the reader can open.
    wrong: list[tuple[str, ...]] = []
    for permission in rows(conn, PERMISSIONS):
        name, type = permission["name"], permission["type"]
        role = roles.insert(conn, name, type="root-custom" if type == "root" else "custom")
        fixtures.allow(conn, role, name, environment="production" if type == "environment" else None)
        reader = world.user(name.lower(), role if type == "root" else 3)
        for project in ("apollo", "old", "default") if type != "root" else ():
            world.member(project, reader, role)
        for page, requests in everything.items():
            seen = requests_of(reader, page)
            if seen is None:
                continue
            for method, path, body in requests:
                if is_refused(reader, conn, method, path, body) == ((method, path, body) in seen):
                    wrong.append((name, page, method, path))
    assert wrong == []


OWN = "SELECT id FROM segments WHERE project_id = 'apollo'"
# What somebody types into the forms that propose changes.
TYPED = {
    "addDependency": {"feature": "sun"},
    "patchVariant": {"variants": []},
    "addStrategy": {"name": "default"},
    "updateStrategy": {"name": "default"},
    "updateSegment": {"name": "New", "constraints": []},
}


def answer(caller: Caller, conn: Connection, form: Element) -> str | None:
    """Send a form, and undo that if the page offers it. Return a refusal because of change requests, or None."""
    method, path = form.get("data-send", ""), form.get("data-path", "").replace("{secret}", "unknown")
    body: dict[str, Any] = json.loads(form.get("data-body", "{}"))
    if proposal := form.get("data-proposal"):
        body = json.loads(proposal)
        body["payload"] = TYPED[body["action"]] | body.get("payload", {})
    elif path.endswith("/changeProject"):
        body = {"newProjectId": form.findall(".//option")[0].get("value")}
    with conn.transaction(force_rollback=True):
        responses = [caller.request(method, path, **({} if method == "DELETE" else {"json": body}))]
        if "Event-Id" in responses[0].headers and form.get("data-final") is None:
            responses.append(caller.post(f"{API}/events/{responses[0].headers['Event-Id']}/undo"))
    assert not proposal or responses[0].status_code == 200, responses[0].text
    refusals = [one.text for one in responses if one.status_code >= 400 and "hange requests are on" in one.text]
    return refusals[0] if refusals else None


@pytest.mark.parametrize(
    ("where", "skips"),
    [("environment = 'production'", None), ("true", None), ("true", "production"), ("project_id = 'default'", None)],
)
def test_no_button_is_refused_because_change_requests_are_on(
    world: World, alice: Caller, conn: Connection, where: LiteralString, skips: str | None
) -> None:
    pages = [*prepare(world, alice, conn), "/events"]
    conn.execute("""
        INSERT INTO strategy_segments
        SELECT strategies.id, segments.id FROM segments, strategies JOIN flags ON flags.id = flag_id
         WHERE flags.name = 'moon'
    """)
    for method, path, body in (
        ("PUT", f"/segments/{value(conn, OWN)}", {"name": "Ours", "project": "apollo", "constraints": []}),
        ("POST", f"{PROJECT}/features/moon/environments/production/on", None),
        ("POST", "/archive/revive/gone", None),
        ("DELETE", f"{PROJECT}/features/gone", None),
    ):
        assert alice.request(method, API + path, json=body).status_code < 300, path
    role = roles.insert(conn, "Everything", type="root-custom")
    for permission in rows(conn, PERMISSIONS):
        if permission["name"] != "SKIP_CHANGE_REQUEST" or skips:
            only = skips if permission["name"] == "SKIP_CHANGE_REQUEST" else None
            fixtures.allow(conn, role, permission["name"], environment=only)
    conn.execute(f"UPDATE project_environments SET required_approvals = 1 WHERE {where}")
    reader, asked, wrong = world.user("Ada", role), 0, []
    for page in pages:
        response = reader.get(page, headers={"Accept": "text/html"})
        if response.status_code == 403:
            continue
        for form in Page(response).all(".//form[@data-send]"):
            asked += 1
            if refusal := answer(reader, conn, form):
                wrong.append((page, form.get("data-send"), form.get("data-path"), refusal))
    assert wrong == []
    assert asked >= 80


def test_viewers_see_no_control_but_favorites(world: World, alice: Caller, victor: Caller, conn: Connection) -> None:
    for path in prepare(world, alice, conn):
        seen = requests_of(victor, path) or set()
        assert {request for request in seen if not request[1].endswith("/favorites")} == set(), path


def test_buttons_that_ask_first_end_in_dots(world: World, alice: Caller, conn: Connection) -> None:
    pages = [open_page(alice, path) for path in prepare(world, alice, conn) if "/flags/" not in path]
    buttons = [button for page in pages for button in page.all(".//form[@data-confirm]/button")]
    texts = {text_of(button) for button in buttons if button.get("role") != "switch"}
    assert len(texts) >= 5
    assert {text for text in texts if not text.endswith("…")} == set()


def test_permission_in_one_environment_shows_its_controls(world: World, alice: Caller, victor: Caller) -> None:
    flag = world.flag("checkout", enabled_in=("production",))
    strategies = {place: world.strategy(flag, place) for place in ("development", "production")}
    page = "/projects/default/flags/checkout"
    forms = [f"{page}/environments/development/strategies/{end}" for end in ("new", strategies["development"])]
    project = open_page(victor, "/projects/default")
    assert project.texts(".//td[@data-label='production']") == ["on some"]
    assert project.texts(".//td[@data-label='development']") == ["off"]
    for path in forms:
        open_page(victor, path, 403)
    permissions = [
        {"name": "UPDATE_FEATURE_ENVIRONMENT", "environment": "development"},
        {"name": "CREATE_FEATURE_STRATEGY", "environment": "development"},
        {"name": "UPDATE_FEATURE_STRATEGY", "environment": "development"},
        {"name": "DELETE_FEATURE_STRATEGY", "environment": "production"},
    ]
    world.member("default", victor, make_role(alice, permissions=permissions))
    switches = open_page(victor, "/projects/default").all(".//*[@role='switch']")
    assert [button.get("aria-label") for button in switches] == ["checkout in development"]
    deletions = {path for method, path in open_page(victor, page).requests if method == "DELETE"}
    path = f"{API}/projects/default/features/checkout/environments/production/strategies"
    assert deletions == {f"{path}/{strategies['production']}"}
    for path in forms:
        open_page(victor, path)
        open_page(victor, path.replace("development", "production"), 403)
