"""Let clients send a record back as a GET returned it, in the PUT or POST of the same record.

Each record has one ResponseOnly beside its schemas. It lists the properties that requests ignore, and those that only
other operations change.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from marshmallow import missing
from werkzeug.exceptions import BadRequest

from validators import Stored, format_messages
from validators.fields import Anything

# Keys inside read-only properties. They are not compared, because they change whenever SDKs report usage.
USAGE = frozenset({"lastSeenAt", "seenAt", "yes", "no"})

# What Unleash 6.10, 7 and 8 return and take beside the properties of this service, by record. Requests ignore it.
# docs/reference/compatibility.md lists it.
UNLEASH_ONLY: dict[str, tuple[str, ...]] = {
    record: tuple(names.split())
    for record, names in {
        "flag in an environment": "changeRequestIds featureName milestoneName milestoneOrder totalMilestones "
        "releasePlans safeguards",
        "strategy": "milestoneId",
        "tag": "color",
        "tag type": "color",
        "project": "technicalDebt linkTemplates cleanupCount avgTimeToProduction staleFeatureCount "
        "potentiallyStaleFeatureCount",
        "environment": "requiredApprovals",
        "context field": "project",
        "user": "seatType companyRole productUpdatesEmailConsent activeSessions deletedSessions",
        "API token": "secure",
        "application": "sdkVersion updatedAt createdBy project environment instances seenToggles links",
        "password to check": "oldPassword confirmPassword",
    }.items()
}


class Ignored(Anything):
    """A property that is accepted and dropped."""

    def __init__(self, why: str = "", records: str = "", **kwargs: Any) -> None:
        super().__init__(description=f"Ignored. {why}".strip(), metadata={"records": records}, **kwargs)

    def deserialize(self, value: Any, *_: Any, **__: Any) -> Any:
        """Drop the value."""
        return missing


@dataclass(frozen=True)
class ReadOnlyValue:
    """The value of a read-only property in a request, and the message if it is refused."""

    value: Any
    refusal: str


class ReadOnly(Anything):
    """A property that this request cannot change. It loads as ReadOnlyValue. null is dropped."""

    def __init__(self, operation: str, records: str, **kwargs: Any) -> None:
        self.refusal = "must be omitted or unchanged" + (f" ({operation} changes it)" if operation else "")
        super().__init__(description=f"Read-only: {self.refusal}.", metadata={"records": records}, **kwargs)

    def deserialize(self, value: Any, *_: Any, **__: Any) -> Any:
        """Return the value as ReadOnlyValue."""
        return missing if value is None or value is missing else ReadOnlyValue(value, self.refusal)


@dataclass(frozen=True)
class ResponseOnly:
    """The properties of a record that its responses contain and its requests usually do not set.

    records: the names of its JSON Schemas in contract/records/, which have the types of the properties.
    ignored: ids, dates, counters and other values that the service computes.
    read_only: the other properties, each with the operation that changes it, or an empty text if none does.
    """

    records: str
    ignored: tuple[str, ...] = ()
    read_only: Mapping[str, str] = field(default_factory=dict)

    # Our choice: a POST ignores read-only properties too, because a new record has no values to compare them with.
    def in_new(self, *set_here: str) -> dict[str, Anything]:
        """Return the fields to add to a POST. set_here: the names of properties that the POST sets."""
        return {
            name: Ignored(records=self.records) for name in (*self.ignored, *self.read_only) if name not in set_here
        }

    def in_change(self, *set_here: str) -> dict[str, Anything]:
        """Return the fields to add to a PUT. set_here: the names of properties that the PUT sets."""
        members: dict[str, Anything] = {name: Ignored(records=self.records) for name in self.ignored}
        members |= {name: ReadOnly(operation, self.records) for name, operation in self.read_only.items()}
        return {name: member for name, member in members.items() if name not in set_here}


def without_read_only(payload: Mapping[str, Any], stored: Stored) -> dict[str, Any]:
    """Return the payload without its read-only properties. Raise 400 if any of them differ from the record.

    stored: returns the record, or its JSON text. It is called only if there are read-only properties.
    """
    sent = {name: value for name, value in payload.items() if isinstance(value, ReadOnlyValue)}
    if sent:
        found = stored()
        record: Mapping[str, Any] = json.loads(found) if isinstance(found, str) else found or {}
        wrong = {name: [it.refusal] for name, it in sent.items() if not agrees(it.value, record.get(name))}
        if wrong:
            raise BadRequest(format_messages(wrong))
    return {name: value for name, value in payload.items() if name not in sent}


# The keys that Unleash alone has in the objects of read-only properties.
NESTED = frozenset(name for record in ("flag in an environment", "strategy", "tag") for name in UNLEASH_ONLY[record])


def agrees(sent: Any, stored: Any) -> bool:
    """Return whether a value is the stored one. It may omit keys of objects, as records in lists do."""
    if isinstance(sent, dict) and isinstance(stored, dict):
        compared = sent.keys() - USAGE - (NESTED - stored.keys())
        return all(name in stored and agrees(sent[name], stored[name]) for name in compared)
    if isinstance(sent, list) and isinstance(stored, list):
        return len(sent) == len(stored) and all(map(agrees, sent, stored))
    return type(sent) is type(stored) and sent == stored
