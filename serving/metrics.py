"""Metrics for Prometheus. Each label has a fixed list of values, so that clients cannot add values."""

import os
import time
from collections import Counter as Tally
from collections.abc import Iterable, Iterator, Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import prometheus_client
import psycopg
from flask import Response, request
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.core import GaugeMetricFamily, InfoMetricFamily, Metric
from prometheus_client.multiprocess import MultiProcessCollector
from prometheus_client.registry import Collector

from serving.request_log import entry
from serving.version import VERSION
from sql.database import Connection, schema_version
from validators.events import TYPES

# Environment variables that the master sets for its workers: the folder with their metrics, and the start time.
FOLDER = "PROMETHEUS_MULTIPROC_DIR"
SINCE = "FLAGS_METRICS_SINCE"

METHODS = frozenset(("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"))
# The label values for an unknown route, and for an unknown method or event type.
NONE, OTHER = "none", "other"
# In seconds. Most responses take 1 to 20 ms, a login 250 ms. The default of WAIT_SECONDS is 5 s.
BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1.0, 5.0)
LOGIN = "login.log_in"
OUTCOMES, LOGGED = ("succeeded", "refused", "throttled"), (200, 401, 429)

prometheus_client.disable_created_metrics()


class Meters:
    """The metrics of one process. Under gunicorn, text() returns the sums of all workers."""

    def __init__(self, config: Mapping[str, Any]) -> None:
        about = About(config)
        own = self._own = self._shared = CollectorRegistry()
        own.register(about)
        if FOLDER in os.environ:
            self._shared = CollectorRegistry()
            self._shared.register(about)
            AllWorkers(self._shared)
        # The help texts are short because the file of each process repeats them in each series.
        self.requests = Counter(
            "flags_http_requests_total", "Requests with a response.", ("method", "route", "status"), registry=own
        )
        self.duration = Histogram(
            "flags_http_request_duration_seconds",
            "Time until the response begins.",
            ("method", "route"),
            buckets=BUCKETS,
            registry=own,
        )
        self._series: dict[tuple[str, str, int], tuple[Counter, Histogram]] = {}
        self.logins = Counter("flags_logins_total", "Login attempts by outcome.", ("outcome", "via"), registry=own)
        for outcome in (*OUTCOMES, "invalid", "unavailable"):
            self.logins.labels(outcome, "password")
        self.events = Counter(
            "flags_events_recorded_total", "Events in the log, counted after their commit.", ("type",), registry=own
        )
        self.dropped = Counter(
            "flags_reports_dropped_total", "Parts of reports above a limit.", ("what",), registry=own
        )
        for what in ("applications", "instances", "usage_rows"):
            self.dropped.labels(what)
        mode = "livesum"
        self.in_use = Gauge(
            "flags_database_connections_in_use", "Connections in use by requests.", registry=own, multiprocess_mode=mode
        )
        self.waiting = Gauge(
            "flags_database_requests_waiting",
            "Requests waiting for a connection.",
            registry=own,
            multiprocess_mode=mode,
        )
        self.maximum = Gauge(
            "flags_database_connections_max", "Maximum number of connections.", registry=own, multiprocess_mode=mode
        )
        self.maximum.set(config["DATABASE_POOL_SIZE"])
        self.refused = Counter(
            "flags_database_requests_refused_total", "Requests that got no connection.", registry=own
        )
        self.from_memory = Counter(
            "flags_client_responses_from_memory_total", "Responses with flags from memory.", registry=own
        )
        self.streams = Gauge("flags_client_streams", "Open event streams.", registry=own, multiprocess_mode=mode)
        self.pushes = Counter("flags_client_stream_pushes_total", "Events sent to streams.", registry=own)
        self.pushed_at = Gauge(
            "flags_client_stream_last_push_timestamp_seconds",
            "Time of the newest event sent to a stream.",
            registry=own,
            multiprocess_mode="livemax",
        )
        self.streams_refused = Counter("flags_client_streams_refused_total", "Streams without a place.", registry=own)
        # Every worker counts the same tokens.
        self.tokens_expiring = Gauge(
            "flags_tokens_expiring",
            "API tokens that expire within 7 days.",
            registry=own,
            multiprocess_mode="livemax",
        )
        self.mails = Counter("flags_mails_total", "E-mails by outcome.", ("kind", "outcome"), registry=own)
        for kind in ("invitation", "reset"):
            for outcome in ("accepted", "failed"):
                self.mails.labels(kind, outcome)
        self.deliveries = Counter(
            "flags_deliveries_total", "Deliveries of events to integrations.", ("provider", "outcome"), registry=own
        )
        self.deliveries.labels("webhook", "delivered")
        self.deliveries_waiting = Gauge(
            "flags_deliveries_waiting", "Waiting deliveries.", registry=own, multiprocess_mode="livemax"
        )
        self.deliveries_oldest = Gauge(
            "flags_deliveries_oldest_seconds", "Age of the oldest.", registry=own, multiprocess_mode="livemax"
        )
        self.workers = Gauge("flags_workers", "Running worker processes.", registry=own, multiprocess_mode=mode)
        self.workers.set(1)

    def end(self, response: Response) -> Response:
        """Count the current request, with the time until its response begins. A stream lasts longer."""
        rule, status = request.url_rule, response.status_code
        route = rule.rule if rule else NONE
        method = request.method if request.method in METHODS else OTHER
        requests, duration = self._series.get((method, route, status)) or self._find(method, route, status)
        requests.inc()
        if response.age is not None:
            self.from_memory.inc()
        duration.observe(time.perf_counter() - entry.get().began)
        # rules.login counts the others, also those by the page.
        if request.endpoint == LOGIN and status not in LOGGED:
            self.count_login("invalid" if status < 500 else "unavailable", "password")
        return response

    def _find(self, method: str, route: str, status: int) -> tuple[Counter, Histogram]:
        """Return the counter and the histogram of requests with these labels, and cache them: labels() is slow.

        In the histogram, HEAD counts as GET.
        """
        duration = self.duration.labels("GET" if method == "HEAD" else method, route)
        series = self.requests.labels(method, route, str(status)), duration
        self._series[method, route, status] = series
        return series

    def count_events(self, types: Iterable[str]) -> None:
        """Count the events of a transaction that has committed."""
        for type, number in Tally(types).items():
            self.events.labels(type if type in TYPES else OTHER).inc(number)

    def count_dropped(self, what: str, number: int) -> None:
        """Count applications, instances or usage_rows that were dropped from reports because of a limit."""
        self.dropped.labels(what).inc(number)

    def count_login(self, outcome: str, via: str) -> None:
        """Count a login."""
        self.logins.labels(outcome, via).inc()

    def count_streams(self, number: int, pushes: int) -> None:
        """Set the number of open streams. Count the events that were sent to them."""
        self.streams.set(number)
        if pushes:
            self.pushes.inc(pushes)
            self.pushed_at.set_to_current_time()

    def watch(self, lent: AbstractContextManager[Connection]) -> AbstractContextManager[Connection]:
        """Return a context manager that lends the same connection, and counts the wait for it and its use."""
        return Watched(self, lent)

    def text(self) -> bytes:
        """Return the metrics of all workers in the text format of Prometheus."""
        return generate_latest(self._shared)


class Watched:
    """The context manager of Meters.watch()."""

    __slots__ = ("_lent", "_meters")

    def __init__(self, meters: Meters, lent: AbstractContextManager[Connection]) -> None:
        self._meters = meters
        self._lent = lent

    def __enter__(self) -> Connection:
        self._meters.waiting.inc()
        try:
            conn = self._lent.__enter__()
        except psycopg.OperationalError:
            self._meters.refused.inc()
            raise
        finally:
            self._meters.waiting.dec()
        self._meters.in_use.inc()
        return conn

    def __exit__(self, *how: Any) -> bool | None:
        try:
            return self._lent.__exit__(*how)
        finally:
            self._meters.in_use.dec()


class AllWorkers(MultiProcessCollector):
    """The metrics of all workers.

    A worker that starts creates its files empty. The library cannot read an empty file, so a scrape would fail.
    """

    def collect(self) -> Iterable[Metric]:
        """Return the metrics of the files that are not empty."""
        return self.merge(
            [path for path in map(str, Path(os.environ[FOLDER]).glob("*.db")) if is_written(path)], accumulate=True
        )


def is_written(path: str) -> bool:
    """Return whether a file exists and is not empty."""
    try:
        return os.path.getsize(path) > 0
    except FileNotFoundError:
        # The file of a worker that has ended since.
        return False


class About(Collector):
    """The metrics that are the same in every process: version, start time and number of configured workers."""

    def __init__(self, config: Mapping[str, Any]) -> None:
        self._configured_workers = config["WEB_CONCURRENCY"]
        self._since = float(os.environ.get(SINCE) or time.time())

    def collect(self) -> Iterator[Metric]:
        """Yield the three metrics."""
        versions = {"version": VERSION, "schema": str(schema_version.VERSION)}
        yield InfoMetricFamily(
            "flags_build", "Version of the service, and of the schema that it needs.", value=versions
        )
        yield GaugeMetricFamily("flags_workers_wanted", "Configured worker processes.", self._configured_workers)
        yield GaugeMetricFamily(
            "process_start_time_seconds", "Start time of the service, in seconds since 1970.", self._since
        )
