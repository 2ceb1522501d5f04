"""Requests about flags."""
