"""Write what applications report. Reports that arrive while others are written go together in one transaction."""

import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from threading import Condition, Lock
from typing import Any

from flask import Flask, current_app

from rules import report_log
from rules.access import SYSTEM
from rules.client_access import ClientToken, environment_of
from rules.report_log import ReportLog
from sql import events
from sql.client import applications, quotas, reports
from sql.client.applications import Instance, InstanceKey
from sql.client.reports import Counts, UsageKey
from sql.database import Connection, array_text, transaction
from sql.events import Event
from validators.client.reports import Registration, Usage
from validators.errors import RateLimited, Unavailable

# Our choice: the same number as Unleash. Each worker counts for itself.
REPORTS_PER_MINUTE = 6_000
# Reports are written together up to this many rows, so that small ones do not wait for large ones. One report can have
# more, up to MAX_ENTRIES. It is still written in one transaction, because after a failure SDKs send all of it again.
# With 20,000 rows, other reports waited for at most 2.2 seconds.
GROUP_ROWS = 2_000
# What does not fit waits in one group for each token, so that no token has two groups in front of other reports. A
# report joins if it adds few rows. So instances of an application with 5,000 flags are written together.
FEW_ROWS = 100


@dataclass(frozen=True)
class Report:
    """What one request reports. address: of the client. None for browsers, whose instances are not kept."""

    token: ClientToken
    address: str | None
    registrations: Sequence[Registration] = ()
    usage: Sequence[Usage] = ()

    @cached_property
    def rows(self) -> set[tuple[Any, ...]]:
        """Return the keys of the rows that this report writes at most. Instances of an application share most rows."""
        scope = self.token.projects
        rows: set[tuple[Any, ...]] = {(each.app_name, each.environment, each.connection) for each in self.registrations}
        for entry in self.usage:
            environment = self.token.environment or entry.environment
            for variant in (None, *entry.variants):
                rows.add((scope, environment, entry.app_name, entry.flag_name, entry.hour, variant))
        return rows


@dataclass
class Group:
    """Reports that are written in one transaction. error: why they are not committed, or None."""

    reports: list[Report] = field(default_factory=list)
    rows: set[tuple[Any, ...]] = field(default_factory=set)
    is_closed: bool = False
    error: Exception | None = field(default_factory=Unavailable)


def init_app(app: Flask) -> None:
    """Create the writer of the app."""
    threads, size = app.config["THREADS"], app.config["DATABASE_POOL_SIZE"]
    # Waiting reports occupy threads. The others are for other requests.
    app.extensions["reports"] = ReportWriter(app.config["WAIT_SECONDS"], max(1, threads // 2, threads - size))


def writer() -> "ReportWriter":
    """Return the writer of the current app."""
    return current_app.extensions["reports"]


class ReportWriter:
    """Writes the reports of one worker, one group at a time. So they use one connection.

    wait: seconds that a report waits for its turn. places: the maximum number of reports that are read or wait.
    """

    def __init__(self, wait: float, places: int) -> None:
        self.log = ReportLog()
        # How many places the tokens hold, by id.
        self._held: Counter[int] = Counter()
        self._places = places
        self._wait = wait
        self._lock = Condition(Lock())
        self._writing = Lock()
        self._open = Group()
        # The group of each token that waits behind the open one, by the id of the token.
        self._own: dict[int, Group] = {}
        self._minute = 0
        self._counts: Counter[int] = Counter()

    @contextmanager
    def place(self, token: ClientToken) -> Iterator[None]:
        """Count a report that is not yet read, and hold a place for it.

        Raise 429 if the token has more than REPORTS_PER_MINUTE in this minute, or 503 without a place. Frontend tokens
        are public. Without this limit, large reports could occupy all threads of the worker.
        """
        now = int(time.monotonic())
        # Our choice: a frontend token gets at most half of the places.
        most = max(1, self._places // 2) if token.kind == "frontend" else self._places
        with self._lock:
            if now // 60 != self._minute:
                self._minute, self._counts = now // 60, Counter()
            self._counts[token.id] += 1
            if self._counts[token.id] > REPORTS_PER_MINUTE:
                message = f"This token has sent more than {REPORTS_PER_MINUTE} reports in this minute. Try again later."
                raise RateLimited(message, 60 - now % 60)
            if self._held[token.id] >= most or self._held.total() >= self._places:
                raise Unavailable("Too many reports are waiting. Try again later.")
            self._held[token.id] += 1
        try:
            yield
        finally:
            with self._lock:
                self._held[token.id] -= 1

    def write(self, report: Report) -> None:
        """Return when the report is committed. Raise if it is not, such as 503 if its turn does not come in time."""
        group = self._join(report)
        if not self._writing.acquire(timeout=self._wait):
            with self._lock:
                if not group.is_closed:
                    group.reports.remove(report)
                    self._lock.notify_all()
                elif group.error is None:
                    # Another request has committed the group, and later groups had their turn before this request.
                    return
            raise Unavailable("Too many reports are being written. Try again later.")
        try:
            # The first request of a group writes all of it, after the open group, in which many small reports wait.
            for waiting in (self._open, group):
                if waiting.reports and not waiting.is_closed and not group.is_closed:
                    self._write(waiting)
        finally:
            self._writing.release()
        if group.error is not None:
            raise group.error

    def _write(self, group: Group) -> None:
        self._close(group)
        try:
            with transaction() as conn:
                dropped = record(conn, group.reports)
            group.error = None
            for app_name, reasons in dropped.items():
                self.log.warn(app_name, reasons)
        except Exception as error:
            group.error = error

    def _join(self, report: Report) -> Group:
        """Add a report to the open group, or to that of its token. Wait if both are full, then raise 503."""
        added = report.rows

        def find() -> Group | None:
            if len(self._open.rows | added) <= GROUP_ROWS:
                return self._open
            own = self._own.setdefault(report.token.id, Group())
            return own if not own.reports or len(added - own.rows) <= FEW_ROWS else None

        with self._lock:
            group = self._lock.wait_for(find, self._wait)
            if group is None:
                raise Unavailable("Too many reports of this token are waiting. Try again later.")
            group.reports.append(report)
            group.rows |= added
            return group

    def _close(self, group: Group) -> None:
        with self._lock:
            group.is_closed = True
            if self._open is group:
                self._open = Group()
            self._own = {token_id: own for token_id, own in self._own.items() if own is not group}
            self._lock.notify_all()


DroppedReasons = defaultdict[str, Counter[str]]


def record(conn: Connection, group: Sequence[Report]) -> DroppedReasons:
    """Write reports in the caller's transaction. Return why parts were dropped and how many, by application."""
    dropped: DroppedReasons = defaultdict(Counter)
    kept = make_known(conn, group)
    usage, instances = added_up(group), instances_of(group)
    for app_name in {found.app_name for report in group for found in (*report.registrations, *report.usage)} - kept:
        dropped[app_name][report_log.TOO_MANY_APPLICATIONS] += 1
    usage = {key: counts for key, counts in usage.items() if key.app_name in kept}
    instances = {key: instance for key, instance in instances.items() if key.app_name in kept}
    for app_name in cut_usage(conn, usage):
        dropped[app_name][report_log.TOO_MANY_ROWS] += 1
    unknown: dict[bool, list[tuple[str, str, str]]] = {True: [], False: []}
    servers = {key.app_name for key in usage if key.token_id is None}
    for row in reports.add(conn, usage) if usage else ():
        if row["has_no_environment"]:
            dropped[row["app_name"]][report_log.NO_ENVIRONMENT] += 1
        elif row["is_unknown"]:
            public = row["app_name"] not in servers
            unknown[public].append((row["flag_name"], row["app_name"], row["environment"]))
        else:
            dropped[row["app_name"]][report_log.OTHER_PROJECT] += 1
    for public, names in unknown.items():
        if names:
            reports.keep_unknown(conn, names, public=public)
    for key in applications.see_instances(conn, instances) if instances else ():
        dropped[key.app_name][report_log.TOO_MANY_INSTANCES] += 1
    return dropped


def cut_usage(conn: Connection, usage: dict[UsageKey, Counts]) -> Iterator[str]:
    """Remove what frontend tokens add above their limit. Yield the application of each removed row."""
    reported = [(key, variant) for key, each in usage.items() if key.token_id for variant in (None, *each.variants)]
    for key, variant in quotas.add_new_rows(conn, reported) if reported else ():
        if variant is None:
            del usage[key]
        elif key in usage:
            del usage[key].variants[variant]
        yield key.app_name


def make_known(conn: Connection, group: Sequence[Report]) -> set[str]:
    """Insert the applications of reports, and record the events of new ones. Return those that now exist.

    A frontend token adds at most MAX_FRONTEND_APPLICATIONS a day. Others record at most MAX_EVENTS events a day.
    """
    strategies: dict[str, list[str] | None] = {}
    tokens: dict[str, tuple[ClientToken, str]] = {}
    servers: set[str] = set()
    for report in group:
        for found in (*report.registrations, *report.usage):
            name = found.app_name
            known = found.strategies if isinstance(found, Registration) else None
            strategies[name] = strategies.get(name) if known is None else known
            tokens.setdefault(name, (report.token, environment_of(report.token, found.environment)))
            if report.token.kind != "frontend":
                servers.add(name)
    # The lock of the insertion comes before the locks of rows, so that workers do not wait for each other in a circle.
    missing = applications.list_missing(conn, strategies)
    if missing:
        room: dict[int, int] = {}

        def has_room(name: str) -> bool:
            token, _ = tokens[name]
            most = applications.MAX_FRONTEND_APPLICATIONS if token.kind == "frontend" else applications.MAX_EVENTS
            if token.id not in room:
                room[token.id] = most - applications.count_events(conn, token.id)
            room[token.id] -= 1
            return room[token.id] >= 0

        applications.lock(conn)
        admitted = {name: strategies[name] for name in missing if name in servers or has_room(name)}
        created = applications.insert(conn, admitted, public=admitted.keys() - servers)
        recorded = [name for name in created if name not in servers or has_room(name)]
        events.record(conn, *(created_event(name, strategies[name], *tokens[name]) for name in recorded))
    return applications.see(conn, strategies)


def created_event(name: str, strategies: Sequence[str] | None, token: ClientToken, environment: str) -> Event:
    """Return the event of a new application."""
    # Our choice: the event names the token, so that an administrator finds where an application comes from.
    data = {"appName": name, "strategies": strategies or [], "environment": environment}
    data |= {"tokenId": token.id, "tokenName": token.name}
    return Event("application-created", SYSTEM, data=data)


def added_up(group: Sequence[Report]) -> dict[UsageKey, Counts]:
    """Return the usage of reports by key."""
    usage: dict[UsageKey, Counts] = {}
    for report in group:
        token = report.token
        scope = None if token.projects is None else array_text(token.projects)
        quota = token.id if token.kind == "frontend" else None
        for entry in report.usage:
            environment = environment_of(token, entry.environment)
            key = UsageKey(quota, scope, environment, entry.app_name, entry.flag_name, entry.hour)
            usage.setdefault(key, Counts()).add(entry.yes, entry.no, entry.variants)
    return usage


def instances_of(group: Sequence[Report]) -> dict[InstanceKey, Instance]:
    """Return the instances of reports by key. The last report about an instance counts."""
    return {
        InstanceKey(found.app_name, environment_of(report.token, found.environment), found.connection): Instance(
            found.instance_id, found.sdk_version, found.platform, found.spec_version, report.address
        )
        for report in group
        for found in report.registrations
        if report.address is not None
    }
