"""The settings: SETTINGS lists them, load() reads them from the environment.

A test compares them with docs/reference/settings.md.
"""

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from serving import auth_proxy_settings, mail_settings, sign_in_settings
from serving.setting_values import (
    Setting,
    api_tokens,
    base_url,
    bearer_token,
    database_url,
    folder,
    host,
    identifier,
    networks,
    number,
    one_of,
    origins,
    password,
    scoped_tokens,
    switch,
    username,
)
from validators.people.users import PASSWORD_MAX_BYTES

PROJECT = Path(__file__).parent.parent
# Relative paths begin in this folder. deploy/single_file.py sets it, because each version has its own PROJECT there.
FOLDER = Path(os.environ.get("FLAGS_FOLDER") or PROJECT)


class SettingError(ValueError):
    """A setting is invalid. The message names it."""


SETTINGS = (
    Setting(
        "DATABASE_URL",
        database_url,
        None,
        "address of a PostgreSQL server (14 or newer); default: an embedded PostgreSQL",
        secret=True,
    ),
    Setting(
        "DATA_DIR",
        folder,
        "./data",
        "data folder of the embedded PostgreSQL; a relative path begins in the folder of the project",
    ),
    Setting("HOST", host, "127.0.0.1", "address to listen on"),
    Setting("PORT", number(1, 65535), "4242", "port to listen on"),
    Setting("BASE_URL", base_url, None, "address that users see, for links and cookies; default: http://HOST:PORT"),
    Setting("WEB_CONCURRENCY", number(1, 256), "2", "worker processes"),
    Setting("THREADS", number(1, 512), "64", "requests that each worker handles at the same time"),
    Setting(
        "WAIT_SECONDS", number(1, 60), "5", "seconds that a request waits for a database connection before 503 or 429"
    ),
    Setting("DATABASE_POOL_SIZE", number(1, 512), "8", "maximum database connections of each worker"),
    Setting(
        "STATEMENT_TIMEOUT_SECONDS",
        number(1, 3600),
        "30",
        "seconds that a statement may run before 503; with a pooler, set this in the pooler",
    ),
    Setting(
        "LOCK_TIMEOUT_SECONDS",
        number(1, 3600),
        "10",
        "seconds that a statement waits for a lock before 503; with a pooler, set this in the pooler",
    ),
    Setting(
        "DATABASE_POOLER",
        one_of("none", "transaction", "prepared"),
        "none",
        "`transaction` behind PgBouncer in transaction mode; `prepared` if it also keeps prepared statements",
    ),
    Setting(
        "CONSOLE", switch, "on", "`off` removes the pages for people, except login, sign-up, password reset and `/docs`"
    ),
    Setting("PASSWORD_LOGIN", one_of("on", "admins", "off"), "on", "users who can log in with a password; `off`: none"),
    Setting("SESSION_TTL_HOURS", number(1, 8760), "48", "hours that a session lasts"),
    Setting("BCRYPT_ROUNDS", number(10, 20), "12", "cost of a password hash; each step doubles the time of a login"),
    Setting(
        "PASSWORD_MIN_LENGTH", number(1, PASSWORD_MAX_BYTES), "8", "minimum length of a new password, in characters"
    ),
    Setting("MAX_BODY_BYTES", number(1024, 104857600), "1048576", "maximum size of most request bodies, in bytes"),
    Setting("LOGIN_FREE_FAILURES", number(1, 1000), "5", "failed logins in a row before a user name has to wait"),
    Setting(
        "LOGIN_MAX_WAIT_SECONDS",
        number(1, 86400),
        "900",
        "maximum seconds that a user name has to wait; the wait doubles with each failure",
    ),
    Setting(
        "LOGIN_ATTEMPTS_PER_MINUTE",
        number(1, 100000),
        "30",
        "maximum logins and password resets per minute from one client address",
    ),
    Setting(
        "SIGNUP_ATTEMPTS_PER_MINUTE",
        number(1, 100000),
        "30",
        "maximum signups and checks of signup tokens per minute from one client address",
    ),
    Setting("INIT_ADMIN_USERNAME", username, "admin", "user name of the first administrator"),
    Setting(
        "INIT_ADMIN_PASSWORD",
        password,
        None,
        "password of the first administrator; default: one is generated and printed once",
        secret=True,
    ),
    Setting(
        "INIT_ADMIN_API_TOKENS",
        api_tokens,
        None,
        "first admin API tokens, separated by commas; default: one is generated and printed once",
        secret=True,
    ),
    *(
        Setting(
            f"INIT_{kind}_API_TOKENS",
            scoped_tokens,
            None,
            f"first {kind.lower()} API tokens, `project:environment.secret`, separated by commas or lines",
            secret=True,
        )
        for kind in ("CLIENT", "BACKEND", "FRONTEND")
    ),
    Setting("IMPORT_FILE", folder, None, "first flags: an export document or a state file of Unleash, in JSON"),
    Setting("IMPORT_PROJECT", identifier, "default", "project for these flags, if the file has only one"),
    Setting("IMPORT_ENVIRONMENT", identifier, "development", "environment for these flags, if the file has only one"),
    Setting("MAX_FLAGS", number(1, 1000000), "5000", "maximum flags in the instance, archived flags included"),
    Setting("MAX_PROJECTS", number(1, 100000), "500", "maximum projects, archived projects excluded"),
    Setting("MAX_ENVIRONMENTS", number(1, 1000), "50", "maximum environments"),
    Setting("MAX_SEGMENTS", number(1, 100000), "300", "maximum segments"),
    Setting("MAX_API_TOKENS", number(1, 100000), "2000", "maximum API tokens"),
    Setting("MAX_PERSONAL_TOKENS", number(1, 1000), "10", "maximum personal access tokens of each user"),
    Setting("MAX_STRATEGIES", number(1, 1000), "30", "maximum strategies of each flag in each environment"),
    Setting("MAX_STRATEGY_SEGMENTS", number(0, 1000), "5", "maximum segments of each strategy"),
    Setting("MAX_CONSTRAINTS", number(0, 1000), "30", "maximum constraints of each strategy and segment"),
    Setting("MAX_CONSTRAINT_VALUES", number(1, 10000), "250", "maximum values of each constraint"),
    Setting(
        "MAX_SEGMENT_VALUES",
        number(1, 100000),
        "1000",
        "maximum values of all constraints of a segment together",
    ),
    Setting(
        "CLIENT_KEEP_MS",
        number(0, 60000),
        "100",
        "milliseconds for which a worker remembers a token of an application and the state of its flags",
    ),
    Setting(
        "CLIENT_STALE_SECONDS",
        number(0, 604800),
        "3600",
        "seconds for which applications get flags from memory while the database is unavailable",
    ),
    Setting(
        "CLIENT_STREAMS",
        number(0, 20000),
        "400",
        "maximum event streams of each worker, half of them for frontend tokens; 0: applications poll",
    ),
    Setting(
        "FRONTEND_ORIGINS",
        origins,
        "*",
        "origins of web pages that can use frontend tokens without `origins`, separated by commas; `*`: all",
    ),
    Setting("INTEGRATION_NETWORKS", networks, "", "private networks that integrations can reach, separated by commas"),
    Setting(
        "EVENT_RETENTION_DAYS",
        number(0, 36500),
        "0",
        "days for which `./flags events prune` keeps events; 0: for ever",
    ),
    Setting(
        "USAGE_RETENTION_DAYS",
        number(0, 36500),
        "0",
        "days for which `./flags metrics prune` keeps reported usage; 0: for ever",
    ),
    Setting(
        "METRICS_TOKEN", bearer_token, None, "bearer token for `/metrics`; default: `/metrics` is 404", secret=True
    ),
    Setting(
        "SLOW_REQUEST_MS",
        number(0, 3600000),
        "1000",
        "log the SQL statements of requests that take more than this many milliseconds; 0: never",
    ),
    Setting(
        "TRUSTED_PROXIES",
        number(0, 10),
        "0",
        "number of proxies in front of the service that add an address to X-Forwarded-For",
    ),
    *auth_proxy_settings.SETTINGS,
    *mail_settings.SETTINGS,
    *sign_in_settings.SETTINGS,
)


BY_NAME = {setting.name: setting for setting in SETTINGS}


def load(environ: Mapping[str, str]) -> dict[str, Any]:
    """Return all settings by name, and the path of BASE_URL as BASE_PATH. Raise SettingError with all errors."""
    found, errors = read(environ)
    if errors:
        raise SettingError("\n".join(errors))
    return found


def read(environ: Mapping[str, str]) -> tuple[dict[str, Any], list[str]]:
    """Return the same as load(), with the defaults of invalid settings, and an error message for each of those."""
    found: dict[str, Any] = {}
    errors: list[str] = []
    for setting in SETTINGS:
        text = None
        try:
            text = given(setting, environ)
        except SettingError as error:
            errors.append(str(error))
        try:
            found[setting.name] = parsed(setting, text)
        except ValueError as error:
            errors.append(f"The setting {setting.name} {error}.")
            found[setting.name] = parsed(setting, None)
    # Our choice: the service and all commands use the same folder, whatever the current folder is.
    for name in ("DATA_DIR", "IMPORT_FILE"):
        found[name] = found[name] and FOLDER / found[name]
    for name, error in conflicts(found):
        errors.append(error)
        found[name] = parsed(BY_NAME[name], None)
    if found["BASE_URL"] is None:
        found["BASE_URL"] = default_address(found)
    found["BASE_PATH"] = urlsplit(found["BASE_URL"]).path
    return found, errors


def parsed(setting: Setting, text: str | None) -> Any:
    """Return the value of a setting. Raises ValueError if the text is invalid."""
    text = text or setting.default
    return None if text is None else setting.read(text)


def conflicts(found: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield the name of each setting that is invalid because of another one, and an error message."""
    if found["DATABASE_POOLER"] != "none" and found["DATABASE_URL"] is None:
        yield "DATABASE_POOLER", "The setting DATABASE_POOLER must be none without DATABASE_URL."
    mode, doors = found["PASSWORD_LOGIN"], (found["OIDC_ISSUER"], found["AUTH_PROXY_HEADER"])
    if mode != "on" and not any(doors):
        yield "PASSWORD_LOGIN", "The setting PASSWORD_LOGIN must be on without OIDC_ISSUER and AUTH_PROXY_HEADER."
    password, length = found["INIT_ADMIN_PASSWORD"], found["PASSWORD_MIN_LENGTH"]
    if password is not None and len(password) < length:
        yield "INIT_ADMIN_PASSWORD", f"The setting INIT_ADMIN_PASSWORD must be at least {length} characters long."
    yield from auth_proxy_settings.conflicts(found)
    yield from mail_settings.conflicts(found)
    yield from sign_in_settings.conflicts(found)


def default_address(found: Mapping[str, Any]) -> str:
    """Return the default of BASE_URL."""
    host = f"[{found['HOST']}]" if ":" in found["HOST"] else found["HOST"]
    return f"http://{host}:{found['PORT']}"


def given(setting: Setting, environ: Mapping[str, str]) -> str | None:
    """Return the value of a setting from the environment, or of a secret from its file. Empty variables are None."""
    text = environ.get(setting.name) or None
    path = environ.get(f"{setting.name}_FILE") if setting.secret else None
    if text is not None and path:
        raise SettingError(f"Set only one of {setting.name} and {setting.name}_FILE.")
    try:
        if path:
            text = (FOLDER / path).read_text(encoding="utf-8").rstrip("\r\n")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise SettingError(f"The file in {setting.name}_FILE cannot be read: {reason}.") from None
    # Our choice: an empty file is an error, because its default can be a new database.
    if path and not (text or "").strip():
        raise SettingError(f"The file in {setting.name}_FILE is empty. Write the value to it, or unset the variable.")
    # Python reads bytes that are not UTF-8 from the environment as lone surrogates.
    if text is not None and any(character == "\0" or "\ud800" <= character <= "\udfff" for character in text):
        raise SettingError(f"The setting {setting.name} must be UTF-8 text without the character NUL.")
    return text
