"""The first start with an empty database: IMPORT_FILE, and the tokens of applications."""

import shutil

import pytest

from operations.bootstrap import prepare_database
from serving.settings import SettingError, load
from sql.database import connect, rows, value
from tests.support.import_files import FILES
from tests.support.world import Caller

STATE = str(FILES / "state-5.12.8.json")
TOKEN = "*:production.an-old-token-of-applications"
FRONTEND = "shop:development.an-old-token-of-browsers"
EXPORT = '{"features": [{"name": "f"}], "featureStrategies": [{"featureName": "f", "name": "default"}]}'


@pytest.fixture
def empty(make_database):
    """The address of an empty database."""
    return make_database(empty=True)


def start(url, **settings):
    """Prepare the database for a start of the service with these settings."""
    return prepare_database(url, load({"BCRYPT_ROUNDS": "10", **settings}))


def read(url, statement):
    with connect(url) as conn:
        return rows(conn, statement)


def refused(url, **settings):
    """Return why a first start is refused. Assert that the database stays empty."""
    with pytest.raises(SettingError) as problem:
        start(url, **settings)
    with connect(url) as conn:
        assert value(conn, "SELECT count(*) FROM pg_tables WHERE schemaname = 'public'") == 0
    return str(problem.value)


def test_the_first_start_imports_a_file_and_creates_tokens(empty, make_app, capsys):
    tokens = {"INIT_CLIENT_API_TOKENS": f"{TOKEN}\n*:default.another-old-token", "INIT_FRONTEND_API_TOKENS": FRONTEND}
    backend = {"INIT_BACKEND_API_TOKENS": "default:production.an-old-token-of-servers"}
    with pytest.raises(SettingError, match="INIT_FRONTEND_API_TOKENS, token 1: projects: unknown projects: shop"):
        start(empty, IMPORT_FILE=STATE, **tokens)
    tokens["INIT_FRONTEND_API_TOKENS"] = FRONTEND.replace("shop", "default")
    capsys.readouterr()
    assert start(empty, IMPORT_FILE=STATE, **tokens, **backend)
    output = capsys.readouterr().err
    assert output.startswith("State file of version 4\n")
    assert "Moved 5 flags, 9 strategies, 1 segment" in output
    assert "old-token" not in output
    found = read(empty, "SELECT name, kind, environment, secret FROM api_keys WHERE kind <> 'admin' ORDER BY name")
    assert [tuple(row.values()) for row in found] == [
        ("init-backend-1", "client", "production", "default:production.an-old-token-of-servers"),
        ("init-client-1", "client", "production", TOKEN),
        ("init-client-2", "client", "default", "*:default.another-old-token"),
        ("init-frontend-1", "frontend", "development", FRONTEND.replace("shop", "default")),
    ]
    types = [row["type"] for row in read(empty, "SELECT type FROM events ORDER BY id")]
    assert types[:2] == ["user-created", "api-token-created"]
    assert types.index("instance-imported") < types.index("api-token-created", 2)
    response = Caller(make_app(empty), TOKEN).get("/api/client/features")
    assert "checkout" in [flag["name"] for flag in response.json["features"]]


def test_later_starts_ignore_the_file_and_the_tokens(empty, tmp_path, capsys):
    file = shutil.copy(STATE, tmp_path)
    start(empty, IMPORT_FILE=file)
    (tmp_path / "state-5.12.8.json").unlink()
    before = read(empty, "SELECT count(*) FROM events")
    capsys.readouterr()
    assert (
        start(
            empty, IMPORT_FILE=file, INIT_CLIENT_API_TOKENS=TOKEN, INIT_BACKEND_API_TOKENS="*:moon.sixteen-characters"
        )
        is None
    )
    message = "IMPORT_FILE is ignored, because only the first start with an empty database reads it.\n"
    assert capsys.readouterr().err == message
    assert read(empty, "SELECT count(*) FROM events") == before


def test_the_settings_name_the_project_and_the_environment(empty, tmp_path):
    file = tmp_path / "export.json"
    file.write_text(EXPORT)
    start(
        empty,
        IMPORT_FILE=str(file),
        IMPORT_PROJECT="shop",
        IMPORT_ENVIRONMENT="staging",
        INIT_CLIENT_API_TOKENS="shop:staging.0123456789",
    )
    statement = "SELECT project_id, environment FROM flags JOIN strategies ON flag_id = flags.id"
    assert read(empty, statement) == [{"project_id": "shop", "environment": "staging"}]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (None, "IMPORT_FILE: {} cannot be read: No such file or directory."),
        ("{", "IMPORT_FILE: {} is not valid JSON: it cannot be parsed."),
        ("version: 1", "IMPORT_FILE: {} is not valid JSON: it cannot be parsed."),
        ("{}", "IMPORT_FILE: {} is neither an export document nor a state file of Unleash."),
        ('{"version": 1, "features": [{"name": 7}]}', "IMPORT_FILE: {} cannot be read: features.0.name is invalid."),
        (
            EXPORT.replace('"default"', '"default", "segments": [1]')[:-1]
            + ', "segments": [{"id": 1, "name": "beta"}]}',
            "IMPORT_FILE: Segment beta does not exist here, and the file does not have its constraints.\n"
            "Nothing was moved: 1 conflict.",
        ),
    ],
)
def test_a_broken_file_leaves_the_database_empty(empty, tmp_path, text, message):
    file = tmp_path / "flags.json"
    if text is not None:
        file.write_text(text)
    assert refused(empty, IMPORT_FILE=str(file)) == message.format(file)


@pytest.mark.parametrize(
    ("token", "problem"),
    [
        (TOKEN, "secret: an API token with this secret already exists"),
        ("moon:production.0123456789", "projects: unknown projects: moon"),
        ("*:moon.0123456789", "environment: must be an existing environment"),
    ],
)
def test_a_token_for_nothing_leaves_the_database_empty(empty, token, problem):
    for kind in ("CLIENT", "BACKEND", "FRONTEND"):
        message = refused(empty, **{f"INIT_{kind}_API_TOKENS": f"{TOKEN},{token}"})
        assert message == f"The setting INIT_{kind}_API_TOKENS, token 2: {problem}."


def test_two_settings_cannot_have_the_same_token(empty):
    message = refused(empty, INIT_ADMIN_API_TOKENS=TOKEN, INIT_FRONTEND_API_TOKENS=TOKEN)
    expected = "The setting INIT_FRONTEND_API_TOKENS, token 1: secret: an API token with this secret already exists."
    assert message == expected
