"""What speaks against an import, and what is good to know before (neighbours.md 3.17, Import finding)."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Set
from typing import Any

from flask import current_app
from werkzeug.exceptions import Forbidden

from rules.access import require
from rules.constraints import illegal, too_many
from rules.flags import listed
from rules.import_plan import Plan
from sql import limits
from sql.database import Connection
from sql.projects import core as projects
from validators.flags.core import MOST_TAGS
from validators.projects import naming

Finding = tuple[str, Iterable[str]]


def findings(conn: Connection, plan: Plan) -> dict[str, list[dict[str, Any]]]:
    """The record importFindings: each kind of finding once, with all names that it is about."""
    return {
        "errors": told([*of_document(plan), *of_flags(conn, plan), *of_strategies(plan), *of_dependencies(plan)]),
        "warnings": told(warnings(plan)),
        "permissions": told([(f"You lack these permissions{where(plan)}.", lacking(conn, plan))]),
    }


def told(found: Iterable[Finding]) -> list[dict[str, Any]]:
    """Findings that are about something, with the names in order."""
    named = [(message, sorted(set(names))) for message, names in found]
    return [{"message": message, "affectedItems": names} for message, names in named if names]


def sentence(found: Iterable[Mapping[str, Any]]) -> str:
    """Findings in one line, with the first few names of each."""
    return "; ".join(f"{finding['message'].rstrip('.')}: {listed(finding['affectedItems'])}" for finding in found)


def where(plan: Plan) -> str:
    """The end of a sentence about permissions."""
    return f" in project {plan.home['project']} and environment {plan.home['environment']}"


def of_document(plan: Plan) -> Iterator[Finding]:
    """What is wrong with a document wherever it is imported."""
    document = plan.document
    names = {feature["name"] for feature in document["features"]}
    tagged, depending = document.get("featureTags", ()), document["dependencies"]
    told_of = [entry["featureName"] for kind in ("featureStrategies", "featureEnvironments") for entry in document[kind]]
    told_of += [*(entry["featureName"] for entry in tagged), *(entry["feature"] for entry in depending)]
    yield "The document holds these flags more than once.", twice(feature["name"] for feature in document["features"])
    yield (
        "The document tells more than once of the state of these flags.",
        twice(entry["featureName"] for entry in document["featureEnvironments"]),
    )
    yield "The document holds these context fields more than once.", twice(field["name"] for field in document["contextFields"])
    yield "The document holds these types of tags more than once.", twice(type["name"] for type in document["tagTypes"])
    yield "The document holds segments with these ids more than once.", twice(str(segment["id"]) for segment in document["segments"])
    yield "The document tells of these flags without holding them.", set(told_of) - names
    segments = {segment["id"] for segment in document["segments"]}
    asked = {segment for strategy in document["featureStrategies"] for segment in strategy["segments"]}
    yield "The document does not hold the segments with these ids, which its strategies name.", map(str, asked - segments)


def twice(names: Iterable[str]) -> list[str]:
    """Those that occur more than once."""
    return [name for name, count in Counter(names).items() if count > 1]


def of_flags(conn: Connection, plan: Plan) -> Iterator[Finding]:
    """What is against the flags themselves, and their tags."""
    names, home = {feature["name"] for feature in plan.document["features"]}, plan.home
    new = [wish.name for wish in plan.new]
    # Our choice: which project that is, is not said; the caller may not be meant to see it.
    yield "Flags with these names are in another project.", (name for name in names if name in plan.here and not plan.here[name]["is_here"])
    pattern, limit = home["naming_pattern"], home["feature_limit"]
    if pattern is not None:
        # Our choice: flags that are here already keep their names.
        try:
            yield f"These names do not match the naming pattern of the project, {pattern}.", naming.mismatches(pattern, new)
        except naming.PatternError as error:
            yield f"The naming pattern of the project, {pattern}, {error}.", new
    most = current_app.config["MAX_FLAGS"]
    # In the order in which all who make flags count them.
    if new and limits.count(conn, "MAX_FLAGS") + len(new) > most:
        yield f"With these flags there would be more than {most} in this instance.", new
    if new and limit is not None and projects.count_flags(conn, home["project"]) + len(new) > limit:
        yield f"With these flags there would be more than {limit} in the project.", new
    types = plan.tag_types | {type["name"] for type in plan.document["tagTypes"]}
    yield "There are no such types of tags.", {tag["tagType"] for tag in plan.document.get("featureTags", ())} - types
    yield (
        f"These flags have more than {MOST_TAGS} tags in the document.",
        (wish.name for wish in plan.wishes if wish.new_tags and len(wish.tags) > MOST_TAGS),
    )


def of_strategies(plan: Plan) -> Iterator[Finding]:
    """What is against the strategies, and what they refer to."""
    document = plan.document
    most_strategies, most_segments = current_app.config["MAX_STRATEGIES"], current_app.config["MAX_STRATEGY_SEGMENTS"]
    fields = {field["name"]: field for field in document["contextFields"]}
    legal = {name: {legal["value"] for legal in field["legalValues"]} for name, field in fields.items()} | plan.legal_values
    yield (
        "There are no such types of strategies.",
        (strategy["name"] for strategy in document["featureStrategies"] if strategy["name"] not in plan.strategy_types),
    )
    yield (
        "These context fields have legal values in the document that they do not have here.",
        (name for name, field in fields.items() if not has_all(plan.legal_values.get(name, set()), field)),
    )
    # What the project says by default was checked when it was said.
    asked = [(wish.name, strategy) for wish in plan.wishes for strategy in wish.added if "is_default" not in strategy]
    constraints = [(name, constraint) for name, strategy in asked for constraint in strategy["constraints"]]
    yield (
        "There are no such context fields.",
        (constraint["contextName"] for _, constraint in constraints if constraint["contextName"] not in legal),
    )
    yield (
        "Strategies of these flags ask for values that the context field cannot have.",
        (name for name, constraint in constraints if constraint["contextName"] in legal and any(illegal([constraint], legal))),
    )
    yield (
        "There are no such segments, of all projects or of this one.",
        (segment["name"] for segment in document["segments"] if segment["name"] not in plan.segments),
    )
    yield (
        "Strategies of these flags have too many constraints, or values in one.",
        (name for name, strategy in asked if any(too_many(strategy["constraints"], ()))),
    )
    yield (
        f"Strategies of these flags have more than {most_segments} segments.",
        (name for name, strategy in asked if len(strategy["segments"]) > most_segments),
    )
    yield (
        f"These flags would have more than {most_strategies} strategies.",
        (wish.name for wish in plan.wishes if wish.added and len(wish.kept) + len(wish.added) > most_strategies),
    )
    if not plan.has_default:
        # Our choice: a segment that is gone is no reason to be on for more.
        yield (
            "These flags are on without a strategy, and that of the project's environment refers to what is no longer there.",
            [wish.name for wish in plan.wishes for strategy in wish.added if "is_default" in strategy],
        )


def has_all(here: Set[str], field: Mapping[str, Any]) -> bool:
    """Return whether a field has all legal values of the document. An empty set: every value is legal here."""
    return not here or {legal["value"] for legal in field["legalValues"]} <= here


def of_dependencies(plan: Plan) -> Iterator[Finding]:
    """What is against the dependencies, together with those that are here."""
    coming = {wish.name for wish in plan.wishes}
    parents = {link["feature"] for link in plan.links}
    live = {name for name, flag in plan.here.items() if flag["is_here"] and not flag["is_archived"]}
    yield "Flags depend on these, which are neither in the document nor in this project.", parents - coming - live
    # A flag that has parents cannot be one, in the document or here.
    children = {link["child"] for link in plan.links} | {name for name, flag in plan.here.items() if flag["parents"]}
    with_children = parents | {name for name, flag in plan.here.items() if flag["has_children"]}
    yield "These flags depend on others, so that none can depend on them.", parents & children
    yield "Flags depend on these, so that they can depend on none.", {link["child"] for link in plan.links} & (with_children - parents)


def warnings(plan: Plan) -> Iterator[Finding]:
    """What it is good to know before."""
    skipped = {feature["name"] for feature in plan.document["features"]} & {
        name for name, flag in plan.here.items() if flag["is_here"] and flag["is_archived"]
    }
    yield "These flags are archived here, and are left out.", skipped
    yield "These flags are here already, and become what the document says.", (wish.name for wish in plan.wishes if wish.before)
    yield (
        "Strategies are of these custom types, which are to mean the same here.",
        (strategy["name"] for strategy in plan.document["featureStrategies"] if plan.strategy_types.get(strategy["name"])),
    )


def lacking(conn: Connection, plan: Plan) -> list[str]:
    """The permissions that the import needs and the caller does not have."""
    return [permission for permission in needed(plan) if not has(conn, permission, plan)]


def needed(plan: Plan) -> list[str]:
    """The permissions that the import needs: what the operations need that make such changes one by one."""

    def any_flag(what: str) -> bool:
        return any(getattr(wish, what) for wish in plan.wishes)

    needs = {
        "UPDATE_FEATURE": True,
        "UPDATE_FEATURE_ENVIRONMENT": True,
        "CREATE_FEATURE": bool(plan.new),
        "CREATE_FEATURE_STRATEGY": any_flag("added"),
        "DELETE_FEATURE_STRATEGY": any_flag("removed"),
        "UPDATE_FEATURE_ENVIRONMENT_VARIANTS": any_flag("variants") or any_flag("has_other_variants"),
        "CREATE_TAG_TYPE": bool(plan.new_tag_types),
        "CREATE_CONTEXT_FIELD": bool(plan.new_context_fields),
        "UPDATE_FEATURE_DEPENDENCY": bool(plan.document["dependencies"]),
    }
    return [permission for permission, is_needed in needs.items() if is_needed]


def has(conn: Connection, permission: str, plan: Plan) -> bool:
    """Whether the caller holds a permission where the flags are to go."""
    try:
        require(conn, permission, project=plan.home["project"], environment=plan.home["environment"])
    except Forbidden:
        return False
    return True
