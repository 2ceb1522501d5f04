"""Pages show names as text, and forms send a text back as it was, also with the line breaks that browsers change."""

import json
from typing import Any

import pytest

from rules.access import SYSTEM
from sql.people import groups, roles
from tests.support import fixtures, segments
from tests.support.page import Page, open_page, send_form
from tests.support.signup import guest
from tests.support.world import Caller, World

EVIL = "</textarea><img src=x onerror=alert(1)>\"'"
TEXT = "First line\r\nsecond line"
FAR = "2099-12-31T23:59:59Z"
API = "/api/admin"


def test_hostile_names_are_text(world: World, alice: Caller, stranger: Caller) -> None:
    conn = world.conn
    user = world.user("Mallory", root_role=1)
    robot = world.user("Robot", account_type="Service Account", email=None)
    for caller in (user, robot):
        fixtures.update(conn, "users", caller.id or 0, name=EVIL)
    assert user.post(f"{API}/user/tokens", json={"description": EVIL, "expiresAt": FAR}).status_code == 201
    group = groups.insert(conn, EVIL, description=EVIL)
    role = roles.insert(conn, EVIL, description=EVIL)
    segments.make(alice, EVIL)
    world.api_key("client", EVIL)
    invite = fixtures.signup_token(conn, name=EVIL, expires_at=FAR, created_by="alice")["secret"]
    assert alice.post(f"{API}/tag-types", json={"name": "team", "description": EVIL}).status_code == 201
    world.project("evil", name=EVIL)
    flag = world.flag("checkout", description=EVIL)
    constraint = {"contextName": "userId", "operator": "IN", "values": [EVIL]}
    strategy = world.strategy(flag, title=EVIL, parameters={"groupId": EVIL}, constraints=[constraint])
    fixtures.tag(conn, flag, "simple", EVIL)
    for owner in (strategy, None):
        payload = {"payload_type": "string", "payload_value": EVIL}
        fixtures.insert_variant(conn, flag, "development", owner, name=EVIL, weight=1000, **payload)
    fixtures.record(conn, "user-created", SYSTEM, data={"name": EVIL, EVIL: EVIL})
    page = "/projects/default/flags/checkout"
    for path in (
        *("/", "/profile", "/projects/default", page, f"{page}/why?environment=development&userId=%3Cimg%3E"),
        *(f"{page}/environments/development/strategies/{strategy}", "/events?query=onerror"),
        *(f"/admin/{name}" for name in ("users", f"groups/{group}", "groups", f"roles/{role}", "roles")),
        *(f"/admin/{name}" for name in ("segments", "api-tokens", "service-accounts", "signup-tokens", "tag-types")),
    ):
        shown = open_page(user, path)
        assert shown.all(".//img") == [], path
        assert "<img" in shown.text + "".join(shown.fields().values()), path
    assert open_page(user, f"/events?project={EVIL}&query=&feature=").all(".//img") == []
    form = Page(send_form(stranger, f"/new-user?invite={invite}", 400, **guest(name=EVIL, email=EVIL)))
    assert (form.fields()["name"], form.fields()["email"]) == (EVIL, EVIL)


GROUP = {"name": "Payments", "description": TEXT, "users": []}
ROLE = {"name": "Releaser", "description": TEXT, "type": "custom", "permissions": [{"name": "UPDATE_PROJECT"}]}
SEGMENT = {"name": "beta", "description": TEXT, "constraints": []}


@pytest.mark.parametrize(("name", "body"), [("groups", GROUP), ("roles", ROLE), ("segments", SEGMENT)])
def test_description_is_sent_back(alice: Caller, name: str, body: dict[str, Any]) -> None:
    assert alice.post(f"{API}/{name}", json=body).status_code in (200, 201)
    page = open_page(alice, open_page(alice, f"/admin/{name}").links[body["name"]])
    assert json.loads(page.fields(".//form[@data-send='PUT']")["description"]) == TEXT


def test_names_of_external_groups_are_sent_back(alice: Caller) -> None:
    for names, text in ((["a", "b"], "a\nb"), ([" a", "b "], None), (["a\nb"], None)):
        path = f"{API}/groups/{alice.post(f'{API}/groups', json=GROUP | {'name': str(names)}).json['id']}"
        assert alice.put(path, json={"name": str(names), "mappingsSSO": names}).status_code == 200
        [field] = open_page(alice, path.removeprefix("/api")).all(".//textarea[@name='mappingsSSO']")
        assert field.get("data-type") == ("lines" if text else "json")
        assert (field.text or "").lstrip("\n") == (text or json.dumps(names))


def test_settings_of_a_project_are_sent_back(alice: Caller) -> None:
    path = f"{API}/projects/default"
    assert alice.put(path, json={"name": "Default", "description": TEXT}).status_code == 200
    naming = {"pattern": "[a-z]+", "example": "a", "description": TEXT}
    assert alice.put(f"{path}/settings", json={"featureNaming": naming}).status_code == 200
    page = open_page(alice, "/projects/default/settings")
    assert json.loads(page.fields(f".//form[@data-path='{path}']")["description"]) == TEXT
    assert json.loads(page.fields(f".//form[@data-path='{path}/settings']")["featureNaming.description"]) == TEXT


def test_context_field_and_its_values_are_sent_back(alice: Caller) -> None:
    body = {"name": "country", "description": TEXT, "legalValues": [{"value": TEXT, "description": TEXT}]}
    assert alice.post(f"{API}/context", json=body).status_code == 201
    page = open_page(alice, "/admin/context-fields/country")
    form = f".//form[@data-path='{API}/context/country'][@data-send='PUT']"
    texts = [text for name, text in page.inputs(form) if name in ("value", "description")]
    assert [json.loads(text) for text in texts] == [TEXT, TEXT, TEXT]
