"""Limit what a frontend token adds to the database. It is public, so anybody can report with it."""

from collections import Counter
from collections.abc import Iterator

from sql.client import quotas
from sql.client.reports import Counts, UsageKey
from sql.database import Connection

# Our choice: the new rows of a frontend token in an hour. A variant is a row too. 4 applications with 5,000 flags fit.
MAX_ROWS = 20_000


def cut_usage(conn: Connection, usage: dict[UsageKey, Counts], applications: Counter[int]) -> Iterator[str]:
    """Count what frontend tokens add, and remove the new rows above MAX_ROWS. Yield the application of each.

    applications: the number of new applications by token.
    """
    reported = [(key, variant) for key, each in usage.items() if key.token_id for variant in (None, *each.variants)]
    new: dict[int, list[tuple[UsageKey, str | None]]] = {token_id: [] for token_id in applications}
    for key, variant in quotas.new_rows(conn, reported) if reported else ():
        new.setdefault(key.token_id or 0, []).append((key, variant))
    # In one order, so that transactions do not wait for each other in a circle.
    for token_id, added in sorted(new.items()):
        before = quotas.add(conn, token_id, len(added), applications[token_id]) - len(added)
        for key, variant in added[max(MAX_ROWS - before, 0) :]:
            if variant is None:
                del usage[key]
            elif key in usage:
                del usage[key].variants[variant]
            yield key.app_name
