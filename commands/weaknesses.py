"""Settings that make sense, but less than they could: a sentence about each."""

from collections.abc import Callable, Iterator, Mapping
from ipaddress import ip_address
from typing import Any
from urllib.parse import urlsplit

from sql import Connection

# What the overview of a project compares: the last 30 days, and the 30 before.
OVERVIEW_DAYS = 60
# What a first administrator may be given for a test, and is tried first by who wants in.
KNOWN_PASSWORDS = frozenset(
    {
        "unleash4all",
        "password",
        "password1",
        "password123",
        "passw0rd",
        "admin",
        "admin123",
        "administrator",
        "adminadmin",
        "changeme",
        "change-me",
        "letmein",
        "secret",
        "secret123",
        "welcome",
        "welcome1",
        "default",
        "qwerty",
        "qwerty123",
        "12345678",
        "123456789",
        "1234567890",
        "11111111",
        "featureflags",
    }
)
LEAST_ADMIN_PASSWORD = 12
# Half of the 64 signs of a generated key.
LEAST_KEY = 32
MOST_PROXIES = 3

Judge = Callable[[int], bool]

# Which numbers are weak, and why.
NUMBERS: tuple[tuple[str, Judge, str], ...] = (
    ("PASSWORD_MIN_LENGTH", lambda it: it < 8, "passwords of fewer than 8 characters are soon guessed"),
    ("BCRYPT_ROUNDS", lambda it: it < 12, "below 12, who gets hold of the hashes guesses their passwords faster"),
    ("LOGIN_FREE_FAILURES", lambda it: it > 20, "so many guesses of a password are free, at each name and each day"),
    ("LOGIN_MAX_WAIT_SECONDS", lambda it: it < 60, "who guesses passwords has to wait for a minute at least, or he gets far"),
    ("LOGIN_ATTEMPTS_PER_MINUTE", lambda it: it > 600, "one client address may try that many passwords a minute"),
    ("SIGNUP_ATTEMPTS_PER_MINUTE", lambda it: it > 600, "one client address may guess at that many signup tokens a minute"),
    ("SESSION_TTL_HOURS", lambda it: it > 31 * 24, "a session that was stolen works for more than a month"),
    (
        "EVENT_RETENTION_DAYS",
        lambda it: 0 < it < OVERVIEW_DAYS,
        f"the overview of a project counts the events of the last {OVERVIEW_DAYS} days",
    ),
)


def weaknesses(config: Mapping[str, Any]) -> Iterator[str]:
    """A sentence about each setting that is weak. No secret is in it."""
    yield from of_addresses(config)
    for name, is_weak, reason in NUMBERS:
        if is_weak(config[name]):
            yield f"{name} is {config[name]}: {reason}."
    password = config["INIT_ADMIN_PASSWORD"]
    if password is not None and password.casefold() in {*KNOWN_PASSWORDS, config["INIT_ADMIN_USERNAME"].casefold()}:
        yield "INIT_ADMIN_PASSWORD is one of those that everybody tries. If the administrator still has it, give him another."
    elif password is not None and len(password) < LEAST_ADMIN_PASSWORD:
        yield f"INIT_ADMIN_PASSWORD has fewer than {LEAST_ADMIN_PASSWORD} characters, and opens everything. If it still holds, change it."
    if any(len(key) < LEAST_KEY or "insecure" in key for key in config["INIT_ADMIN_API_TOKENS"] or ()):
        yield f"INIT_ADMIN_API_TOKENS holds a key that is known or has fewer than {LEAST_KEY} characters. Replace it by a generated one."


def of_addresses(config: Mapping[str, Any]) -> Iterator[str]:
    """A sentence about each setting by which others reach the service less safely than they could."""
    site, proxies = urlsplit(config["BASE_URL"]), config["TRUSTED_PROXIES"]
    is_local = is_this_machine(site.hostname or "")
    if site.scheme == "http" and not is_local:
        yield f"BASE_URL is {config['BASE_URL']}: passwords, keys and sessions travel unencrypted. Serve it by https."
    elif site.scheme == "http" and not is_this_machine(config["HOST"]):
        yield f"HOST is {config['HOST']}: other machines reach the service unencrypted, although BASE_URL is for this one alone."
    if site.scheme == "https" and proxies == 0:
        yield (
            "TRUSTED_PROXIES is 0 although BASE_URL is https: behind a proxy all clients have its address, "
            "and share LOGIN_ATTEMPTS_PER_MINUTE. Say how many proxies there are."
        )
    if proxies and site.scheme == "http" and is_local:
        yield f"TRUSTED_PROXIES is {proxies}, but BASE_URL tells of no proxy: without one, every client can claim any address."
    elif proxies > MOST_PROXIES:
        yield f"TRUSTED_PROXIES is {proxies}: if there are fewer, every client can claim any address."
    if config["METRICS_PORT"] is not None and config["METRICS_TOKEN"] is None and not is_this_machine(config["METRICS_HOST"]):
        yield f"METRICS_HOST is {config['METRICS_HOST']}: whoever reaches it reads the metrics. Set METRICS_TOKEN too."


def is_unencrypted(conn: Connection) -> bool:
    """Whether all that is said to the database can be read on its way through a network."""
    host = conn.info.host
    return not (conn.pgconn.ssl_in_use or host.startswith("/") or is_this_machine(host))


def is_this_machine(host: str) -> bool:
    """Whether what is sent to this host stays on the machine."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")
