"""Fails logins, and reads what the throttle keeps."""

from werkzeug.test import TestResponse

from rules.login import name_digest
from sql.database import Connection, one
from tests.support.login import log_in
from tests.support.world import Caller, refused

WRONG = "wrong horse battery"


def fail(caller: Caller, name: str, times: int, **kwargs) -> list[int]:
    """The statuses of so many wrong guesses, one after the other."""
    return [log_in(caller, name, WRONG, **kwargs).status_code for _ in range(times)]


def from_address(address: str, **headers: str) -> dict:
    """What makes a request come from this client address."""
    return {"environ_overrides": {"REMOTE_ADDR": address}, "headers": headers}


def known_of(conn, name: str) -> tuple[int, int] | None:
    """Failures of a name, and the seconds that it waits after the last one; None when nothing is known."""
    wait = "extract(epoch FROM blocked_until - last_failed_at)"
    found = one(
        conn,
        f"SELECT failures, {wait} AS wait FROM login_throttle WHERE name_digest = %(name)s",
        {"name": name_digest(name)},
    )
    return found and (found["failures"], round(found["wait"], 2))


def hold_waits(conn) -> None:
    """Make the running waits longer than any machine is slow."""
    conn.execute("UPDATE login_throttle SET blocked_until = blocked_until + interval '5 minutes'")


def blocked(conn: Connection, stranger: Caller, name: str) -> None:
    """Fail with this name until it has to wait."""
    assert fail(stranger, name, 5) == [401] * 5
    hold_waits(conn)


def retry_after(response: TestResponse) -> int:
    """The seconds that a 429 asks to wait."""
    refused(response, 429, "RateLimitError")
    assert "Set-Cookie" not in response.headers
    return int(response.headers["Retry-After"])
