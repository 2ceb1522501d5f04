"""Views that applications call."""
