"""Requests about API tokens and signup tokens."""
