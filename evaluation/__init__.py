"""Decides whether flags are on, as the client specification 6.1.0 of Unleash says: no Flask, no SQL.

A Document (document.py) compiles the flags that applications get. It is immutable afterwards, so threads can share it.
"""
