"""Statements about API tokens and signup tokens."""
