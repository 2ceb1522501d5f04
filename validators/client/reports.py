"""What SDKs report: registrations, usage, and usage of several applications together.

Reports are cleaned, not refused, because after one 400 the Node SDK never reports again. What cannot be stored is
dropped and counted by reason. The schemas describe well-formed reports for the OpenAPI document.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, ClassVar

from marshmallow import EXCLUDE

from validators import Body
from validators.client.report_values import APP_NAME_MAX, app_name, count, hour_of, parse, text
from validators.fields import Anything, Text

FLAG_NAME_MAX = 100
MAX_STRATEGIES = 100
# Our choice: the maximum entries of one report. A variant is an entry too. The default limit of flags is 5,000.
MAX_ENTRIES = 20_000

# Why something was dropped, for the log.
TOO_LARGE = "a report that is too large"
NOT_JSON = "a report that is not a JSON object"
NO_APP_NAME = "a report without appName"
MALFORMED = "an entry with invalid names or counts"
OTHER_ENVIRONMENT = "usage in another environment than that of the token"
TOO_MANY = f"entries after the first {MAX_ENTRIES} of a report"
Reasons = Counter[str]


@dataclass(frozen=True)
class Registration:
    """An application, and the instance that reports. None: not reported.

    connection: the connectionId of newer SDKs, else the instanceId, which can be the same in all processes.
    """

    app_name: str
    environment: str | None
    strategies: list[str] | None
    instance_id: str
    connection: str
    sdk_version: str | None
    platform: str | None
    spec_version: str | None


@dataclass(frozen=True)
class Usage:
    """How often an application asked for a flag. hour: as RFC 3339. environment: None if the report names none."""

    app_name: str
    environment: str | None
    flag_name: str
    hour: str
    yes: int
    no: int
    variants: dict[str, int]


def read_object(raw: bytes | None, reasons: Reasons) -> dict[str, Any]:
    """Return the JSON object of a report, or an empty one. None: the report was too large."""
    document = None if raw is None else parse(raw)
    reasons[TOO_LARGE] += raw is None
    reasons[NOT_JSON] += raw is not None and document is None
    return document or {}


def read_registration(document: Mapping[str, Any], *, with_strategies: bool = True) -> Registration | None:
    """Return the registration, or None without a valid appName. Other invalid properties count as missing."""
    name = app_name(document)
    if name is None:
        return None
    instance_id = text(document.get("instanceId")) or "default"
    strategies = document.get("strategies") if with_strategies else None
    platform = [text(document.get(part)) for part in ("platformName", "platformVersion")]
    return Registration(
        app_name=name,
        environment=text(document.get("environment")),
        strategies=list(filter(None, map(text, strategies[:MAX_STRATEGIES]))) if isinstance(strategies, list) else None,
        instance_id=instance_id,
        connection=text(document.get("connectionId")) or instance_id,
        sdk_version=text(document.get("sdkVersion")),
        platform=" ".join(filter(None, platform)) or None,
        spec_version=text(document.get("specVersion")),
    )


def read_metrics(
    document: Mapping[str, Any], now: datetime, reasons: Reasons, *, of_browser: bool = False
) -> list[Usage]:
    """Return the usage of a report of one application. No bucket is no usage: newer SDKs send reports without one."""
    name, bucket = app_name(document), document.get("bucket")
    if name is None or bucket is None:
        reasons[NO_APP_NAME] += name is None and bool(document)
        return []
    if not isinstance(bucket, dict):
        reasons[MALFORMED] += 1
        return []
    hour = hour_of(bucket.get("start"), now, of_browser=of_browser)
    flags = bucket.get("toggles")
    if not isinstance(flags, dict):
        reasons[MALFORMED] += flags is not None
        return []
    environment = text(document.get("environment"))
    entries = (usage(name, environment, flag, hour, counts, reasons) for flag, counts in flags.items())
    return bounded(entries, reasons)


def read_bulk(
    document: Mapping[str, Any], bound_to: str | None, now: datetime, reasons: Reasons
) -> tuple[list[Registration], list[Usage]]:
    """Return the applications, and the usage in the environment of the token (bound_to, None: all)."""
    applications, metrics = (items_of(document, name, reasons) for name in ("applications", "metrics"))
    registrations = [read_registration(item) for item in applications]
    reasons[NO_APP_NAME] += registrations.count(None)

    def read(item: Mapping[str, Any]) -> Usage | None:
        name, flag = app_name(item), item.get("featureName")
        environment = text(item.get("environment"))
        if name is None:
            reasons[NO_APP_NAME] += 1
            return None
        if bound_to and environment not in (None, bound_to):
            reasons[OTHER_ENVIRONMENT] += 1
            return None
        return usage(name, environment, flag, hour_of(item.get("timestamp"), now), item, reasons)

    return [found for found in registrations if found], bounded(map(read, metrics), reasons)


def items_of(document: Mapping[str, Any], name: str, reasons: Reasons) -> list[dict[str, Any]]:
    """Return the objects of a list in a report, at most MAX_ENTRIES."""
    items = document.get(name)
    if not isinstance(items, list):
        reasons[MALFORMED] += items is not None
        return []
    objects = [item for item in items[:MAX_ENTRIES] if isinstance(item, dict)]
    reasons[MALFORMED] += min(len(items), MAX_ENTRIES) - len(objects)
    reasons[TOO_MANY] += len(items) > MAX_ENTRIES
    return objects


def usage(name: str, environment: str | None, flag: Any, hour: str, counts: Any, reasons: Reasons) -> Usage | None:
    """Return one entry of a report, or None if it is invalid or all its counts are 0. Invalid variants are dropped."""
    flag = text(flag, FLAG_NAME_MAX)
    yes, no = (count(counts.get(answer, 0)) for answer in ("yes", "no")) if isinstance(counts, dict) else (None, None)
    if flag is None or yes is None or no is None:
        reasons[MALFORMED] += 1
        return None
    if yes == no == 0:
        return None
    given = counts.get("variants")
    read = {text(variant): count(number) for variant, number in given.items()} if isinstance(given, dict) else {}
    variants = {variant: number for variant, number in read.items() if variant is not None and number}
    reasons[MALFORMED] += sum(1 for variant, number in read.items() if variant is None or number is None)
    return Usage(name, environment, flag, hour, yes, no, variants)


def bounded(entries: Iterable[Usage | None], reasons: Reasons) -> list[Usage]:
    """Return the entries that are not None, until they and their variants are more than MAX_ENTRIES."""
    kept: list[Usage] = []
    size = 0
    for entry in entries:
        if entry is not None:
            size += 1 + len(entry.variants)
            if size > MAX_ENTRIES:
                reasons[TOO_MANY] += 1
                break
            kept.append(entry)
    return kept


ENVIRONMENT = "Environment, if the token is for all environments. Other tokens have their own."


class Reported(Anything):
    """A property that is read if it is valid, and ignored otherwise."""

    def load_value(self, value: Any) -> Any:
        return value


class ApplicationRegistration(Body):
    """Body of the registration of an application. Only appName is checked."""

    class Meta:
        unknown = EXCLUDE

    example: ClassVar[dict[str, Any]] = {
        "appName": "checkout",
        "instanceId": "checkout-7d9f",
        "connectionId": "4f2b7a10-6c0e-4f0c-9d55-0d8ad0f4c1b7",
        "sdkVersion": "unleash-python-sdk:6.9.1",
        "strategies": ["default", "flexibleRollout"],
        "started": "2024-05-31T12:00:00.000Z",
        "interval": 60,
    }

    app_name = Text(required=True, min=1, max=APP_NAME_MAX, data_key="appName", description="Name of the application.")
    instance_id = Reported(data_key="instanceId", description="Name of this process.")
    connection_id = Reported(data_key="connectionId", description="Id of this process. Default: instanceId.")
    environment = Reported(description=ENVIRONMENT)
    sdk_version = Reported(data_key="sdkVersion", description="Name and version of the SDK.")
    strategies = Reported(description="Names of the strategy types that the SDK can evaluate.")
    platform_name = Reported(data_key="platformName", description="Platform, such as CPython.")
    platform_version = Reported(data_key="platformVersion", description="Version of the platform.")
    spec_version = Reported(data_key="specVersion", description="Version of the client specification.")
    started = Reported(description="Ignored.")
    interval = Reported(description="Ignored.")


class UsageReport(Body):
    """Body of the usage of one application. Nothing of it is refused."""

    class Meta:
        unknown = EXCLUDE

    example: ClassVar[dict[str, Any]] = {
        "appName": "checkout",
        "instanceId": "checkout-7d9f",
        "bucket": {
            "start": "2024-05-31T12:00:00.000Z",
            "stop": "2024-05-31T12:01:00.000Z",
            "toggles": {"new-checkout": {"yes": 40, "no": 2, "variants": {"blue": 40}}},
        },
    }

    app_name = Reported(data_key="appName", description="Name of the application.")
    instance_id = Reported(data_key="instanceId", description="Name of the process.")
    connection_id = Reported(data_key="connectionId", description="Id of the process. Default: instanceId.")
    environment = Reported(description=ENVIRONMENT)
    bucket = Reported(
        description="Usage: start (date-time, or milliseconds since 1970) and toggles, an object with yes, no "
        "and variants for each flag."
    )


class BulkUsageReport(Body):
    """Body of the usage of several applications. Nothing of it is refused."""

    class Meta:
        unknown = EXCLUDE

    example: ClassVar[dict[str, Any]] = {
        "applications": [{"appName": "checkout", "instanceId": "checkout-7d9f"}],
        "metrics": [
            {
                "featureName": "new-checkout",
                "appName": "checkout",
                "environment": "development",
                "timestamp": "2024-05-31T12:00:00.000Z",
                "yes": 40,
                "no": 2,
                "variants": {"blue": 40},
            }
        ],
    }

    applications = Reported(description="Registrations, as in POST /api/client/register.")
    metrics = Reported(
        description="Usage: featureName, appName, environment, timestamp (date-time, or milliseconds since "
        "1970), yes, no and variants for each flag."
    )
