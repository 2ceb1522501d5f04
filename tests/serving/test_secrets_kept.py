"""Where secrets are left: after a story with one of every kind, a dump of the database, all logs and all metrics are
searched for them.
"""

import base64
import hashlib
import re
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import quote

import bcrypt
import psycopg
import pytest

from rules.login import name_digest
from sql.database.embedded import BINARIES
from tests.support.service import Answer, Service, address_in, run, wait_until

pytestmark = pytest.mark.slow

ADMIN = "the-first-secret-of-the-admin"
KEY = "*:*.the-first-secret-of-a-key-of-the-instance"
METRICS = "the-secret-of-who-reads-metrics"
AS_NAME = "typed into the field for the name"


def tomorrow() -> str:
    """Return this time on the next day, as JSON has it."""
    return (datetime.now(UTC) + timedelta(days=1)).isoformat()


@dataclass
class Story:
    """The used secrets by name: passwords, digests, expired ones, readable ones; and where they are searched for."""

    passwords: dict[str, str] = field(default_factory=dict[str, str])
    digested: dict[str, str] = field(default_factory=dict[str, str])
    gone: dict[str, str] = field(default_factory=dict[str, str])
    readable: dict[str, str] = field(default_factory=dict[str, str])
    dump: str = ""
    logs: dict[str, str] = field(default_factory=dict[str, str])

    @property
    def hidden(self) -> dict[str, str]:
        """What must be found nowhere."""
        return self.passwords | self.digested | self.gone


def texts(service: Service, story: Story) -> None:
    """Use every kind of secret, rightly and wrongly."""
    key = {"Authorization": KEY}

    def ask(method: str, path: str, json: Any = None, headers: dict[str, str] = key, status: int = 200) -> Answer:
        answer = service.request(method, path, json, headers)
        assert answer.status == status, (method, path, answer)
        return answer

    def log_in(name: str, password: str, headers: dict[str, str], status: int = 200) -> str:
        answer = ask("POST", "/auth/simple/login", {"username": name, "password": password}, headers, status)
        return answer.headers["Set-Cookie"].partition("=")[2].partition(";")[0] if status == 200 else ""

    story.digested |= {"the instance's key": KEY}
    story.passwords |= {"the admin's": ADMIN, "Bob's": "a-secret-of-bob", "Bob's new": "a-newer-secret-of-bob"}
    story.passwords |= {"Ada's": "a-secret-of-ada", "Ada's new": "a-newer-secret-of-ada", "wrong": "a-secret-mistyped"}
    story.passwords |= {AS_NAME: "a-secret-in-the-wrong-field"}
    story.gone |= {
        "the metrics token": METRICS,
        "a wrong key": "*:*.the-secret-of-no-key-at-all",
        "a guess": "the-secret-of-no-invite",
    }
    # Tokens of signups: one whose row stays, and guesses.
    created = ask("POST", "/api/admin/invite-link/tokens", {"name": "friends", "expiresAt": tomorrow()}, status=201)
    story.readable["signup_tokens"] = invite = created.json["secret"]
    ada = {"email": "ada@example.org", "name": "Ada", "password": story.passwords["Ada's"]}
    for path, status in ((invite, 200), (invite, 409), (story.gone["a guess"], 404)):
        ask("POST", f"/invite/{path}/signup", ada, {}, status)
    ask("GET", f"/invite/{invite}/validate", None, {})
    ask("PUT", f"/api/admin/invite-link/tokens/{invite}", {"enabled": False})
    ask("GET", "/api/admin/invite-link/tokens")
    # Passwords.
    log_in("admin", ADMIN, {})
    log_in("ada@example.org", story.passwords["wrong"], {}, 401)
    log_in(story.passwords[AS_NAME], story.passwords["wrong"], {}, 401)
    first = log_in("ada@example.org", story.passwords["Ada's"], {})
    second = log_in("ada@example.org", story.passwords["Ada's"], {"Cookie": f"session={first}"})
    change = {"oldPassword": story.passwords["Ada's"]} | dict.fromkeys(
        ("password", "confirmPassword"), story.passwords["Ada's new"]
    )
    ask(
        "POST",
        "/api/admin/user/change-password",
        change | {"oldPassword": story.passwords["wrong"]},
        {"Cookie": f"session={second}"},
        401,
    )
    ask("POST", "/api/admin/user/change-password", change, {"Cookie": f"session={second}"})
    third = log_in("ada@example.org", story.passwords["Ada's new"], {})
    story.gone |= {"a session in whose place another came": first, "a session that a new password ended": second}
    bob = {"username": "bob", "password": story.passwords["Bob's"], "rootRole": 1}
    bob_id = ask("POST", "/api/admin/user-admin", bob, status=201).json["id"]
    ask("POST", "/api/admin/user-admin", bob, status=409)
    ask("POST", f"/api/admin/user-admin/{bob_id}/change-password", {"password": story.passwords["Bob's new"]})
    session = log_in("bob", story.passwords["Bob's new"], {})
    story.gone["a session that was logged out"] = session
    ask("POST", "/logout", None, {"Cookie": f"session={session}"}, 302)
    story.digested["a session"] = third
    # Links to set a password: one that is used, one that is replaced, one that stays.
    links = [
        ask("POST", "/api/admin/user-admin/reset-password", {"id": name})
        .json["resetPasswordUrl"]
        .partition("token=")[2]
        for name in ("bob", "ada@example.org", "ada@example.org")
    ]
    story.gone |= {"a used link": links[0], "a replaced link": links[1]}
    story.digested["a link"] = links[2]
    story.passwords["Bob's by link"] = "a-secret-of-bob-by-a-link"
    by_link = {"token": links[0], "password": story.passwords["Bob's by link"]}
    for token, status in ((links[0], 200), (links[1], 401), (links[2], 200)):
        ask("GET", f"/auth/reset/validate?token={token}", None, {}, status)
    for status in (200, 401):
        ask("POST", "/auth/reset/password", by_link, {}, status)
    ask("POST", "/auth/reset/validate-password", {"password": story.passwords["Bob's by link"]}, {})
    # Keys and tokens.
    cookie = {"Cookie": f"session={third}"}
    story.digested["a personal token"] = ask(
        "POST", "/api/admin/user/tokens", {"description": '"secret": null', "expiresAt": tomorrow()}, cookie, 201
    ).json["secret"]
    robot = ask(
        "POST", "/api/admin/service-account", {"name": "Robot", "username": "robot", "rootRole": 3}, status=201
    ).json["id"]
    created = ask(
        "POST", f"/api/admin/service-account/{robot}/token", {"description": "its", "expiresAt": tomorrow()}, status=201
    )
    story.digested["a service account's token"] = created.json["secret"]
    for kind in ("admin", "client", "frontend"):
        created = ask("POST", "/api/admin/api-tokens", {"tokenName": f"of {kind}", "type": kind}, status=201)
        assert created.json["secret"].count(".") == 1
        if kind == "admin":
            story.digested["an admin key"] = created.json["secret"]
        else:
            story.readable[f"api_keys, {kind}"] = created.json["secret"]
    gone = ask("POST", "/api/admin/api-tokens", {"tokenName": "gone", "type": "admin"}, status=201).json["secret"]
    story.gone["a key that was deleted"] = gone
    ask("PUT", f"/api/admin/api-tokens/{gone}", {"expiresAt": tomorrow()})
    ask("DELETE", f"/api/admin/api-tokens/{gone}")
    for secret, status in [
        (secret, 200) for name, secret in story.digested.items() if name not in ("a session", "a link")
    ] + [(gone, 401)]:
        ask("GET", "/api/admin/insights", None, {"Authorization": secret}, status)
    ask("GET", "/api/admin/insights", None, {"Authorization": story.gone["a wrong key"]}, 401)
    for path in ("api-tokens", "user-admin", "user/tokens", "service-account", "search/events?limit=1000"):
        ask("GET", f"/api/admin/{path}", headers=cookie if path == "user/tokens" else key)
    # What is no HTTP is not quoted either.
    assert service.raw(f"GET /{ADMIN} HTTP/9.9\r\nAuthorization {KEY}\r\n\r\n".encode()).status == 400


def commanded(service: Service, story: Story) -> None:
    """The same by the command line: a secret that it creates is on its stdout, and nowhere afterwards."""

    def command(*words: str) -> str:
        done = run("flags.py", *words, **service.settings)
        assert done.returncode == 0, done.stderr
        story.logs["stderr of commands"] = story.logs.get("stderr of commands", "") + done.stderr
        return done.stdout.strip()

    story.digested["a key by command"] = command("api-token", "create", "--name", "by command", "--type", "admin")
    story.readable["signup_tokens, by command"] = command("signup-token", "create", "--name", "by command").partition(
        "invite="
    )[2]
    story.passwords["Carl's"] = command("user", "create", "--username", "carl", "--generate")
    story.passwords["Carl's new"] = command("user", "reset-password", "carl", "--generate")
    for words in ("api-token list --json", "user list --json", "events export", "doctor"):
        story.logs[words] = command(*words.split())
        assert story.logs[words]


@pytest.fixture(scope="module")
def story() -> Iterator[Story]:
    """After such a story, with a embedded PostgreSQL that logs every statement with its parameters."""
    with tempfile.TemporaryDirectory(prefix="secrets-") as name:
        data = Path(name) / "data"
        data.parent.chmod(0o755)
        with Service(
            DATA_DIR=data, INIT_ADMIN_PASSWORD=ADMIN, INIT_ADMIN_API_TOKENS=KEY, METRICS_TOKEN=METRICS
        ) as service:
            with psycopg.connect(address_in(data), autocommit=True) as conn:
                conn.execute("ALTER SYSTEM SET log_statement = 'all'")
                conn.execute("SELECT pg_reload_conf()")
            logs = data / "postgres" / "log"
            is_logged = re.compile("LOG:  (statement|execute)").search
            wait_until(lambda: service.get("/ready").status == 200 and is_logged(texts_in(logs)), "it logged them")
            story = Story()
            texts(service, story)
            commanded(service, story)
            story.logs["metrics"] = service.get(
                "/metrics", headers={"Authorization": f"Bearer {METRICS}"}
            ).body.decode()
            command = [
                BINARIES / "pg_dump",
                "--no-owner",
                f"--host={data / 'socket'}",
                "--username=postgres",
                "postgres",
            ]
            story.dump = subprocess.run(command, capture_output=True, text=True, check=True).stdout
            assert service.stop() == 0
            story.logs |= {"stdout": service.out, "stderr": service.err, "PostgreSQL": texts_in(logs)}
        yield story


def texts_in(folder: Path) -> str:
    """The texts of all files in a folder."""
    return "".join(path.read_text() for path in folder.iterdir())


def forms(secret: str) -> set[str]:
    """How a secret could be written."""
    plain = secret.encode()
    return {secret, quote(secret, safe=""), plain.hex(), base64.b64encode(plain).decode().rstrip("="), secret[::-1]}


def rows_of(dump: str) -> Iterator[tuple[str, str]]:
    """Each line of data of a dump, with the name of its table."""
    for table, lines in re.findall(
        r"^COPY public\.(\w+) \(.*?\) FROM stdin;\n(.*?)^\\\.$", dump, re.MULTILINE | re.DOTALL
    ):
        yield from ((table, line) for line in lines.splitlines())


def test_the_database_holds_only_readable_secrets(story: Story):
    found = {name for name, secret in story.hidden.items() for form in forms(secret) if form in story.dump}
    assert found == set()
    for place, secret in story.readable.items():
        assert [table for table, line in rows_of(story.dump) if secret in line] == [place.partition(",")[0]]
        assert story.dump.count(secret) == 1


def test_credentials_are_stored_as_digests(story: Story):
    for name, secret in story.digested.items():
        digest = hashlib.sha256(secret.encode()).hexdigest()
        assert [table for table, line in rows_of(story.dump) if rf"\\x{digest}" in line] in (
            ["sessions"],
            ["api_keys"],
            ["personal_tokens"],
            ["reset_tokens"],
        ), name
    for name, secret in story.passwords.items():
        assert hashlib.sha256(secret.encode()).hexdigest() not in story.dump, name
    # What was typed into the field for the name is counted, by a digest that is as slow as those of passwords.
    typed = name_digest(story.passwords[AS_NAME]).hex()
    assert [table for table, line in rows_of(story.dump) if typed in line] == ["login_throttle"]
    hashes = [(table, kept) for table, line in rows_of(story.dump) for kept in re.findall(r"\$\d\w\$\S+", line)]
    assert {table for table, _ in hashes} == {"users", "past_passwords"}
    known = [secret for name, secret in story.passwords.items() if name not in ("wrong", AS_NAME)]
    for _, kept in hashes:
        known.remove(next(secret for secret in known if bcrypt.checkpw(secret.encode(), kept.encode())))
    assert known == []
    assert all(re.fullmatch(r"\$2b\$10\$[./A-Za-z0-9]{53}", kept) for _, kept in hashes)


def test_no_log_and_no_metric_contains_a_secret(story: Story):
    assert "INSERT INTO sessions" in story.logs["PostgreSQL"]
    assert '"/invite/<token>/signup"' in story.logs["stdout"]
    for place, text in story.logs.items():
        found = {name for name, secret in story.hidden.items() for form in forms(secret) if form in text}
        # A name is asked for as it was written.
        assert found == ({AS_NAME} if place == "PostgreSQL" else set()), place
    for place, secret in story.readable.items():
        # The one statement that writes its row.
        lines = [line for line in story.logs["PostgreSQL"].splitlines() if secret in line]
        assert len(lines) == 1, lines
        assert not [log for log, text in story.logs.items() if log != "PostgreSQL" and secret in text], place


def test_the_search_would_find_one(story: Story):
    lines = dict(rows_of(story.dump))
    assert {"users", "signup_tokens", "events", "api_keys"} <= lines.keys()
    assert "ada@example.org" in story.dump
