"""The numbers of all advisory locks, in one list, so that no two are equal.

A lock has one number of 64 bits, or two numbers of 32 bits. The second of two is an id, or of_text() of a text.
"""

from typing import LiteralString

# Locks with one number. For migrations, restores and the first start.
MIGRATION: LiteralString = "7225431"
# Also in schema.sql. For adding up weeks of events and for deleting events.
EVENT_WEEKS: LiteralString = "7225432"
# For merging and deleting old usage. 7225433 was used by the schema of version 1.
USAGE: LiteralString = "7225434"

# Locks with two numbers: one of these, and one for the user, setting, author or project.
USER_SEEN: LiteralString = "1"
FEATURE_LIMIT: LiteralString = "2"
LIMIT: LiteralString = "3"
EXPORT: LiteralString = "4"
IMPORT: LiteralString = "5"


def of_text(text: LiteralString) -> LiteralString:
    """Return the second number of a lock for an SQL text: the first 32 bits of its MD5."""
    return f"('x' || left(md5({text}), 8))::bit(32)::integer"
