"""After a story with a secret of every kind, a dump of the database, all logs and metrics are searched for them."""

import base64
import hashlib
import re
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import quote

import bcrypt
import psycopg
import pytest

from operations.postgres.embedded import BINARIES
from rules.login import name_digest
from tests.support.service import Answer, Service, address_in, run, wait_until

pytestmark = pytest.mark.slow

ADMIN = "the-first-secret-of-the-admin"
KEY = "*:*.the-first-secret-of-a-key-of-the-instance"
METRICS = "the-secret-of-who-reads-metrics"
AS_NAME = "typed into the field for the name"


@dataclass
class Story:
    """The used secrets by name, and where they are searched for."""

    passwords: dict[str, str] = field(default_factory=dict[str, str])
    # Stored as digests.
    digested: dict[str, str] = field(default_factory=dict[str, str])
    # Stored nowhere.
    gone: dict[str, str] = field(default_factory=dict[str, str])
    # Stored as they are, in this table.
    readable: dict[str, str] = field(default_factory=dict[str, str])
    dump: str = ""
    logs: dict[str, str] = field(default_factory=dict[str, str])

    @property
    def hidden(self) -> dict[str, str]:
        """The secrets that must be found nowhere."""
        return self.passwords | self.digested | self.gone


class Requests:
    """Uses every kind of secret, rightly and wrongly."""

    def __init__(self, service: Service, story: Story) -> None:
        self.service = service
        self.story = story
        self.tomorrow = (datetime.now(UTC) + timedelta(days=1)).isoformat()

    def ask(
        self, method: str, path: str, json: Any = None, headers: dict[str, str] | None = None, status: int = 200
    ) -> Answer:
        """Send a request, by default with the admin token."""
        answer = self.service.request(method, path, json, {"Authorization": KEY} if headers is None else headers)
        assert answer.status == status, (method, path, answer)
        return answer

    def create(self, path: str, json: Any, headers: dict[str, str] | None = None) -> Any:
        """Create something, and return it."""
        return self.ask("POST", f"/api/admin/{path}", json, headers, 201).json

    def log_in(self, name: str, password: str, headers: dict[str, str] | None = None, status: int = 200) -> str:
        """Log in, and return the session."""
        body = {"username": name, "password": password}
        answer = self.ask("POST", "/auth/simple/login", body, headers or {}, status)
        return answer.headers["Set-Cookie"].partition("=")[2].partition(";")[0] if status == 200 else ""

    def use_signup_tokens(self) -> None:
        created = self.create("invite-link/tokens", {"name": "friends", "expiresAt": self.tomorrow})
        self.story.readable["signup_tokens"] = invite = created["secret"]
        self.story.gone["a guess"] = "the-secret-of-no-invite"
        ada = {"email": "ada@example.org", "name": "Ada", "password": self.story.passwords["Ada's"]}
        for token, status in ((invite, 200), (invite, 409), (self.story.gone["a guess"], 404)):
            self.ask("POST", f"/invite/{token}/signup", ada, {}, status)
        self.ask("GET", f"/invite/{invite}/validate", None, {})
        self.ask("PUT", f"/api/admin/invite-link/tokens/{invite}", {"enabled": False})
        self.ask("GET", "/api/admin/invite-link/tokens")

    def use_passwords(self) -> dict[str, str]:
        """Return the headers of a session that stays."""
        story, passwords = self.story, self.story.passwords
        self.log_in("admin", ADMIN)
        self.log_in("ada@example.org", passwords["wrong"], status=401)
        self.log_in(passwords[AS_NAME], passwords["wrong"], status=401)
        first = self.log_in("ada@example.org", passwords["Ada's"])
        second = self.log_in("ada@example.org", passwords["Ada's"], {"Cookie": f"session={first}"})
        new = dict.fromkeys(("password", "confirmPassword"), passwords["Ada's new"])
        for old, status in (("wrong", 401), ("Ada's", 200)):
            body, cookie = new | {"oldPassword": passwords[old]}, {"Cookie": f"session={second}"}
            self.ask("POST", "/api/admin/user/change-password", body, cookie, status)
        bob = {"username": "bob", "password": passwords["Bob's"], "rootRole": 1}
        bob_id = self.create("user-admin", bob)["id"]
        self.ask("POST", "/api/admin/user-admin", bob, status=409)
        self.ask("POST", f"/api/admin/user-admin/{bob_id}/change-password", {"password": passwords["Bob's new"]})
        ended = self.log_in("bob", passwords["Bob's new"])
        self.ask("POST", "/logout", None, {"Cookie": f"session={ended}"}, 302)
        story.gone |= {"a replaced session": first, "a session before a new password": second, "a logout": ended}
        story.digested["a session"] = self.log_in("ada@example.org", passwords["Ada's new"])
        return {"Cookie": f"session={story.digested['a session']}"}

    def use_reset_links(self) -> None:
        """Use one, replace one, and keep one."""
        used, replaced, kept = (
            self.ask("POST", "/api/admin/user-admin/reset-password", {"id": name})
            .json["resetPasswordUrl"]
            .partition("token=")[2]
            for name in ("bob", "ada@example.org", "ada@example.org")
        )
        self.story.gone |= {"a used link": used, "a replaced link": replaced}
        self.story.digested["a link"] = kept
        for token, status in ((used, 200), (replaced, 401), (kept, 200)):
            self.ask("GET", f"/auth/reset/validate?token={token}", None, {}, status)
        password = {"password": self.story.passwords["Bob's by link"]}
        for status in (200, 401):
            self.ask("POST", "/auth/reset/password", password | {"token": used}, {}, status)
        self.ask("POST", "/auth/reset/validate-password", password, {})

    def use_tokens(self, cookie: dict[str, str]) -> None:
        digested, body = self.story.digested, {"description": '"secret": null', "expiresAt": self.tomorrow}
        digested["a personal token"] = self.create("user/tokens", body, cookie)["secret"]
        robot = self.create("service-account", {"name": "Robot", "username": "robot", "rootRole": 3})["id"]
        digested["a service account's token"] = self.create(f"service-account/{robot}/token", body)["secret"]
        digested["an admin token"], gone, client, frontend = (
            self.create("api-tokens", {"tokenName": f"token {number}", "type": kind})["secret"]
            for number, kind in enumerate(("admin", "admin", "client", "frontend"))
        )
        self.story.readable |= {"api_keys, client": client, "api_keys, frontend": frontend}
        self.story.gone |= {"a deleted token": gone, "a wrong token": "*:*.the-secret-of-no-key-at-all"}
        self.ask("PUT", f"/api/admin/api-tokens/{gone}", {"expiresAt": self.tomorrow})
        self.ask("DELETE", f"/api/admin/api-tokens/{gone}")
        used = [secret for name, secret in digested.items() if name not in ("a session", "a link")]
        for secret in used:
            self.ask("GET", "/api/admin/insights", None, {"Authorization": secret})
        for secret in (gone, self.story.gone["a wrong token"]):
            self.ask("GET", "/api/admin/insights", None, {"Authorization": secret}, 401)
        self.ask("GET", "/api/admin/user/tokens", headers=cookie)
        for path in ("api-tokens", "user-admin", "service-account", "search/events?limit=1000"):
            self.ask("GET", f"/api/admin/{path}")

    def run_commands(self) -> None:
        """A secret that a command creates is on its stdout, and nowhere afterwards."""
        story = self.story

        def command(*words: str) -> str:
            done = run("operations/flags.py", *words, **self.service.settings)
            assert done.returncode == 0, done.stderr
            story.logs["stderr of commands"] = story.logs.get("stderr of commands", "") + done.stderr
            return done.stdout.strip()

        story.digested["a token by command"] = command("api-token", "create", "--name", "a", "--type", "admin")
        link = command("signup-token", "create", "--name", "by command")
        story.readable["signup_tokens, by command"] = link.partition("invite=")[2]
        story.passwords["Carl's"] = command("user", "create", "--username", "carl", "--generate")
        story.passwords["Carl's new"] = command("user", "reset-password", "carl", "--generate")
        for words in ("api-token list --json", "user list --json", "events export", "doctor"):
            story.logs[words] = command(*words.split())
            assert story.logs[words]


def texts_in(folder: Path) -> str:
    """Return the texts of all files in a folder."""
    return "".join(path.read_text() for path in folder.iterdir())


@pytest.fixture(scope="module")
def story(tmp: Path) -> Story:
    """After such a story, with an embedded PostgreSQL that logs every statement with its parameters."""
    story = Story(digested={"the first token": KEY}, gone={"the metrics token": METRICS})
    names = ("Bob's", "Bob's new", "Bob's by link", "Ada's", "Ada's new", "wrong", AS_NAME)
    story.passwords = {"the admin's": ADMIN} | {name: f"a-secret-password-{n}" for n, name in enumerate(names)}
    data = tmp / "data"
    given = {"INIT_ADMIN_PASSWORD": ADMIN, "INIT_ADMIN_API_TOKENS": KEY, "METRICS_TOKEN": METRICS}
    with Service(DATA_DIR=data, **given) as service:
        with psycopg.connect(address_in(data), autocommit=True) as conn:
            conn.execute("ALTER SYSTEM SET log_statement = 'all'")
            conn.execute("SELECT pg_reload_conf()")
        logs = data / "postgres" / "log"
        is_logged = re.compile("LOG:  (statement|execute)").search
        wait_until(lambda: service.get("/ready").status == 200 and is_logged(texts_in(logs)), "it logged them")
        requests = Requests(service, story)
        requests.use_signup_tokens()
        cookie = requests.use_passwords()
        requests.use_reset_links()
        requests.use_tokens(cookie)
        # Malformed HTTP is not quoted either.
        assert service.raw(f"GET /{ADMIN} HTTP/9.9\r\nAuthorization {KEY}\r\n\r\n".encode()).status == 400
        requests.run_commands()
        metrics = service.get("/metrics", headers={"Authorization": f"Bearer {METRICS}"})
        command = [BINARIES / "pg_dump", "--no-owner", f"--host={data / 'socket'}", "--username=postgres"]
        done = subprocess.run([*command, "postgres"], capture_output=True, text=True, check=True)
        assert service.stop() == 0
        story.dump = done.stdout
        story.logs |= {"metrics": metrics.body.decode(), "PostgreSQL": texts_in(logs)}
        story.logs |= {"stdout": service.out, "stderr": service.err}
    return story


def forms(secret: str) -> set[str]:
    """Return how a secret could be written."""
    plain = secret.encode()
    return {secret, quote(secret, safe=""), plain.hex(), base64.b64encode(plain).decode().rstrip("="), secret[::-1]}


def rows_of(dump: str) -> Iterator[tuple[str, str]]:
    """Yield each line of data of a dump, with the name of its table."""
    data = r"^COPY public\.(\w+) \(.*?\) FROM stdin;\n(.*?)^\\\.$"
    for table, lines in re.findall(data, dump, re.MULTILINE | re.DOTALL):
        yield from ((table, line) for line in lines.splitlines())


def test_the_database_holds_only_readable_secrets(story: Story):
    # The search finds what is there.
    assert {"users", "signup_tokens", "events", "api_keys"} <= dict(rows_of(story.dump)).keys()
    assert "ada@example.org" in story.dump
    assert {name for name, secret in story.hidden.items() for form in forms(secret) if form in story.dump} == set()
    for place, secret in story.readable.items():
        assert [table for table, line in rows_of(story.dump) if secret in line] == [place.partition(",")[0]]
        assert story.dump.count(secret) == 1


def test_credentials_are_stored_as_digests(story: Story):
    for name, secret in story.digested.items():
        digest = hashlib.sha256(secret.encode()).hexdigest()
        (table,) = (table for table, line in rows_of(story.dump) if rf"\\x{digest}" in line)
        assert table in ("sessions", "api_keys", "personal_tokens", "reset_tokens"), name
    for name, secret in story.passwords.items():
        assert hashlib.sha256(secret.encode()).hexdigest() not in story.dump, name
    # What was typed into the field for the name is counted, by a digest that is as slow as those of passwords.
    typed = name_digest(story.passwords[AS_NAME]).hex()
    assert [table for table, line in rows_of(story.dump) if typed in line] == ["login_throttle"]
    hashes = [(table, kept) for table, line in rows_of(story.dump) for kept in re.findall(r"\$\d\w\$\S+", line)]
    assert {table for table, _ in hashes} == {"users", "past_passwords"}
    known = [secret for name, secret in story.passwords.items() if name not in ("wrong", AS_NAME)]
    for _, kept in hashes:
        assert re.fullmatch(r"\$2b\$10\$[./A-Za-z0-9]{53}", kept)
        known.remove(next(secret for secret in known if bcrypt.checkpw(secret.encode(), kept.encode())))
    assert known == []


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
