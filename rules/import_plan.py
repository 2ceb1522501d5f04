"""What an import would make of each flag of a document, compared with what is here."""

import json
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from psycopg.rows import DictRow

from sql.database import Connection
from sql.flags import imports as flag_import
from sql.flags import tags as flag_tags
from sql.vocabulary.context_fields import legal_values
from sql.vocabulary.segments import usable_segments
from sql.vocabulary.strategy_types import share_types
from validators.flags.strategies import with_defaults

Json = dict[str, Any]

UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
# Where a project has no strategy that flags get when they are switched on without one.
EVERYONE: Json = {"name": "flexibleRollout", "title": None, "constraints": [], "variants": [], "parameters": {}, "segments": []}
NEW: Json = {"type": "release", "description": None, "stale": False, "impressionData": False}


@dataclass(frozen=True)
class Wish:
    """What a flag is to be; before is what it is as sql/flags/imports.py reads it, None when it is new."""

    name: str
    before: DictRow | None
    record: Json
    tags: list[Json]
    enabled: bool
    variants: list[Json]
    kept: list[Json]
    added: list[Json]
    removed: list[Json]

    @property
    def says_more(self) -> bool:
        """Whether it says other things of itself than it did."""
        return self.before is not None and any(self.record[key] != self.before["record"][key] for key in NEW)

    @property
    def new_tags(self) -> list[Json]:
        """Those that it does not have."""
        return [tag for tag in self.tags if self.before is None or tag not in self.before["tags"]]

    @property
    def old_tags(self) -> list[Json]:
        """Those that it is not to have any more."""
        return [tag for tag in (self.before["tags"] if self.before else ()) if tag not in self.tags]

    @property
    def has_other_variants(self) -> bool:
        """Whether its own variants are to change."""
        return self.variants != (self.before["variants"] if self.before else [])

    @property
    def is_switched(self) -> bool:
        """Whether it is to go on or off."""
        return self.enabled != (self.before["enabled"] if self.before else False)


@dataclass(frozen=True)
class Plan:
    """A document, what it meets here, and what is to come of its flags.

    has_default: whether all is there of the strategy that flags get when they are on without one.
    """

    document: Json
    home: DictRow
    here: dict[str, DictRow]
    strategy_types: dict[str, bool]
    tag_types: set[str]
    legal_values: dict[str, set[str]]
    segments: dict[str, int]
    has_default: bool
    wishes: list[Wish]
    links: list[Json]

    @property
    def new(self) -> list[Wish]:
        """The flags that are to be made."""
        return [wish for wish in self.wishes if wish.before is None]

    @property
    def new_tag_types(self) -> list[Json]:
        """The types of tags that are to be made."""
        return [type for type in self.document["tagTypes"] if type["name"] not in self.tag_types]

    @property
    def new_context_fields(self) -> list[Json]:
        """The context fields that are to be made."""
        return [field for field in self.document["contextFields"] if field["name"] not in self.legal_values]


def names_in(document: Mapping[str, Any]) -> set[str]:
    """The flags that a document is about, and those on which they depend."""
    parents = {parent["feature"] for entry in document["dependencies"] for parent in entry["dependencies"]}
    return parents | {feature["name"] for feature in document["features"]}


def draw_up(conn: Connection, home: DictRow, document: Json) -> Plan:
    """The plan of an import into a project and environment, as flag_import.home() gives them."""
    here = flag_import.read(conn, home["project"], home["environment"], names_in(document))
    strategies, fields = document["featureStrategies"], {field["name"] for field in document["contextFields"]}
    constrained = {constraint["contextName"] for strategy in strategies for constraint in strategy["constraints"]}
    types = {type["name"] for type in document["tagTypes"]} | {tag["tagType"] for tag in document.get("featureTags", ())}
    default = EVERYONE | (home["default_strategy"] or {})
    known_types = share_types(conn, {default["name"]} | {strategy["name"] for strategy in strategies})
    segments = flag_import.segments(conn, {segment["name"] for segment in document["segments"]}, home["project"])
    usable = usable_segments(conn, default["segments"], home["project"])
    wishes = list(wished(document, home, here, segments, default))
    return Plan(
        document=document,
        home=home,
        here=here,
        strategy_types=known_types,
        tag_types=flag_tags.share_types(conn, types),
        legal_values=legal_values(conn, list(constrained | fields)),
        segments=segments,
        has_default=default["name"] in known_types and set(default["segments"]) <= usable,
        wishes=wishes,
        links=new_links(document, {wish.name for wish in wishes}, here),
    )


def by_flag(entries: Iterable[Json]) -> dict[str, list[Json]]:
    """Entries of a document by the flags that they are of."""
    found: dict[str, list[Json]] = defaultdict(list)
    for entry in entries:
        found[entry["featureName"]].append(entry)
    return found


def wished(document: Json, home: DictRow, here: Mapping[str, DictRow], segments: Mapping[str, int], default: Json) -> Iterable[Wish]:
    """What is to become of each flag, by name, but for those that are archived or in another project.

    segments: ids here by name. default: the strategy of who has none and is on.
    """
    ids = {segment["id"]: segments.get(segment["name"]) for segment in document["segments"]}
    strategies, places = by_flag(document["featureStrategies"]), by_flag(document["featureEnvironments"])
    tags = by_flag(document["featureTags"]) if "featureTags" in document else None
    for name, feature in sorted({feature["name"]: feature for feature in document["features"]}.items()):
        before = here.get(name)
        if before is not None and (before["is_archived"] or not before["is_here"]):
            continue
        # What the document does not say stays.
        said = places[name][-1] if name in places else {}
        wanted = [
            as_wanted(strategy, name, home, place, [ids.get(segment) for segment in strategy["segments"]])
            for place, strategy in enumerate(strategies.get(name, ()))
        ]
        if said.get("enabled") and not any_enabled(wanted):
            # Our choice: as when it is switched on by hand. On without a strategy, it would be on for everyone.
            wanted.append(as_default(default, name, home, len(wanted)))
        kept, added, removed = compared(wanted, before["strategies"] if before else [])
        yield Wish(
            name=name,
            before=before,
            record=NEW | (before["record"] if before else {}) | {key: feature[key] for key in NEW if key in feature},
            tags=sorted_tags(tags.get(name, ())) if tags is not None else before["tags"] if before else [],
            # Our choice: who loses the last enabled strategy and is not told to be on is switched off, as by hand.
            enabled=said.get("enabled", bool(before and before["enabled"] and any_enabled(wanted))),
            variants=said.get("variants", before["variants"] if before else []),
            kept=kept,
            added=added,
            removed=removed,
        )


def any_enabled(strategies: Iterable[Json]) -> bool:
    """Whether one of them is evaluated."""
    return any(not strategy["disabled"] for strategy in strategies)


def as_wanted(strategy: Json, flag: str, home: DictRow, place: int, segments: Iterable[int | None]) -> Json:
    """A strategy of the document as it is to be here, without the segments that are not here."""
    parameters = with_defaults(strategy["name"], strategy["parameters"], flag=flag, stickiness=home["default_stickiness"])
    return {
        "flag": flag,
        "place": place,
        "id": strategy.get("id"),
        "name": strategy["name"],
        "title": strategy["title"],
        "disabled": strategy["disabled"],
        "sortOrder": strategy.get("sortOrder", place),
        "constraints": strategy["constraints"],
        "variants": strategy["variants"],
        "parameters": parameters,
        "segments": sorted({segment for segment in segments if segment is not None}),
    }


def as_default(strategy: Json, flag: str, home: DictRow, place: int) -> Json:
    """The strategy that a flag gets when it is on without one, as it gets it when it is switched on by hand."""
    said: Json = {key: word for key, word in strategy.items() if key not in ("id", "sortOrder")} | {"disabled": False}
    # Our choice: flags that share a default strategy do not share a group.
    if said["name"] == "flexibleRollout" or "groupId" in said["parameters"]:
        said["parameters"] = said["parameters"] | {"groupId": flag}
    return as_wanted(said, flag, home, place, said["segments"]) | {"is_default": True}


def compared(wanted: Sequence[Json], there: Sequence[Json]) -> tuple[list[Json], list[Json], list[Json]]:
    """Of the strategies that a flag has: those that stay; then those that are to be added; and those that are to go.

    Our choice: a strategy that is as it should be stays, so that the same import again changes nothing. That of the same id first.
    """
    left: dict[str, list[Json]] = defaultdict(list)
    for strategy in there:
        left[content(strategy)].append(strategy)
    kept, missing = [], []
    for strategy in wanted:
        same = next((one for one in left[content(strategy)] if one["id"] == strategy["id"]), None)
        (kept if same else missing).append(same or strategy)
        if same:
            left[content(strategy)].remove(same)
    added = []
    for strategy in missing:
        alike = left[content(strategy)]
        (kept if alike else added).append(alike.pop(0) if alike else strategy)
    stay = {strategy["id"] for strategy in kept}
    return kept, added, [strategy for strategy in there if strategy["id"] not in stay]


def content(strategy: Mapping[str, Any]) -> str:
    """What a strategy does, whatever its id."""
    keys = ("name", "title", "disabled", "sortOrder", "constraints", "variants", "parameters", "segments")
    return json.dumps([strategy[key] for key in keys], sort_keys=True)


def sorted_tags(entries: Iterable[Json]) -> list[Json]:
    """The tags of a flag, each once, as records tell them."""
    return [{"type": type, "value": text} for type, text in sorted({(entry["tagType"], entry["tagValue"]) for entry in entries})]


def new_links(document: Json, flags: set[str], here: Mapping[str, DictRow]) -> list[Json]:
    """The dependencies of these flags that are not here, or not in this way, each pair once: child, feature, enabled, variants."""
    asked = {(entry["feature"], parent["feature"]): parent for entry in document["dependencies"] for parent in entry["dependencies"]}
    return [
        {"child": child, **parent}
        for (child, _), parent in sorted(asked.items(), key=lambda item: item[0])
        if child in flags and parent not in (here[child]["parents"] if child in here else ())
    ]
