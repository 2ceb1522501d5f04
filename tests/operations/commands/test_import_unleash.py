"""flags import-unleash against a small server of the test: refusals, waits, and records that real servers lack."""

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from serving.settings import default_address
from tests.support.certificate import OPENSSL, certify
from tests.support.command_line import CommandLine
from tests.support.fingerprint import fingerprint
from tests.support.instance import ADMIN_KEY
from tests.support.old_server import ANSWERS, FLAG, PROJECT, STRATEGY, OldServer, broken, old_server, status
from tests.support.world import Caller

TOKEN = "*:*.a-secret-of-the-other-server"


@pytest.fixture
def old() -> Iterator[OldServer]:
    """A server with one flag."""
    with old_server() as server:
        yield server


@pytest.fixture
def token(tmp_path: Path) -> str:
    """The file with the token of that server."""
    (tmp_path / "token").write_text(f"{TOKEN}\n")
    return str(tmp_path / "token")


def refusal(line: CommandLine, old: OldServer, token: str, *options: str) -> str:
    """Run the command, assert that it fails, and return its line on stderr. The progress is before it."""
    before = line.everything()
    result = line.run("import-unleash", old.url, "--token-file", token, *options)
    assert (result.exit_code, result.stdout, line.everything()) == (1, "", before)
    lines = result.stderr.splitlines()
    assert len(lines) <= 3
    assert TOKEN not in result.stderr
    return lines[-1].removeprefix("Error: ")


def test_a_wrong_token_is_refused(line, old, token):
    old.answers["/api/admin/ui-config"] = status(401)
    expected = f"{old.url} does not accept the token in {token}. Use an admin token of that server."
    assert refusal(line, old, token) == expected
    assert old.requests[0][1]["Authorization"] == TOKEN


def test_a_token_of_a_client_or_viewer_is_refused(line, old, token):
    expected = f"The token in {token} is no admin token."
    old.answers["/api/admin/ui-config"] = status(403)
    assert refusal(line, old, token) == expected
    old.answers["/api/admin/ui-config"] = ANSWERS["/api/admin/ui-config"]
    old.answers["/api/admin/user"] = {"permissions": [{"permission": "CREATE_PROJECT"}]}
    assert refusal(line, old, token) == expected


def test_another_server_is_named(line, old, token):
    old.answers = {}
    advice = "Use its address without a path."
    reason = "GET /api/admin/projects returned 404"
    assert refusal(line, old, token) == f"{old.url} is not an Unleash server ({reason}). {advice}"
    old.answers = {"/api/admin/ui-config": status(200, "<html></html>")}
    reason = "GET /api/admin/ui-config returned no JSON"
    assert refusal(line, old, token) == f"{old.url} is not an Unleash server ({reason}). {advice}"


def test_a_version_below_5_is_refused(line, old, token):
    old.answers = {"/api/admin/ui-config": {"name": "", "versionInfo": {"current": {"oss": "4.19.5"}}}}
    assert refusal(line, old, token) == (
        "Unleash 4.19 is too old for this command. "
        "Export it with GET /api/admin/state/export and run ./flags import FILE."
    )


def test_an_unknown_project_is_refused(line, old, token):
    expected = "Unleash has no project no-such-project. It has: default, shop."
    assert refusal(line, old, token, "--project", "default", "--project", "no-such-project") == expected


@pytest.mark.parametrize(
    ("path", "answer", "problem"),
    [
        ("/api/admin/ui-config", [], "the answer must be an object"),
        ("/api/admin/projects", {"projects": {}}, "projects must be an array"),
        ("/api/admin/segments", {"items": []}, "segments must be an array"),
        ("/api/admin/context", None, "the answer must be an array"),
        ("/api/admin/projects", {"projects": [{"id": 7}]}, "projects.0.id has an unknown type"),
        ("/api/admin/segments", {"segments": [{"id": 2**40, "name": "x"}]}, "segments.0.id is too large"),
        ("/api/admin/segments", {"segments": [None]}, "segments.0 must be an object"),
        ("/api/admin/tags", {"tags": [{"type": "simple", "value": "\x00"}]}, "tags.0.value must not contain"),
        (f"{PROJECT}/features/checkout", FLAG | {"createdAt": "yesterday"}, "createdAt is invalid"),
        (f"{PROJECT}/features/checkout", FLAG | {"createdAt": "0001-01-01T00:00:00+14:00"}, "createdAt is invalid"),
        (f"{PROJECT}/features/checkout", FLAG | {"stale": 1}, "stale has an unknown type"),
    ],
)
def test_an_unknown_form_is_named(line, old, token, path, answer, problem):
    old.answers[path] = answer
    assert refusal(line, old, token).startswith(f"{old.url} answered GET {path} in an unknown form: {problem}")


@pytest.mark.parametrize("text", ["", "{", "[" * 100_000, "\xff"])
def test_an_answer_that_is_no_json_is_named(line, old, token, text):
    old.answers["/api/admin/tags"] = status(200, text)
    assert "(GET /api/admin/tags returned no JSON)" in refusal(line, old, token)


def test_an_unexpected_status_is_named(line, old, token):
    old.answers["/api/admin/tags"] = status(500)
    assert refusal(line, old, token) == f"{old.url} answered GET /api/admin/tags with status 500."


def test_another_server_does_not_get_the_token(line, old, token):
    with old_server() as other:
        old.answers["/api/admin/tags"] = status(302, Location=f"{other.url}/api/admin/tags")
        expected = f"{old.url}/api/admin/tags redirects to {other.url}. If that is your server, use its address."
        assert refusal(line, old, token) == expected
        assert other.requests == []


def test_a_broken_connection_is_tried_three_times(line, old, token):
    old.answers["/api/admin/tags"] = broken
    assert refusal(line, old, token).startswith(f"{old.url} cannot be reached: IncompleteRead")
    assert [path for path, _ in old.requests].count("/api/admin/tags") == 3


def test_a_server_that_does_not_run_is_named(line, token):
    with old_server() as old:
        pass
    assert refusal(line, old, token) == f"{old.url} cannot be reached: Connection refused."


@pytest.mark.skipif(not OPENSSL, reason="needs openssl")
def test_an_unknown_certificate_names_ca_file(line, tmp_path, token):
    certify(tmp_path)
    with old_server(tmp_path) as old:
        message = refusal(line, old, token)
        assert message.startswith(f"{old.url} cannot be reached: its certificate is not trusted (self")
        assert message.endswith(". Use --ca-file.")
        assert old.requests == []
        old.answers = {}
        assert "is not an Unleash server" in refusal(line, old, token, "--ca-file", str(tmp_path / "certificate"))
        message = refusal(line, old, token, "--ca-file", token)
        assert message == f"{token} contains no certificate in PEM format."


@pytest.mark.parametrize(
    "url",
    ["old.example", "ftp://old.example", "http://", "http://a@b/", "http://a:x/", "http://a:65536", "http://a/?b"],
)
def test_an_invalid_address_is_a_usage_error(line, token, url):
    result = line.run("import-unleash", url, "--token-file", token)
    assert result.exit_code == 2
    assert "must be an address such as https://unleash.example.com" in result.stderr


@pytest.mark.parametrize("content", ["", "a b", "a\nb", "ü", "\x00"])
def test_a_file_without_a_token_is_a_usage_error(line, tmp_path, content):
    (tmp_path / "token").write_text(content)
    result = line.run("import-unleash", "http://localhost", "--token-file", str(tmp_path / "token"))
    assert result.exit_code == 2
    assert "must contain an API token and nothing else" in result.stderr


def moves(line: CommandLine, old: OldServer, token: str, *options: str, **kwargs: Any) -> list[str]:
    """Run the command, assert that it succeeds, and return the lines on stdout."""
    lines = line.does("import-unleash", old.url, "--token-file", token, *options, **kwargs).splitlines()
    assert TOKEN not in "".join(lines)
    return lines


def test_a_busy_server_is_asked_again(own, old, token):
    busy = [status(503), status(429, Retry_After="2")]

    def answer(handler):
        (busy.pop(0) if busy else status(200, json.dumps(ANSWERS["/api/admin/tags"])))(handler)

    old.answers["/api/admin/tags"] = answer
    began = time.monotonic()
    assert moves(own, old, token)[-1].startswith("Moved 1 flag, 1 strategy")
    assert time.monotonic() - began >= 2
    assert [path for path, _ in old.requests].count("/api/admin/tags") == 3


def test_flags_are_read_one_by_one_if_exports_are_refused(own, old, token):
    variant = {"name": "blue", "weight": 1000, "weightType": "variable", "stickiness": "default"}
    old.answers["/api/admin/features-batch/export"] = status(403)
    state = {"name": "development", "variantCount": 1}
    old.answers[f"{PROJECT}/features"] = {"features": [{"name": "checkout", "environments": [state]}]}
    old.answers["/api/admin/features/checkout/tags"] = {"tags": [{"type": "simple", "value": "red"}]}
    old.answers[f"{PROJECT}/features/checkout/environments/development/variants"] = {"variants": [variant]}
    moves(own, old, token)
    flag = Caller(own.app, ADMIN_KEY).get(f"{PROJECT}/features/checkout").json
    assert flag["tags"] == [{"type": "simple", "value": "red"}]
    assert [found["name"] for found in flag["environments"][0]["variants"]] == ["blue"]


def test_a_flag_that_is_archived_between_the_lists_moves_archived(own, old, token):
    archived = FLAG | {"archivedAt": "2024-06-01T12:00:00.000Z"}

    def answer(handler):
        is_listed = any(path == f"{PROJECT}/features" for path, _ in old.requests)
        features = [archived] if is_listed else []
        status(200, json.dumps({"features": features, "total": len(features)}))(handler)

    old.answers["/api/admin/search/features"] = answer
    old.answers[f"{PROJECT}/features/checkout"] = status(404)
    old.answers[f"{PROJECT}/features/checkout/environments/development/strategies"] = [STRATEGY]
    moves(own, old, token)
    assert own.rows("SELECT archived_at IS NOT NULL AS archived FROM flags") == [{"archived": True}]
    assert own.rows("SELECT name FROM strategies") == [{"name": "flexibleRollout"}]


def test_flags_that_are_archived_or_deleted_meanwhile_are_named(own, old, token):
    archived = FLAG | {"name": "old", "archivedAt": "2024-06-01T12:00:00.000Z"}
    old.answers["/api/admin/search/features"] = {"features": [archived], "total": 1}
    old.answers[f"{PROJECT}/features/checkout"] = status(404)
    message = "  These flags were archived or deleted during the command. Repeat it: checkout, old."
    assert message in moves(own, old, token)
    assert own.rows("SELECT name FROM flags") == []
    # Only the open-source edition leaves projects out.
    assert not [path for path, _ in old.requests if "project=IS_NOT" in path]


def test_projects_that_unleash_does_not_list_move_too(own, old, token):
    def answer(handler):
        is_live, last = "project=IS_NOT:default" in handler.path, "offset=100" in handler.path
        flag = FLAG | {"project": "shop" if last else "default"}
        archived = FLAG | {"name": "old", "project": "attic", "archivedAt": "2024-06-01T12:00:00.000Z"}
        found = [archived, archived | {"name": "older", "project": "closed"}]
        answer = {"features": [flag], "total": 101} if is_live else {"features": found, "total": 2}
        status(200, json.dumps(answer))(handler)

    def list_projects(handler):
        closed = [{"id": "closed", "archivedAt": "2024-06-01T12:00:00.000Z"}] if "archived=true" in handler.path else []
        status(200, json.dumps({"projects": [{"id": "default", "archivedAt": None}, *closed]}))(handler)

    hidden = FLAG | {"name": "hidden", "project": "shop"}
    attic = "/api/admin/projects/attic"
    old.answers["/api/admin/projects"] = list_projects
    old.answers["/api/admin/search/features"] = answer
    old.answers["/api/admin/projects/shop/features"] = {"features": [{"name": "hidden", "environments": []}]}
    old.answers["/api/admin/projects/shop/features/hidden"] = hidden
    old.answers[f"{attic}/overview"] = {"name": "Attic", "environments": [{"environment": "development"}]}
    old.answers[f"{attic}/features"] = {"features": []}
    old.answers[f"{attic}/features/old/environments/development/strategies"] = [STRATEGY]
    moves(own, old, token)
    assert [path for path, _ in old.requests].count(f"{PROJECT}/overview") == 1
    found = own.rows("SELECT name, project_id, archived_at IS NULL AS live FROM flags ORDER BY name")
    assert [tuple(row.values()) for row in found] == [
        ("checkout", "default", True), ("hidden", "shop", True), ("old", "attic", False)
    ]  # fmt: skip


def test_a_server_without_a_search_moves(own, old, token):
    old.answers["/api/admin/projects"] = {"projects": [{"id": "default", "archivedAt": None}]}
    old.answers["/api/admin/archive/features"] = {"features": []}
    del old.answers["/api/admin/search/features"]
    moves(own, old, token)
    assert own.rows("SELECT name FROM flags") == [{"name": "checkout"}]


def test_the_address_of_the_links_for_new_users_is_named(own, old, token):
    anna = {"id": 2, "name": "Anna", "email": "anna@example.com", "rootRole": 2}
    old.answers["/api/admin/user-admin"] = {"users": [anna], "rootRoles": []}
    own.app.config["BASE_URL"] = default_address(own.app.config)
    result = own.run("import-unleash", old.url, "--token-file", token, "--with-users")
    link = result.stdout.splitlines()[-1]
    assert link.startswith(f"anna@example.com {own.app.config['BASE_URL']}/reset-password?token=")
    assert f"BASE_URL is not set, so links begin with {own.app.config['BASE_URL']}.\n" in result.stderr


def test_a_project_that_is_named_twice_moves_once(own, old, token):
    strategy = {"environment": "development", "defaultStrategy": STRATEGY}
    old.answers[f"{PROJECT}/overview"] = ANSWERS[f"{PROJECT}/overview"] | {"environments": [strategy]}
    lines = moves(own, old, token, "--project", "default", "--project", "default")
    assert [line.split()[2:] for line in lines if line.startswith("Default strategies")] == [["1", "0", "0", "0", "0"]]


def test_only_the_named_projects_move(own, old, token):
    old.answers["/api/admin/segments"] = {
        "segments": [
            {"id": 1, "name": "Of all", "project": None, "constraints": []},
            {"id": 2, "name": "Of default", "project": "default", "constraints": []},
        ]
    }
    moves(own, old, token, "--project", "shop")
    assert own.rows("SELECT name FROM flags") == []
    assert own.rows("SELECT name FROM segments") == [{"name": "Of all"}]
    assert own.rows("SELECT id FROM projects ORDER BY id") == [{"id": "default"}, {"id": "shop"}]


def test_context_fields_of_a_project_become_general(own, old, token):
    both = {"name": "country", "stickiness": True}
    old.answers["/api/admin/context"] = [{"name": "plan"}, both]
    old.answers[f"{PROJECT}/context"] = [{"name": "tier"}, {"name": "plan", "stickiness": True}, both]
    lines = moves(own, old, token)
    assert "  Context fields of project default become fields of all projects: tier." in lines
    message = "  Context fields of project default are not moved, because others have their names: plan."
    assert message in lines
    assert own.rows("SELECT name FROM context_fields WHERE name IN ('plan', 'tier') ORDER BY 1") == [
        {"name": "plan"},
        {"name": "tier"},
    ]


def test_what_is_never_moved_is_named(own, old, token):
    message = "are not moved, because that server does not answer GET /api/admin"
    lines = moves(own, old, token, "--dry-run")
    assert f"  Integrations {message}/addons." in lines
    assert f"  Signup tokens {message}/invite-link/tokens." in lines
    old.answers["/api/admin/addons"] = {"addons": [{"provider": "webhook"}, {"provider": "webhook"}]}
    old.answers["/api/admin/invite-link/tokens"] = {"tokens": [{"name": "all", "secret": "s" * 20}]}
    old.answers["/api/admin/tag-types"] = {"tagTypes": [{"name": "team", "color": "#AA0000"}]}
    old.answers[f"{PROJECT}/overview"] = ANSWERS[f"{PROJECT}/overview"] | {"linkTemplates": [{"title": "Ticket"}]}
    lines = moves(own, old, token)
    for expected in (
        "Integrations are not moved: 2 webhook.",
        "Signup tokens are not moved (./flags signup-token create makes new ones): all.",
        "Colors of tag types are not stored here: team.",
        "Link templates are not moved: default.",
    ):
        assert f"  {expected}" in lines


def test_the_token_can_come_from_stdin(own, old):
    assert moves(own, old, "-", input=f"{TOKEN}\n")[-1].startswith("Moved ")
    assert {headers["Authorization"] for _, headers in old.requests} == {TOKEN}
    old.answers["/api/admin/ui-config"] = status(403)
    result = own.run("import-unleash", old.url, "--token-file", "-", input=TOKEN)
    assert result.stderr == "Error: The token in stdin is no admin token.\n"


def test_a_redirect_of_the_same_server_is_followed(own, old, token):
    old.answers["/moved"] = {"tags": []}
    old.answers["/api/admin/tags"] = status(302, Location="/moved")
    assert moves(own, old, token)[-1].startswith("Moved ")


def test_conflicts_are_listed_and_nothing_moves(own, old, token):
    admin = Caller(own.app, ADMIN_KEY)
    admin.post("/api/admin/projects", json={"name": "Other", "id": "other"})
    admin.post("/api/admin/projects/other/features", json={"name": "checkout"})
    before = fingerprint(own.conn)
    result = own.run("import-unleash", old.url, "--token-file", token)
    assert result.exit_code == 1
    assert "checkout" in result.stdout
    assert result.stdout.splitlines()[-1] == "Nothing was moved: 1 conflict."
    assert fingerprint(own.conn) == before


@pytest.mark.parametrize("end", ["/", "/api", "/api/"])
def test_the_address_may_end_with_api(line, old, token, end):
    old.url += end
    old.answers = {}
    assert "GET /api/admin/projects returned 404" in refusal(line, old, token)
    assert old.requests[0][0] == "/api/admin/ui-config"


def test_hashed_tokens_are_named(own, old, token):
    token_of = {"tokenName": "ci", "type": "client", "environment": "development", "projects": ["*"]}
    hashed = token_of | {"secret": "*:development.0123456789abcdef0123456789abcdef", "secure": True}
    old.answers["/api/admin/api-tokens"] = {"tokens": [hashed]}
    lines = moves(own, old, token)
    assert any('Token "ci" (client, development): its secret is not stored in Unleash.' in text for text in lines)
    assert own.rows("SELECT 1 FROM api_keys WHERE name = 'ci'") == []
