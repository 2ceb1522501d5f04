"""Requests about projects."""
