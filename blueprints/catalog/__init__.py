"""Views of context fields, segments, constraints, tags, environments, and types of tags, flags and strategies."""
