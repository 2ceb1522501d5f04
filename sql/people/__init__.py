"""Statements about users, groups, roles and their tokens."""
