"""What a GET returns can be sent back: to the PUT of the record, which changes nothing, and renamed to its POST."""

import re
from datetime import UTC, datetime
from typing import Any

import pytest
from flask import Flask

from tests.support import fixtures, records
from tests.support.fingerprint import fingerprint
from tests.support.returned import SENDABLE
from tests.support.returned.sendable import ADMIN, Json, Sendable, found, posted
from tests.support.world import Caller, World, refused
from validators.returned import UNLEASH_ONLY, Ignored, ReadOnly

EACH = pytest.mark.parametrize("kind", SENDABLE, ids=str)
CREATABLE = pytest.mark.parametrize("kind", [kind for kind in SENDABLE if kind.new], ids=str)
EACH_READ_ONLY = [
    pytest.param(kind, name, field.refusal, id=f"{kind} {name}")
    for kind in SENDABLE
    for name, field in kind.update().fields.items()
    if isinstance(field, ReadOnly)
]


def read(caller: Caller, kind: Sendable, place: Json) -> list[Json]:
    """The record as each of its GETs returns it."""
    return [found(caller.get(f"{ADMIN}/{path.format(**place)}").get_json(), place) for path in kind.gets]


def properties(record: str) -> set[str]:
    """The properties that a record can have, such as featureSearch.features: the items of that list."""
    name, _, items = record.partition(".")
    schema = records.SCHEMAS[name]["properties"][items] if items else records.SCHEMAS[name]
    return set(schema.get("items", schema)["properties"])


@EACH
def test_the_requests_of_a_record_take_all_its_properties(kind: Sendable) -> None:
    for schema in filter(None, (kind.update, kind.new)):
        taken = {field.data_key or name for name, field in schema().fields.items()}
        for record in kind.records:
            assert properties(record) - taken == set(), (schema, record)


@EACH
def test_a_put_of_what_was_read_changes_nothing(world: World, alice: Caller, kind: Sendable) -> None:
    place = kind.create(world, alice)
    before, since = read(alice, kind, place), world.last_event_id()
    stored = fingerprint(world.conn)
    for record in before:
        response = alice.put(f"{ADMIN}/{kind.put.format(**place)}", json=record)
        assert response.status_code in (200, 204), response.text
    assert (read(alice, kind, place), world.events(since), fingerprint(world.conn)) == (before, [], stored)


@EACH
def test_other_ids_dates_and_counters_change_nothing(world: World, alice: Caller, kind: Sendable) -> None:
    place = kind.create(world, alice)
    record = read(alice, kind, place)[0]
    ignored = [name for name, field in kind.update().fields.items() if isinstance(field, Ignored)]
    assert set(kind.table.ignored) <= set(ignored)
    stored = fingerprint(world.conn)
    for wrong in (-1, "1999-12-31T23:59:59.999Z", {"other": [None]}):
        response = alice.put(f"{ADMIN}/{kind.put.format(**place)}", json=record | dict.fromkeys(ignored, wrong))
        assert response.status_code in (200, 204), response.text
    assert fingerprint(world.conn) == stored


def test_usage_that_is_reported_meanwhile_is_no_difference(world: World, alice: Caller) -> None:
    [kind] = [kind for kind in SENDABLE if kind.name == "flag"]
    place = kind.create(world, alice)
    before = read(alice, kind, place)[0]
    report = {"project": "default", "flag": "checkout", "environment": "development", "app": "shop", "yes": 5, "no": 0}
    fixtures.report_usage(world.conn, [report | {"at": datetime.now(UTC)}])
    assert read(alice, kind, place)[0] != before
    assert alice.put(f"{ADMIN}/{kind.put.format(**place)}", json=before).status_code == 200


@CREATABLE
def test_a_post_of_what_was_read_makes_another(world: World, alice: Caller, kind: Sendable) -> None:
    place = kind.create(world, alice)
    renamed = kind.renamed or {}
    for number, record in enumerate(read(alice, kind, place)):
        body = record | {name: f"{word}-{number}" for name, word in renamed.items()}
        response = alice.post(f"{ADMIN}/{kind.post.format(**place)}", json=body)
        assert response.status_code in (200, 201), response.text


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("invite-link/tokens", {"name": "Interns", "expiresAt": "2099-01-01T00:00:00.000Z"}),
        ("user/tokens", {"description": "ci", "expiresAt": "2099-01-01T00:00:00.000Z"}),
        ("service-account/{account}/token", {"description": "ci", "expiresAt": "2099-01-01T00:00:00.000Z"}),
    ],
)
def test_a_token_makes_another_one_with_a_new_secret(alice: Caller, path: str, body: Json) -> None:
    account = posted(alice, "service-account", {"username": "robot", "name": "Robot", "rootRole": 2})["id"]
    path = path.format(account=account)
    created = posted(alice, path, body)
    lists = [value for value in alice.get(f"{ADMIN}/{path}").get_json().values() if isinstance(value, list)]
    listed = next(record for record in lists[0] if body.items() <= record.items())
    for number, record in enumerate((created, listed)):
        name = {next(iter(body)): f"other {number}"}
        other = posted(alice, path, record | name)
        assert other["secret"] != created["secret"]
        assert {key: other[key] for key in body} == body | name


@pytest.mark.parametrize(("kind", "name", "refusal"), EACH_READ_ONLY)
def test_a_read_only_property_cannot_change(
    world: World, alice: Caller, kind: Sendable, name: str, refusal: str
) -> None:
    place = kind.create(world, alice)
    before = fingerprint(world.conn)
    record = read(alice, kind, place)[0]
    for wrong in ((kind.wrong or {})[name], {"other": 1}, 7.5):
        message = refused(alice.put(f"{ADMIN}/{kind.put.format(**place)}", json=record | {name: wrong}))
        assert message == f"{name}: {refusal}"
    assert fingerprint(world.conn) == before


@pytest.mark.parametrize("value", [None, [], "text", {"other": [1]}])
def test_what_only_unleash_has_is_ignored(world: World, alice: Caller, value: Any) -> None:
    fixtures.insert(world.conn, "applications", name="shop")
    flag = world.flag("f")
    strategy = world.strategy(flag, "development")
    [user] = [user for user in alice.get(f"{ADMIN}/user-admin").json["users"] if user["id"] == alice.id]
    password = "correct horse battery staple"
    flags, places = f"{ADMIN}/projects/default/features", f"{ADMIN}/environments"
    environment = f"{flags}/f/environments/development/strategies"
    tag = {"type": "simple", "value": "beta"}
    sent = {
        "flag": [("POST", flags, {"name": "g"}), ("PUT", f"{flags}/f", {})],
        "strategy": [
            ("POST", environment, {"name": "default"}),
            ("PUT", f"{environment}/{strategy}", {}),
            (
                "POST",
                f"{ADMIN}/projects/default/environments/development/default-strategy",
                {"name": "flexibleRollout"},
            ),
        ],
        "tag": [("POST", f"{ADMIN}/features/f/tags", tag), ("POST", f"{ADMIN}/tags", tag | {"value": "other"})],
        "tag type": [("POST", f"{ADMIN}/tag-types", {"name": "team"}), ("PUT", f"{ADMIN}/tag-types/simple", {})],
        "project": [
            ("POST", f"{ADMIN}/projects", {"name": "p"}),
            ("PUT", f"{ADMIN}/projects/default", {"name": "Default"}),
            ("PUT", f"{ADMIN}/projects/default/settings", {}),
        ],
        "environment": [
            ("POST", places, {"name": "staging", "type": "test"}),
            ("PUT", f"{places}/update/development", {}),
            ("POST", f"{ADMIN}/projects/default/environments", {"environment": "staging"}),
            ("POST", f"{places}/staging/clone", {"name": "copy", "type": "test"}),
        ],
        "context field": [
            ("POST", f"{ADMIN}/context", {"name": "country"}),
            ("PUT", f"{ADMIN}/context/userId", {}),
        ],
        "user": [
            ("POST", f"{ADMIN}/user-admin", {"username": "new", "rootRole": 3}),
            ("PUT", f"{ADMIN}/user-admin/{alice.id}", {}),
            ("POST", f"{ADMIN}/service-account", {"username": "bot", "name": "Bot", "rootRole": 3}),
        ],
        "API token": [("POST", f"{ADMIN}/api-tokens", {"tokenName": "t", "type": "client"})],
        "application": [("POST", f"{ADMIN}/metrics/applications/shop", {})],
        "password to check": [("POST", f"{ADMIN}/user-admin/validate-password", {"password": password})],
    }
    assert sent.keys() == UNLEASH_ONLY.keys() - {"flag in an environment"}
    for record, requests in sent.items():
        extra = dict.fromkeys(UNLEASH_ONLY[record], value)
        for method, path, body in requests:
            response = alice.request(method, path, json=extra | body)
            assert response.status_code < 300, (record, path, response.text)
    assert user == alice.get(f"{ADMIN}/user-admin/{alice.id}").json | {"inviteLink": ""}
    for path, name in ((f"{flags}/f", "links"), (f"{environment}/{strategy}", "milestoneId")):
        patch = [{"op": "add", "path": f"/{name}", "value": value}]
        assert alice.request("PATCH", path, json=patch).status_code == 200
    lists = {"addedTags": [tag | {"color": value}], "removedTags": [tag | {"value": "old", "color": value}]}
    assert alice.put(f"{ADMIN}/features/f/tags", json=lists).status_code == 200
    assert alice.put(f"{ADMIN}/projects/default/tags", json={"features": ["f"], "tags": lists}).status_code == 200
    new = {"name": "h", "tags": [tag | {"color": value}]}
    assert alice.post(flags, json=new).status_code == 201
    record = alice.get(f"{flags}/f").json
    for place in record["environments"]:
        place |= dict.fromkeys(UNLEASH_ONLY["flag in an environment"], value)
        for each in place["strategies"]:
            each["milestoneId"] = value
    for each in record["tags"]:
        each["color"] = value
    assert alice.put(f"{flags}/f", json=record).status_code == 200
    assert refused(alice.post(f"{ADMIN}/tags", json=tag | {"colour": value})) == "colour: unknown property"


@EACH
def test_nothing_else_is_taken(world: World, alice: Caller, kind: Sendable) -> None:
    place = kind.create(world, alice)
    record = read(alice, kind, place)[0]
    assert (
        refused(alice.put(f"{ADMIN}/{kind.put.format(**place)}", json=record | {"other": 1}))
        == "other: unknown property"
    )
    if kind.new:
        assert (
            refused(alice.post(f"{ADMIN}/{kind.post.format(**place)}", json=record | {"other": 1}))
            == "other: unknown property"
        )


@EACH
def test_the_operations_that_change_the_others_exist(app: Flask, kind: Sendable) -> None:
    routes: set[Any] = set()
    for rule in app.url_map.iter_rules():
        routes |= {(method, re.sub(r"<[^>]*>", "{}", rule.rule)) for method in rule.methods or ()}
    for name, field in kind.update().fields.items():
        operation = kind.table.read_only.get(name, "")
        assert not isinstance(field, ReadOnly) or operation in field.refusal, name
        named = re.findall(r"(\w+) (/\S+)", operation)
        assert bool(named) == bool(operation)
        for method, path in named:
            assert (method, re.sub(r"{[^}]*}", "{}", path)) in routes, name
