"""The database roles of docs/how-to/deploy.md: those who serve and prune can do all that they do."""

import re

import pytest

from operations import bootstrap
from sql.database import connect, rows
from tests.support.command_line import CommandLine
from tests.support.deployment import GRANTS, deployment
from tests.support.instance import ADMIN_KEY, SETTINGS
from tests.support.reports import BULK, METRICS, REGISTER, hour, metrics
from tests.support.story import whole_story
from tests.support.world import Caller

FEATURES = "/api/admin/projects/default/features"
FLAG = f"{FEATURES}/checkout"
STATE = f"{FLAG}/environments/development"
APPLICATION = "/api/admin/metrics/applications/shop"
OFREP = "/ofrep/v1/evaluate/flags"
USAGE = {"checkout": {"yes": 2, "no": 1, "variants": {"red": 2}}, "misspelt": {"yes": 1, "no": 0}}
OF_ONE = {"appName": "shop", "featureName": "checkout", "environment": "development", "yes": 1, "no": 0}


@pytest.fixture(scope="module")
def key(deployed, make_app):
    """An administrator of a service with the role of the page."""
    return Caller(make_app(deployed.address("service")), ADMIN_KEY)


@pytest.fixture
def run_as(deployed, make_app, admin):
    """run_as(role): the command line of a database role."""
    return lambda role: CommandLine(make_app(deployed.address(role), BCRYPT_ROUNDS=12), admin)


# Applications


@pytest.fixture(scope="module")
def tokens(key):
    """A server and a browser. The flag checkout is on in development, with a variant."""
    assert key.post(FEATURES, json={"name": "checkout"}).status_code == 201
    assert key.post(f"{STATE}/on").status_code == 200
    variant = {"name": "red", "weight": 1000, "weightType": "variable", "stickiness": "userId"}
    assert key.put(f"{STATE}/variants", json=[variant]).status_code == 200
    bodies = [{"type": kind, "tokenName": kind, "environment": "development"} for kind in ("client", "frontend")]
    return [Caller(key.app, key.post("/api/admin/api-tokens", json=body).get_json()["secret"]) for body in bodies]


def test_the_service_serves_flags(key, tokens):
    server, browser = tokens
    assert Caller(server.app).post("/edge/validate", json={"tokens": [server.key]}).status_code == 200
    for state in ("off", "on"):
        assert key.post(f"{STATE}/{state}").status_code == 200
        [flag] = server.get("/api/client/features").get_json()["features"]
        assert flag["enabled"] is (state == "on")
    assert server.get("/api/client/features/checkout").status_code == 200
    for response in (browser.get("/api/frontend"), browser.post("/api/frontend", json={"context": {}})):
        assert [flag["name"] for flag in response.get_json()["toggles"]] == ["checkout"]
    assert browser.post(OFREP, json={}).status_code == 200
    assert browser.post(f"{OFREP}/checkout", json={}).get_json()["variant"] == "red"


def test_the_service_writes_and_deletes_reports(tokens, admin):
    server, browser = tokens
    body = {"appName": "shop", "instanceId": "i-1", "strategies": ["default"], "interval": 15}
    bulk = {"applications": [body], "metrics": [OF_ONE | {"timestamp": hour().isoformat()}]}
    # The first report inserts rows, and the second one updates them.
    for _ in range(2):
        assert server.post(REGISTER, json=body).status_code == 202
        assert server.post(METRICS, json=metrics(USAGE)).status_code == 202
        assert server.post(BULK, json=bulk).status_code == 202
        assert browser.post("/api/frontend/client/register", json=body).status_code == 200
        assert browser.post("/api/frontend/client/metrics", json=metrics(USAGE)).status_code == 200
    found = "SELECT sum(yes)::int AS yes, (SELECT sum(count)::int FROM usage_variants) AS red FROM usage_metrics"
    assert rows(admin, found) == [{"yes": 10, "red": 8}]
    assert rows(admin, "SELECT flag_name FROM unknown_flags") == [{"flag_name": "misspelt"}]
    assert len(rows(admin, "SELECT FROM flag_sightings")) == 1
    # Instances and names that were not seen for long are deleted when new ones arrive, and so are applications.
    admin.execute("UPDATE unknown_flags SET seen_at = now() - interval '8 days'")
    admin.execute("UPDATE application_instances SET seen_at = now() - interval '8 days'")
    admin.execute("UPDATE applications SET seen_at = now() - interval '31 days'")
    assert server.post(REGISTER, json=body | {"appName": "new"}).status_code == 202
    assert server.post(METRICS, json=metrics({"another": {"yes": 1, "no": 0}}, app="shop")).status_code == 202
    assert rows(admin, "SELECT flag_name FROM unknown_flags") == [{"flag_name": "another"}]


def test_the_service_shows_and_changes_applications(key, tokens):
    assert tokens[0].post(METRICS, json=metrics(USAGE)).status_code == 202
    for path in (
        "/api/admin/metrics/applications",
        APPLICATION,
        f"{APPLICATION}/overview",
        "/api/admin/metrics/instances/shop/environment/development",
        "/api/admin/metrics/unknown-flags",
        "/api/admin/client-metrics/features/checkout",
        "/api/admin/client-metrics/features/checkout/raw",
        f"{FLAG}/lifecycle",
    ):
        assert key.get(path).status_code == 200, path
    assert key.post(APPLICATION, json={"description": "The shop"}).status_code == 202
    assert key.delete(APPLICATION).status_code == 200
    playground = {"environment": "development", "projects": "*", "context": {}}
    assert key.post("/api/admin/playground", json=playground).status_code == 200
    for verb, body in (("complete", {"status": "kept"}), ("uncomplete", None)):
        assert key.post(f"{FLAG}/lifecycle/{verb}", json=body).status_code == 200
    # The sightings of a deleted flag are deleted too.
    assert key.delete(FLAG).status_code == 202
    assert key.delete("/api/admin/archive/checkout").status_code == 200


# Administration


@pytest.mark.slow
def test_the_service_can_make_every_change_and_answer_every_get(server, make_app):
    with deployment(server) as deployed:
        story = whole_story(make_app(deployed.address("service")))
        assert len(story.ledger) > 150
        paths = [
            rule.rule for rule in story.app.url_map.iter_rules() if "GET" in (rule.methods or ()) and not rule.arguments
        ]
        statuses = {path: story.key.get(path).status_code for path in paths if path.startswith("/api/admin/")}
        assert len(statuses) > 20
        # A key has no personal tokens, no password, no profile and no dashboard.
        assert {status for status in statuses.values() if status >= 500} == set()
        assert {status for path, status in statuses.items() if not re.search("/user|/personal-", path)} == {200}
        stats = story.read("/api/admin/projects/apollo/overview")["stats"]
        assert stats["projectActivityCurrentWindow"] == story.count(project="apollo")


def test_the_past_goes_with_a_project_that_is_deleted(key, service, admin):
    """The rows that foreign keys take along, although the role may not delete all of them itself."""
    usage = "INSERT INTO usage_metrics VALUES ('gone', 'f', 'production', 'a', now() - %s * interval '1 week', 1, 0)"
    with admin.transaction():
        admin.execute("INSERT INTO projects (id, name) VALUES ('gone', 'Gone')")
        admin.execute("INSERT INTO past_project_user_roles VALUES ('gone', 1, 4, now(), now())")
        for weeks in (1, 5):
            admin.execute(usage, [weeks])
    tables = ("usage_metrics", "past_project_user_roles")

    def left():
        counts = [f"SELECT count(*) AS number FROM {table} WHERE project_id = 'gone'" for table in tables]
        return [service.execute(statement).fetchone()["number"] for statement in counts]

    assert left() == [2, 1]
    assert key.post("/api/admin/projects/archive/gone").status_code == 200
    assert key.delete("/api/admin/projects/gone").status_code == 200
    assert left() == [0, 0]


def test_a_service_with_the_service_role_starts_and_changes_nothing(deployed, service):
    before = service.execute("SELECT count(*) AS number FROM events").fetchone()
    assert bootstrap.prepare_database(deployed.address("service"), SETTINGS) is None
    assert service.execute("SELECT count(*) AS number FROM events").fetchone() == before


# Commands


def test_the_commands_of_a_running_instance_work(run_as):
    line = run_as("service")
    line.does("user", "create", "--username", "clerk", "--generate")
    line.does("user", "reset-password", "clerk", "--generate")
    line.does("user", "unlock", "clerk")
    line.does("api-token", "create", "--name", "clerk", "--type", "admin")
    [token] = [token for token in line.lists("api-token") if "clerk" in token.values()]
    line.does("api-token", "revoke", str(token["id"]))
    line.does("signup-token", "create", "--name", "clerks")
    assert "The schema is current: version" in line.does("migrate")
    assert len(line.does("events", "export").splitlines()) == len(line.rows("SELECT FROM events"))
    assert "FAIL" not in line.does("doctor")
    message = line.refuses("events", "prune", "--days", "1")
    assert message.startswith("Database error: permission denied for table ")
    assert message.endswith(". Run ./flags doctor, and read docs/how-to/deploy.md.")


OLD = """
    INSERT INTO events (type, created_by, created_at)
    SELECT 'tag-created', 'x', now() - interval '90 days' FROM generate_series(1, 5);
    INSERT INTO usage_metrics (project_id, flag_name, environment, app_name, hour, yes, no)
    SELECT 'default', 'old', 'production', 'shop',
           date_trunc('day', now(), 'UTC') - days * interval '1 day' + hours * interval '1 hour', 1, 0
      FROM unnest(ARRAY[90, 50]) AS days, generate_series(1, 3) AS hours;
    INSERT INTO usage_variants (project_id, flag_name, environment, app_name, hour, variant, count)
    SELECT project_id, flag_name, environment, app_name, hour, 'red', 1 FROM usage_metrics WHERE flag_name = 'old'
"""


def test_the_third_role_prunes_events_and_usage(run_as, admin):
    admin.execute(OLD)
    line = run_as("prune")
    before = len(line.rows("SELECT FROM events"))
    prune = ("events", "prune", "--days", "60")
    assert line.does(*prune, "--dry-run").startswith("Would delete 5 events before ")
    assert line.does(*prune).startswith("Deleted 5 events before ")
    assert len(line.rows("SELECT FROM events")) == before - 5
    output = line.does("metrics", "prune", "--days", "60")
    assert ": 2 rows fewer." in output
    assert "Deleted 3 rows of usage" in output
    assert line.rows("SELECT count FROM usage_variants WHERE flag_name = 'old'") == [{"count": 3}]


def test_the_owner_restores_and_the_service_goes_on(server, make_app, tmp_path):
    with deployment(server) as deployed, connect(deployed.address()) as admin:
        owner, service = (
            CommandLine(make_app(deployed.address(role), BCRYPT_ROUNDS=12), admin) for role in ("owner", "service")
        )
        role, file = deployed.renamed("flags_service"), str(tmp_path / "x")
        message = service.refuses("backup", file)
        assert message.startswith("The backup failed: ")
        assert message.endswith(f"The role {role} cannot do this. Use the owner of the tables.")
        owner.does("backup", file)
        owner.does("restore", "--replace", file)
        message = f"The role {role} cannot use the schema. Run deploy/grants.sql (docs/how-to/deploy.md)."
        assert message in service.run("doctor").stdout
        for command in (("user", "list"), ("backup", str(tmp_path / "y")), ("restore", file), ("migrate",)):
            assert service.refuses(*command) == message
        deployed.psql(GRANTS, "owner")
        assert f"The role {role} has the privileges that the service needs." in service.run("doctor").stdout


def test_the_owner_compares_the_schema_if_it_can_create_databases(deployed, run_as, admin):
    allow = f'ALTER ROLE "{deployed.renamed("flags_owner")}" CREATEDB'
    problem = "The role cannot create the temporary database that this command needs."
    assert run_as("owner").refuses("schema-diff") == f"{problem} To allow it, run as a superuser: {allow}"
    admin.execute(allow)
    assert run_as("owner").does("schema-diff") == "The schema is the same as in schema.sql.\n"
