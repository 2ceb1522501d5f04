"""Write what applications report."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from rules import report_log
from rules.access import SYSTEM
from rules.client_access import ClientToken, environment_of
from sql import events
from sql.client import applications, quotas, reports
from sql.client.applications import Instance, InstanceKey
from sql.client.reports import Counts, UsageKey
from sql.database import Connection, array_text
from sql.events import Event
from validators.client.reports import Registration, Usage


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


def make_known(conn: Connection, group: Sequence[Report]) -> Set[str]:
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
    existing = applications.find(conn, strategies)
    missing = sorted(strategies.keys() - existing.keys())
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
    return applications.see(conn, strategies) if missing or any(existing.values()) else existing.keys()


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
