"""The document of an import: its valid entries by flag, and what is wrong with the others (neighbours.md 3.17)."""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from marshmallow import ValidationError
from werkzeug.exceptions import HTTPException

from rules.flags import listed
from validators import Body, first_of, read, sentence
from validators.fields import unstorable
from validators.flags.transfer import (
    ImportedContextField,
    ImportedDependencies,
    ImportedEnvironment,
    ImportedFeature,
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
    """What a document says about a flag. tags None: nothing."""

    name: str
    fields: Json
    strategies: list[Json]
    state: Json
    tags: list[Json] | None
    parents: list[Json]


@dataclass(frozen=True)
class Document:
    """The valid entries of a document. segments: names by their ids in the document."""

    flags: list[ImportedFlag]
    context_fields: list[Json]
    tag_types: list[Json]
    segments: dict[int, str]

    @property
    def links(self) -> list[Json]:
        """The dependencies of the flags, each pair of child and parent once."""
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
    """What an import refuses, warns of and needs: names, mostly of flags, by message."""

    errors: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    warnings: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    refused: set[str] = field(default_factory=set)
    permissions: set[str] = field(default_factory=lambda: {"UPDATE_FEATURE", "UPDATE_FEATURE_ENVIRONMENT"})

    def refuse(self, error: HTTPException, names: Names) -> None:
        """Note an error of these flags: the Refuse of an import."""
        self.add_error(error.description or "", names)

    def add_error(self, message: str, names: Iterable[str]) -> None:
        """Note what is wrong with these flags."""
        for name in names:
            self.errors[message].add(name)
            self.refused.add(name)

    def warn(self, message: str, names: Iterable[str]) -> None:
        """Note what is good to know about these flags."""
        for name in names:
            self.warnings[message].add(name)

    def need(self, permission: str, is_needed: object) -> None:
        """Note that the import needs a permission, if it does."""
        if is_needed:
            self.permissions.add(permission)


def as_record(found: Mapping[str, Names]) -> list[Json]:
    """Return messages and names as the record importFindings has them."""
    return [{"message": message, "affectedItems": sorted(names)} for message, names in found.items()]


def as_sentence(found: Mapping[str, Names]) -> str:
    """Return messages in one line, each with the first few of its names."""
    return first_of(f"{listed(sorted(names))}: {message.rstrip('.')}" for message, names in found.items())


# By list of the document: the noun of an entry, the field with the name of its flag (or its own name), and its schema.
ENTRIES: dict[str, tuple[str, str, type[Body]]] = {
    "features": ("flag", "name", ImportedFeature),
    "featureStrategies": ("strategy", "featureName", ImportedStrategy),
    "featureEnvironments": ("state", "featureName", ImportedEnvironment),
    "contextFields": ("context field", "name", ImportedContextField),
    "segments": ("segment", "name", ImportedSegment),
    "tagTypes": ("tag type", "name", ImportedTagType),
    "featureTags": ("tag", "featureName", ImportedTag),
    "dependencies": ("dependency", "feature", ImportedDependencies),
}


def read_entries(document: Mapping[str, list[Any]], findings: Findings) -> dict[str, list[dict[str, Any]]]:
    """Return the valid entries of a document. The other entries are errors of their flags."""
    return {key: list(valid_entries(key, entries, findings)) for key, entries in document.items()}


def valid_entries(key: str, entries: list[Any], findings: Findings) -> Iterator[dict[str, Any]]:
    """Yield the valid entries of one list. An entry without a usable name is named by its position."""
    what, name_field, schema_class = ENTRIES[key]
    schema = schema_class()
    for position, entry in enumerate(entries):
        try:
            yield read(schema, entry)
        except ValidationError as error:
            name = entry.get(name_field) if isinstance(entry, dict) else None
            if not isinstance(name, str) or not 0 < len(name) <= 100 or unstorable(name):
                name = f"{key}.{position}"
            findings.add_error(f"invalid {what}: {sentence(error.normalized_messages())}", [name])


def read_document(data: Mapping[str, Any], findings: Findings) -> Document:
    """Return the valid part of a document. Errors in it that need no database go to the findings."""
    entries = read_entries(data, findings)
    refuse_twice("The document has this flag more than once.", (flag["name"] for flag in entries["features"]), findings)
    refuse_twice(
        "The document has more than one state of this flag.", names_of(entries["featureEnvironments"]), findings
    )
    refuse_twice(
        "The document has this context field more than once.",
        (one["name"] for one in entries["contextFields"]),
        findings,
    )
    refuse_twice(
        "The document has this tag type more than once.", (one["name"] for one in entries["tagTypes"]), findings
    )
    refuse_twice(
        "The document has more than one segment with this id.",
        (str(one["id"]) for one in entries["segments"]),
        findings,
    )
    names = {flag["name"] for flag in entries["features"]}
    lists = ("featureStrategies", "featureEnvironments", "featureTags")
    others = {name for kind in lists for name in names_of(entries.get(kind, ()))} | {
        one["feature"] for one in entries["dependencies"]
    }
    findings.add_error("The document describes this flag, but does not have it.", others - names - findings.refused)
    segments = {segment["id"]: segment["name"] for segment in entries["segments"]}
    for strategy in entries["featureStrategies"]:
        for segment in set(strategy["segments"]) - segments.keys():
            findings.add_error(
                f"segments: the document has no segment with the id {segment}", [strategy["featureName"]]
            )
    return Document(list(flags_of(entries)), entries["contextFields"], entries["tagTypes"], segments).without(
        findings.refused
    )


def names_of(entries: Iterable[Json]) -> Iterator[str]:
    """Yield the flag of each entry."""
    return (entry["featureName"] for entry in entries)


def refuse_twice(message: str, names: Iterable[str], findings: Findings) -> None:
    """Refuse names that occur more than once."""
    findings.add_error(message, [name for name, count in Counter(names).items() if count > 1])


def flags_of(entries: Mapping[str, list[Json]]) -> Iterator[ImportedFlag]:
    """Yield what the entries of a document say about each of its flags, by name."""
    found: dict[str, dict[str, list[Json]]] = defaultdict(lambda: defaultdict(list))
    for kind in ("featureStrategies", "featureEnvironments", "featureTags"):
        for entry in entries.get(kind, ()):
            found[entry["featureName"]][kind].append(entry)
    for entry in entries["dependencies"]:
        found[entry["feature"]]["parents"] += entry["dependencies"]
    for name, fields in sorted({flag["name"]: flag for flag in entries["features"]}.items()):
        of_flag = found[name]
        tags = {(tag["tagType"], tag["tagValue"]) for tag in of_flag["featureTags"]}
        yield ImportedFlag(
            name=name,
            fields={key: fields[key] for key in CHANGEABLE if key in fields},
            strategies=of_flag["featureStrategies"],
            state=of_flag["featureEnvironments"][-1] if of_flag["featureEnvironments"] else {},
            tags=[{"type": type, "value": text} for type, text in sorted(tags)] if "featureTags" in entries else None,
            parents=of_flag["parents"],
        )
