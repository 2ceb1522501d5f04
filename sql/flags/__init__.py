"""Statements about flags."""
