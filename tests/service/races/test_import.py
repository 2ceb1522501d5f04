"""Simultaneous imports: of the same flags, of one name, up to a limit, and during changes of the same records."""

from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import pytest

from rules.imports import PART
from sql.database import connect, value
from tests.support.documents import IMPORT, VALIDATE, body, document, happened, state, strategy, validated
from tests.support.instance import ADMIN_KEY
from tests.support.races import at_once, statuses, wait_for
from tests.support.segments import KEPT, make
from tests.support.world import Caller, refused


def flags(conn, project):
    """How many flags a project has."""
    return value(conn, "SELECT count(*) FROM flags WHERE project_id = %(id)s", {"id": project})


def test_an_import_waits_for_changes_of_its_flags(world, admin, queue, project, log):
    world.flag(project, project, description="Old.")
    change = f"UPDATE flags SET description = 'By hand.' WHERE name = '{project}'"
    data = document({"name": project, "description": "New."})
    assert statuses(queue(change, lambda: admin.post(IMPORT, json=body(data, project)))) == {200: 1}
    changed, _ = log()
    assert (changed["pre_data"]["description"], changed["data"]["description"]) == ("By hand.", "New.")


def test_the_second_import_finds_the_flags_of_the_first(world, admin, conn, gate, project):
    before = world.last_event_id()
    with ThreadPoolExecutor(2) as threads:
        with gate.transaction(force_rollback=True):
            gate.execute("INSERT INTO flags (name, project_id) VALUES (%(id)s, %(id)s)", {"id": project})
            data = body(document(project), project)
            answers = [threads.submit(admin.post, IMPORT, json=data) for _ in range(2)]
            wait_for(conn, answers)
        assert [answer.result().status_code for answer in answers] == [200, 200]
    assert happened(world, before) == [
        ("feature-created", project),
        ("features-imported", None),
        ("features-imported", None),
    ]


def test_an_import_locks_all_segments_by_id(admin, conn, gate, project):
    first, last = (make(admin, f"{project}-{number}", project=project) for number in (1, 2))
    path = f"/api/admin/projects/{project}/environments/development/default-strategy"
    assert admin.post(path, json={"name": "flexibleRollout", "segments": [first]}).status_code == 200
    named = [{"id": 7, "name": f"{project}-2", "constraints": [KEPT]}]
    # The second flag is on without a strategy, so it gets the default strategy.
    names = [f"{project}-flag", f"{project}-other"]
    uses = {"featureStrategies": [strategy(names[0], segments=[7])], "segments": named}
    data = document(*names, **uses, featureEnvironments=[state(names[1], enabled=True)])
    with ThreadPoolExecutor(1) as threads:
        with gate.transaction():
            gate.execute("SELECT FROM segments WHERE id = %s FOR UPDATE", [first])
            imported = threads.submit(admin.post, IMPORT, json=body(data, project))
            wait_for(conn, [imported])
            # The import waits for the first segment and has no lock on the last one.
            gate.execute("SELECT FROM segments WHERE id = %s FOR UPDATE NOWAIT", [last])
        assert imported.result().status_code == 200
    found = conn.execute("SELECT DISTINCT segment_id FROM strategy_segments ORDER BY segment_id").fetchall()
    assert {first, last} <= {row["segment_id"] for row in found}


def test_a_name_taken_during_an_import_is_an_error(admin, conn, queue, project, types):
    taken = f"INSERT INTO flags (name, project_id) VALUES ('{project}', '{project}')"
    data = body(document(f"{project}-1", project), project)
    [answer] = queue(taken, lambda: admin.post(IMPORT, json=data))
    assert refused(answer).startswith(f"{project}: name: a flag with this name already exists")
    assert (types(), flags(conn, project)) == ([], 1)


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE projects SET archived_at = now() WHERE id = '{0}'",
        "SELECT FROM projects WHERE id = '{0}' FOR NO KEY UPDATE; DELETE FROM project_environments "
        "WHERE environment = 'development' AND project_id = '{0}'",
    ],
)
def test_an_import_into_a_project_or_environment_being_removed_is_404(admin, conn, queue, project, types, statement):
    [answer] = queue(
        statement.format(project), lambda: admin.post(IMPORT, json=body(document(f"{project}-1"), project))
    )
    refused(answer, 404, "NotFoundError")
    assert (types(), flags(conn, project)) == ([], 0)


def test_simultaneous_imports_of_the_same_document_all_succeed(admin, project, types):
    names = [f"{project}-{number}" for number in range(30)]
    strategies = [strategy(name) for name in names]
    documents = [document(*order, featureStrategies=strategies) for order in (names, names[::-1])] * 2
    calls = [lambda data=data: admin.post(IMPORT, json=body(data, project)) for data in documents]
    assert statuses(at_once(*calls)) == {200: 4}
    assert Counter(types()) == {"feature-created": 30, "feature-strategy-add": 30, "features-imported": 4}


def test_of_imports_of_one_name_into_two_projects_at_once_one_is_refused(world, admin, project):
    projects = (project, world.project(f"{project}-2"))
    data = document(project)
    calls = [lambda project=project: admin.post(IMPORT, json=body(data, project)) for project in projects]
    assert statuses(at_once(*calls)) == {200: 1, 400: 1}


def test_imports_at_once_keep_the_limit_of_the_project(admin, conn, project):
    conn.execute("UPDATE projects SET feature_limit = 2 WHERE id = %s", [project])
    pairs = [document(f"{project}-{letter}1", f"{project}-{letter}2") for letter in "abc"]
    calls = [lambda data=data: admin.post(IMPORT, json=body(data, project)) for data in pairs]
    assert statuses(at_once(*calls)) == {200: 1, 400: 2}
    assert flags(conn, project) == 2


def test_validation_locks_only_one_part_of_a_document(world, admin, conn, gate, project):
    names = [f"{project}-{number}" for number in range(PART // 100 + 1)]
    for name in names:
        world.flag(name, project)
    # 99 tags and a flag are 100 entries.
    tags = [
        {"featureName": name, "tagType": "simple", "tagValue": f"tag-{number}"}
        for name in names
        for number in range(99)
    ]
    with ThreadPoolExecutor(1) as thread:
        with gate.transaction():
            gate.execute("SELECT FROM flags WHERE name = %s FOR UPDATE", [names[-1]])
            answer = thread.submit(admin.post, VALIDATE, json=body(document(*names, featureTags=tags), project))
            wait_for(conn, [answer])
            for name in (names[-2], names[0]):
                conn.execute("SELECT FROM flags WHERE name = %s FOR NO KEY UPDATE NOWAIT", [name])
        assert answer.result().get_json()["errors"] == []


def test_validation_on_a_read_only_server_checks_the_document(make_database, make_app):
    url = make_database()
    with connect(url) as conn:
        conn.execute(f'ALTER DATABASE "{conn.info.dbname}" SET default_transaction_read_only = on')  # pyright: ignore
    caller = Caller(make_app(url), ADMIN_KEY)
    found = validated(caller, document("f", {"name": "g", "type": "toggle"}, featureStrategies=[strategy()]))
    assert found["errors"] == {
        "invalid flag: type: must be experiment, kill-switch, release, operational, permission or sunset": ["g"]
    }
    assert found["warnings"] == {"The database is read-only, so this flag was not compared with it.": ["f"]}
    refused(caller.post(VALIDATE, json=body(document(), environment="nowhere")), 404, "NotFoundError")
    refused(caller.post(IMPORT, json=body(document("f"))), 503, "UnavailableError")
