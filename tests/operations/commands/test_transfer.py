"""flags import and flags export."""

import gzip
import json

import pytest
from werkzeug.exceptions import BadRequest

from operations.import_files import open_file
from operations.yaml_files import parse_yaml
from sql.database import connect
from tests.support.command_line import CommandLine
from tests.support.documents import IMPORT, body, document, state, strategy
from tests.support.import_files import FILES, STATES, parsed
from tests.support.instance import ADMIN_KEY
from tests.support.world import Caller

STATE = str(FILES / "state-5.12.8.json")
COUNTRY = {"contextName": "country", "operator": "IN", "values": ["NO"], "inverted": False, "caseInsensitive": False}


def counted(line):
    """The number of events, and of flags."""
    return line.rows("SELECT (SELECT count(*) FROM events) AS events, (SELECT count(*) FROM flags) AS flags")[0]


def fill(line):
    """Give an instance flags in two projects and environments, with everything that a document can have."""
    admin = Caller(line.app, ADMIN_KEY)
    assert admin.post("/api/admin/projects", json={"name": "Shop", "id": "shop"}).status_code == 201
    variants = [{"name": "blue", "weight": 1000, "weightType": "variable", "stickiness": "default"}]
    more = {
        "featureStrategies": [
            strategy("f", title="second", sortOrder=1, segments=[7], constraints=[COUNTRY]),
            strategy("f", title="first", sortOrder=0, variants=variants),
        ],
        "featureEnvironments": [state("f", enabled=True, variants=variants), state("parent")],
        "segments": [{"id": 7, "name": "beta", "description": "Early.", "project": "any", "constraints": [COUNTRY]}],
        "contextFields": [{"name": "country", "legalValues": [{"value": "NO"}, {"value": "SE"}]}],
        "tagTypes": [{"name": "team", "icon": "T"}],
        "featureTags": [{"featureName": "f", "tagType": "team", "tagValue": "web"}],
        "dependencies": [{"feature": "f", "dependencies": [{"feature": "parent"}]}],
    }
    data = document({"name": "f", "description": "Is it on?", "stale": True}, "parent", **more)
    for place in ("development", "production"):
        assert admin.post(IMPORT, json=body(data, environment=place)).status_code == 200
    assert admin.post(IMPORT, json=body(document("g", featureStrategies=[strategy("g")]), "shop")).status_code == 200


def without_ids(text):
    """A document without the ids of strategies, and with the names of segments as ids."""
    parsed = json.loads(text)
    names = {segment["id"]: segment["name"] for segment in parsed["segments"]}
    strategies = [
        one | {"id": "", "segments": [names[id] for id in one["segments"]]} for one in parsed["featureStrategies"]
    ]
    segments = [segment | {"id": segment["name"]} for segment in parsed["segments"]]
    return parsed | {"featureStrategies": strategies, "segments": segments}


# --- Import -----------------------------------------------------------------------------------------------------------


def test_a_state_file_is_imported_once(own):
    before = counted(own)
    lines = own.does("import", STATE, "--dry-run").splitlines()
    assert lines[0].startswith("State file of version 4 ")
    assert lines[0].endswith(" [Dry run: nothing was written.]")
    assert counted(own) == before
    assert lines[-1].startswith("Would move 5 flags, 9 strategies, 1 segment")
    lines = own.does("import", STATE).splitlines()
    assert lines[0] == "State file of version 4"
    assert "  State files have no archived flags, dependencies, context fields and API tokens." in lines
    assert lines[-1].startswith("Moved 5 flags, 9 strategies, 1 segment")
    after = counted(own)
    assert after["flags"] == 5
    lines = own.does("import", STATE).splitlines()
    assert (lines[-1].split(":")[0], counted(own)) == ("Nothing to move", after)
    events = own.rows("SELECT DISTINCT created_by FROM events WHERE type IN ('feature-created', 'instance-imported')")
    assert events == [{"created_by": "system"}]


@pytest.mark.parametrize("source", ["-", str(FILES / "state-5.12.8.yaml")])
def test_stdin_and_yaml_are_read_too(own, source):
    own.does("import", source, input=(FILES / "state-5.12.8.json").read_bytes())
    assert own.does("import", STATE).splitlines()[-1].startswith("Nothing to move")


def test_the_project_and_the_environment_can_be_renamed(own, tmp_path):
    file = tmp_path / "flags.json"
    file.write_text(json.dumps(document("f", featureStrategies=[strategy()])))
    own.does("import", str(file), "--project", "shop", "--environment", "staging")
    assert own.rows("SELECT project_id, environment FROM flags JOIN strategies ON flag_id = flags.id") == [
        {"project_id": "shop", "environment": "staging"}
    ]


def test_flags_come_into_an_environment_with_change_requests_with_an_option_only(own, tmp_path):
    place = "/api/admin/projects/default/environments/production/change-requests/config"
    Caller(own.app, ADMIN_KEY).put(place, json={"changeRequestsEnabled": True})
    file = tmp_path / "flags.json"
    file.write_text(json.dumps(document("f", featureStrategies=[strategy()])))
    command = ("import", str(file), "--environment", "production")
    before = counted(own)
    for options in ((), ("--dry-run",)):
        failed = own.run(*command, *options)
        assert failed.exit_code == 1
        table = [line.split()[:2] for line in failed.stdout.splitlines()]
        assert ["Flags", "1"] in table
        assert ["Strategies", "1"] in table
        assert "on in environment production of the project default. To add flags there, use --skip" in failed.stdout
    assert counted(own) == before
    own.does(*command, "--skip-change-requests")
    assert counted(own)["flags"] == before["flags"] + 1
    # What exists stays as it is, and a flag without strategies changes nothing there.
    own.does(*command)
    file.write_text(json.dumps(document("g", featureEnvironments=[state("g")])))
    own.does(*command)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{}", "is neither an export document nor a state file of Unleash."),
        ("", "is neither an export document nor a state file of Unleash."),
        ("{", "is not valid JSON: it cannot be parsed."),
        ("version: 1\nfeatures: [", "is not valid JSON or YAML: did not find expected node content (line 3)."),
        ("version: 1\nfeatures:\n- name: a b", "cannot be read: features.0.name is invalid."),
        (None, "cannot be read: No such file or directory."),
    ],
)
def test_a_broken_file_changes_nothing(line, tmp_path, text, message):
    file = tmp_path / "broken"
    if text is not None:
        file.write_text(text)
    before = counted(line)
    result = line.run("import", str(file))
    assert (result.exit_code, result.stdout, result.stderr) == (1, "", f"Error: {file} {message}\n")
    assert counted(line) == before


def test_conflicts_refuse_the_whole_file(own, tmp_path):
    fill(own)
    file, before = tmp_path / "flags.json", counted(own)
    file.write_text(json.dumps(document("g", "new", featureStrategies=[strategy("new")])))
    result = own.run("import", str(file))
    assert (result.exit_code, result.stdout.splitlines()[-1]) == (1, "Nothing was moved: 1 conflict.")
    assert counted(own) == before


# --- Export -----------------------------------------------------------------------------------------------------------


def test_an_export_is_imported_without_a_change(own, make_database, make_app, tmp_path):
    fill(own)
    file, before = tmp_path / "flags.json", counted(own)
    own.does("export", "--output", str(file))
    assert file.stat().st_mode & 0o777 == 0o600
    assert own.does("export") == file.read_text()
    assert own.does("import", str(file)).splitlines()[-1] == "Nothing to move: everything exists."
    assert counted(own) == before
    with connect(url := make_database()) as conn:
        other = CommandLine(make_app(url), conn)
        other.does("import", str(file))
        assert without_ids(other.does("export")) == without_ids(file.read_text())


def test_an_export_of_one_environment_is_that_of_the_api(own):
    fill(own)
    options = {"environment": "production", "project": "default"}
    response = Caller(own.app, ADMIN_KEY).post("/api/admin/features-batch/export", json=options)
    assert own.does("export", "--environment", "production", "--project", "default") == f"{response.text}\n"


def test_an_export_of_all_environments_names_them(own):
    fill(own)
    found = json.loads(own.does("export", "--flags", "f,g"))
    places = [(one["featureName"], one["environment"], one["title"]) for one in found["featureStrategies"]]
    both = [("f", place, title) for place in ("development", "production") for title in ("first", "second")]
    assert places == [*both, ("g", "development", None)]
    assert [(one["featureName"], one["environment"], one["enabled"]) for one in found["featureEnvironments"]] == [
        *(("f", "development", True), ("f", "production", True)),
        *(("g", "development", False), ("g", "production", False)),
    ]
    own.conn.execute("DELETE FROM project_environments WHERE project_id = 'shop' AND environment = 'production'")
    found = json.loads(own.does("export", "--project", "shop"))
    assert [one["environment"] for one in found["featureEnvironments"]] == ["development"]
    assert [one["name"] for one in found["features"]] == ["g"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--environment", "moon"), "environment: unknown environment moon"),
        (("--project", "moon"), "project: unknown project moon"),
        (("--flags", "a,b", "--flags", "c"), "flags: no live flag is named a, b, c"),
    ],
)
def test_an_export_refuses_mistyped_names(line, options, message):
    assert line.refuses("export", *options) == message


def test_a_compressed_export_is_imported(own, tmp_path):
    fill(own)
    file = tmp_path / "flags.json.gz"
    own.does("export", "--output", str(file))
    assert json.loads(gzip.decompress(file.read_bytes()))["features"]
    assert own.does("import", str(file)).splitlines()[-1] == "Nothing to move: everything exists."
    assert own.refuses("export", "--output", str(file)) == f"{file} already exists."
    file.write_bytes(file.read_bytes()[:40])
    assert "cannot be read: " in own.run("import", str(file)).stderr


# --- YAML -------------------------------------------------------------------------------------------------------------


def loaded(text):
    return parse_yaml(text.encode(), "flags.yml")


def test_yaml_and_json_of_a_server_are_equal():
    assert loaded((FILES / "state-5.12.8.yaml").read_text()) == parsed(f"state-{STATES[4]}.json")


def test_plain_words_are_those_of_json():
    text = "{a: 5, b: -1.5, c: 1e3, d: true, e: null, f: ~, g: , h: 'x', i: [1, b]}"
    assert loaded(f"x: {text}")["x"] == {
        **{"a": 5, "b": -1.5, "c": 1000.0, "d": True, "e": None, "f": None, "g": None, "h": "x", "i": [1, "b"]},
    }
    words = ("no", "ON", "2024-01-01", "2024-05-31T12:00:00.000Z", "007", "1:30", "0x1f", ".nan", "<<")
    for word in words:
        assert loaded(f"x: {word}") == {"x": word}


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("x: &a [1]\ny: *a", "aliases and tags are not allowed (line 2)"),
        ("x: !!python/object:os.system a", "aliases and tags are not allowed (line 1)"),
        ("x: !!timestamp a", "aliases and tags are not allowed (line 1)"),
        ("x: 1\nx: 2", "a key occurs twice, or is no text (line 1)"),
        ("1: 2", "a key occurs twice, or is no text (line 1)"),
        ("- " * 5000, "it has too many values or levels (line 1)"),
        ("a: 1\n--- b", "but found another document (line 2)"),
    ],
)
def test_other_yaml_is_refused(text, problem):
    with pytest.raises(BadRequest) as caught:
        loaded(text)
    assert caught.value.description == f"flags.yml is not valid JSON or YAML: {problem}."


def test_a_file_that_is_too_large_is_refused(tmp_path):
    file = tmp_path / "big.json"
    with file.open("wb") as out:
        out.truncate(50_000_001)
    with pytest.raises(BadRequest) as caught:
        open_file(file, None, None)
    assert caught.value.description == f"{file} is larger than 50000000 bytes."
