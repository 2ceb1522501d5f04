"""Changes of the catalog at once, on connections that commit: one winner or one order, nothing recorded twice, and
nothing lost.
"""

import json

import pytest

from sql.database import value
from tests.support import fixtures
from tests.support.races import at_once, statuses
from tests.support.world import refused

ADMIN = "/api/admin"
STRATEGIES = f"{ADMIN}/projects/default/features/{{0}}/environments/development/strategies"


@pytest.mark.parametrize(
    ("path", "body", "gone", "row", "event"),
    [
        ("context", {"name": "{0}"}, "context/{0}", "context_fields WHERE name = '{0}'", "context-field"),
        ("tag-types", {"name": "{0}"}, "tag-types/{0}", "tag_types WHERE name = '{0}'", "tag-type"),
        (
            "strategies",
            {"name": "{0}", "parameters": []},
            "strategies/{0}",
            "strategy_types WHERE name = '{0}'",
            "strategy",
        ),
        ("tags", {"type": "simple", "value": "{0}"}, "tags/simple/{0}", "tags WHERE value = '{0}'", "tag"),
    ],
)
def test_one_of_eight_creations_and_of_four_deletions_succeeds(admin, queue, name, types, path, body, gone, row, event):
    body = {key: text.format(name) if isinstance(text, str) else text for key, text in body.items()}
    assert statuses(at_once(*[lambda: admin.post(f"{ADMIN}/{path}", json=body)] * 8)) == {201: 1, 409: 7}
    calls = [lambda: admin.delete(f"{ADMIN}/{gone.format(name)}")] * 4
    assert statuses(queue(f"SELECT FROM {row.format(name)} FOR UPDATE", *calls)) == {200: 1, 404: 3}
    assert types() == [f"{event}-created", f"{event}-deleted"]


@pytest.mark.parametrize(
    ("path", "table", "one", "other"),
    [
        ("context", "context_fields", {"description": "new"}, {"sortOrder": 3}),
        ("tag-types", "tag_types", {"description": "new"}, {"icon": "!"}),
        ("strategies", "strategy_types", {"description": "new", "parameters": []}, {"title": "New", "parameters": []}),
    ],
)
def test_two_simultaneous_changes_are_both_kept(admin, queue, name, log, path, table, one, other):
    more = {"parameters": []} if path == "strategies" else {}
    assert admin.post(f"{ADMIN}/{path}", json=more | {"name": name}).status_code == 201
    calls = [lambda change=change: admin.put(f"{ADMIN}/{path}/{name}", json=change) for change in (one, other)]
    assert statuses(queue(f"SELECT FROM {table} WHERE name = '{name}' FOR UPDATE", *calls)) == {200: 2}
    _, first, second = log()
    assert second["pre_data"] == first["data"]
    assert second["data"] == first["pre_data"] | one | other


def test_concurrent_changes_of_a_lifetime_record_what_they_found(admin, queue, log):
    path = f"{ADMIN}/feature-types/release/lifetime"
    calls = [lambda days=days: admin.put(path, json={"lifetimeDays": days}) for days in (1, 2)]
    assert statuses(queue("SELECT FROM flag_types WHERE id = 'release' FOR UPDATE", *calls)) == {200: 2}
    first, second = log()
    assert second["pre_data"] == first["data"]


def test_eight_deprecate_once(admin, types):
    for word in ("deprecate", "reactivate"):
        path = f"{ADMIN}/strategies/remoteAddress/{word}"
        assert statuses(at_once(*[lambda path=path: admin.post(path)] * 8)) == {200: 8}
    assert types() == ["strategy-deprecated", "strategy-reactivated"]


def test_a_strategy_type_is_either_deleted_or_used(admin, queue, flag, types):
    assert admin.post(f"{ADMIN}/strategies", json={"name": flag, "parameters": []}).status_code == 201
    answers = queue(
        f"SELECT FROM strategy_types WHERE name = '{flag}' FOR UPDATE",
        lambda: admin.delete(f"{ADMIN}/strategies/{flag}"),
        lambda: admin.post(STRATEGIES.format(flag), json={"name": flag}),
    )
    assert ([answer.status_code for answer in answers], types()) in (
        ([200, 400], ["strategy-created", "strategy-deleted"]),
        ([409, 200], ["strategy-created", "feature-strategy-add"]),
    )


# The requests that begin to use a context field {0}: the table that they write, method, path and body.
CONSTRAINTS = [{"contextName": "{0}", "operator": "IN", "values": ["x"]}]
SPLIT = {"name": "flexibleRollout", "parameters": {"stickiness": "{0}"}}
USES = {
    "constraint": ("strategies", "POST", STRATEGIES, {"name": "default", "constraints": CONSTRAINTS}),
    "stickiness": ("strategies", "POST", STRATEGIES, SPLIT),
    "variant": (
        "variants",
        "PUT",
        f"{ADMIN}/projects/default/features/{{0}}/environments/development/variants",
        [{"name": "v", "weight": 1, "stickiness": "{0}"}],
    ),
    "segment": ("segments", "POST", f"{ADMIN}/segments", {"name": "{0}", "constraints": CONSTRAINTS}),
    "default strategy": (
        "project_environments",
        "POST",
        f"{ADMIN}/projects/default/environments/production/default-strategy",
        SPLIT,
    ),
    "default stickiness": (
        "projects",
        "POST",
        f"{ADMIN}/projects",
        {"name": "{0}", "id": "{0}", "defaultStickiness": "{0}"},
    ),
}


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("first", ["use", "deletion"])
def test_a_context_field_is_either_deleted_or_used(admin, queue, flag, use, first):
    assert admin.post(f"{ADMIN}/context", json={"name": flag, "stickiness": True}).status_code == 201
    table, method, path, body = USES[use]
    body = json.loads(json.dumps(body).replace("{0}", flag))
    calls = [
        lambda: admin.request(method, path.format(flag), json=body),
        lambda: admin.delete(f"{ADMIN}/context/{flag}"),
    ]
    # The first request has checked everything, and waits to write. Reads do not wait.
    lock = f"LOCK TABLE {'context_fields' if first == 'deletion' else table} IN SHARE MODE"
    done, refusal = queue(lock, *(calls if first == "use" else calls[::-1]))
    assert done.status_code in (200, 201), done.text
    if first == "use":
        refused(refusal, 409, "ConflictError")
    else:
        assert flag in refused(refusal)


def test_a_type_of_tags_goes_with_concurrent_tags(admin, conn, queue, flag):
    tag_type = flag[:50]
    assert admin.post(f"{ADMIN}/tag-types", json={"name": tag_type}).status_code == 201
    gone, tagged, created = queue(
        f"SELECT FROM tag_types WHERE name = '{tag_type}' FOR UPDATE",
        lambda: admin.delete(f"{ADMIN}/tag-types/{tag_type}"),
        lambda: admin.post(f"{ADMIN}/features/{flag}/tags", json={"type": tag_type, "value": "one"}),
        lambda: admin.post(f"{ADMIN}/tags", json={"type": tag_type, "value": "two"}),
    )
    assert gone.status_code == 200
    assert {tagged.status_code, created.status_code} <= {201, 400}
    assert value(conn, "SELECT count(*) FROM tags WHERE type = %(type)s", {"type": tag_type}) == 0


@pytest.mark.parametrize("paths", [("tags", "features/{}/tags"), ("features/{}/tags", "tags")])
def test_a_flag_loses_a_tag_once(world, admin, conn, queue, name, types, paths):
    fixtures.tag(conn, world.flag(name), "simple", name)
    paths = [f"{ADMIN}/{path.format(name)}/simple/{name}" for path in paths]
    lock = f"SELECT FROM flag_tags WHERE value = '{name}' FOR UPDATE"
    assert statuses(queue(lock, *[lambda path=path: admin.delete(path) for path in paths])) == {200: 2}
    assert sorted(types()) == ["feature-untagged", "tag-deleted"]


def test_a_flag_gets_a_tag_before_or_after_the_deletion_of_the_tag(admin, conn, queue, flag, types):
    tag = {"type": "simple", "value": flag}
    assert admin.post(f"{ADMIN}/tags", json=tag).status_code == 201
    answers = queue(
        f"SELECT FROM tags WHERE value = '{flag}' FOR UPDATE",
        lambda: admin.delete(f"{ADMIN}/tags/simple/{flag}"),
        lambda: admin.post(f"{ADMIN}/features/{flag}/tags", json=tag),
    )
    assert statuses(answers) == {200: 1, 201: 1}
    after = ["tag-created", "tag-deleted", "tag-created", "feature-tagged"]
    assert types() in (["tag-created", "feature-tagged", "feature-untagged", "tag-deleted"], after)
    has_it = value(conn, "SELECT count(*) FROM flag_tags WHERE value = %(value)s", {"value": flag})
    assert has_it == (types() == after)
