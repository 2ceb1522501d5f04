"""Integrations get what their last editor may read at the time of delivery."""

import json

import pytest

from tests.support.receiver import log

TYPES = ["feature-created", "segment-created", "project-access-added"]


@pytest.fixture
def change(alice, world):
    """Create a flag in the default project and in the private project apollo, and a segment."""
    world.project("apollo", mode="private")

    def run():
        for project in ("default", "apollo"):
            path = f"/api/admin/projects/{project}/features"
            assert alice.post(path, json={"name": f"flag-of-{project}"}).status_code == 201
        assert alice.post("/api/admin/segments", json={"name": "beta", "constraints": []}).status_code == 201

    return run


def subjects(receiver):
    return [event["featureName"] or event["data"]["name"] for event in map(json.loads, receiver.bodies)]


def test_administrator_gets_everything(change, subscribe, deliver, receiver):
    subscribe(events=TYPES)
    change()
    deliver()
    assert subjects(receiver) == ["flag-of-default", "flag-of-apollo", "beta"]


@pytest.mark.parametrize(
    ("projects", "arrives"),
    [
        ([], ["flag-of-default"]),
        (["*"], ["flag-of-default"]),
        (["*", "apollo"], ["flag-of-default", "flag-of-apollo"]),
        (["apollo"], ["flag-of-apollo"]),
    ],
)
def test_editor_gets_private_projects_only_by_name(eve, change, subscribe, deliver, receiver, projects, arrives):
    subscribe(by=eve, events=TYPES[:2], projects=projects)
    change()
    deliver()
    assert subjects(receiver) == arrives


@pytest.mark.parametrize(
    ("statement", "arrives"),
    [
        ("UPDATE users SET root_role_id = 3 WHERE id = %(eve)s", ["flag-of-default"]),
        ("UPDATE users SET root_role_id = 1 WHERE id = %(eve)s", ["flag-of-default", "flag-of-apollo", "beta"]),
        ("UPDATE users SET deleted_at = now() WHERE id = %(eve)s", []),
        (
            "WITH demoted AS (UPDATE users SET root_role_id = 3 WHERE id = %(eve)s) INSERT INTO project_user_roles"
            " (project_id, user_id, role_id) VALUES ('apollo', %(eve)s, 5)",
            ["flag-of-default", "flag-of-apollo"],
        ),
        ("UPDATE projects SET mode = 'open' WHERE id = 'apollo'", ["flag-of-default", "flag-of-apollo"]),
        ("UPDATE events SET type = 'api-token-created'", []),
    ],
)
def test_rights_count_at_the_time_of_delivery(eve, change, subscribe, deliver, receiver, conn, statement, arrives):
    subscribe(by=eve, events=TYPES[:2], projects=["*", "apollo"])
    change()
    conn.execute(statement, {"eve": eve.id})
    deliver()
    assert subjects(receiver) == arrives


def test_chat_message_leaves_out_what_the_editor_may_not_read(eve, change, subscribe, deliver, receiver):
    subscribe("slack", by=eve, events=TYPES[:2])
    change()
    deliver()
    (message,) = map(json.loads, receiver.bodies)
    assert message["text"].splitlines()[0].endswith("|flag-of-default>")
    assert "apollo" not in message["text"]
    assert "beta" not in message["text"]


def test_last_editor_counts(alice, eve, change, subscribe, deliver, receiver):
    integration = subscribe(events=TYPES[:2])
    path, body = f"/api/admin/addons/{integration['id']}", {**integration, "parameters": {"url": "*****"}}
    assert eve.put(path, json=body).status_code == 200
    change()
    assert alice.put(path, json=body).status_code == 200
    deliver()
    assert subjects(receiver) == ["flag-of-default", "flag-of-apollo", "beta"]


def test_log_shows_only_events_that_the_caller_can_see(alice, eve, change, subscribe, deliver):
    integration = subscribe(events=TYPES[:2])
    change()
    deliver()
    assert [entry["event"]["type"] for entry in log(alice, integration)] == [
        "segment-created",
        *["feature-created"] * 2,
    ]
    assert [entry["event"]["type"] for entry in log(eve, integration)] == ["feature-created"] * 2
    path = f"/api/admin/addons/{integration['id']}/events?limit=1&offset=1"
    (entry,) = alice.get(path).json["integrationEvents"]
    assert entry["event"]["featureName"] == "flag-of-apollo"
