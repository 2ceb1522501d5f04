"""The report of a move into this instance: what is new, exists, differs, or is not moved, and the warnings."""
