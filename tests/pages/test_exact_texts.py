"""Forms send a text back as it was, also with the line breaks that browsers change."""

import json
from typing import Any

import pytest

from tests.support.page import open_page
from tests.support.world import Caller

TEXT = "First line\r\nsecond line"
API = "/api/admin"
GROUP = {"name": "Payments", "description": TEXT, "users": []}
ROLE = {"name": "Releaser", "description": TEXT, "type": "custom", "permissions": [{"name": "UPDATE_PROJECT"}]}
SEGMENT = {"name": "beta", "description": TEXT, "constraints": []}


@pytest.mark.parametrize(("name", "body"), [("groups", GROUP), ("roles", ROLE), ("segments", SEGMENT)])
def test_descriptions(alice: Caller, name: str, body: dict[str, Any]) -> None:
    assert alice.post(f"{API}/{name}", json=body).status_code in (200, 201)
    [path] = [link for text, link in open_page(alice, f"/admin/{name}").links.items() if text == body["name"]]
    page = open_page(alice, path)
    assert json.loads(page.fields(".//form[@data-send='PUT']")["description"]) == TEXT


def test_the_names_of_external_groups(alice: Caller) -> None:
    for names, text in ((["a", "b"], "a\nb"), ([" a", "b "], None), (["a\nb"], None)):
        path = f"{API}/groups/{alice.post(f'{API}/groups', json=GROUP | {'name': str(names)}).json['id']}"
        assert alice.put(path, json={"name": str(names), "mappingsSSO": names}).status_code == 200
        [field] = open_page(alice, path.removeprefix("/api")).all(".//textarea[@name='mappingsSSO']")
        assert field.get("data-type") == ("lines" if text else "json")
        assert (field.text or "").lstrip("\n") == (text or json.dumps(names))


def test_the_settings_of_a_project(alice: Caller) -> None:
    path = f"{API}/projects/default"
    assert alice.put(path, json={"name": "Default", "description": TEXT}).status_code == 200
    naming = {"pattern": "[a-z]+", "example": "a", "description": TEXT}
    assert alice.put(f"{path}/settings", json={"featureNaming": naming}).status_code == 200
    page = open_page(alice, "/projects/default/settings")
    assert json.loads(page.fields(f".//form[@data-path='{path}']")["description"]) == TEXT
    assert json.loads(page.fields(f".//form[@data-path='{path}/settings']")["featureNaming.description"]) == TEXT


def test_context_fields_and_their_values(alice: Caller) -> None:
    value = {"value": TEXT, "description": TEXT}
    body = {"name": "country", "description": TEXT, "legalValues": [value]}
    assert alice.post(f"{API}/context", json=body).status_code == 201
    page = open_page(alice, "/admin/context-fields/country")
    form = f".//form[@data-path='{API}/context/country'][@data-send='PUT']"
    texts = [text for name, text in page.inputs(form) if name in ("value", "description")]
    assert [json.loads(text) for text in texts] == [TEXT, TEXT, TEXT]
