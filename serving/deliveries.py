"""Send events to integrations, and test messages."""

import random
import time
from collections.abc import Mapping
from email.utils import parsedate_to_datetime
from typing import Any
from urllib.parse import urlsplit
from uuid import uuid4

from flask import current_app
from psycopg.rows import DictRow

from rules import integrations
from rules.log_lines import now, write
from rules.messages import BODY_MAX, MessageTooLongError, Rows, body, headers
from rules.refusals import quantity
from serving.outgoing import post
from sql import deliveries
from sql.database import as_json, transaction

# The longest attempt, which a worker finishes before it stops, and the longest wait between two attempts, in seconds.
STOP, WAIT_MAX = 16.0, 3600
# The receiver would refuse the same message again, or does not want any message.
GONE, REFUSED = 410, (400, 410, 413, 422)
# Our choice: in bytes. A longer event is sent to webhooks without its data.
EVENT_MAX = 256 * 1024


def run_once() -> bool:
    """Send one message that is due, if the editor of its integration may read it. Return whether any was due."""
    with transaction(limited=False) as conn:
        claim = deliveries.claim(conn)
        if claim is None:
            return False
        due = deliveries.list_due(conn, claim)
    if not due:
        return True
    outcome = attempt(claim, f"evt_{due[0]['event_id']}", due)
    note(claim, due, outcome)
    with transaction(limited=False) as conn:
        deliveries.finish(conn, claim, due, outcome)
        if outcome["state"] == "failed" and (due[0]["is_hopeless"] or outcome["details"]["status"] == GONE):
            integrations.disable(conn, claim["id"])
    return True


def note(claim: DictRow, due: Rows, outcome: Mapping[str, Any]) -> None:
    """Count deliveries, and log a failure."""
    kind = "delivered" if outcome["state"] != "failed" else "failed" if outcome["wait"] else "gave_up"
    if meters := current_app.extensions.get("metrics"):
        meters.deliveries.labels(claim["provider"], kind).inc(len(due))
    if kind != "delivered":
        line = {"integration": claim["id"], "provider": claim["provider"], "event": due[0]["event_id"]}
        details = outcome["details"]
        line |= {"error": outcome["error"]} if outcome["error"] else {"status": details["status"]}
        write({"time": now(), "delivery": kind, **line, "host": details["host"], "ms": details["milliseconds"]})


def remove_old() -> None:
    """Delete old outcomes."""
    with transaction(limited=False) as conn:
        deliveries.remove_old(conn)


def attempt(integration: Mapping[str, Any], message_id: str, due: Rows) -> dict[str, Any]:
    """Send a message once, without a database connection. Return the outcome.

    It has state, text, details, wait (the seconds until the next attempt, or None), and error (its type, or None).
    """
    provider, parameters = integration["provider"], integration["parameters"]
    first, attempts, is_thin = due[0], due[0]["attempts"] + 1, False
    began, status, retry_after, error, wait = time.perf_counter(), None, None, None, None
    host = urlsplit(parameters["url"]).hostname or ""
    try:
        if provider == "webhook" and len(as_json(first["event"]).encode()) > EVENT_MAX:
            is_thin = True
            due = [{**first, "event": {**first["event"], "data": None, "preData": None, "dataOmitted": True}}]
        text = body(provider, parameters, due).encode()
        fields = headers(parameters, message_id, text, int(time.time()))
        status, retry_after = post(parameters["url"], fields, text, current_app.config["INTEGRATION_NETWORKS"])
        reason = str(status)
    except Exception as problem:
        error = type(problem).__name__
        # Other messages can quote the response.
        reason = getattr(problem, "strerror", None) or error
        reason = reason if host in reason else f"{host}: {reason}"
    ms = round((time.perf_counter() - began) * 1000)
    state = "failed"
    if status and 200 <= status < 300:
        state = "successWithErrors" if is_thin else "success"
        reason = f"{status} after {quantity(attempts, 'attempt')}"
    elif status in REFUSED:
        reason = f"Gave up: the receiver refused the message with {status}"
    elif error == MessageTooLongError.__name__:
        reason = f"Gave up: the message is longer than {BODY_MAX // 2**20} MB"
    elif due[-1]["is_last_attempt"]:
        reason = f"Gave up after {quantity(attempts, 'attempt')}: {reason}"
    else:
        wait = seconds_to_wait(retry_after, attempts)
        reason = f"{reason}. Next attempt at {now(wait)}"
    details = {"attempts": attempts, "status": status, "milliseconds": ms, "host": host}
    return {"state": state, "text": reason, "details": details, "wait": wait, "error": error}


def send_test(integration: Mapping[str, Any], author: str) -> dict[str, Any]:
    """Send a test message, and return state, stateDetails and details."""
    empty = dict.fromkeys(("createdByUserId", "environment", "project", "featureName", "data", "preData"))
    event = {"id": 0, "createdAt": now(), "type": "test", "createdBy": author, **empty, "tags": []}
    row = {"event": event, "author": author, "attempts": 0, "is_last_attempt": True}
    outcome = attempt(integration, f"test_{uuid4()}", [row])
    return {"state": outcome["state"], "stateDetails": outcome["text"], "details": outcome["details"]}


def seconds_to_wait(retry_after: str | None, attempts: int) -> float:
    """Return the pause after a failed attempt: what Retry-After asks for, or twice as long after each attempt."""
    try:
        if retry_after:
            is_number = retry_after.isdecimal()
            seconds = int(retry_after) if is_number else parsedate_to_datetime(retry_after).timestamp() - time.time()
            return min(max(seconds, 1), WAIT_MAX)
    except (ValueError, OverflowError):
        pass
    return min(5 * 2 ** (attempts - 1), WAIT_MAX) * random.uniform(0.8, 1.2)
