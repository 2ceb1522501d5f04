"""Statements and nothing else, one module a noun. The connection and its verbs are in sql/database/."""
