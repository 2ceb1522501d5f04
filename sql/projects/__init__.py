"""Statements about projects."""
