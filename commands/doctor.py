"""flask doctor: what is wrong with an instance, or will be one day, in plain words."""

import os
import time
from collections.abc import Iterator, Mapping
from typing import Any

import click
import psycopg
from flask import current_app
from flask.cli import with_appcontext
from psycopg.rows import DictRow

from commands.database import found_database, sift
from commands.output import say
from commands.weaknesses import is_unencrypted, weaknesses
from sql import Connection, event_retention, migrate, server, users
from sql.migrate import DatabaseProblem

OK, WARN, FAIL = "ok", "warn", "FAIL"
# How bad it is, what was looked at, and a sentence about it.
Finding = tuple[str, str, str]

OLDEST_SERVER = 14
# A standby that is further behind than this would lose more than a moment if it took over.
MOST_SECONDS_BEHIND = 10.0
MOST_BYTES_BEHIND = 16 * 2**20
# Of many things that are missing, so many are named.
MOST_NAMED = 5
# Sessions, expiries and waits are measured by the clock of the database, and read by people with another one, in seconds.
MOST_CLOCK_DIFFERENCE = 1.0
# A prune that runs once a day leaves so many days too many just before the next one; and one more is forgiven.
PRUNE_SLACK = 2


@click.command()
@with_appcontext
@click.pass_context
def doctor(ctx: click.Context) -> None:
    """Look for what is wrong with this instance.

    Checks settings, database, rights, schema, search, the event log, administrators, clock and connections, and prints a line for each:
    ok, warn (it works, but not well), or FAIL. Ends with status 1 when anything FAILs. Changes nothing.
    """
    has_failed = False
    for grade, subject, sentence in findings(current_app.config):
        say(f"{grade:<4}  {subject:<14}  {sentence}")
        has_failed = has_failed or grade == FAIL
    if has_failed:
        ctx.exit(1)


def findings(config: Mapping[str, Any]) -> Iterator[Finding]:
    """One finding a check. What cannot be looked at, because what it stands on is missing, is left out."""
    problems = sift(os.environ)[1]
    yield from look_at_settings(problems, config)
    if any("DATABASE_URL" in problem for problem in problems):
        yield FAIL, "database", "Not looked at, because its setting makes no sense."
        return
    try:
        with found_database() as url, migrate.open_database(url, config["DATABASE_POOLER"]) as conn:
            if config["DATABASE_URL"] and is_unencrypted(conn):
                yield WARN, "database", "What is said to it goes through the network unencrypted. Add sslmode=verify-full to DATABASE_URL."
            yield from look_at_database(conn, config)
    except DatabaseProblem as problem:
        yield FAIL, "database", str(problem)
    except psycopg.Error as error:
        yield FAIL, "database", f"It refuses to be looked at: {migrate.reason(error)}."


def look_at_settings(problems: list[str], config: Mapping[str, Any]) -> Iterator[Finding]:
    """The settings that make no sense, and those that are weak."""
    yield from ((FAIL, "settings", problem) for problem in problems)
    weak = list(weaknesses(config))
    yield from ((WARN, "settings", sentence) for sentence in weak)
    if not problems and not weak:
        yield OK, "settings", "All make sense."


def look_at_database(conn: Connection, config: Mapping[str, Any]) -> Iterator[Finding]:
    """All that a database that can be reached tells of itself."""
    asked_at = time.time()
    found = server.look_at_server(conn)
    answered_at = time.time()
    yield look_at_server(found)
    if not found["is_standby"]:
        yield from look_at_replicas(server.replicas(conn))
    yield from look_at_pooler(config["DATABASE_POOLER"], is_pooled=migrate.is_pooled(conn))
    yield from look_at_schema(conn, config)
    yield look_at_clock(found["clock"], asked_at, answered_at)
    yield look_at_pool(found["connections"], config)


def look_at_server(found: DictRow) -> Finding:
    """Whether this server will do."""
    subject = "database"
    if found["version"] < OLDEST_SERVER:
        return FAIL, subject, f"It is PostgreSQL {found['version']}; version {OLDEST_SERVER} or newer is needed."
    if found["is_standby"]:
        return (
            FAIL,
            subject,
            f"It is a standby, which can only be read; {how_late(found)}. Let DATABASE_URL lead to the server that it follows.",
        )
    if found["is_read_only"]:
        return FAIL, subject, f"PostgreSQL {found['version']} can be reached, but only be read: default_transaction_read_only is on."
    if found["encoding"] != "UTF8":
        return FAIL, subject, f"Its encoding is {found['encoding']}, which cannot hold every text. It has to be UTF8."
    if found["careless"]:
        return WARN, subject, f"With {found['careless']} off, a crash can cost changes that were acknowledged, or all. Switch it on."
    return OK, subject, f"PostgreSQL {found['version']} can be reached and written."


def how_late(found: DictRow) -> str:
    """How far a standby is behind."""
    changed = "" if found["last_change"] is None else f"; its last change is {found['last_change']:.0f} s old"
    if not found["is_following"]:
        return f"it follows nobody at this moment{changed}"
    if found["bytes_behind"] == 0:
        return "it has all that it was sent"
    return f"it is {found['bytes_behind'] / 2**20:.0f} MB behind what it was sent{changed}"


def look_at_replicas(found: list[DictRow]) -> Iterator[Finding]:
    """How far each standby of this server is behind, if it has any."""
    subject = "standby"
    for row in found:
        if not row["is_connected"]:
            size = f"{(row['bytes'] or 0) / 2**20:.0f} MB"
            yield WARN, subject, f"{row['name']} is away; {size} of the server's disk are kept for it. Bring it back, or drop its slot."
        elif row["bytes"] is None:
            yield OK, subject, f"{row['name']} is connected; how far it is behind, only a member of pg_monitor sees."
        elif row["bytes"] > MOST_BYTES_BEHIND or (row["seconds"] or 0) > MOST_SECONDS_BEHIND:
            yield WARN, subject, f"{row['name']} is {row['bytes'] / 2**20:.0f} MB and {row['seconds'] or 0:.0f} s behind."
        else:
            yield OK, subject, f"{row['name']} follows, {row['bytes'] / 2**20:.0f} MB behind."


def look_at_pooler(pooler: str, *, is_pooled: bool) -> Iterator[Finding]:
    """Whether we know of the pooler in between, if there is one."""
    subject = "pooler"
    if pooler == "none" and is_pooled:
        yield WARN, subject, f"There is one. Unless it keeps a session for each client, prepared statements fail. {migrate.BEHIND_POOLER}"
    elif pooler != "none" and not is_pooled:
        yield WARN, subject, "There is none: DATABASE_POOLER=none saves the planning of each statement."
    elif is_pooled:
        yield OK, subject, "There is one, and it sets what we need."


def look_at_schema(conn: Connection, config: Mapping[str, Any]) -> Iterator[Finding]:
    """Whether the schema is that of this version, and may be used; and if so, what it holds."""
    if not server.has_schema(conn):
        yield FAIL, "rights", "The database user may use no schema of its search_path. GRANT USAGE ON SCHEMA public to it."
        return
    lacking = server.lacking_rights(conn)
    for row in lacking:
        yield FAIL, "rights", f"The database user may not {row['privilege']} at {row['tables']}. Grant it, as docs/deploy.md says."
    try:
        migrate.require_current(conn)
    except DatabaseProblem as problem:
        yield FAIL, "schema", str(problem)
        return
    except psycopg.errors.InsufficientPrivilege:
        return
    if not lacking:
        yield OK, "rights", "The database user may do what the service does."
    missing = server.missing_parts(conn)
    if missing:
        more = f" and {len(missing) - MOST_NAMED} more" if len(missing) > MOST_NAMED else ""
        version = f"It has version {migrate.VERSION}, but not {', '.join(missing[:MOST_NAMED])}{more}"
        advice = "Make that as schema.sql has it, or restore an older backup; one made now lacks it too."
        yield FAIL, "schema", f"{version}: it was changed by hand, or made before the first release. {advice}"
    else:
        yield OK, "schema", f"It has version {migrate.VERSION}, as this version needs."
    if lacking or any(part.startswith(("the table", "the column", "the view")) for part in missing):
        return
    yield look_at_search(conn, is_private=config["DATABASE_URL"] is None)
    yield look_at_log(conn, config["EVENT_RETENTION_DAYS"])
    yield look_at_admins(conn)


def look_at_search(conn: Connection, *, is_private: bool) -> Finding:
    """Whether the words of the log are indexed, or what it costs that they are not."""
    subject = "search"
    if migrate.has_word_indexes(conn):
        return OK, subject, "The words of the event log are indexed by pg_trgm."
    # Measured with a million events: 10 s without, 20 ms with the indexes.
    cost = "Free-text searches are right, but read the whole log: seconds instead of milliseconds with a million events."
    if migrate.can_index_words(conn):
        return WARN, subject, f"{cost} Run flask --app app migrate to index it, as a user who may create the extension pg_trgm."
    if is_private:
        return WARN, subject, f"{cost} The private PostgreSQL lacks the extension pg_trgm; one of your own (DATABASE_URL) can have it."
    return WARN, subject, f"{cost} Install the extension pg_trgm on the database server, then run flask --app app migrate."


def look_at_log(conn: Connection, kept_days: int) -> Finding:
    """With which day the event log begins, and whether that is what the settings say."""
    subject = "event log"
    first_day = event_retention.first_day(conn)
    begins = "It is empty" if first_day is None else f"It begins on {first_day} (UTC)"
    if kept_days == 0:
        return OK, subject, f"{begins}; nothing is set to be deleted (EVENT_RETENTION_DAYS is 0)."
    if first_day is not None and first_day < event_retention.first_kept_day(conn, kept_days + PRUNE_SLACK):
        return WARN, subject, f"{begins}, although EVENT_RETENTION_DAYS is {kept_days}. Run flask --app app events prune every day."
    return OK, subject, f"{begins}; EVENT_RETENTION_DAYS is {kept_days}."


def look_at_admins(conn: Connection) -> Finding:
    """Whether somebody can log in and set everything else right."""
    admins = users.count_admins(conn)
    if admins == 0:
        return FAIL, "administrators", "None can log in. Make one: flask --app app user create --role admin --username …"
    return OK, "administrators", f"{admins} can log in."


def look_at_clock(database_says: float, asked_at: float, answered_at: float) -> Finding:
    """How far apart the two clocks are at least: the database looked at its own at some instant between question and answer."""
    difference = max(asked_at - database_says, database_says - answered_at, 0.0)
    if difference > MOST_CLOCK_DIFFERENCE:
        return WARN, "clock", f"The clocks of this machine and of the database differ by {difference:.1f} s. Let both be set by NTP."
    return OK, "clock", "This machine and the database agree about the time."


def look_at_pool(connections: int, config: Mapping[str, Any]) -> Finding:
    """Whether the server has as many connections as all workers together may want."""
    most = config["DATABASE_POOL_SIZE"] * config["WEB_CONCURRENCY"]
    if config["DATABASE_POOLER"] != "none":
        return OK, "connections", f"DATABASE_POOL_SIZE x WEB_CONCURRENCY = {most}, to the pooler; it says how many the database sees."
    sentence = f"DATABASE_POOL_SIZE x WEB_CONCURRENCY = {most}, and the database has {connections} for us"
    if most > connections:
        return WARN, "connections", f"{sentence}: under load, requests will be refused."
    return OK, "connections", f"{sentence}."
