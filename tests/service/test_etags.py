"""The ETags of records, and changes with If-Match."""

import json
from typing import Any, NamedTuple
from xml.etree.ElementTree import Element

import pytest
from werkzeug.test import TestResponse

from sql.database import value
from tests.support.page import open_page, text_of
from tests.support.teams import Team
from tests.support.world import Caller, World, refused

PROJECTS = "/api/admin/projects"
FLAG = f"{PROJECTS}/default/features/checkout"
STRATEGIES = f"{FLAG}/environments/development/strategies"
SEGMENT = {"name": "Nordics", "constraints": []}
ROLE = {"name": "Helper", "type": "custom", "permissions": [{"name": "UPDATE_FEATURE"}]}
VERSION = "SELECT version FROM flags WHERE name = 'checkout'"
BLUE = {"name": "blue", "weight": 1000, "weightType": "variable", "stickiness": "default"}
FIELD = {"name": "planet", "legalValues": [{"value": "Mars"}]}


class Kind(NamedTuple):
    """Where a record is created and with which body, where it is then, and two changes."""

    collection: str
    new: dict[str, Any]
    path: str
    one: dict[str, Any]
    two: dict[str, Any]


KINDS = {
    "flag": Kind(f"{PROJECTS}/default/features", {"name": "x"}, "{name}", {"description": "One"}, {"stale": True}),
    "strategy": Kind(STRATEGIES, {"name": "default"}, "{id}", {"variants": [BLUE]}, {"segments": [1000]}),
    "project": Kind(PROJECTS, {"name": "Ares"}, "{id}", {"name": "One"}, {"name": "One", "mode": "protected"}),
    "segment": Kind("/api/admin/segments", SEGMENT, "{id}", SEGMENT | {"name": "One"}, SEGMENT),
    "group": Kind(
        "/api/admin/groups",
        {"name": "Team"},
        "{id}",
        {"name": "One"},
        {"name": "One", "users": [{"user": {"id": 1000}}]},
    ),
    "role": Kind("/api/admin/roles", ROLE, "{id}", {"name": "One"}, {"name": "One", "permissions": []}),
    "context field": Kind("/api/admin/context", FIELD, "{name}", {"description": "One"}, {"legalValues": []}),
}


class Record:
    """A record of one of these kinds, and requests for it."""

    def __init__(self, kind: Kind, admin: Caller) -> None:
        self.kind, self.admin = kind, admin
        created = admin.post(kind.collection, json=kind.new)
        body = created.get_json()
        self.path = f"{kind.collection}/{kind.path.format(**body.get('roles', body))}"
        self.etag = created.headers["ETag"]

    def get(self) -> str:
        """Return the ETag of a GET."""
        path = f"{self.path}/overview" if self.kind.collection == PROJECTS else self.path
        return self.admin.get(path).headers["ETag"]

    def put(self, body: Any, given: str | None = None, **kwargs: Any) -> TestResponse:
        headers = {} if given is None else {"If-Match": given}
        return self.admin.put(self.path, headers=headers, **({"json": body} | kwargs))

    def delete(self, given: str) -> TestResponse:
        return self.admin.delete(self.path, headers={"If-Match": given})


def changed(response: TestResponse) -> None:
    """Assert that a change was refused because of its If-Match."""
    refused(response, 412, "PreconditionFailedError")


def number(etag: str) -> int:
    """Return the number in an ETag."""
    return int(etag.strip('"'))


@pytest.fixture
def admin(world: World) -> Caller:
    """An administrator. There are a flag, a segment and a user."""
    world.flag("checkout")
    world.conn.execute("INSERT INTO segments (id, name) VALUES (1000, 'Staff')")
    world.conn.execute("INSERT INTO users (id, username, root_role_id) VALUES (1000, 'pia', 3)")
    return world.api_key()


@pytest.fixture(params=KINDS)
def record(request: pytest.FixtureRequest, admin: Caller) -> Record:
    """A record of each kind."""
    return Record(KINDS[request.param], admin)


def test_each_change_and_nothing_else_raises_the_number(record):
    seen = [record.etag]
    assert record.get() == record.etag
    for body in (record.kind.one, record.kind.two):
        seen.append(record.put(body).headers["ETag"])
        assert record.put(body).headers["ETag"] == record.get() == seen[-1]
    numbers = [number(etag) for etag in seen]
    assert numbers == sorted(set(numbers))


def test_a_change_with_an_old_etag_is_412_and_changes_nothing(record):
    newest = record.put(record.kind.one, record.etag).headers["ETag"]
    changed(record.put(record.kind.two, record.etag))
    changed(record.delete(record.etag))
    assert record.get() == newest
    assert record.delete(newest).status_code in (200, 202, 204)


@pytest.mark.parametrize(
    "given", ["*", "{}", "W/{}", '"a", {}', '"a",W/{}, "b"', "{gzip}", "W/{gzip}"], ids=lambda text: text or "empty"
)
def test_if_match_names_the_etag(admin, given):
    record = Record(KINDS["flag"], admin)
    gzip = record.etag[:-1] + '-gzip"'
    assert record.put(record.kind.one, given.format(record.etag, gzip=gzip)).status_code < 300


@pytest.mark.parametrize("given", ["", '"1"', '"{}0"', '"a", "b"', 'W/"1-gzip"', '"*"'])
def test_if_match_names_another_etag(admin, given):
    record = Record(KINDS["flag"], admin)
    changed(record.put(record.kind.one, given.format(number(record.etag))))


def test_412_comes_after_404_and_before_what_is_wrong_with_the_body(record, world):
    assert record.put({"x": 1}, record.etag).status_code == 400
    for body in ({"json": {"x": 1}}, {"data": "{", "content_type": "application/json"}, {"data": "x"}):
        changed(record.put(None, '"1"', **{"json": None} | body))
    record.path = record.path.rpartition("/")[0] + "/999"
    assert [record.put({"x": 1}, '"1"').status_code, record.delete("*").status_code] == [404, 404]
    record.admin = world.user("Victor")
    assert record.put({"x": 1}, '"1"').status_code == 403
    record.admin = Caller(world.app)
    assert record.put({"x": 1}, '"1"').status_code == 401


def test_409_comes_after_412(admin):
    for path in ("/api/admin/roles/1", f"{PROJECTS}/default", "/api/admin/archive/checkout"):
        changed(admin.delete(path, headers={"If-Match": '"1"'}))
        assert admin.delete(path, headers={"If-Match": "*"}).status_code == 409


def test_if_none_match_is_ignored(record):
    path = f"{record.path}/overview" if record.kind.collection == PROJECTS else record.path
    assert record.admin.get(path, headers={"If-None-Match": record.etag}).status_code == 200


@pytest.mark.parametrize("name", ["flag", "strategy"])
def test_a_patch_honours_if_match(admin, name):
    record = Record(KINDS[name], admin)
    title = {"flag": "/description", "strategy": "/title"}[name]
    patch = {"json": [{"op": "replace", "path": title, "value": "x"}], "headers": {"If-Match": record.etag}}
    newest = admin.request("PATCH", record.path, **patch)
    assert number(newest.headers["ETag"]) > number(record.etag)
    changed(admin.request("PATCH", record.path, **patch))


def test_what_belongs_to_a_flag_is_no_change_of_it(admin, world, alice):
    before = admin.get(FLAG).headers["ETag"]
    production = FLAG + "/environments/production"
    statuses = [
        admin.post(f"{production}/strategies", json={"name": "default"}).status_code,
        admin.post(f"{production}/on").status_code,
        alice.post(f"{FLAG}/favorites").status_code,
        admin.post("/api/admin/features/checkout/tags", json={"type": "simple", "value": "beta"}).status_code,
    ]
    assert statuses == [200, 200, 200, 201]
    assert value(world.conn, "SELECT first_in_production_at FROM flags WHERE name = 'checkout'") is not None
    assert {caller.get(FLAG).headers["ETag"] for caller in (admin, alice)} == {before}


def test_every_way_to_change_a_flag_raises_its_number(admin, world):
    world.project("hermes")
    names = {"features": ["checkout"]}
    for path, body in (
        (f"{PROJECTS}/default/stale", names | {"stale": True}),
        (f"{FLAG}/lifecycle/complete", {"status": "kept"}),
        (f"{PROJECTS}/default/archive", names),
        (f"{PROJECTS}/default/revive", names),
        (f"{FLAG}/changeProject", {"newProjectId": "hermes"}),
    ):
        before = value(world.conn, VERSION)
        assert admin.post(path, json=body).status_code < 300, path
        between = value(world.conn, VERSION)
        assert between > before, path


def test_a_deleted_member_and_a_copied_permission_raise_the_numbers(admin):
    group = Record(KINDS["group"]._replace(new={"name": "Team", "users": [{"user": {"id": 1000}}]}), admin)
    allowed = [{"name": "UPDATE_FEATURE_STRATEGY", "environment": "development"}]
    role = Record(KINDS["role"]._replace(new=ROLE | {"permissions": allowed}), admin)
    for record, path, body in (
        (group, "/api/admin/user-admin/1000", None),
        (role, "/api/admin/environments/development/clone", {"name": "copy", "type": "test"}),
    ):
        before = record.get()
        response = admin.delete(path) if body is None else admin.post(path, json=body)
        assert response.status_code < 300, response.text
        assert number(record.get()) > number(before)


def test_order_and_segments_are_changes_of_a_strategy(admin):
    record = Record(KINDS["strategy"], admin)
    id = record.path.rpartition("/")[2]
    place = {"projectId": "default", "environmentId": "development", "strategyId": id}
    for path, body in (
        (f"{STRATEGIES}/set-sort-order", [{"id": id, "sortOrder": 7}]),
        ("/api/admin/segments/strategies", place | {"segmentIds": [1000]}),
    ):
        before = record.get()
        assert admin.post(path, json=body).status_code < 300
        between = record.get()
        assert number(between) > number(before)
        assert admin.post(path, json=body).status_code < 300
        assert record.get() == between


PAGES = {
    FLAG.rpartition("/")[0]: "/projects/default/flags/{}",
    STRATEGIES: "/projects/default/flags/checkout/environments/development/strategies/{}",
    PROJECTS: "/projects/{}/settings",
    "/api/admin/context": "/admin/context-fields/{}",
}


def test_the_form_of_a_record_has_its_etag_and_the_newest_change(record, alice, eve):
    assert record.put(record.kind.one).status_code < 300
    collection, _, id = record.path.rpartition("/")
    path = PAGES.get(collection, f"{collection.replace('/api', '')}/{{}}").format(id)
    page = open_page(alice, path)
    shown = [form.get("data-if-match", "") for form in page.frame(".//form[@data-if-match]")]
    # The others are hashes, of what has no number.
    assert {version for version in shown if version.isdigit()} == {record.get().strip('"')}
    [change] = page.frame(".//template[@id='newest-change']")
    assert text_of(change).startswith("a key changed")
    # The newest change of a user has their name, and not what they log in with.
    assert alice.put(record.path, json=record.kind.two).status_code < 300
    [change] = open_page(alice, path).frame(".//template[@id='newest-change']")
    assert text_of(change).startswith("Alice ")
    # Eve may not see events without a project.
    if collection == "/api/admin/segments":
        [nothing] = open_page(eve, path).frame(".//template[@id='newest-change']")
        assert text_of(nothing) == ""


FLAG_PAGE = "/projects/default/flags/checkout"
RED = {"name": "red", "weight": 1000}
PAUSE, RESUME = ([{"op": "replace", "path": "/disabled", "value": state}] for state in (True, False))
FORMS: dict[str, tuple[str, str, Any, Any]] = {
    "user": ("/admin/users", "/user-admin/1000", {"name": "Pia"}, {"name": "Mia"}),
    "service account": ("/admin/service-accounts", "/service-account/1001", {"name": "One"}, {"name": "Two"}),
    "tag type": ("/admin/tag-types", "/tag-types/simple", {"description": "One"}, {"description": "Two"}),
    "approvals": (
        "/projects/default/settings",
        "/projects/default/environments/production/change-requests/config",
        {"changeRequestsEnabled": True, "requiredApprovals": 1},
        {"changeRequestsEnabled": True, "requiredApprovals": 2},
    ),
    "default strategy": (
        "/projects/default/environments",
        "/environments/production/default-strategy",
        {"name": "flexibleRollout", "parameters": {"rollout": "10"}},
        {"name": "flexibleRollout", "parameters": {"rollout": "20"}},
    ),
    "variants": (FLAG_PAGE, "/development/variants", [RED], [RED | {"name": "blue"}]),
    "strategy": (FLAG_PAGE, "/strategies/", PAUSE, RESUME),
}


def is_found(form: Element, end: str) -> bool:
    return end in form.get("data-path", "") and "data-if-match" in form.attrib


@pytest.mark.parametrize("name", FORMS)
def test_form_of_a_record_without_a_number_has_a_hash_of_what_it_shows(world, alice, name):
    path, end, one, two = FORMS[name]
    world.conn.execute("INSERT INTO users (id, username, root_role_id) VALUES (1000, 'pia', 3)")
    bot = {"username": "bot", "name": "Bot", "rootRole": 3}
    assert alice.post("/api/admin/service-account", json=bot).status_code == 201
    world.conn.execute("UPDATE users SET id = 1001 WHERE username = 'bot'")
    flag = world.flag("checkout", enabled_in=("development",))
    world.strategy(flag)

    def form() -> tuple[str, str, dict[str, str]]:
        found = next(one for one in open_page(alice, path).frame(".//form[@data-if-match]") if is_found(one, end))
        given = found.get("data-if-match", "")
        return found.get("data-send", ""), found.get("data-path", ""), {"If-Match": f'"{given}"'}

    method, address, old = form()
    assert alice.request(method, address, json=one, headers=old).status_code < 300
    changed(alice.request(method, address, json=two, headers=old))
    assert alice.request(method, address, json=two, headers=form()[2]).status_code < 300


def test_deletion_of_a_strategy_that_was_changed_meanwhile_is_412(world, alice):
    strategy = world.strategy(world.flag("checkout"), parameters={"rollout": "55"})

    def delete() -> TestResponse:
        [form] = page.all(".//form[@data-yes='Delete the strategy']")
        headers = {"If-Match": f'"{form.get("data-if-match")}"'}
        return alice.delete(form.get("data-path", ""), headers=headers)

    page = open_page(alice, FLAG_PAGE)
    assert alice.put(f"{STRATEGIES}/{strategy}", json={"parameters": {"rollout": "99"}}).status_code == 200
    changed(delete())
    page = open_page(alice, FLAG_PAGE)
    assert delete().status_code == 200


def test_deletion_of_a_plan_that_was_changed_meanwhile_is_412(world, alice):
    world.flag("checkout")
    plan = {"steps": [{"percent": 10}, {"percent": 20, "at": "2090-01-01T00:00:00Z"}]}
    first, _ = alice.post(f"{FLAG}/environments/development/plan", json=plan).json

    def delete() -> TestResponse:
        [form] = page.all(".//form[@data-yes='Delete the strategy']")
        headers = {"If-Match": f'"{form.get("data-if-match")}"'}
        return alice.delete(form.get("data-path", ""), headers=headers)

    page = open_page(alice, FLAG_PAGE)
    pause = plan | {"replaces": first["id"], "disabled": True}
    assert alice.post(f"{FLAG}/environments/development/plan", json=pause).status_code == 200
    changed(delete())
    page = open_page(alice, FLAG_PAGE)
    assert delete().status_code == 200


def test_new_plan_ignores_if_match(world, alice):
    world.flag("checkout")
    plan = {"steps": [{"percent": 10}]}
    response = alice.post(f"{FLAG}/environments/development/plan", json=plan, headers={"If-Match": '"1"'})
    assert response.status_code == 200


def test_plan_that_replaces_a_strategy_of_another_version_is_412(world, alice):
    strategy = world.strategy(world.flag("checkout"), name="flexibleRollout")
    [form] = open_page(alice, f"{FLAG_PAGE}/environments/development/strategies/{strategy}").all(".//form[@data-plan]")
    headers = {"If-Match": f'"{form.get("data-if-match")}"'}
    assert alice.put(f"{STRATEGIES}/{strategy}", json={"title": "Theirs"}).status_code == 200
    plan = {"replaces": strategy, "steps": [{"percent": 10}, {"percent": 20, "at": "2090-01-01T00:00:00Z"}]}
    changed(alice.post(form.get("data-plan", ""), json=plan, headers=headers))
    assert alice.post(form.get("data-plan", ""), json=plan, headers={"If-Match": "*"}).status_code == 200
    refused(alice.post(form.get("data-plan", ""), json=plan | {"replaces": "no"}), 404, "NotFoundError")


@pytest.mark.parametrize("act", ["Pause", "Skip", "Stop", "Delete", "form"])
def test_plan_with_a_later_step_that_was_changed_meanwhile_is_412(world, alice, act):
    world.flag("checkout")
    points = [{"percent": 10}, *({"percent": year - 2000, "at": f"{year}-01-01T00:00:00Z"} for year in (2080, 2090))]
    plan = alice.post(f"{FLAG}/environments/development/plan", json={"steps": points}).json
    ends = {"Pause": "plan", "Skip": "/skip", "Stop": "/stop", "Delete": f"plan/{plan[0]['id']}"}
    form_page = f"{FLAG_PAGE}/environments/development/strategies/{plan[0]['id']}"

    def read() -> tuple[str, str, Any, dict[str, str]]:
        found = open_page(alice, form_page if act == "form" else FLAG_PAGE).all(".//form[@data-if-match]")
        if act == "form":
            [form] = [one for one in found if "data-plan" in one.attrib]
            sent = "POST", form.get("data-plan", ""), {"replaces": plan[0]["id"], "steps": points}
        else:
            form = next(one for one in found if one.get("data-path", "").endswith(ends[act]))
            sent = form.get("data-send", ""), form.get("data-path", ""), json.loads(form.get("data-body", "null"))
        return *sent, {"If-Match": f'"{form.get("data-if-match")}"'}

    method, address, body, old = read()
    assert alice.post(f"{FLAG}/environments/development/plan/{plan[0]['id']}/skip").status_code == 200
    changed(alice.request(method, address, json=body, headers=old))
    method, address, body, newest = read()
    assert alice.request(method, address, json=body, headers=newest).status_code == 200


def test_origins_of_a_token_that_was_changed_meanwhile_are_412(alice):
    created = alice.post(
        "/api/admin/api-tokens", json={"tokenName": "web", "type": "frontend", "environment": "production"}
    )
    path = f"/api/admin/api-tokens/{created.json['secret']}"

    def put(origin: str) -> TestResponse:
        [form] = page.all(".//form[@data-send='PUT']")
        headers = {"If-Match": f'"{form.get("data-if-match")}"'}
        return alice.put(path, json={"origins": [f"https://{origin}.example"]}, headers=headers)

    page = open_page(alice, "/admin/api-tokens")
    assert put("one").status_code == 200
    changed(put("two"))
    page = open_page(alice, "/admin/api-tokens")
    assert put("two").status_code == 200


def test_title_of_a_change_request_that_was_changed_meanwhile_is_412(world):
    team = Team(world)
    number = team.propose().json["id"]
    author = team.people["author"]

    def put(title: str) -> TestResponse:
        [form] = page.all(".//form[@data-said='Renamed.']")
        headers = {"If-Match": f'"{form.get("data-if-match")}"'}
        return author.put(form.get("data-path", ""), json={"title": title}, headers=headers)

    page = open_page(author, f"/projects/shop/change-requests/{number}")
    assert put("One").status_code == 204
    changed(put("Two"))
    page = open_page(author, f"/projects/shop/change-requests/{number}")
    assert put("Two").status_code == 204


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("api-tokens/x", "No API token has that secret."),
        ("projects/default/environments/x/default-strategy", "The project has no such environment."),
        ("projects/default/environments/x/change-requests/config", "The project has no such environment."),
    ],
)
def test_404_of_what_was_deleted_meanwhile_says_what_is_missing(alice, path, message):
    method = "POST" if path.endswith("strategy") else "PUT"
    answer = alice.request(method, f"/api/admin/{path}", json={}, headers={"If-Match": '"h0"'})
    assert refused(answer, 404, "NotFoundError") == message
