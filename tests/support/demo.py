"""Fill a database with the demo, and compare its rows."""

from collections.abc import Callable
from subprocess import CompletedProcess
from typing import Any

from tests.support.service import run

# Users of the demo. Elif owns the project checkout and edits all others, Yuki is a member of checkout, Arun reads.
ADMIN, OWNER, MEMBER, VIEWER = (
    f"{name}@brightcart.example" for name in ("nora.lindqvist", "elif.yildiz", "yuki.tanaka", "arun.mehta")
)


Read = Callable[[str], list[dict[str, Any]]]


def fill(url: str) -> CompletedProcess[str]:
    """Run flags demo to fill the database of this URL, and return the finished process."""
    return run("operations/flags.py", "demo", "--use-database-url", DATABASE_URL=url)


def digests(read: Read) -> dict[str, str]:
    """Return a digest of the rows of each table, without secrets and marks, which are random, and usage of today.

    A version is the time at which a record was written.
    """
    tables = [row["tablename"] for row in read("SELECT tablename FROM pg_tables WHERE schemaname = 'public'")]
    row = "(to_jsonb(t) - '{secret,digest,mask,mark,version,password_hash,seen_at}'::text[])::text"
    old = "coalesce((to_jsonb(t) ->> 'hour')::timestamptz < date_trunc('day', now(), 'UTC'), true)"
    return {
        name: read(f"SELECT md5(string_agg({row}, '' ORDER BY {row})) AS digest FROM \"{name}\" AS t WHERE {old}")[0][
            "digest"
        ]
        for name in tables
        if name != "flag_sightings"
    }
