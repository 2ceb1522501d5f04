"""Describe events for people: a sentence such as "Alice switched checkout on in production", and what has changed."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from string import Formatter
from typing import Any

# What an event of a type says after the name of its author. {flag}, {project} and {environment} are columns of the
# event, {name} is what its data calls the record, and other names are properties of its data.
SENTENCES = {
    "addon-config-created": "created the {provider} integration",
    "addon-config-deleted": "deleted the {provider} integration",
    "addon-config-updated": "changed the {provider} integration",
    "api-token-created": "created the API token {name}",
    "api-token-deleted": "deleted the API token {name}",
    "api-token-updated": "changed the API token {name}",
    "application-created": "saw the application {name} for the first time",
    "banner-created": "created a banner",
    "banner-deleted": "deleted a banner",
    "banner-updated": "changed a banner",
    "change-added": "proposed a change of {subject}",
    "change-discarded": "withdrew a proposed change of {subject}",
    "change-edited": "edited a proposed change of {subject}",
    "change-request-applied": "applied change request {id}: {title}",
    "change-request-approval-added": "approved change request {id}",
    "change-request-approved": "completed the approval of change request {id}",
    "change-request-cancelled": "cancelled change request {id}",
    "change-request-configuration-updated": "changed the change requests of {project} in {environment}",
    "change-request-created": "started change request {id}",
    "change-request-discarded": "discarded change request {name}",
    "change-request-rejected": "rejected change request {id}",
    "change-request-schedule-suspended": "suspended the schedule of change request {id}: {reason}",
    "change-request-scheduled": "scheduled change request {id} for {scheduledAt}",
    "change-request-scheduled-application-failure": "could not apply change request {id}: {reason}",
    "change-request-scheduled-application-success": "applied change request {id} on schedule",
    "change-request-sent-to-review": "asks for a review of change request {id}: {title}",
    "context-field-created": "created the context field {name}",
    "context-field-deleted": "deleted the context field {name}",
    "context-field-updated": "changed the context field {name}",
    "default-strategy-updated": "changed the default strategy of {project} in {environment}",
    "environment-created": "created the environment {name}",
    "environment-deleted": "deleted the environment {name}",
    "environment-updated": "changed the environment {name}",
    "feature-archived": "archived {flag}",
    "feature-completed": "marked {flag} as completed",
    "feature-created": "created {flag}",
    "feature-deleted": "deleted {flag}",
    "feature-dependencies-removed": "removed the parent flag of {flag}",
    "feature-dependency-added": "made {flag} depend on {feature}",
    "feature-dependency-removed": "ended the dependency of {flag} on {feature}",
    "feature-environment-disabled": "switched {flag} off in {environment}",
    "feature-environment-enabled": "switched {flag} on in {environment}",
    "feature-environment-variants-updated": "changed the variants of {flag} in {environment}",
    "feature-favorited": "marked {flag} as a favorite",
    "feature-link-added": "added the link {url} to {flag}",
    "feature-link-removed": "removed the link {url} from {flag}",
    "feature-link-updated": "changed the link {url} of {flag}",
    "feature-metadata-updated": "changed {flag}",
    "feature-potentially-stale-on": "found that {flag} is older than flags of its type should become",
    "feature-project-change": "moved {flag} from {oldProject} to {newProject}",
    "feature-revived": "revived {flag}",
    "feature-stale-off": "marked {flag} as not stale",
    "feature-stale-on": "marked {flag} as stale",
    "feature-strategy-add": "added a strategy to {flag} in {environment}",
    "feature-strategy-remove": "deleted a strategy of {flag} in {environment}",
    "feature-strategy-update": "changed a strategy of {flag} in {environment}",
    "feature-tagged": "added the tag {type}:{value} to {flag}",
    "feature-type-updated": "changed the flag type {name}",
    "feature-uncompleted": "marked {flag} as not completed",
    "feature-unfavorited": "no longer has {flag} as a favorite",
    "feature-untagged": "removed the tag {type}:{value} from {flag}",
    "features-exported": "exported flags of {environment}",
    "features-imported": "imported flags into {project} for {environment}",
    "group-created": "created the group {name}",
    "group-deleted": "deleted the group {name}",
    "group-updated": "changed the group {name}",
    "group-user-added": "added {userName} to the group {name}",
    "group-user-removed": "removed {userName} from the group {name}",
    "instance-imported": "moved the contents of another instance, or of a file, into this one",
    "pat-created": "created a personal access token: {name}",
    "pat-deleted": "deleted a personal access token: {name}",
    "project-access-added": "added roles in {project}",
    "project-access-group-roles-deleted": "removed the roles of the group {groupId} in {project}",
    "project-access-group-roles-updated": "changed the roles of the group {groupId} in {project}",
    "project-access-updated": "replaced the roles in {project}",
    "project-access-user-roles-deleted": "removed the roles of the user {userId} in {project}",
    "project-access-user-roles-updated": "changed the roles of the user {userId} in {project}",
    "project-archived": "archived the project {project}",
    "project-created": "created the project {project}",
    "project-deleted": "deleted the project {project}",
    "project-environment-added": "added the environment {environment} to {project}",
    "project-environment-removed": "removed the environment {environment} from {project}",
    "project-favorited": "marked the project {project} as a favorite",
    "project-revived": "revived the project {project}",
    "project-unfavorited": "no longer has the project {project} as a favorite",
    "project-updated": "changed the project {project}",
    "public-signup-token-created": "created the signup token {name}",
    "public-signup-token-updated": "changed the signup token {name}",
    "public-signup-token-user-added": "signed up with the signup token {name}",
    "role-created": "created the role {name}",
    "role-deleted": "deleted the role {name}",
    "role-updated": "changed the role {name}",
    "segment-created": "created the segment {name}",
    "segment-deleted": "deleted the segment {name}",
    "segment-updated": "changed the segment {name}",
    "service-account-created": "created the service account {name}",
    "service-account-deleted": "deleted the service account {name}",
    "service-account-updated": "changed the service account {name}",
    "strategy-created": "created the strategy type {name}",
    "strategy-deleted": "deleted the strategy type {name}",
    "strategy-deprecated": "deprecated the strategy type {name}",
    "strategy-order-changed": "changed the order of the strategies of {flag} in {environment}",
    "strategy-reactivated": "reactivated the strategy type {name}",
    "strategy-updated": "changed the strategy type {name}",
    "tag-created": "created the tag {type}:{value}",
    "tag-deleted": "deleted the tag {type}:{value}",
    "tag-type-created": "created the tag type {name}",
    "tag-type-deleted": "deleted the tag type {name}",
    "tag-type-updated": "changed the tag type {name}",
    "user-created": "created the user {name}",
    "user-deleted": "deleted the user {name}",
    "user-updated": "changed the user {name}",
}
# Properties of data that can be the name of a record, the first one that it has.
NAMES = ("name", "tokenName", "appName", "username", "email", "description", "id")
# What is more than a name: the number of a change request, and a time.
KINDS = {"id": "request", "scheduledAt": "time"}
COLUMNS = {"flag": "featureName", "project": "project", "environment": "environment"}
# A page stays readable: longer texts are cut, and further properties are counted. The download has everything.
MAX_TEXT = 500
MAX_PROPERTIES = 60


@dataclass(frozen=True)
class Word:
    """A part of a sentence. kind: "flag", "project", "request" (all have pages), "environment", "time", "name", ""."""

    text: str | None
    kind: str = ""


@dataclass(frozen=True)
class Change:
    """A property that has changed, such as parameters.rollout. before, after: its values as text, None without one."""

    name: str
    before: str | None
    after: str | None


def sentence(event: Mapping[str, Any]) -> list[Word]:
    """Return what happened, as the words after the name of the author."""
    words: list[Word] = []
    pattern = SENTENCES.get(event["type"], "recorded {event_type}")
    if event["type"] == "user-updated" and event["data"] == event["preData"]:
        pattern = "set the password of the user {name}"
    for text, name, _, _ in Formatter().parse(pattern):
        words += [Word(text)] if text else []
        words += [named(event, name)] if name else []
    return words


def named(event: Mapping[str, Any], name: str) -> Word:
    """Return the word for a name in braces."""
    if name == "event_type":
        return Word(event["type"], "name")
    if name == "subject":
        name = "flag" if event["featureName"] else "segment"
    if name in COLUMNS:
        text = event[COLUMNS[name]]
        return Word(text or "unknown", name if name == "environment" or has_page(event, name) else "name")
    record = next((record for record in (event["data"], event["preData"]) if isinstance(record, dict)), {})
    names = NAMES if name == "name" else (name,)
    found = next((record[key] for key in names if record.get(key) is not None), event["environment"] or "unknown")
    return Word(shorten(as_text(found)), KINDS.get(name, "name"))


def has_page(event: Mapping[str, Any], name: str) -> bool:
    """Return whether the flag or the project of the event can have a page."""
    if event["project"] in (None, "*") or event["type"] == "project-deleted":
        return False
    return name == "project" or event["type"] != "feature-deleted"


def changes(event: Mapping[str, Any], *, whole: bool = False) -> tuple[list[Change], int]:
    """Return the properties that differ between preData and data, and the number of those that are left out.

    whole: leave nothing out, and shorten nothing.
    """
    before, after = (dict(properties(event[key])) for key in ("preData", "data"))
    names = [name for name in before | after if before.get(name) != after.get(name)]
    found = [
        Change(name, *(text and (text if whole else shorten(text)) for text in (before.get(name), after.get(name))))
        for name in names[: None if whole else MAX_PROPERTIES]
    ]
    return found, len(names) - len(found)


def properties(value: Any, path: str = "") -> Iterator[tuple[str, str]]:
    """Yield each property of a JSON value with its text: parameters.rollout, or constraints.1.values."""
    if isinstance(value, dict) and value:
        for key, inner in value.items():
            yield from properties(inner, f"{path}.{key}" if path else key)
    elif isinstance(value, list) and any(isinstance(item, dict | list) for item in value):
        for number, item in enumerate(value, start=1):
            yield from properties(item, f"{path}.{number}" if path else str(number))
    elif value is not None:
        yield path or "value", as_text(value)


def as_text(value: Any) -> str:
    """Return a JSON value as a text for people."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, str):
        return value or "empty"
    if isinstance(value, list):
        return ", ".join(as_text(item) for item in value) or "none"
    return "none" if value == {} else json.dumps(value)


def shorten(text: str, length: int = MAX_TEXT) -> str:
    """Return the beginning of a long text, and other texts as they are."""
    return text if len(text) <= length else f"{text[:length]}…"
