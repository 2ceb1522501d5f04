"""Brightcart, the company of `make demo`: who works there, what they build, and what they did in the last two years."""
