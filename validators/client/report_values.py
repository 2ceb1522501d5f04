"""Read single values of reports leniently: what is invalid is None, because reports are not refused."""

import json
import re
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from validators import has_too_many_values
from validators.fields import unstorable

APP_NAME_MAX = 255
TEXT_MAX = 255
# Our choice: a larger count of one report is a mistake. Sums of an hour stay far below the maximum of bigint.
COUNT_MAX = 2**31 - 1
# Our choice: clocks of containers are often wrong, so an hour is moved into this window.
OLDEST, NEWEST = timedelta(hours=48), timedelta(minutes=10)
# Our choice: the window for browsers, whose tokens are public: this hour and the one before. A browser that was asleep
# reports an older hour. Its usage is moved too: to drop it would lose the counts.
OLDEST_OF_BROWSERS, NEWEST_OF_BROWSERS = timedelta(hours=1), timedelta()
# The offset is optional, and there may be nanoseconds.
DATE_TIME = re.compile(r"\d{4}-\d{2}-\d{2}[Tt ]\d{2}:\d{2}(:\d{2}([.,]\d+)?)?([Zz]|[+-]\d{2}:?\d{2})?", re.ASCII)
# Below this, PostgreSQL and Python agree on what a date is.
EPOCH_MS_MAX = 4_102_444_800_000


def parse(raw: bytes) -> dict[str, Any] | None:
    """Return the JSON object of a body, whatever its Content-Type. None for anything else."""
    if has_too_many_values(raw):
        return None
    try:
        document = json.loads(raw)
    except (ValueError, RecursionError):
        return None
    return document if isinstance(document, dict) else None


def text(value: Any, longest: int = TEXT_MAX) -> str | None:
    """Return a text of 1 to longest characters that PostgreSQL can store, or None for anything else."""
    return value if isinstance(value, str) and 0 < len(value) <= longest and not unstorable(value) else None


def app_name(document: Mapping[str, Any]) -> str | None:
    """Return the name of the application, or None if it is missing or invalid."""
    return text(document.get("appName"), APP_NAME_MAX)


def count(value: Any) -> int | None:
    """Return a count from 0 to COUNT_MAX, also of a number such as 3.0, or None for anything else."""
    number = int(value) if isinstance(value, float) and value.is_integer() else value
    if not isinstance(number, int) or isinstance(number, bool) or not 0 <= number <= COUNT_MAX:
        return None
    return number


def hour_of(value: Any, now: datetime, *, of_browser: bool = False) -> str:
    """Return the hour of an instant, moved into the window from OLDEST to NEWEST. Invalid ones: the present hour."""
    oldest, newest = (OLDEST_OF_BROWSERS, NEWEST_OF_BROWSERS) if of_browser else (OLDEST, NEWEST)
    at = min(max(instant(value) or now, now - oldest), now + newest)
    return at.replace(minute=0, second=0, microsecond=0).isoformat()


def instant(value: Any) -> datetime | None:
    """Return a date-time (by default UTC) or milliseconds since 1970 as a datetime, otherwise None."""
    if isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= EPOCH_MS_MAX:
        return datetime.fromtimestamp(value / 1000, UTC)
    if not isinstance(value, str) or not DATE_TIME.fullmatch(value):
        return None
    try:
        at = datetime.fromisoformat(value.upper())
        return at.replace(tzinfo=UTC) if at.tzinfo is None else at.astimezone(UTC)
    except (ValueError, OverflowError):
        return None
