"""The document of an import: its valid entries by flag, and the errors of the others."""

import json
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any

from marshmallow import ValidationError
from werkzeug.exceptions import HTTPException

from rules.refusals import first_five
from validators import MAX_ITEMS, Body, format_messages, join_first, read
from validators.fields import unstorable
from validators.flags.transfer import (
    ImportedContextField,
    ImportedDependencies,
    ImportedEnvironment,
    ImportedFeature,
    ImportedLinks,
    ImportedSegment,
    ImportedStrategy,
    ImportedTag,
    ImportedTagType,
)

Json = dict[str, Any]
Names = Collection[str]

CHANGEABLE = ("type", "description", "impressionData", "stale")


@dataclass(frozen=True)
class ImportedFlag:
    """The entries of a document about one flag. tags and links are None if the document has none of the flag."""

    name: str
    fields: Json
    strategies: list[Json]
    state: Json
    tags: list[Json] | None
    parents: list[Json]
    links: list[Json] | None

    @property
    def size(self) -> int:
        """The number of its entries and variants, which the time of a validation depends on."""
        lists = (self.strategies, self.tags or (), self.parents, self.links or (), self.state.get("variants", ()))
        return 1 + sum(map(len, lists))


@dataclass(frozen=True)
class Document:
    """The valid entries of a document. segments: by their ids in the document."""

    flags: list[ImportedFlag]
    context_fields: list[Json]
    tag_types: list[Json]
    segments: dict[int, Json]

    @property
    def links(self) -> list[Json]:
        """The dependencies of the flags, as rules/dependencies.py has them, each pair of child and parent once."""
        links = {
            (flag.name, parent["feature"]): {"child": flag.name, **parent}
            for flag in self.flags
            for parent in flag.parents
        }
        return list(links.values())

    @property
    def names(self) -> list[str]:
        """The names of the flags and of their parents."""
        return list(
            {flag.name for flag in self.flags} | {parent["feature"] for flag in self.flags for parent in flag.parents}
        )

    def without(self, refused: Names) -> "Document":
        """Return the document without these flags."""
        return replace(self, flags=[flag for flag in self.flags if flag.name not in refused])


@dataclass
class Findings:
    """The errors and warnings of an import, as names (mostly of flags) by message, and its needed permissions."""

    errors: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    warnings: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    refused: set[str] = field(default_factory=set)
    permissions: set[str] = field(default_factory=lambda: {"UPDATE_FEATURE", "UPDATE_FEATURE_ENVIRONMENT"})
    # Whether the import changes dependencies, which hold in all environments.
    changes_links: bool = False

    def refuse(self, error: HTTPException, names: Names) -> None:
        """Add an error for these flags. This is the Refuse callback of an import (rules/refusals.py)."""
        self.add_error(error.description or "", names)

    def add_error(self, message: str, names: Iterable[str]) -> None:
        """Add an error for these names, and refuse the flags with these names."""
        for name in names:
            self.errors[message].add(name)
            self.refused.add(name)

    def warn(self, message: str, names: Iterable[str]) -> None:
        """Add a warning for these flags."""
        for name in names:
            self.warnings[message].add(name)

    def need(self, permission: str, is_needed: object) -> None:
        """Add a permission that the import needs, if is_needed is true."""
        if is_needed:
            self.permissions.add(permission)


def as_record(found: Mapping[str, Names]) -> list[Json]:
    """Return messages and names in the form of the record importFindings."""
    return [{"message": message, "affectedItems": sorted(names)} for message, names in found.items()]


def as_sentence(found: Mapping[str, Names]) -> str:
    """Return messages in one line, each after its first five names."""
    return join_first(f"{first_five(sorted(names))}: {message.rstrip('.')}" for message, names in found.items())


# For each list of a document: the noun for an entry, the field with the name of its flag (or its own name), and its
# schema.
ENTRIES: dict[str, tuple[str, str, type[Body]]] = {
    "features": ("flag", "name", ImportedFeature),
    "featureStrategies": ("strategy", "featureName", ImportedStrategy),
    "featureEnvironments": ("state", "featureName", ImportedEnvironment),
    "contextFields": ("context field", "name", ImportedContextField),
    "segments": ("segment", "name", ImportedSegment),
    "tagTypes": ("tag type", "name", ImportedTagType),
    "featureTags": ("tag", "featureName", ImportedTag),
    "dependencies": ("dependency", "feature", ImportedDependencies),
    "links": ("link", "feature", ImportedLinks),
}
# The lists whose entries belong to flags.
OF_FLAGS = ("featureStrategies", "featureEnvironments", "featureTags", "dependencies", "links")
# For each list of a document: the fields whose values must be unique together, and the error for duplicates.
UNIQUE = {
    "features": (("name",), "The document has this flag more than once, with different properties."),
    "featureStrategies": (("featureName", "id"), "The document has more than one strategy of this flag with one id."),
    "featureEnvironments": (("featureName",), "The document has more than one state of this flag."),
    "contextFields": (("name",), "The document has this context field more than once, with different properties."),
    "segments": (("id",), "The document has more than one segment with this id."),
    "tagTypes": (("name",), "The document has this tag type more than once, with different properties."),
    "parents": (("child", "feature"), "The document has different dependencies of this flag on one parent."),
}


# What an import loses of an export of Unleash: the list, the property, the field with the affected name, the warning.
LOST = (
    ("tagTypes", "color", "name", "Tag types have no color here."),
    ("featureTags", "color", "featureName", "Tags have no color here."),
    ("featureStrategies", "milestoneId", "featureName", "There are no release plans here. The strategy stays."),
    ("contextFields", "project", "name", "Context fields belong to all projects here."),
)


def read_entries(document: Mapping[str, list[Any]], findings: Findings) -> dict[str, list[Json]]:
    """Return the different entries, by list. Their invalid parts become errors of their flags."""
    return {key: distinct(valid_entries(key, document[key], findings)) for key in ENTRIES if key in document}


def distinct(entries: Iterable[Json]) -> list[Json]:
    """Return each different entry once."""
    return list({json.dumps(entry, sort_keys=True): entry for entry in entries}.values())


def valid_entries(key: str, entries: list[Any], findings: Findings) -> Iterator[Json]:
    """Yield the entries of one list. Errors of an entry without a valid name have its position instead.

    After MAX_ITEMS invalid entries, the others are not read.
    """
    noun, name_field, schema_class = ENTRIES[key]
    schema, errors = schema_class(), 0
    for position, entry in enumerate(entries):
        try:
            yield read(schema, entry)
        except ValidationError as error:
            name = entry.get(name_field) if isinstance(entry, dict) else None
            if not isinstance(name, str) or not 0 < len(name) <= 100 or unstorable(name):
                name = f"{key}.{position}"
            findings.add_error(f"invalid {noun}: {format_messages(error.normalized_messages())}", [name])
            # Read the valid part too, so that the other checks find all its problems at once.
            if isinstance(entry, dict):
                with suppress(ValidationError):
                    yield read(schema, valid_part(entry, error.normalized_messages()))
            if (errors := errors + 1) == MAX_ITEMS:
                return


def valid_part(entry: Json, problems: Mapping[str, Any]) -> Json:
    """Return an entry without its invalid properties, and its lists without their invalid items."""
    return {name: value for name, value in entry.items() if name not in problems} | {
        name: [item for position, item in enumerate(entry[name]) if position not in invalid]
        for name, invalid in problems.items()
        if isinstance(invalid, dict) and isinstance(entry.get(name), list)
    }


def read_document(data: Mapping[str, Any], findings: Findings) -> Document:
    """Return the valid parts of a document, and add the errors of the others to the findings. Needs no database."""
    entries = read_entries(data, findings)
    for key, name, owner, message in LOST:
        lost = [entry.get(owner) for entry in data.get(key, ()) if isinstance(entry, dict) and entry.get(name)]
        findings.warn(message, [text for text in lost if isinstance(text, str) and not unstorable(text)])
    links = ({"child": entry["feature"], **link} for entry in entries["dependencies"] for link in entry["dependencies"])
    for key, (fields, message) in UNIQUE.items():
        unique = distinct(links) if key == "parents" else entries[key]
        counts = Counter(tuple(str(entry[name]) for name in fields) for entry in unique if fields[-1] in entry)
        findings.add_error(message, [names[0] for names, count in counts.items() if count > 1])
    names = {flag["name"] for flag in entries["features"]}
    described = {entry[ENTRIES[key][1]] for key in OF_FLAGS for entry in entries.get(key, ())}
    findings.add_error(
        "The document refers to this flag, but its features do not contain it.", described - names - findings.refused
    )
    segments = {segment["id"]: segment for segment in entries["segments"]}
    used = {number for strategy in entries["featureStrategies"] for number in strategy["segments"]}
    unused = [segment["name"] for number, segment in segments.items() if number not in used]
    findings.warn("No strategy of the document uses this segment. The import omits it.", unused)
    for strategy in entries["featureStrategies"]:
        for segment in set(strategy["segments"]) - segments.keys():
            findings.add_error(
                f"segments: the document has no segment with the id {segment}", [strategy["featureName"]]
            )
    return Document(list(flags_of(entries)), entries["contextFields"], entries["tagTypes"], segments)


def flags_of(entries: Mapping[str, list[Json]]) -> Iterator[ImportedFlag]:
    """Yield each flag of a document with its entries, sorted by name."""
    by_flag: dict[str, dict[str, list[Json]]] = defaultdict(lambda: defaultdict(list))
    for key in OF_FLAGS:
        for entry in entries.get(key, ()):
            by_flag[entry[ENTRIES[key][1]]][key].append(entry)
    for name, fields in sorted({flag["name"]: flag for flag in entries["features"]}.items()):
        lists = by_flag[name]
        tags = {(tag["tagType"], tag["tagValue"]) for tag in lists["featureTags"]}
        yield ImportedFlag(
            name=name,
            fields={key: fields[key] for key in CHANGEABLE if key in fields},
            strategies=lists["featureStrategies"],
            state=lists["featureEnvironments"][-1] if lists["featureEnvironments"] else {},
            tags=[{"type": type, "value": text} for type, text in sorted(tags)] if "featureTags" in entries else None,
            parents=[parent for entry in lists["dependencies"] for parent in entry["dependencies"]],
            links=[link for entry in lists["links"] for link in entry["links"]]
            if lists["links"]
            else fields.get("links"),
        )
