"""The real service, as gunicorn.conf.py serves it, with the settings that people start with."""

from typing import Any

from tests.service import Service

WORKERS = 2
SETTINGS: dict[str, Any] = {
    "WEB_CONCURRENCY": WORKERS,
    "BCRYPT_ROUNDS": 12,
    # All logins and signups come from one address here.
    "LOGIN_ATTEMPTS_PER_MINUTE": 100_000,
    "SIGNUP_ATTEMPTS_PER_MINUTE": 100_000,
    "LOGIN_FREE_FAILURES": 1000,
}


def started(url: str) -> Service:
    """The service on a database, on a free port; `with` starts and stops it."""
    return Service(url, None, **SETTINGS)
