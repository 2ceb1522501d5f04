"""Requests of applications."""
