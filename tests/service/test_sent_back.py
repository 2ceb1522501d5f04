"""What a GET returns can be sent back: to the PUT of the record, which changes nothing, and renamed to its POST."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import pytest
from flask import Flask

from tests.support import fixtures, records
from tests.support.fingerprint import fingerprint
from tests.support.world import Caller, World, refused
from validators import Body
from validators.catalog import context_fields, environments, flag_types, segments, strategy_types, tag_types
from validators.flags import core as flags
from validators.flags import strategies
from validators.people import groups, roles, service_accounts, users
from validators.projects import core as projects
from validators.returned import UNLEASH_ONLY, Ignored, ReadOnly, ResponseOnly

Json = dict[str, Any]
ADMIN = "/api/admin"
CONSTRAINT = {"contextName": "userId", "operator": "IN", "values": ["7"], "inverted": False, "caseInsensitive": True}
STRATEGIES = "projects/default/features/f/environments/development/strategies"
SEGMENT = {"name": "Beta", "description": "Testers.", "project": "default", "constraints": [CONSTRAINT]}

# One full example of each record


def posted(caller: Caller, path: str, body: Json) -> Json:
    """What a POST answers."""
    response = caller.post(f"{ADMIN}/{path}", json=body)
    assert response.status_code in (200, 201), response.text
    return response.get_json()


def context_field(_: World, caller: Caller) -> Json:
    """A context field."""
    legal = [{"value": "NO", "description": "Norway"}, {"value": "SE"}]
    return posted(
        caller,
        "context",
        {"name": "country", "description": "Where.", "stickiness": True, "sortOrder": 3, "legalValues": legal},
    )


def tag_type(_: World, caller: Caller) -> Json:
    """A tag type."""
    return posted(caller, "tag-types", {"name": "team", "description": "Whose.", "icon": "🚀"})


def strategy_type(_: World, caller: Caller) -> Json:
    """A strategy type, deprecated."""
    parameters = [{"name": "hosts", "type": "list", "description": "Hosts.", "required": True}]
    body = {
        "name": "byHost",
        "title": "By host",
        "description": "Some hosts.",
        "parameters": parameters,
        "deprecated": True,
    }
    return posted(caller, "strategies", body)


def environment(_: World, caller: Caller) -> Json:
    """An environment that is off."""
    return posted(caller, "environments", {"name": "staging", "type": "test", "enabled": False, "sortOrder": 7})


def segment(_: World, caller: Caller) -> Json:
    """A segment of project default."""
    return posted(caller, "segments", SEGMENT)


def flag_type(world: World, _: Caller) -> Json:
    """A flag type, which is built in."""
    world.conn.execute("UPDATE flag_types SET lifetime_days = 12 WHERE id = 'release'")
    return {"id": "release"}


def flag(_: World, caller: Caller) -> Json:
    """A flag of a user that has something of everything."""
    base = "projects/default/features"
    posted(caller, base, {"name": "parent"})
    tags = [{"type": "simple", "value": "one"}, {"type": "simple", "value": "two"}]
    body = {"name": "checkout", "type": "experiment", "description": "One page.", "impressionData": True, "stale": True}
    created = posted(caller, base, body | {"tags": tags})
    assert caller.post(f"{ADMIN}/{base}/checkout/dependencies", json={"feature": "parent"}).status_code == 200
    assert caller.post(f"{ADMIN}/{base}/checkout/link", json={"url": "https://example.org"}).status_code == 204
    assert caller.post(f"{ADMIN}/{base}/checkout/favorites").status_code == 200
    variants = [{"name": name, "weight": 500, "weightType": "variable", "stickiness": "default"} for name in "ab"]
    place = f"{base}/checkout/environments/development"
    assert caller.put(f"{ADMIN}/{place}/variants", json=variants).status_code == 200
    posted(caller, f"{place}/strategies", strategy_body(posted(caller, "segments", SEGMENT)["id"]))
    assert caller.post(f"{ADMIN}/{place}/on").status_code == 200
    return created


def strategy_body(segment_id: int) -> Json:
    """A strategy that has something of everything."""
    variant = {"name": "a", "weight": 1000, "weightType": "variable", "stickiness": "default"}
    parameters = {"rollout": "25", "stickiness": "default", "groupId": "g"}
    payload = {"type": "json", "value": '{"a": 1}'}
    return {
        "name": "flexibleRollout",
        "title": "Some",
        "disabled": False,
        "sortOrder": 3,
        "constraints": [CONSTRAINT, {"contextName": "appName", "operator": "SEMVER_EQ", "value": "1.2.3"}],
        "variants": [variant | {"payload": payload}],
        "parameters": parameters,
        "segments": [segment_id],
    }


def strategy(_: World, caller: Caller) -> Json:
    """A strategy of a flag, with a segment."""
    posted(caller, "projects/default/features", {"name": "f"})
    body = strategy_body(posted(caller, "segments", SEGMENT)["id"])
    return posted(caller, STRATEGIES, body)


def user(_: World, caller: Caller) -> Json:
    """A user with all names."""
    names = {"name": "Ada Lovelace", "username": "ada", "email": "ada@example.org"}
    return posted(caller, "user-admin", names | {"rootRole": 2, "sendEmail": False})


def group(world: World, caller: Caller) -> Json:
    """A group with two members, a root role and a project."""
    members = [{"user": {"id": person.id}} for person in (caller, world.user("Bob"))]
    body = {"name": "Payments", "description": "Pays.", "mappingsSSO": ["payments"], "rootRole": 3, "users": members}
    created = posted(caller, "groups", body)
    access = {"roles": [5], "users": [], "groups": [created["id"]]}
    assert caller.post(f"{ADMIN}/projects/default/access", json=access).status_code == 200
    return created


def role(_: World, caller: Caller) -> Json:
    """A role with permissions of all kinds."""
    permissions = [{"name": "UPDATE_FEATURE"}, {"name": "CREATE_FEATURE_STRATEGY", "environment": "production"}]
    permissions += [{"name": "DELETE_FEATURE_STRATEGY"}]
    body = {"name": "Releaser", "description": "Releases.", "type": "root-custom", "permissions": permissions}
    return posted(caller, "roles", body)["roles"]


def service_account(_: World, caller: Caller) -> Json:
    """A service account with a token."""
    created = posted(caller, "service-account", {"username": "terraform", "name": "Terraform", "rootRole": 2})
    token = {"description": "ci", "expiresAt": "2099-01-01T00:00:00Z"}
    posted(caller, f"service-account/{created['id']}/token", token)
    return created


def project(world: World, caller: Caller) -> Json:
    """A project with a naming pattern, a default strategy, a flag, an owner and a group, and a favorite of the caller.

    Its place has the name too, because overviews have no id.
    """
    names = {"id": "mobile", "name": "Mobile app", "description": "The app."}
    posted(caller, "projects", names | {"mode": "protected", "defaultStickiness": "userId", "featureLimit": 10})
    base = f"{ADMIN}/projects/mobile"
    naming = {"featureNaming": {"pattern": "[a-z-]+", "example": "a-b", "description": "Lower case."}}
    assert caller.put(f"{base}/settings", json=naming).status_code == 200
    strategy = {"name": "flexibleRollout", "parameters": {"rollout": "50"}}
    assert caller.post(f"{base}/environments/development/default-strategy", json=strategy).status_code == 200
    assert caller.post(f"{base}/favorites").status_code == 200
    posted(caller, "projects/mobile/features", {"name": "a-flag"})
    world.member("mobile", world.user("Bob"))
    return {"name": "Mobile app", "project": "mobile"}


# Where each record is read, changed and created


@dataclass(frozen=True)
class Sendable:
    """A record, and the requests that take it.

    table: its properties that requests do not set. records: its JSON Schemas. create: creates one and returns it.
    gets: the paths that return it, by default path and post. renamed: what a second record needs. wrong: other values
    of read-only properties. put: the path that changes it, by default path.
    """

    name: str
    table: ResponseOnly
    update: type[Body]
    new: type[Body] | None
    records: tuple[str, ...]
    create: Callable[[World, Caller], Json]
    path: str
    gets: tuple[str, ...] = ()
    renamed: Json | None = None
    wrong: Json | None = None
    put: str = ""

    @property
    def post(self) -> str:
        """Return the path that lists and creates these records."""
        return self.path.rpartition("/")[0]

    def __str__(self) -> str:
        return self.name


OF_USERS = {"isAPI": True, "username": "other", "imageUrl": "https://example.org/a.png", "accountType": "Other"}
OF_FLAGS = {"name": "other", "project": "apollo", "enabled": False, "archived": True, "favorite": False}
OF_FLAGS |= {"environments": [], "tags": [], "children": ["other"], "dependencies": [], "variants": [], "links": []}
OF_PROJECTS = {"environments": [], "featureNaming": {"pattern": "x"}, "favorite": False, "owners": []}
OF_STRATEGY_TYPES = {"name": "other", "displayName": "By host", "editable": False, "deprecated": False}
PROJECT_RECORDS = ("project", "projectCreated", "projectOverview", "legacyProjectOverview", "healthReport")
PROJECT_GETS = ("projects", "projects/mobile/overview", "projects/mobile", "projects/mobile/health-report")
SENDABLE = (
    Sendable(
        "context field",
        context_fields.CONTEXT_FIELD,
        context_fields.UpdateContextField,
        context_fields.CreateContextField,
        ("contextField", "contextFields"),
        context_field,
        "context/{name}",
        renamed={"name": "country-2"},
        wrong={"name": "other"},
    ),
    Sendable(
        "tag type",
        tag_types.TAG_TYPE,
        tag_types.UpdateTagType,
        tag_types.CreateTagType,
        ("tagType",),
        tag_type,
        "tag-types/{name}",
        renamed={"name": "team-2"},
        wrong={"name": "other"},
    ),
    Sendable(
        "strategy type",
        strategy_types.STRATEGY_TYPE,
        strategy_types.UpdateStrategyType,
        strategy_types.CreateStrategyType,
        ("strategyType",),
        strategy_type,
        "strategies/{name}",
        renamed={"name": "byHost-2"},
        wrong=OF_STRATEGY_TYPES,
    ),
    Sendable(
        "environment",
        environments.ENVIRONMENT,
        environments.UpdateEnvironment,
        environments.CreateEnvironment,
        ("environment", "countedEnvironment"),
        environment,
        "environments/{name}",
        renamed={"name": "staging-2"},
        wrong={"name": "other", "enabled": True, "protected": True},
        put="environments/update/{name}",
    ),
    Sendable(
        "segment",
        segments.SEGMENT,
        segments.UpdateSegment,
        segments.CreateSegment,
        ("segment", "usedSegment"),
        segment,
        "segments/{id}",
        renamed={"name": "Beta 2"},
        wrong={"createdBy": "nobody"},
    ),
    Sendable(
        "flag type",
        flag_types.FLAG_TYPE,
        flag_types.UpdateLifetime,
        None,
        ("flagType",),
        flag_type,
        "feature-types/{id}",
        gets=("feature-types",),
        wrong={"name": "Other", "description": "Other."},
        put="feature-types/{id}/lifetime",
    ),
    Sendable(
        "flag",
        flags.FLAG,
        flags.UpdateFlag,
        flags.CreateFlag,
        ("flag", "flagCore", "flagItem", "featureSearch.features", "archivedFlag"),
        flag,
        "projects/default/features/{name}",
        gets=("projects/default/features/{name}", "projects/default/features", "search/features"),
        renamed={"name": "checkout-2"},
        wrong=OF_FLAGS | {"createdBy": {"id": 0}},
    ),
    Sendable(
        "strategy",
        strategies.STRATEGY,
        strategies.StrategyChange,
        strategies.StrategyInput,
        ("strategy",),
        strategy,
        f"{STRATEGIES}/{{id}}",
        gets=(f"{STRATEGIES}/{{id}}", STRATEGIES, "projects/default/features/f"),
        renamed={},
        wrong={"featureName": "other", "sortOrder": 9},
    ),
    Sendable(
        "user",
        users.USER,
        users.UpdateUser,
        users.CreateUser,
        ("managedUser", "user"),
        user,
        "user-admin/{id}",
        renamed={"username": "ada-2", "email": "ada-2@example.org"},
        wrong=OF_USERS,
    ),
    Sendable(
        "group",
        groups.GROUP,
        groups.UpdateGroup,
        groups.CreateGroup,
        ("group",),
        group,
        "groups/{id}",
        renamed={"name": "Payments 2"},
        wrong={"createdBy": "nobody", "projects": []},
    ),
    Sendable(
        "role",
        roles.ROLE,
        roles.UpdateRole,
        roles.CreateRole,
        ("role", "roleWithPermissions"),
        role,
        "roles/{id}",
        renamed={"name": "Releaser 2"},
        wrong={"project": "default"},
    ),
    Sendable(
        "service account",
        service_accounts.SERVICE_ACCOUNT,
        service_accounts.UpdateServiceAccount,
        service_accounts.CreateServiceAccount,
        ("serviceAccount",),
        service_account,
        "service-account/{id}",
        gets=("service-account",),
        renamed={"username": "terraform-2"},
        wrong=OF_USERS | {"tokens": []},
    ),
    Sendable(
        "project",
        projects.PROJECT,
        projects.ProjectChange,
        projects.NewProject,
        PROJECT_RECORDS,
        project,
        "projects/mobile",
        gets=PROJECT_GETS,
        renamed={"id": "mobile", "name": "Mobile"},
        wrong=OF_PROJECTS,
    ),
    Sendable(
        "project settings",
        projects.PROJECT,
        projects.ProjectSettings,
        None,
        PROJECT_RECORDS,
        project,
        "projects/mobile/settings",
        gets=PROJECT_GETS,
        wrong=OF_PROJECTS | {"name": "Other", "description": "Other."},
    ),
)
EACH = pytest.mark.parametrize("kind", SENDABLE, ids=str)
CREATABLE = pytest.mark.parametrize("kind", [kind for kind in SENDABLE if kind.new], ids=str)
EACH_READ_ONLY = [
    pytest.param(kind, name, field.refusal, id=f"{kind} {name}")
    for kind in SENDABLE
    for name, field in kind.update().fields.items()
    if isinstance(field, ReadOnly)
]


def found(answer: Any, place: Json) -> Json:
    """Return the record with the id or name of the place in an answer: the answer itself, or below one of its keys."""
    key = "id" if "id" in place else "name"
    candidates: list[Any] = [answer]
    while candidates:
        candidate = candidates.pop(0)
        if isinstance(candidate, list):
            candidates += candidate
        elif isinstance(candidate, dict):
            if candidate.get(key) == place[key]:
                return candidate
            candidates += [value for value in candidate.values() if isinstance(value, (dict, list))]
    raise AssertionError(f"{place} is not in {answer}")


def read(caller: Caller, kind: Sendable, place: Json) -> list[Json]:
    """The record as each of its GETs returns it."""
    return [
        found(caller.get(f"{ADMIN}/{path.format(**place)}").get_json(), place)
        for path in kind.gets or (kind.path, kind.post)
    ]


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
        response = alice.put(f"{ADMIN}/{(kind.put or kind.path).format(**place)}", json=record)
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
        response = alice.put(
            f"{ADMIN}/{(kind.put or kind.path).format(**place)}", json=record | dict.fromkeys(ignored, wrong)
        )
        assert response.status_code in (200, 204), response.text
    assert fingerprint(world.conn) == stored


def test_usage_that_is_reported_meanwhile_is_no_difference(world: World, alice: Caller) -> None:
    [kind] = [kind for kind in SENDABLE if kind.name == "flag"]
    place = kind.create(world, alice)
    before = read(alice, kind, place)[0]
    report = {"project": "default", "flag": "checkout", "environment": "development", "app": "shop", "yes": 5, "no": 0}
    fixtures.report_usage(world.conn, [report | {"at": datetime.now(UTC)}])
    assert read(alice, kind, place)[0] != before
    assert alice.put(f"{ADMIN}/{(kind.put or kind.path).format(**place)}", json=before).status_code == 200


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
        message = refused(alice.put(f"{ADMIN}/{(kind.put or kind.path).format(**place)}", json=record | {name: wrong}))
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
    patch = [{"op": "add", "path": "/milestoneId", "value": value}]
    assert alice.request("PATCH", f"{environment}/{strategy}", json=patch).status_code == 200
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
        refused(alice.put(f"{ADMIN}/{(kind.put or kind.path).format(**place)}", json=record | {"other": 1}))
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
