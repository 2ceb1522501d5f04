"""Two real services on one database: what one of them does holds at the other from the next request on."""

import re
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from itertools import count
from typing import Any

import psycopg
import pytest

from tests.support.service import IMPORT, Answer, Service, run

pytestmark = pytest.mark.slow

HEADLINE = "The database is new"
OVERVIEW = "/api/admin/projects/default/overview"
PASSWORD, WRONG = "correct horse battery", "wrong horse battery"
FREE, ATTEMPTS = 3, 10
# Each caller has another address, which a proxy sends.
_addresses = (f"192.0.2.{number}" for number in count(1))


class Pair:
    """Two services that were started at the same moment on one empty database, behind one proxy, and the key that one
    of them printed.
    """

    def __init__(self, services: list[Service], url: str) -> None:
        self.services = services
        self.one, self.other = services
        self.url = url
        (self.key,) = re.findall(r"API token +(\S+)", self.one.err + self.other.err)

    def ask(self, service: Service, method: str, path: str, json: Any = None, status: int = 200) -> Any:
        """What a service answers the administrator; AssertionError unless it has this status."""
        answer = service.request(method, f"/api/admin/{path}", json, {"Authorization": self.key})
        assert answer.status == status, answer.body
        return answer.json if answer.body else None

    def user(self, name: str) -> int:
        """The id of a new user, made at one service."""
        body = {"username": name, "password": PASSWORD, "rootRole": 3}
        return self.ask(self.one, "POST", "user-admin", body, 201)["id"]


@pytest.fixture(scope="module")
def pair(make_database: Callable[..., str]) -> Iterator[Pair]:
    """Such a pair."""
    url = make_database(empty=True)
    given = {
        "BASE_URL": "http://flags.example.org",
        "TRUSTED_PROXIES": 1,
        "LOGIN_FREE_FAILURES": FREE,
        "LOGIN_ATTEMPTS_PER_MINUTE": ATTEMPTS,
        "SIGNUP_ATTEMPTS_PER_MINUTE": 2,
    }
    services = [Service(url, **given).start() for _ in range(2)]
    try:
        yield Pair([service.ready() for service in services], url)
    finally:
        for service in services:
            service.end()


def log_in(service: Service, name: str, password: str = PASSWORD, address: str | None = None) -> Answer:
    """Try to log in."""
    headers = {"X-Forwarded-For": address or next(_addresses)}
    return service.request("POST", "/auth/simple/login", {"username": name, "password": password}, headers)


def session_of(service: Service, name: str, password: str = PASSWORD) -> dict[str, str]:
    """The headers of a request in a new session."""
    answer = log_in(service, name, password)
    assert answer.status == 200, answer.body
    return {"Cookie": answer.headers["Set-Cookie"].partition(";")[0]}


def sees(services: list[Service], headers: dict[str, str], path: str = OVERVIEW) -> list[int]:
    """The statuses of what each service answers."""
    return [service.get(path, headers=headers).status for service in services]


def test_two_first_starts_create_one_administrator(pair: Pair) -> None:
    output = pair.one.err + pair.other.err
    assert output.count(HEADLINE) == output.count("admin password") == output.count("API token ") == 1
    (password,) = re.findall(r"admin password +(\S+)", output)
    for service in pair.services:
        assert log_in(service, "admin", password).status == 200
        assert pair.ask(service, "GET", "user-admin")["users"][0]["username"] == "admin"
    third = run(*IMPORT, DATABASE_URL=pair.url)
    assert (third.returncode, third.stdout, third.stderr) == (0, "", "")
    with psycopg.connect(pair.url) as conn:
        created = conn.execute(
            "SELECT type, count(*) FROM events WHERE created_by = 'system' GROUP BY type ORDER BY type"
        ).fetchall()
        assert created == [("api-token-created", 1), ("user-created", 1)]
        assert conn.execute("SELECT count(*) FROM schema_version").fetchone() == (1,)


def test_what_ends_a_session_at_one_ends_it_at_the_other(pair: Pair) -> None:
    new, change = "a newer password", "/api/admin/user/change-password"

    def log_out(_: int, session: dict[str, str]) -> None:
        assert pair.other.request("POST", "/logout", headers=session).status == 302

    def change_password(_: int, session: dict[str, str]) -> None:
        body = {"password": new, "confirmPassword": new, "oldPassword": PASSWORD}
        assert pair.other.request("POST", change, body, session).status == 200

    def set_password(user_id: int, _: dict[str, str]) -> None:
        pair.ask(pair.other, "POST", f"user-admin/{user_id}/change-password", {"password": new})

    def delete(user_id: int, _: dict[str, str]) -> None:
        pair.ask(pair.other, "DELETE", f"user-admin/{user_id}")

    ends = {log_out: [200, 401], change_password: [401, 200], set_password: [401, 200], delete: [401]}
    for end, passwords in ends.items():
        name = f"user-{end.__name__}"
        user_id = pair.user(name)
        sessions = [session_of(service, name) for service in pair.services]
        assert [sees(pair.services, session) for session in sessions] == [[200, 200]] * 2
        end(user_id, sessions[0])
        assert [sees(pair.services, session) for session in sessions] == [[401, 401]] * 2, name
        for service in pair.services:
            tried = (PASSWORD, new)[: len(passwords)]
            assert [log_in(service, name, password).status for password in tried] == passwords, name


def test_tokens_and_rights_end_at_both(pair: Pair) -> None:
    secret = pair.ask(pair.one, "POST", "api-tokens", {"type": "admin", "tokenName": "deploy"}, 201)["secret"]
    assert sees(pair.services, {"Authorization": secret}) == [200, 200]
    pair.ask(pair.other, "DELETE", f"api-tokens/{secret}")
    assert sees(pair.services, {"Authorization": secret}) == [401, 401]
    user_id = pair.user("dora")
    session = session_of(pair.one, "dora")
    tomorrow = (datetime.now(UTC) + timedelta(days=1)).isoformat()
    body = {"description": "theirs", "expiresAt": tomorrow}
    token = {"Authorization": pair.one.request("POST", "/api/admin/user/tokens", body, session).json["secret"]}
    for role, status in ((1, 200), (3, 403)):
        pair.ask(pair.one, "PUT", f"user-admin/{user_id}", {"rootRole": role})
        for credential in (session, token):
            assert sees(pair.services, credential, "/api/admin/user-admin") == [status, status]
    pair.ask(pair.one, "DELETE", f"user-admin/{user_id}")
    assert sees(pair.services, token) == [401, 401]


def test_throttles_count_at_both_together(pair: Pair) -> None:
    pair.user("ed")
    assert [log_in(service, "ed", WRONG).status for service in (*pair.services, pair.one)] == [401] * FREE
    with psycopg.connect(pair.url) as conn:
        # Longer than any machine is slow.
        conn.execute("UPDATE login_throttle SET blocked_until = now() + interval '1 hour'")
    waits = [log_in(service, "ed") for service in pair.services]
    assert [(answer.status, int(answer.headers["Retry-After"]) > 3000) for answer in waits] == [(429, True)] * 2
    address = next(_addresses)
    found = [log_in(pair.services[number % 2], f"unknown-{number}", WRONG, address).status for number in range(12)]
    assert found == [401] * ATTEMPTS + [429] * 2
    guess = {"path": "/invite/guess/validate", "headers": {"X-Forwarded-For": address}}
    assert [service.get(**guess).status for service in pair.services * 2] == [404, 404, 429, 429]
