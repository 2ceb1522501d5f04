"""How many bytes of a body each operation reads, and how many large bodies a worker reads and parses at a time."""

import gc
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from threading import Semaphore

from flask import current_app, request
from werkzeug.exceptions import BadRequest, HTTPException, RequestEntityTooLarge

from serving.operation import CONTRACTS
from validators.errors import Unavailable

# The limit of operations that need no credential. Larger bodies are parsed one at a time.
PUBLIC_BYTES = 32 << 10
# 100 properties with values of 1,000 characters of 4 bytes, their names, and the other members.
CONTEXT_BYTES = 512 << 10
# The limit of reports. After a 413, a Node SDK never reports again, so larger ones are read and dropped.
MAX_REPORT_BYTES = 10 << 20
# Web pages contain frontend tokens, so anybody can send such a report.
FRONTEND_REPORT_BYTES = 64 << 10
# Reports are dropped up to this size, and for as long as gunicorn waits for a request.
MAX_DROPPED_BYTES = 100 << 20
# Reports and imports above this size take turns.
LARGE_BYTES = 1 << 20
# An export of 5,000 flags has 4 MB, with a strategy for each.
IMPORT_BYTES = 50 * 10**6
# A form with a file of this size: in the field of serving/uploads.py, it can take a third more.
FORM_BYTES = 70 * 10**6

# The limits of paths. Other operations that need a credential read MAX_BODY_BYTES.
OFREP = "/ofrep/v1/evaluate/flags"
FRONTEND = "/api/frontend"
LIMITS: dict[str, int] = dict.fromkeys(
    (FRONTEND, f"{FRONTEND}/all", f"{FRONTEND}/features/<feature_name>", OFREP, f"{OFREP}/<feature_name>"),
    CONTEXT_BYTES,
)
# The same for operations that read the body after they know the caller.
LATE_LIMITS: dict[str, int] = {
    **dict.fromkeys(("/api/client/register", "/api/client/metrics", "/api/client/metrics/bulk"), MAX_REPORT_BYTES),
    **dict.fromkeys(("/api/frontend/client/register", "/api/frontend/client/metrics"), FRONTEND_REPORT_BYTES),
    **dict.fromkeys(("/api/admin/features-batch/import", "/api/admin/features-batch/validate"), IMPORT_BYTES),
    "/admin/import": FORM_BYTES,
}

# Of each, a worker has one at a time. To parse a report takes up to 250 MB of memory, and an import up to 500 MB.
LARGE_REPORTS, LARGE_IMPORTS, PARSING = Semaphore(), Semaphore(), Semaphore()


def maximum() -> int:
    """Return how many bytes the requested operation reads. Unknown paths have the maximum of most operations."""
    usual: int = current_app.config["MAX_BODY_BYTES"]
    rule = request.url_rule
    if rule is None:
        return usual
    contract = CONTRACTS.get(current_app.view_functions[rule.endpoint])
    if contract is None or contract.public:
        return min(PUBLIC_BYTES, usual)
    late = LATE_LIMITS.get(rule.rule)
    if late == IMPORT_BYTES:
        return max(late, usual)
    return late or min(LIMITS.get(rule.rule, usual), usual)


def read_body() -> None:
    """Read the whole body. If it is too large, raise 413 before the caller is known."""
    if request.url_rule is not None and request.url_rule.rule in LATE_LIMITS:
        return
    limit = maximum()
    # One byte more, because Werkzeug silently truncates a body without Content-Length.
    request.max_content_length = limit + 1
    try:
        body = read_or_400(request.get_data)
    except RequestEntityTooLarge:
        raise too_large(limit) from None
    if len(body) > limit:
        raise too_large(limit)


def too_large(limit: int) -> RequestEntityTooLarge:
    """Return the 413 of an operation with this limit."""
    usual = limit == current_app.config["MAX_BODY_BYTES"]
    advice = "The setting MAX_BODY_BYTES raises this limit." if usual else "This operation reads no more."
    return RequestEntityTooLarge(f"The body is larger than {limit} bytes. {advice}")


@contextmanager
def late_body(limit: int, turn: Semaphore) -> Iterator[bytes | None]:
    """Lend the unread body, or None above the limit. A large one holds turn. Raise 503 if that takes too long."""
    body = read_up_to(min(limit, LARGE_BYTES) + 1)
    with held(turn) if len(body) > LARGE_BYTES else nullcontext():
        body += read_up_to(limit + 1 - len(body))
        yield body if len(body) <= limit else None


@contextmanager
def report_body() -> Iterator[bytes | None]:
    """Lend the body of a report, or None if it is too large. Raise 503 as late_body() does."""
    with late_body(maximum(), LARGE_REPORTS) as body:
        yield body
    if body is None:
        drop_rest()


@contextmanager
def parsing(body: bytes) -> Iterator[None]:
    """Parse the body in this block. Large ones take turns. Raise 503 if the turn does not come in time.

    No other thread runs while Python parses a list. With the garbage collector, that takes up to three times as long.
    The block must not wait for anything, because callers can hold locks of the database while they wait for it.
    """
    if len(body) <= PUBLIC_BYTES:
        yield
        return
    with held(PARSING):
        gc.disable()
        try:
            yield
        finally:
            gc.enable()


@contextmanager
def held(turn: Semaphore, refusal: HTTPException | None = None) -> Iterator[None]:
    """Hold a turn. If it does not come in time, raise the refusal, or 503."""
    if not turn.acquire(timeout=current_app.config["WAIT_SECONDS"]):
        raise refusal or Unavailable("Too many large requests. Try again later.")
    try:
        yield
    finally:
        turn.release()


def drop_rest() -> None:
    """Read the rest of the body, up to MAX_DROPPED_BYTES."""
    for _ in range(MAX_DROPPED_BYTES >> 16):
        if not read_up_to(1 << 16):
            return


def read_up_to(size: int) -> bytes:
    """Return the next bytes of the body. Raise 400 if they cannot be read."""
    return read_or_400(lambda: request.stream.read(size)) if size else b""


def read_or_400(read: Callable[[], bytes]) -> bytes:
    """Return the bytes that a function reads from the body. Raise 400 if they cannot be read."""
    try:
        return read()
    except HTTPException:
        raise
    except Exception as error:
        # gunicorn raises its own exceptions for a body with invalid framing.
        raise BadRequest("The body cannot be read.") from error
