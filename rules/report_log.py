"""Log which parts of reports were dropped, at most once an hour for each application, and count them for metrics."""

import logging
import time
from collections.abc import Mapping
from threading import Lock

from sql.client.applications import MAX_INSTANCES
from sql.client.quotas import MAX_ROWS
from sql.database import database

log = logging.getLogger(__name__)
# Applications that each worker logs in an hour. Their names come from clients.
MAX_LOGGED = 1_000

TOO_MANY_APPLICATIONS = "everything, because there are too many applications, or a frontend token added too many"
TOO_MANY_INSTANCES = f"an instance, because there are {MAX_INSTANCES} instances"
TOO_MANY_ROWS = f"usage, because a frontend token has added {MAX_ROWS} rows in this hour"
NO_ENVIRONMENT = "usage in an environment that does not exist"
OTHER_PROJECT = "usage of a flag that the token cannot see"
# What is dropped because of a limit, as the label of its metric.
LIMITED = {TOO_MANY_APPLICATIONS: "applications", TOO_MANY_INSTANCES: "instances", TOO_MANY_ROWS: "usage_rows"}


class ReportLog:
    """Which applications this worker has logged in the present hour."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._hour = 0
        self._logged: set[str] = set()

    def warn(self, app_name: str | None, dropped: Mapping[str, int]) -> None:
        """Log once an hour for an application why parts of a report were dropped. dropped: numbers by reason."""
        meter, reasons = database().meter, sorted(dropped)
        if meter is not None:
            for reason in dropped.keys() & LIMITED:
                meter.count_dropped(LIMITED[reason], dropped[reason])
        hour, name = int(time.time() // 3600), "without a name" if app_name is None else ascii(app_name[:100])
        with self._lock:
            if hour != self._hour:
                self._hour, self._logged = hour, set()
            if not reasons or name in self._logged or len(self._logged) >= MAX_LOGGED:
                return
            self._logged.add(name)
        log.warning("Dropped from a report of the application %s: %s. Next line in an hour.", name, "; ".join(reasons))
