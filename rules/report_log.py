"""Log which parts of reports were dropped: at most once an hour for each application."""

import logging
import time
from collections.abc import Iterable
from threading import Lock

log = logging.getLogger(__name__)
# Applications that each worker logs in an hour. Their names come from clients.
MAX_LOGGED = 1_000


class ReportLog:
    """Which applications this worker has logged in the present hour."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._hour = 0
        self._logged: set[str] = set()

    def warn(self, app_name: str | None, reasons: Iterable[str]) -> None:
        """Log why parts of a report were dropped, unless the application has a line of this hour."""
        reasons = sorted(reasons)
        hour, name = int(time.time() // 3600), "without a name" if app_name is None else ascii(app_name[:100])
        with self._lock:
            if hour != self._hour:
                self._hour, self._logged = hour, set()
            if not reasons or name in self._logged or len(self._logged) >= MAX_LOGGED:
                return
            self._logged.add(name)
        log.warning("Dropped from a report of the application %s: %s. Next line in an hour.", name, "; ".join(reasons))
