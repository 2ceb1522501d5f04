"""flags doctor: check an instance."""

import json
import os
import shutil
from collections.abc import Iterator, Mapping
from http.client import HTTPException
from typing import Any
from urllib.parse import urlsplit

import click
import psycopg
from flask import current_app
from flask.cli import with_appcontext
from psycopg.rows import DictRow

from operations import health_check, start
from operations.commands.database import database_url
from operations.commands.output import say
from operations.misspelt_settings import misspelt
from operations.postgres import migrate, server
from operations.postgres.migrate import DatabaseProblem
from rules import password_login
from rules.refusals import first_five
from serving import identity_provider, mail, settings
from serving.setting_values import is_local
from sql import deliveries, event_retention, integrations
from sql.database import Connection
from sql.people import root_roles, users
from sql.projects import change_requests
from sql.tokens import api_tokens
from validators.tokens.api_tokens import KINDS

OK, WARN, FAIL = "ok", "warn", "FAIL"
# Grade, subject and message.
Finding = tuple[str, str, str]
Config = Mapping[str, Any]

OLDEST_SERVER = 14
LAG_MAX_BYTES = 16 * 2**20
LAG_MAX_SECONDS = 10.0
FREE_DISK_WARN = 2**30
# PostgreSQL reserves a new WAL file of 16 MB in advance, and stops if it cannot.
FREE_DISK_FAIL = 100 * 2**20
# In days. Just before the daily prune, the log has one day too many. The second day allows for a late prune.
PRUNE_SLACK = 2
# Common passwords of at least 12 characters. Shorter passwords are always reported.
KNOWN_PASSWORDS = {"administrator", "featureflags"}


@click.command()
@with_appcontext
@click.pass_context
def doctor(ctx: click.Context) -> None:
    """Check this instance and print what is wrong with it.

    Each line begins with ok, warn or FAIL. The exit status is 1 if a line begins with FAIL. Nothing is changed.
    """
    grades: set[str] = set()
    for grade, subject, sentence in findings(current_app.config):
        say(f"{grade:<4}  {subject:<14}  {sentence}")
        grades.add(grade)
    if FAIL in grades:
        ctx.exit(1)


def findings(config: Config) -> Iterator[Finding]:
    """Yield the findings. A check that depends on a failed one is skipped."""
    _, errors = settings.read(os.environ)
    yield from ((FAIL, "settings", error) for error in errors)
    weak = [*misspelt(os.environ), *weak_settings(config)]
    yield from ((WARN, "settings", sentence) for sentence in weak)
    if not errors and not weak:
        yield OK, "settings", "All settings are valid."
    if config["SMTP_HOST"]:
        yield mail_finding(config)
    if config["OIDC_ISSUER"]:
        yield provider_finding(config)
    if any("DATABASE_URL" in error for error in errors):
        return
    yield service_finding(config)
    try:
        with database_url() as url, migrate.open_database(url, config["DATABASE_POOLER"]) as conn:
            yield from server_findings(conn, config)
            yield from schema_findings(conn, config)
    except DatabaseProblem as error:
        yield FAIL, "database", str(error)
    except psycopg.Error as error:
        yield FAIL, "database", f"A check failed: {migrate.reason(error)}."


def weak_settings(config: Config) -> Iterator[str]:
    """Yield a message about each setting that is valid, but unsafe or useless. Messages contain no secrets."""
    site, proxies, password = urlsplit(config["BASE_URL"]), config["TRUSTED_PROXIES"], config["INIT_ADMIN_PASSWORD"]
    if site.scheme == "http" and site.hostname in ("0.0.0.0", "::"):  # noqa: S104
        reason = "links with it work only on this machine, and passwords and tokens are sent unencrypted"
        yield f"BASE_URL is {config['BASE_URL']}: {reason}. Set it to the https address that users open."
    elif site.scheme == "http" and not is_local(site.hostname or ""):
        yield f"BASE_URL is {config['BASE_URL']}: passwords and tokens are sent unencrypted. Use https."
    elif site.scheme == "http" and not is_local(config["HOST"]):
        reason = "other machines can reach the service unencrypted"
        yield f"HOST is {config['HOST']}: {reason}. Use https, or HOST=127.0.0.1."
    if site.scheme == "https" and proxies == 0:
        reason = "all clients share the proxy's address and its login limits"
        yield f"TRUSTED_PROXIES is 0, but BASE_URL is https: {reason}. Set it to 1."
    if site.scheme == "http" and is_local(site.hostname or "") and proxies:
        reason = "without a proxy, clients can forge their address"
        yield f"TRUSTED_PROXIES is {proxies}, but BASE_URL is this machine: {reason}. Set it to 0."
    largest = max((network.num_addresses for network in config["AUTH_PROXY_NETWORKS"]), default=0)
    if largest > 256 and config["AUTH_PROXY_SECRET"] is None:
        reason = f"each of {largest} addresses can log in as anybody"
        yield f"AUTH_PROXY_NETWORKS is large: {reason}. Name only the proxy, or set AUTH_PROXY_SECRET."
    if config["AUTH_PROXY_HEADER"] and config["HOST"] in ("0.0.0.0", "::"):  # noqa: S104
        yield f"HOST is {config['HOST']}, but only the proxy needs to reach the service. Set it to one address."
    if config["OIDC_ISSUER"] == "https://accounts.google.com" and not config["OIDC_EMAIL_DOMAINS"]:
        yield "OIDC_EMAIL_DOMAINS is empty: everybody with a Google account can log in. Set it to your domain."
    if config["BCRYPT_ROUNDS"] < 12:
        yield f"BCRYPT_ROUNDS is {config['BCRYPT_ROUNDS']}: stolen password hashes are cheap to crack. Use 12 or more."
    known = KNOWN_PASSWORDS | {config["INIT_ADMIN_USERNAME"].casefold()}
    if password is not None and (len(password) < 12 or password.casefold() in known):
        yield "INIT_ADMIN_PASSWORD is easy to guess. Change the administrator's password."
    if any(len(token) < 32 or "insecure" in token for token in config["INIT_ADMIN_API_TOKENS"] or ()):
        yield "INIT_ADMIN_API_TOKENS contains a token that is easy to guess. Replace it with a generated token."


def mail_finding(config: Config) -> Finding:
    """Check that the mail server answers and lets the service log in."""
    try:
        with mail.mail_server(config):
            return OK, "mail", f"{config['SMTP_HOST']} is ready to accept e-mails."
    except Exception as error:
        return WARN, "mail", f"{config['SMTP_HOST']} accepts no e-mails: {type(error).__name__}: {error}"


def provider_finding(config: Config) -> Finding:
    """Check that the identity provider answers, and that it calls itself OIDC_ISSUER."""
    try:
        identity_provider.discovery()
    except identity_provider.LoginFailed as error:
        return FAIL, "single sign-on", error.reason
    return OK, "single sign-on", f"{config['OIDC_ISSUER']} answers."


def service_finding(config: Config) -> Finding:
    """Check that the service responds. It need not run yet: a refused connection is only a warning."""
    address = settings.default_address(config)
    try:
        status = health_check.ask(config["HOST"], config["PORT"])
    except ConnectionRefusedError:
        advice = "Start the service, or set HOST and PORT to those of the running service."
        if last := start.kept_address(config):
            advice += f" The service of this data folder was started last at {last}."
        return WARN, "service", f"Nothing answers at {address}. {advice}"
    except (OSError, HTTPException) as error:
        return FAIL, "service", f"{address} does not respond: {error}. If the service runs, restart it."
    if status != 200:
        return FAIL, "service", f"{address} answers /health with {status} instead of 200."
    return OK, "service", f"It responds at {address}."


def server_findings(conn: Connection, config: Config) -> Iterator[Finding]:
    """Yield the findings about PostgreSQL: database, connections, standbys, disk."""
    state = server.get_server(conn)
    yield database_finding(state)
    host = conn.info.host
    if config["DATABASE_URL"] and not (conn.pgconn.ssl_in_use or host.startswith("/") or is_local(host)):
        yield WARN, "database", "The connection is not encrypted. Add sslmode=verify-full to DATABASE_URL."
    if config["DATABASE_POOLER"] == "none" and migrate.is_pooled(conn):
        yield WARN, "connections", f"A pooler in transaction mode breaks prepared statements. {migrate.BEHIND_POOLER}"
    needed = config["DATABASE_POOL_SIZE"] * config["WEB_CONCURRENCY"]
    if config["DATABASE_POOLER"] != "none":
        yield OK, "connections", f"This service needs up to {needed} connections to the pooler."
    else:
        message = f"This service needs up to {needed} connections; {state['connections']} are available."
        yield OK if needed <= state["connections"] else WARN, "connections", message
    if not state["is_standby"]:
        yield from map(standby_finding, server.standbys(conn))
    if config["DATABASE_URL"] is None:
        yield disk_finding(shutil.disk_usage(config["DATA_DIR"]).free, config["DATA_DIR"])


def disk_finding(free: int, folder: str) -> Finding:
    """Check that the disk of the embedded PostgreSQL has room. free: in bytes."""
    if free < FREE_DISK_FAIL:
        advice = "When it is full, changes and logins fail, and the service does not start. Free some space."
        return FAIL, "disk", f"{free / 2**20:.0f} MB are free in {folder}. {advice}"
    return OK if free >= FREE_DISK_WARN else WARN, "disk", f"{free / 2**30:.1f} GB are free in {folder}."


def database_finding(state: DictRow) -> Finding:
    """Check that PostgreSQL is supported and writable, and that it keeps committed changes in a crash."""
    subject, name = "database", f"PostgreSQL {state['version']}"
    if state["version"] < OLDEST_SERVER:
        return FAIL, subject, f"{name} is not supported. Use version {OLDEST_SERVER} or newer."
    if state["is_standby"]:
        return FAIL, subject, "This PostgreSQL is a read-only standby. Set DATABASE_URL to the primary server."
    if state["is_read_only"]:
        return FAIL, subject, "The database is read-only, because default_transaction_read_only is on. Turn it off."
    if state["encoding"] != "UTF8":
        return FAIL, subject, f"The encoding is {state['encoding']}. It must be UTF8."
    if state["unsafe"]:
        risk = "A crash can lose committed changes, or the whole database."
        return WARN, subject, f"These PostgreSQL settings are off: {state['unsafe']}. {risk}"
    return OK, subject, f"{name} is reachable and writable."


def standby_finding(row: DictRow) -> Finding:
    """Check how far a standby is behind. Unknown numbers count as 0."""
    size, seconds = row["bytes"] or 0, row["seconds"] or 0.0
    if not row["is_connected"]:
        advice = "Start it, or drop its replication slot."
        return WARN, "standby", f"{row['name']} is disconnected. {size / 2**20:.0f} MB of WAL are kept for it. {advice}"
    is_late = size > LAG_MAX_BYTES or seconds > LAG_MAX_SECONDS
    return WARN if is_late else OK, "standby", f"{row['name']} is {size / 2**20:.0f} MB and {seconds:.0f} s behind."


def schema_findings(conn: Connection, config: Config) -> Iterator[Finding]:
    """Yield the findings about the schema and its contents."""
    privileges = server.privileges(conn)
    role, unreadable, unwritable = privileges["role"], privileges["unreadable"], privileges["unwritable"]
    for verb, tables in (("read", unreadable), ("insert into", unwritable)):
        if tables:
            yield FAIL, "privileges", f"The role {role} cannot {verb} {tables}. {migrate.GRANT}"
    if privileges["changes_events"]:
        yield WARN, "privileges", f"The role {role} can change or delete events. {migrate.GRANT}"
    try:
        migrate.require_current(conn)
    except DatabaseProblem as error:
        yield FAIL, "schema", str(error)
        return
    except psycopg.errors.InsufficientPrivilege:
        return
    if not (unreadable or unwritable or privileges["changes_events"]):
        yield OK, "privileges", f"The role {role} has the privileges that the service needs."
    yield (
        OK,
        "schema",
        f"The schema has version {migrate.VERSION}. To compare it with schema.sql, run ./flags schema-diff.",
    )
    if unreadable:
        return
    yield search_finding(conn, is_embedded=config["DATABASE_URL"] is None)
    yield event_log_finding(conn, config["EVENT_RETENTION_DAYS"])
    if expiring := api_tokens.list_expiring(conn, KINDS):
        yield WARN, "API tokens", f"These expire within 7 days: {first_five(expiring)}."
    if expired := [token["tokenName"] for token in api_tokens.list_rows(conn) if token["state"] == "expired"]:
        yield WARN, "API tokens", f"These have expired: {first_five(expired)}. Replace or delete them."
    if stopped := change_requests.list_stopped(conn):
        numbers = first_five([f"{row['id']} (project {row['project_id']})" for row in stopped])
        problem = f"The schedules of these change requests failed or are suspended: {numbers}"
        yield WARN, "schedules", f"{problem}. Their pages say why."
    yield from integration_findings(conn)
    if (config["OIDC_ISSUER"] or config["AUTH_PROXY_HEADER"]) and root_roles.find_id(conn, config["SSO_ROLE"]) is None:
        yield (
            WARN,
            "new users",
            f"They cannot log in, because SSO_ROLE is {config['SSO_ROLE']}: no root role has this name.",
        )
    doors = config["PASSWORD_LOGIN"], config["OIDC_ISSUER"]
    number = users.count_admins_who_can_log_in(conn, *doors, by_proxy=bool(config["AUTH_PROXY_HEADER"]))
    advice = "No administrator can log in. Create one: ./flags user create --role admin --username NAME"
    if not password_login.is_permitted(is_admin=True):
        advice = "No administrator can log in. Set PASSWORD_LOGIN=admins (docs/how-to/recover-an-administrator.md)."
    yield (OK, "administrators", f"{number} can log in.") if number else (FAIL, "administrators", advice)


def integration_findings(conn: Connection) -> Iterator[Finding]:
    """Yield a warning for each integration that fails or is disabled, with the result of its last attempt."""
    for row in json.loads(integrations.list_all(conn)):
        if row["failingSince"] or not row["enabled"]:
            problem = f"has failed since {row['failingSince']}" if row["enabled"] else "is disabled"
            log = deliveries.log(conn, row["id"], None, {"limit": 1, "offset": 0})
            entries = json.loads(log["body"])["integrationEvents"] if log else []
            last = "".join(f" Last attempt: {entry['stateDetails']}." for entry in entries)
            yield WARN, "integrations", f"The {row['provider']} integration {row['id']} {problem}.{last} See its log."


def search_finding(conn: Connection, *, is_embedded: bool) -> Finding:
    """Check that text searches of the event log use an index."""
    if migrate.has_word_indexes(conn):
        return OK, "search", "Text searches of the event log use an index (pg_trgm)."
    advice = "Install it on the server, then run ./flags migrate."
    if is_embedded:
        advice = "The embedded PostgreSQL does not have it. Your own server (DATABASE_URL) can have it."
    elif migrate.can_index_words(conn):
        advice = "Run ./flags migrate as a role that can create it."
    slow = "Text searches read the whole event log, which takes seconds with a million events."
    return WARN, "search", f"{slow} The extension pg_trgm is missing. {advice}"


def event_log_finding(conn: Connection, kept_days: int) -> Finding:
    """Check that no event is older than EVENT_RETENTION_DAYS, and report the date of the first event."""
    first_day = event_retention.first_day(conn)
    begins = f"The first event is from {first_day}" if first_day else "The event log is empty"
    if kept_days and first_day and first_day < event_retention.first_kept_day(conn, kept_days + PRUNE_SLACK):
        advice = "Run ./flags events prune every day."
        return WARN, "event log", f"{begins}, but EVENT_RETENTION_DAYS is {kept_days}. {advice}"
    retention = f"EVENT_RETENTION_DAYS is {kept_days}." if kept_days else "Events are kept for ever."
    return OK, "event log", f"{begins}. {retention}"
