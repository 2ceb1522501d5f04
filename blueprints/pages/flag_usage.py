"""The usage of a flag in the last seven days: bars for each environment, and numbers for each application."""

import json
from collections import Counter
from datetime import UTC, date, datetime, timedelta
from typing import Any

from sql.database import Connection
from sql.flags import usage

DAYS = 7


def read_usage(conn: Connection, name: str, viewer: int | None) -> dict[str, Any]:
    """Return how often applications got "on" (yes) and "off" (no).

    bars: by environment, the numbers of each day of UTC. usage: by environment and application, the busiest first.
    """
    now = datetime.now(UTC)
    days = [now.date() - timedelta(days=back) for back in reversed(range(DAYS))]
    hours = 24 * (DAYS - 1) + now.hour + 1
    found = json.loads(usage.get_raw(conn, name, viewer, hours, "day") or '{"data": []}')["data"]
    counts = Counter[tuple[str, str, date]]()
    totals: dict[tuple[str, str], dict[str, Any]] = {}
    for row in found:
        environment, day = row["environment"], datetime.fromisoformat(row["timestamp"]).date()
        total = totals.setdefault((environment, row["appName"]), row | {"yes": 0, "no": 0, "variants": Counter[str]()})
        total["variants"].update(row["variants"])
        for answer in ("yes", "no"):
            counts[environment, answer, day] += row[answer]
            total[answer] += row[answer]
    bars = {
        name: {answer: [counts[name, answer, day] for day in days] for answer in ("yes", "no")} for name, _ in totals
    }
    return {"bars": bars, "usage": sorted(totals.values(), key=lambda total: -total["yes"] - total["no"])}
