"""Measure the server with 10 thousand and 1 million events: make bench."""
