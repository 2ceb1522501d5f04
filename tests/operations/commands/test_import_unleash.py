"""flags import-unleash against a server that misbehaves: what it says, and that nothing changes."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from pathlib import Path

import pytest

from operations.unleash.client import MAX_WAIT, retry_after
from tests.support.certificate import OPENSSL, certify
from tests.support.command_line import CommandLine
from tests.support.old_server import ANSWERS, FLAG, PROJECT, OldServer, broken, old_server, status

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
        ("/api/admin/projects", {"projects": [{"id": 7}]}, "projects.0.id has an unknown type"),
        ("/api/admin/segments", {"segments": [{"id": 2**40, "name": "x"}]}, "segments.0.id is too large"),
        ("/api/admin/segments", {"segments": [None]}, "segments.0 must be an object"),
        ("/api/admin/tags", {"tags": [{"type": "simple", "value": "\x00"}]}, "tags.0.value must not contain"),
        (f"{PROJECT}/features/checkout", FLAG | {"createdAt": "yesterday"}, "createdAt is invalid"),
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
    ("text", "seconds"),
    [(None, 0), ("7", 7), ("900", MAX_WAIT), ("soon", 0), ("-1", 0), ("Fri, 31 May 2024 12:00:00 GMT", 0)],
)
def test_a_server_can_ask_for_a_wait(text, seconds):
    assert retry_after(text) == seconds


def test_a_server_can_ask_for_a_wait_until_a_time():
    assert 20 < retry_after(format_datetime(datetime.now(UTC) + timedelta(seconds=30), usegmt=True)) <= 30


@pytest.mark.parametrize(
    "url", ["old.example", "ftp://old.example", "http://", "http://a@b/", "http://a:x/", "http://a/?b"]
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
