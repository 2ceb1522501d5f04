"""What the document promises for the responses of an operation: record, statuses and headers."""

import json
from pathlib import Path
from typing import Any

from serving.operation import ALWAYS, Operation

# The JSON Schema of each record, by its name.
SCHEMAS: dict[str, dict[str, Any]] = {
    path.stem: json.loads(path.read_text(encoding="utf-8"))
    for path in sorted((Path(__file__).parent / "records").glob("*.json"))
}
# The records with a version, which is the ETag of their responses.
VERSIONED = {"flag", "flagCore", "strategy", "segment", "contextField", "group", "roleAnswer", "roleWithPermissions"}
VERSIONED |= {"projectCreated", "projectOverview", "legacyProjectOverview"}


def error_record(endpoint: str | None, status: int) -> str:
    """Return the record of an error. The login form and OFREP have more than the three common keys."""
    if endpoint is not None and endpoint.startswith("ofrep.evaluate"):
        return "ofrepError"
    return "loginRequired" if (endpoint, status) == ("account.get_account", 401) else "error"


def statuses(operation: Operation | None) -> set[int]:
    """Return each status that an operation documents. Without an operation there are 404 and 405 too."""
    if operation is None:
        return {*ALWAYS, 404, 405}
    return {operation.status, *operation.refuses, *operation.errors, *ALWAYS} | ({304} if operation.etag else set())


def headers(endpoint: str | None, operation: Operation | None, status: int) -> list[str]:
    """Return the names of the headers that the document promises for a response with this status."""
    promised = ["X-Request-ID"]
    if status in (429, 503):
        promised.append("Retry-After")
    good = operation is not None and status == operation.status
    if operation is not None and (operation.record in VERSIONED or (operation.body and 412 in operation.refuses)):
        promised += ["ETag"] if good else []
    if operation is not None and operation.etag and status in (operation.status, 304):
        promised += ["ETag", "Vary", "Cache-Control"]
    if good and status == 201:
        promised.append("Location")
    deprecated = operation.deprecated if operation is not None and good else False
    promised += ["Deprecation"] if deprecated else []
    promised += ["Link"] if isinstance(deprecated, str) else []
    if good and status == 302:
        promised += ["Location", "Set-Cookie", "Clear-Site-Data"]
    if good and endpoint == "login.log_in":
        promised.append("Set-Cookie")
    return promised
