"""What validating an import says of the permissions that the caller would lack."""

import pytest

from sql.vocabulary import tag_types
from tests.support.documents import IMPORT, ROLLOUT, body, bring_in, document, links, state, strategy, validated
from tests.support.fingerprint import fingerprint
from tests.support.world import refused

# Permissions

MESSAGE = "You lack these permissions in project default and environment development."
TAG = {"featureName": "f", "tagType": "team", "tagValue": "web"}
HERE = ["UPDATE_FEATURE", "UPDATE_FEATURE_ENVIRONMENT"]
STRATEGIES = ["CREATE_FEATURE_STRATEGY", "DELETE_FEATURE_STRATEGY"]


@pytest.mark.parametrize(
    ("data", "permissions"),
    [
        (document(), []),
        (document("here"), ["DELETE_FEATURE_STRATEGY", "UPDATE_FEATURE_ENVIRONMENT_VARIANTS"]),
        (document("same", featureStrategies=[strategy("same", sortOrder=0)]), []),
        (document("f"), ["CREATE_FEATURE"]),
        (
            document("here", featureStrategies=[strategy("here", title="new")]),
            [*STRATEGIES, "UPDATE_FEATURE_ENVIRONMENT_VARIANTS"],
        ),
        (
            document("f", featureEnvironments=[state(variants=[{"name": "a", "weight": 1}])]),
            ["CREATE_FEATURE", "UPDATE_FEATURE_ENVIRONMENT_VARIANTS"],
        ),
        (document("f", featureTags=[TAG], tagTypes=[{"name": "team"}]), ["CREATE_FEATURE", "CREATE_TAG_TYPE"]),
        (document(tagTypes=[{"name": "simple"}]), []),
        (document(contextFields=[{"name": "country"}]), ["CREATE_CONTEXT_FIELD"]),
        (document(contextFields=[{"name": "userId"}]), []),
        (document("f", "g", dependencies=[links("f", "g")]), ["CREATE_FEATURE", "UPDATE_FEATURE_DEPENDENCY"]),
    ],
)
def test_the_permissions_are_those_of_what_would_be_done(world, conn, victor, data, permissions):
    world.strategy(world.flag("same"), parameters=ROLLOUT)
    here = world.flag("here")
    world.strategy(here, parameters=ROLLOUT)
    conn.execute(
        "INSERT INTO variants (flag_id, environment, name, weight) VALUES (%s, 'development', 'blue', 1000)", [here]
    )
    needed = sorted(HERE + permissions)
    assert validated(victor, data)["permissions"] == {MESSAGE: needed}
    for lacking in needed:
        conn.execute("DELETE FROM role_permissions WHERE role_id = 3")
        conn.execute(
            (
                "INSERT INTO role_permissions (role_id, permission) SELECT 3, name "
                "FROM permissions WHERE name = ANY(%s) AND name <> %s"
            ),
            [needed, lacking],
        )
        assert validated(victor, data)["permissions"] == {MESSAGE: [lacking]}
        before = fingerprint(conn)
        assert lacking in refused(victor.post(IMPORT, json=body(data)), 403, "NoAccessError")
        assert fingerprint(conn) == before
    conn.execute("INSERT INTO role_permissions (role_id, permission) VALUES (3, %s)", [needed[-1]])
    assert validated(victor, data)["permissions"] == {}
    bring_in(victor, data)


def test_permissions_in_another_environment_or_project_do_not_count(world, conn, victor):
    world.project("hermes")
    conn.execute(
        """
        INSERT INTO role_permissions (role_id, permission, project_id, environment) VALUES
            (3, 'UPDATE_FEATURE', NULL, NULL),
            (3, 'UPDATE_FEATURE_ENVIRONMENT', NULL, 'production'),
            (3, 'CREATE_FEATURE', 'hermes', NULL)
        """
    )
    assert validated(victor, document("f"))["permissions"] == {
        MESSAGE: ["CREATE_FEATURE", "UPDATE_FEATURE_ENVIRONMENT"]
    }
    refused(victor.post(IMPORT, json=body(document("f"))), 403, "NoAccessError")
    bring_in(victor, document("f"), project="hermes", environment="production")


def test_permission_is_refused_before_the_errors_of_the_document(world, victor, max):
    tag_types.insert(world.conn, "other", "")
    wrong = document("f", "f", tagTypes=[{"name": "team"}])
    assert "UPDATE_FEATURE" in refused(victor.post(IMPORT, json=body(wrong)), 403, "NoAccessError")
    message = refused(max.post(IMPORT, json=body(wrong, project="apollo")), 403, "NoAccessError")
    assert message == "You lack these permissions in project apollo and environment development: CREATE_TAG_TYPE"
    assert "in every project" in refused(victor.post(IMPORT, json=body({})), 403, "NoAccessError")
    refused(max.post(IMPORT, json=body({})), 400)
