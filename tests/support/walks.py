"""Walks: the requests that a client sends for one task, in the order in which it sends them.

Their paths and bodies are recordings of the Unleash web UI 6.10, driven in Chromium.
"""

from typing import Any

from flask import Flask

from tests.support import records

# A request and the status that it must get: method, path, JSON body or None, status.
Step = tuple[str, str, Any, int]

ADMIN = "/api/admin"
PROJECT = f"{ADMIN}/projects/default"
FLAGS = f"{PROJECT}/features"


class Browser:
    """Sends what a page of the web UI sends: JSON, with the cookie of a login, from the same origin."""

    def __init__(self, app: Flask) -> None:
        self.app = app
        self.client = app.test_client()

    def send(self, *steps: Step) -> Any:
        """Send requests, compare their statuses, and return the JSON of the last response, or None if it is empty."""
        document = None
        for method, path, body, status in steps:
            # The UI declares JSON on every request that is no GET, also on those without a body.
            headers = {} if method == "GET" else {"Origin": "http://localhost", "Sec-Fetch-Site": "same-origin"}
            content = {} if method == "GET" else {"content_type": "application/json"}
            content |= {} if body is None else {"data": self.app.json.dumps(body)}
            response = self.client.open(path, method=method, headers=headers, buffered=True, **content)
            assert response.status_code == status, f"{method} {path}: {response.status_code} {response.text}"
            records.check(self.app, response)
            document = response.json if response.data and response.is_json else None
        return document

    def log_in(self, username: str, password: str) -> None:
        """Log in as the login form does."""
        self.send(("POST", "/auth/simple/login", {"username": username, "password": password}, 200))
