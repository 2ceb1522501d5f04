"""Statements about what flags refer to: context fields, segments, tags, types, environments."""
