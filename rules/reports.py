"""Write what applications report. Reports that arrive while others are written go together in one transaction."""

import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from threading import Condition, Lock, Semaphore
from typing import Any

from flask import Flask, current_app

from rules import report_log
from rules.access import SYSTEM
from rules.client_access import ClientToken, environment_of
from rules.frontend_quotas import cut_usage
from rules.report_log import ReportLog
from sql import events
from sql.client import applications, reports
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
        self._places = Semaphore(places)
        # Our choice: a frontend token is public, so it gets at most half of the places.
        self._frontend_places: defaultdict[int, Semaphore] = defaultdict(lambda: Semaphore(max(1, places // 2)))
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
        """Count a report that is not yet read, and hold a place for it. Raise 429 as limit(), or 503 without a place.

        Frontend tokens are public. Without this limit, large reports could occupy all threads of the worker.
        """
        self.limit(token)
        with self._lock:
            of_token = [self._frontend_places[token.id]] if token.kind == "frontend" else []
        with ExitStack() as held:
            for place in (*of_token, self._places):
                if not place.acquire(blocking=False):
                    raise Unavailable("Too many reports are waiting. Try again later.")
                held.callback(place.release)
            yield

    def limit(self, token: ClientToken) -> None:
        """Count a report. Raise 429 if the token has more than REPORTS_PER_MINUTE in this minute."""
        now = time.monotonic()
        with self._lock:
            if int(now // 60) != self._minute:
                self._minute, self._counts = int(now // 60), Counter()
            self._counts[token.id] += 1
            count = self._counts[token.id]
        if count > REPORTS_PER_MINUTE:
            message = f"This token has sent more than {REPORTS_PER_MINUTE} reports in this minute. Try again later."
            raise RateLimited(message, 60 - int(now % 60))

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
                report_log.count(reasons)
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
    kept, created = make_known(conn, group)
    usage, instances = added_up(group), instances_of(group)
    for app_name in {found.app_name for report in group for found in (*report.registrations, *report.usage)} - kept:
        dropped[app_name][report_log.TOO_MANY_APPLICATIONS] += 1
    usage = {key: counts for key, counts in usage.items() if key.app_name in kept}
    instances = {key: instance for key, instance in instances.items() if key.app_name in kept}
    for app_name in cut_usage(conn, usage, created):
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


def make_known(conn: Connection, group: Sequence[Report]) -> tuple[set[str], Counter[int]]:
    """Insert the applications of reports, and record the event of each new one.

    Return those that now exist, and the number of new ones by the id of their frontend token.
    """
    strategies: dict[str, list[str] | None] = {}
    tokens: dict[str, tuple[ClientToken, str]] = {}
    servers: set[str] = set()
    added: Counter[int] = Counter()
    for report in group:
        for found in (*report.registrations, *report.usage):
            name = found.app_name
            known = found.strategies if isinstance(found, Registration) else None
            strategies[name] = strategies.get(name) if known is None else known
            tokens.setdefault(name, (report.token, environment_of(report.token, found.environment)))
            if report.token.kind != "frontend":
                servers.add(name)
    # The lock of the insertion comes before the locks of rows, so that workers do not wait for each other in a circle.
    if applications.any_missing(conn, strategies):
        public = {name: tokens[name][0].id for name in strategies.keys() - servers}
        created = applications.insert(conn, strategies, public)
        record_created(conn, created, strategies, tokens)
        added.update(public[name] for name in created if name in public)
    return applications.see(conn, strategies), added


def record_created(
    conn: Connection,
    names: Sequence[str],
    strategies: Mapping[str, list[str] | None],
    tokens: Mapping[str, tuple[ClientToken, str]],
) -> None:
    """Record the event of each new application, at most MAX_EVENTS a day for each token."""
    # Our choice: the event names the token, so that an administrator finds where an application comes from.
    room: dict[int, int] = {}
    created: list[Event] = []
    for name in names:
        token, environment = tokens[name]
        if token.id not in room:
            room[token.id] = applications.MAX_EVENTS - applications.count_events(conn, token.id)
        room[token.id] -= 1
        if room[token.id] >= 0:
            data = {"appName": name, "strategies": strategies[name] or [], "environment": environment}
            data |= {"tokenId": token.id, "tokenName": token.name}
            created.append(Event("application-created", SYSTEM, data=data))
    events.record(conn, *created)


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
