"""Requests for insights."""


def ask(caller, **days):
    """Return the answer for these query parameters; from_ stands for from."""
    return caller.get("/api/admin/insights", query_string={name.rstrip("_"): text for name, text in days.items()})
