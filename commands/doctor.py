"""flask doctor: ten checks of an instance."""

import os
import shutil
from collections.abc import Iterator, Mapping
from ipaddress import ip_address
from typing import Any
from urllib.parse import urlsplit

import click
import psycopg
from flask import current_app
from flask.cli import with_appcontext
from psycopg.rows import DictRow

from commands.database import found_database, sift
from commands.output import say
from sql import event_retention
from sql.database import Connection, migrate, server
from sql.database.migrate import DatabaseProblem
from sql.people import users

OK, WARN, FAIL = "ok", "warn", "FAIL"
# Grade, subject, sentence.
Finding = tuple[str, str, str]
Config = Mapping[str, Any]

OLDEST_SERVER = 14
MOST_BYTES_BEHIND = 16 * 2**20
MOST_SECONDS_BEHIND = 10.0
LEAST_DISK = 2**30
# Just before a daily prune there is one day too many. Another one is tolerated.
PRUNE_SLACK = 2
# The known ones that are long enough.
KNOWN_PASSWORDS = {"administrator", "featureflags"}
GRANT = "Run deploy/grants.sql (docs/how-to/deploy.md)."


@click.command()
@with_appcontext
@click.pass_context
def doctor(ctx: click.Context) -> None:
    """Check this instance and print what is wrong with it.

    Each line begins with ok, warn (it works, but not well) or FAIL. The exit status is 1 if anything FAILs. Nothing is changed.
    """
    grades: set[str] = set()
    for grade, subject, sentence in findings(current_app.config):
        say(f"{grade:<4}  {subject:<14}  {sentence}")
        grades.add(grade)
    if FAIL in grades:
        ctx.exit(1)


def findings(config: Config) -> Iterator[Finding]:
    """Yield the findings. A check is left out if it depends on one that failed."""
    problems = sift(os.environ)[1]
    yield from ((FAIL, "settings", problem) for problem in problems)
    weak = list(weak_settings(config))
    yield from ((WARN, "settings", sentence) for sentence in weak)
    if not problems and not weak:
        yield OK, "settings", "All settings are valid."
    if any("DATABASE_URL" in problem for problem in problems):
        return
    try:
        with found_database() as url, migrate.open_database(url, config["DATABASE_POOLER"]) as conn:
            yield from server_findings(conn, config)
            yield from schema_findings(conn, config)
    except DatabaseProblem as problem:
        yield FAIL, "database", str(problem)
    except psycopg.Error as error:
        yield FAIL, "database", f"A check failed: {migrate.reason(error)}."


def weak_settings(config: Config) -> Iterator[str]:
    """Yield a sentence about each setting that is valid, but unsafe. It contains no secret."""
    site, proxies, password = urlsplit(config["BASE_URL"]), config["TRUSTED_PROXIES"], config["INIT_ADMIN_PASSWORD"]
    if site.scheme == "http" and not is_local(site.hostname or ""):
        yield f"BASE_URL is {config['BASE_URL']}: passwords and tokens are sent unencrypted. Use https."
    elif site.scheme == "http" and not is_local(config["HOST"]):
        yield f"HOST is {config['HOST']}: other machines can reach the service unencrypted. Use https, or HOST=127.0.0.1."
    if site.scheme == "https" and proxies == 0:
        yield "TRUSTED_PROXIES is 0, but BASE_URL is https: all clients share the proxy's address and its login limits. Set it to 1."
    if site.scheme == "http" and is_local(site.hostname or "") and proxies:
        yield f"TRUSTED_PROXIES is {proxies}, but BASE_URL names no proxy: without one, clients can forge their address."
    if config["BCRYPT_ROUNDS"] < 12:
        yield f"BCRYPT_ROUNDS is {config['BCRYPT_ROUNDS']}: stolen password hashes are cheap to crack. Use 12 or more."
    if password is not None and (len(password) < 12 or password.casefold() in KNOWN_PASSWORDS | {config["INIT_ADMIN_USERNAME"].casefold()}):
        yield "INIT_ADMIN_PASSWORD is easy to guess. Change the administrator's password."
    if any(len(token) < 32 or "insecure" in token for token in config["INIT_ADMIN_API_TOKENS"] or ()):
        yield "INIT_ADMIN_API_TOKENS holds a token that is easy to guess. Replace it with a generated one."


def is_local(host: str) -> bool:
    """Return whether a host is this machine."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")


def server_findings(conn: Connection, config: Config) -> Iterator[Finding]:
    """Yield the findings about the server: database, connections, standbys, disk."""
    found = server.look_at_server(conn)
    yield database_finding(found)
    host = conn.info.host
    if config["DATABASE_URL"] and not (conn.pgconn.ssl_in_use or host.startswith("/") or is_local(host)):
        yield WARN, "database", "The connection is not encrypted. Add sslmode=verify-full to DATABASE_URL."
    if config["DATABASE_POOLER"] == "none" and migrate.is_pooled(conn):
        yield WARN, "connections", f"There is a pooler. In transaction mode, prepared statements fail. {migrate.BEHIND_POOLER}"
    needed = config["DATABASE_POOL_SIZE"] * config["WEB_CONCURRENCY"]
    if config["DATABASE_POOLER"] != "none":
        yield OK, "connections", f"This service needs up to {needed} connections to the pooler."
    else:
        sentence = f"This service needs up to {needed} connections; {found['connections']} are available."
        yield OK if needed <= found["connections"] else WARN, "connections", sentence
    if not found["is_standby"]:
        yield from map(standby_finding, server.standbys(conn))
    if config["DATABASE_URL"] is None:
        free = shutil.disk_usage(config["DATA_DIR"]).free
        yield OK if free >= LEAST_DISK else WARN, "disk", f"{free / 2**30:.1f} GB are free in {config['DATA_DIR']}."


def database_finding(found: DictRow) -> Finding:
    """Return whether the server is supported, can be written, and keeps what it has committed."""
    subject, name = "database", f"PostgreSQL {found['version']}"
    if found["version"] < OLDEST_SERVER:
        return FAIL, subject, f"{name} is not supported. Use version {OLDEST_SERVER} or newer."
    if found["is_standby"]:
        return FAIL, subject, "This server is a standby and can only be read. Set DATABASE_URL to the primary server."
    if found["is_read_only"]:
        return FAIL, subject, "The database can only be read, because default_transaction_read_only is on."
    if found["encoding"] != "UTF8":
        return FAIL, subject, f"The encoding is {found['encoding']}. It must be UTF8."
    if found["unsafe"]:
        return WARN, subject, f"These settings are off: {found['unsafe']}. A crash can lose committed changes, or the whole database."
    return OK, subject, f"{name} is reachable and can be written."


def standby_finding(row: DictRow) -> Finding:
    """Return whether a standby follows closely. Unknown numbers count as 0."""
    size, seconds = row["bytes"] or 0, row["seconds"] or 0.0
    if not row["is_connected"]:
        advice = "Start the standby, or drop its slot."
        return WARN, "standby", f"{row['name']} is disconnected, and the server keeps {size / 2**20:.0f} MB for it. {advice}"
    is_late = size > MOST_BYTES_BEHIND or seconds > MOST_SECONDS_BEHIND
    return WARN if is_late else OK, "standby", f"{row['name']} is {size / 2**20:.0f} MB and {seconds:.0f} s behind."


def schema_findings(conn: Connection, config: Config) -> Iterator[Finding]:
    """Yield the findings about the schema: rights, version, search, event log, administrators."""
    rights = server.rights(conn)
    role, unreadable, unwritable = rights["role"], rights["unreadable"], rights["unwritable"]
    if not rights["has_schema"]:
        yield FAIL, "rights", f"The role {role} cannot use the schema. {GRANT}"
        return
    for verb, tables in (("read", unreadable), ("insert into", unwritable)):
        if tables:
            yield FAIL, "rights", f"The role {role} cannot {verb} {tables}. {GRANT}"
    if rights["changes_events"]:
        yield WARN, "rights", f"The role {role} can change or delete events. {GRANT}"
    try:
        migrate.require_current(conn)
    except DatabaseProblem as problem:
        yield FAIL, "schema", str(problem)
        return
    except psycopg.errors.InsufficientPrivilege:
        return
    if not (unreadable or unwritable or rights["changes_events"]):
        yield OK, "rights", f"The role {role} has the rights that the service needs."
    yield OK, "schema", f"The schema has version {migrate.VERSION}. make schema-diff compares it with schema.sql."
    if unreadable:
        return
    yield search_finding(conn, is_embedded=config["DATABASE_URL"] is None)
    yield event_log_finding(conn, config["EVENT_RETENTION_DAYS"])
    admins = users.count_admins(conn)
    advice = "No administrator can log in. Create one: flask --app app user create --role admin --username NAME"
    yield (OK, "administrators", f"{admins} can log in.") if admins else (FAIL, "administrators", advice)


def search_finding(conn: Connection, *, is_embedded: bool) -> Finding:
    """Return whether words of the event log are indexed."""
    if migrate.has_word_indexes(conn):
        return OK, "search", "Text searches of the event log use an index (pg_trgm)."
    advice = "Install it on the server, then run flask --app app migrate."
    if is_embedded:
        advice = "The embedded PostgreSQL does not include it; your own server (DATABASE_URL) can."
    elif migrate.can_index_words(conn):
        advice = "Run flask --app app migrate as a role that can create it."
    slow = "Text searches read the whole event log: seconds with a million events."
    return WARN, "search", f"{slow} The extension pg_trgm is missing. {advice}"


def event_log_finding(conn: Connection, kept_days: int) -> Finding:
    """Return when the event log begins, and whether old events are deleted as EVENT_RETENTION_DAYS says."""
    first_day = event_retention.first_day(conn)
    begins = f"The first event is of {first_day}" if first_day else "The event log is empty"
    if kept_days and first_day and first_day < event_retention.first_kept_day(conn, kept_days + PRUNE_SLACK):
        return WARN, "event log", f"{begins}, but EVENT_RETENTION_DAYS is {kept_days}. Run flask --app app events prune every day."
    return OK, "event log", f"{begins}. " + (f"EVENT_RETENTION_DAYS is {kept_days}." if kept_days else "Events are kept for ever.")
