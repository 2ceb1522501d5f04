"""Count evaluations by OFREP as usage. They wait in memory, so that no response waits for the database."""

import logging
from collections import Counter, defaultdict
from datetime import UTC, datetime
from threading import Lock

from flask import Flask, current_app

from evaluation.document import Document
from rules.client_access import UNREACHABLE, ClientToken
from rules.ofrep import fields_for, result_of, text_of
from rules.report_writer import writer
from rules.reports import Report
from sql.client import tokens
from sql.database import transaction
from validators.client.contexts import Context
from validators.client.report_values import app_name, hour_of, text
from validators.client.reports import FLAG_NAME_MAX, MAX_ENTRIES, TOO_MANY, Usage
from validators.errors import UnknownFlag

# Our choice: the application of an evaluation without a valid appName in its context.
UNNAMED = "ofrep"
# Application, environment, flag, hour, whether it was on, and the variant. None: a read of all flags of the token.
Key = tuple[str, str, str, str, bool, str | None] | None

log = logging.getLogger(__name__)


class OfrepUsage:
    """How often the tokens of one worker have evaluated flags since it last wrote that.

    Each worker writes every ten seconds. A worker that is killed loses what waits.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._writing = Lock()
        self._waiting: defaultdict[ClientToken, Counter[Key]] = defaultdict(Counter)
        self._failed = False

    def count(self, token: ClientToken, key: Key, number: int = 1) -> None:
        """Add to the counts of a token. Names come from applications, so there are at most MAX_ENTRIES of a token."""
        with self._lock:
            counts = self._waiting[token]
            if key in counts or len(counts) < MAX_ENTRIES:
                counts[key] += number
                return
        writer().log.warn(None, {TOO_MANY: number})

    def write(self) -> None:
        """Write what waits. What cannot be written waits for the next time."""
        with self._writing:
            with self._lock:
                waiting, self._waiting = self._waiting, defaultdict(Counter)
            failure: Exception | None = None
            for token, counts in waiting.items():
                try:
                    if isinstance(failure, UNREACHABLE):
                        raise failure
                    write_one(token, counts)
                except Exception as error:
                    failure = error
                    for key, number in counts.items():
                        self.count(token, key, number)
            if failure and not self._failed:
                log.warning("Usage of OFREP waits, because it cannot be written: %s", type(failure).__name__)
            self._failed = failure is not None


def write_one(token: ClientToken, counts: Counter[Key]) -> None:
    """Write the counts of one token."""
    if None in counts:
        with transaction(limited=False) as conn:
            tokens.note_bulk_read(conn, token.id)
    usage: list[Usage] = []
    for key, number in counts.items():
        if key is not None:
            app, environment, flag, hour, is_on, variant = key
            yes, no = (number, 0) if is_on else (0, number)
            usage.append(Usage(app, environment, flag, hour, yes, no, {variant: number} if variant else {}))
    if usage:
        writer().write(Report(token, None, usage=usage))


def init_app(app: Flask) -> None:
    """Begin without counts."""
    app.extensions["ofrep_usage"] = OfrepUsage()


def ofrep_usage() -> OfrepUsage:
    """Return what the current app has counted."""
    return current_app.extensions["ofrep_usage"]


def counted_evaluation(token: ClientToken, flags: Document, name: str, context: Context) -> str:
    """Return the JSON text of the result of a flag, and count one use. Raise UnknownFlag, or as rules.ofrep does.

    Our choice: without a result, the flag was off, such as an archived or unknown one.
    """
    fields, is_on, variant = fields_for(context), False, None
    try:
        if name not in flags.flags:
            raise UnknownFlag("No flag has that name in the projects of the token.")
        result = result_of(flags, name, fields)
        written = text_of(result)
        is_on, variant = result.enabled, result.variant and result.variant.name
        return written
    finally:
        if text(name, FLAG_NAME_MAX):
            app, hour = app_name(fields) or UNNAMED, hour_of(None, datetime.now(UTC))
            ofrep_usage().count(token, (app, context["environment"], name, hour, is_on, variant))
