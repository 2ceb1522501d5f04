"""Statements about what applications ask for and report."""
