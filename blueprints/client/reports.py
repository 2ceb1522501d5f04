"""What applications report: registrations and usage."""

from collections import Counter
from datetime import UTC, datetime
from typing import Any

from flask import Blueprint, Response, request
from werkzeug.exceptions import BadRequest

from rules.client_access import FRONTEND_KINDS, SERVER_KINDS, ClientToken, require_client
from rules.report_writer import writer
from rules.reports import Report
from serving.body_limits import maximum, parsing, report_body
from serving.client_address import client_address
from serving.cross_origin import require_page
from serving.operation import operation
from serving.responses import empty_response
from validators import load_or_400
from validators.client.report_values import app_name, parse
from validators.client.reports import (
    ApplicationRegistration,
    BulkUsageReport,
    Reasons,
    UsageReport,
    read_bulk,
    read_metrics,
    read_object,
    read_registration,
)

bp = Blueprint("reports", __name__)

# Our choice: SDKs name themselves in headers too. The properties of the body come first.
HEADERS = {"connectionId": "Unleash-Connection-Id", "sdkVersion": "Unleash-Sdk", "instanceId": "Unleash-InstanceId"}


@bp.post("/api/client/register")
@operation(body=ApplicationRegistration, status=202, refuses=(400, 401, 403))
def register_application() -> Response:
    """Register an application.

    SDKs call this when they start. Properties other than `appName` are never refused.
    """
    register(require_client(*SERVER_KINDS), client_address())
    return empty_response(202)


@bp.post("/api/client/metrics")
@operation(body=UsageReport, status=202, refuses=(401, 403))
def report_usage() -> Response:
    """Report usage.

    SDKs call this each minute. With a valid token the response is 202 whatever the body contains, because some SDKs
    never report again after a refusal. What cannot be stored is dropped.
    """
    report(require_client(*SERVER_KINDS), client_address())
    return empty_response(202)


@bp.post("/api/client/metrics/bulk")
@operation(body=BulkUsageReport, status=202, refuses=(401, 403))
def report_usage_in_bulk() -> Response:
    """Report usage of several applications.

    Relays call this for the applications behind them. Rows of another environment than that of the token are dropped.
    As for other usage, the response is 202 whatever the body contains.
    """
    report_in_bulk(require_client(*SERVER_KINDS))
    return empty_response(202)


@bp.post("/api/frontend/client/register")
@operation(body=ApplicationRegistration, refuses=(400, 401, 403))
def register_frontend_application() -> Response:
    """Register an application in a browser.

    The application is kept, but not each browser.
    """
    register(require_page(*FRONTEND_KINDS), None)
    return empty_response()


@bp.post("/api/frontend/client/metrics")
@operation(body=UsageReport, refuses=(401, 403))
def report_frontend_usage() -> Response:
    """Report usage of an application in a browser.

    With a valid token the response is 200 whatever the body contains.
    """
    report(require_page(*FRONTEND_KINDS), None)
    return empty_response()


def register(token: ClientToken, address: str | None) -> None:
    """Write the registration in the body. Raise 400 without a valid appName."""
    with writer().place(token):
        with report_body() as body:
            with parsing(body or b""):
                document = None if body is None else parse(body)
            if document is None:
                raise BadRequest(f"The body must be a JSON object of at most {maximum()} bytes.")
            load_or_400(ApplicationRegistration(), document)
            registration = read_registration(named_in_headers() | document)
            del body, document
        writer().write(Report(token, address, [registration] if registration else []))


def report(token: ClientToken, address: str | None) -> None:
    """Write the usage in the body. What cannot be read is dropped and logged."""
    reasons: Reasons = Counter()
    with writer().place(token):
        with report_body() as body:
            with parsing(body or b""):
                document = read_object(body, reasons)
            registration = read_registration(named_in_headers() | document, with_strategies=False)
            usage = read_metrics(document, datetime.now(UTC), reasons, of_browser=token.kind == "frontend")
            name = app_name(document)
            # Large reports take memory. The next one is read while this one waits to be written.
            del body, document
        if registration:
            writer().write(Report(token, address, [registration], usage))
    writer().log.warn(name, +reasons)


def report_in_bulk(token: ClientToken) -> None:
    """Write the applications and the usage in the body. What cannot be read is dropped and logged."""
    reasons: Reasons = Counter()
    with writer().place(token):
        with report_body() as body:
            with parsing(body or b""):
                document = read_object(body, reasons)
            registrations, usage = read_bulk(document, token.environment, datetime.now(UTC), reasons)
            del body, document
        writer().write(Report(token, client_address(), registrations, usage))
    writer().log.warn(None, +reasons)


def named_in_headers() -> dict[str, Any]:
    """Return the properties of an instance that an SDK also sends in headers."""
    return {name: request.headers[header] for name, header in HEADERS.items() if header in request.headers}
