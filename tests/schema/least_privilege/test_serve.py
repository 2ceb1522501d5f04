"""The database roles of docs/how-to/deploy.md: who serves and who prunes can do all that they do."""

from typing import Any

import pytest

from rules import bootstrap
from tests.support.command_line import CommandLine, only_line, run_flags
from tests.support.deployment import GRANTS, Deployment
from tests.support.instance import ADMIN_KEY, SETTINGS
from tests.support.story import Story, whole_story
from tests.support.world import Caller


@pytest.fixture(scope="module")
def story(deployed: Deployment, make_app: Any) -> Story:
    """Everything that can be changed over HTTP, changed by a service of little privilege."""
    return whole_story(make_app(deployed.address("service")))


# What the service can do


@pytest.mark.slow
def test_the_service_can_make_every_change_of_the_story(story):
    assert len(story.ledger) > 150


@pytest.mark.slow
def test_the_service_role_can_answer_every_get_without_an_id(story):
    paths = [rule.rule for rule in story.app.url_map.iter_rules() if "GET" in rule.methods and not rule.arguments]
    statuses = {path: story.key.get(path).status_code for path in paths if path.startswith("/api/admin/")}
    assert len(statuses) > 20
    # A key has no personal tokens, no password and no profile.
    assert {status for status in statuses.values() if status >= 500} == set()
    assert {status for path, status in statuses.items() if "/user" not in path} == {200}
    assert story.read("/api/admin/projects/apollo/overview")["stats"]["projectActivityCurrentWindow"] == story.count(
        project="apollo"
    )
    stream = story.key.get("/api/admin/search/events", headers={"Accept": "application/x-ndjson"})
    assert stream.text.count("\n") == len(story.ledger)


def test_the_past_goes_with_a_project_that_is_deleted(deployed, service, admin, make_app):
    """The rows that foreign keys take along, although the role may not delete all of them itself."""
    with admin.transaction():
        admin.execute("INSERT INTO projects (id, name) VALUES ('gone', 'Gone')")
        admin.execute("INSERT INTO past_project_user_roles VALUES ('gone', 1, 4, now(), now())")
        for weeks in (1, 5):
            admin.execute(USAGE, ("gone", weeks))
    tables = ("usage_metrics", "past_project_user_roles")
    of_project = " UNION ALL ".join(
        f"SELECT count(*) AS number FROM {table} WHERE project_id = 'gone'" for table in tables
    )
    assert [row["number"] for row in service.execute(of_project)] == [2, 1]
    key = Caller(make_app(deployed.address("service")), ADMIN_KEY)
    assert key.post("/api/admin/projects/archive/gone").status_code == 200
    assert key.delete("/api/admin/projects/gone").status_code == 200
    assert [row["number"] for row in service.execute(of_project)] == [0, 0]


USAGE = "INSERT INTO usage_metrics VALUES (%s, 'f', 'production', 'a', now() - %s * interval '1 week', 1, 0)"


def test_a_service_with_the_service_role_starts_and_changes_nothing(deployed, service):
    before = service.execute("SELECT count(*) AS number FROM events").fetchone()
    assert bootstrap.prepare_database(deployed.address("service"), SETTINGS) is None
    assert service.execute("SELECT count(*) AS number FROM events").fetchone() == before


def test_the_commands_of_a_running_instance_work(deployed, service, make_app):
    line = CommandLine(make_app(deployed.address("service")), service)
    line.does("user", "create", "--username", "clerk", "--generate")
    line.does("user", "reset-password", "clerk", "--generate")
    line.does("user", "unlock", "clerk")
    line.does("api-token", "create", "--name", "clerk", "--type", "admin")
    [key] = [token for token in line.lists("api-token") if "clerk" in token.values()]
    line.does("api-token", "revoke", str(key["id"]))
    line.does("signup-token", "create", "--name", "clerks")
    assert "The schema is current: version" in line.does("migrate")
    assert len(line.does("events", "export").splitlines()) == len(line.rows("SELECT FROM events"))
    assert [finding for finding in line.run("doctor").stdout.splitlines() if finding.startswith("FAIL")] == []
    assert line.refuses("events", "prune", "--days", "1") == "Database error: permission denied for table events."


OLD = """
    INSERT INTO events (type, created_by, created_at)
    SELECT 'tag-created', 'x', now() - interval '90 days' FROM generate_series(1, 5)
"""


def test_the_third_role_prunes(deployed, admin):
    admin.execute(OLD)
    before = admin.execute("SELECT count(*) AS number FROM events").fetchone()["number"]
    for options, message in ((["--dry-run"], "Would delete 5 events before "), ([], "Deleted 5 events before ")):
        done = run_flags("events", "prune", "--days", "60", *options, DATABASE_URL=deployed.address("prune"))
        assert done.stdout.startswith(message), done.stderr
    assert admin.execute("SELECT count(*) AS number FROM events").fetchone() == {"number": before - 5}


OLD_USAGE = """
    INSERT INTO usage_metrics (project_id, flag_name, environment, app_name, hour, yes, no)
    SELECT 'default', 'old', 'production', 'shop',
           date_trunc('day', now(), 'UTC') - days * interval '1 day' + hours * interval '1 hour', 1, 0
      FROM unnest(ARRAY[90, 50]) AS days, generate_series(1, 3) AS hours;
    INSERT INTO usage_variants (project_id, flag_name, environment, app_name, hour, variant, count)
    SELECT project_id, flag_name, environment, app_name, hour, 'red', 1 FROM usage_metrics WHERE flag_name = 'old'
"""


def test_the_third_role_prunes_usage(deployed, admin):
    admin.execute(OLD_USAGE)
    done = run_flags("metrics", "prune", "--days", "60", DATABASE_URL=deployed.address("prune"))
    assert ": 2 rows fewer." in done.stdout, done.stderr
    assert "Deleted 3 rows of usage" in done.stdout
    counts = "SELECT count FROM usage_variants WHERE flag_name = 'old'"
    assert admin.execute(counts).fetchall() == [{"count": 3}]


STOP = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'flags' AND datname = %s"


def test_the_owner_restores_and_the_service_goes_on(deployed, admin, tmp_path):
    owner, service = (
        {"DATABASE_URL": deployed.address("owner")},
        {"DATABASE_URL": deployed.address("service"), "BCRYPT_ROUNDS": "12"},
    )
    refused = only_line(run_flags("backup", str(tmp_path / "x"), **service).stderr)
    assert refused.startswith("The backup failed: ")
    role = deployed.renamed("flags_service")
    assert refused.endswith(f"The role {role} cannot do this. Use the owner of the tables.")
    assert run_flags("backup", str(tmp_path / "x"), **owner).returncode == 0
    # Other tests have left a service running.
    admin.execute(STOP, [admin.info.dbname])
    done = run_flags("restore", "--replace", str(tmp_path / "x"), **owner)
    assert done.returncode == 0, done.stderr
    assert (
        f"The role {role} cannot use the schema. Run deploy/grants.sql (docs/how-to/deploy.md)."
        in run_flags("doctor", **service).stdout
    )
    for command in (("user", "list"), ("backup", str(tmp_path / "y")), ("restore", str(tmp_path / "x")), ("migrate",)):
        refused = run_flags(*command, **service)
        assert (refused.returncode, only_line(refused.stderr)) == (
            1,
            f"The role {role} cannot use the schema. Run deploy/grants.sql (docs/how-to/deploy.md).",
        )
    deployed.psql(GRANTS, "owner")
    assert f"The role {role} has the privileges that the service needs." in run_flags("doctor", **service).stdout


def test_the_owner_compares_the_schema_if_it_can_create_databases(deployed, admin):
    owner = {"DATABASE_URL": deployed.address("owner")}
    refused = run_flags("schema-diff", **owner)
    problem = "The role cannot create the temporary database that this command needs."
    allow = f'ALTER ROLE "{deployed.renamed("flags_owner")}" CREATEDB'
    assert refused.returncode == 1
    assert only_line(refused.stderr) == f"{problem} To allow it, run as a superuser: {allow}"
    admin.execute(allow)
    done = run_flags("schema-diff", **owner)
    assert (done.returncode, done.stdout) == (0, "The schema is the same as in schema.sql.\n"), done.stderr
