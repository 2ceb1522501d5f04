"""Changes of one record with the same If-Match at once, on connections that commit."""

import pytest

from tests.support.races import statuses

FLAGS = "/api/admin/projects/default/features"
LOCK = "SELECT FROM {} WHERE name = %(name)s FOR UPDATE"


@pytest.mark.parametrize(
    ("table", "collection", "new", "field"),
    [
        ("flags", FLAGS, {}, "description"),
        ("flags", FLAGS + "/{}/environments/development/strategies", {"name": "default"}, "title"),
        ("segments", "/api/admin/segments", {"constraints": []}, "description"),
        ("groups", "/api/admin/groups", {}, "description"),
        ("context_fields", "/api/admin/context", {}, "description"),
    ],
    ids=["flag", "strategy", "segment", "group", "context field"],
)
def test_one_of_three_changes_with_the_same_etag_wins(world, admin, queue, name, log, table, collection, new, field):
    if field == "title":
        world.flag(name)
    body = {"name": name} | new
    created = admin.post(collection.format(name), json=body)
    record = created.get_json()
    path = f"{collection.format(name)}/{record.get('id', name)}"
    given = {"If-Match": created.headers["ETag"]}
    body = {} if table == "flags" else body
    calls = [lambda n=n: admin.put(path, json=body | {field: str(n)}, headers=given) for n in range(3)]
    found = statuses(queue(LOCK.format(table), *calls, params={"name": name}))
    assert found.pop(412) == 2
    assert sum(found.values()) == 1
    created, *updated = log()
    assert len(updated) == 1
