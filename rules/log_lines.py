"""Write lines of JSON to stdout, the log."""

import json
import sys
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import Any


def now(later: float = 0) -> str:
    """Return the current time in the format of the API. later: seconds to add."""
    return (datetime.now(UTC) + timedelta(seconds=later)).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def write(line: dict[str, Any]) -> None:
    """Write one line in ASCII, in one call, so that lines of other threads and processes do not mix with it."""
    # The request may have committed a change. A closed pipe or a full disk must not turn its response into an error.
    with suppress(OSError):
        sys.stdout.write(json.dumps(line) + "\n")
        sys.stdout.flush()
