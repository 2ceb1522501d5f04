"""The events of an import: those that the same changes have one by one, and that it took place."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from psycopg.rows import DictRow

from rules.access import Actor
from rules.import_plan import Plan, Wish
from sql.events import Event


def of_import(
    actor: Actor,
    plan: Plan,
    after: Mapping[str, DictRow],
    *,
    tag_types: Sequence[Any],
    context_fields: Sequence[Any],
    tags: Sequence[DictRow],
) -> Iterator[Event]:
    """All events, in order. after: the flags as they are now; and the types, fields and tags that were made."""
    for record in tag_types:
        yield Event("tag-type-created", actor, data=record)
    for record in context_fields:
        yield Event("context-field-created", actor, data=record)
    for tag in tags:
        yield Event("tag-created", actor, data={"type": tag["type"], "value": tag["value"]})
    for wish in plan.wishes:
        yield from of_flag(actor, plan.home, wish, after[wish.name])
    for link in plan.links:
        data = {key: link[key] for key in ("feature", "enabled", "variants") if key != "variants" or link["variants"]}
        about = {"project": plan.home["project"], "feature": link["child"], "tags": after[link["child"]]["tags"]}
        yield Event("feature-dependency-added", actor, data=data, **about)
    yield Event("features-imported", actor, project=plan.home["project"], environment=plan.home["environment"])


def of_flag(actor: Actor, home: DictRow, wish: Wish, after: DictRow) -> Iterator[Event]:
    """What happened to one flag, each event with the tags that the flag had by then."""
    about: dict[str, Any] = {"project": home["project"], "feature": wish.name}
    there = about | {"environment": home["environment"], "tags": after["tags"]}
    before = wish.before["record"] if wish.before else None
    tags = wish.before["tags"] if wish.before else []
    if before is None:
        # It is made first, and then marked, as by hand.
        yield Event("feature-created", actor, data=after["record"] | {"stale": False}, **about)
    elif any(after["record"][key] != before[key] for key in ("type", "description", "impressionData")):
        yield Event("feature-metadata-updated", actor, data=after["record"], pre_data=before, tags=tags, **about)
    if after["record"]["stale"] != (before or {"stale": False})["stale"]:
        yield Event("feature-stale-on" if after["record"]["stale"] else "feature-stale-off", actor, tags=tags, **about)
    for tag in wish.old_tags:
        tags = [other for other in tags if other != tag]
        yield Event("feature-untagged", actor, pre_data=tag, tags=tags, **about)
    for tag in wish.new_tags:
        tags = sorted([*tags, tag], key=lambda one: (one["type"], one["value"]))
        yield Event("feature-tagged", actor, data=tag, tags=tags, **about)
    if wish.has_other_variants:
        old = wish.before["variants"] if wish.before else []
        data, pre_data = {"variants": after["variants"]}, {"variants": old}
        yield Event("feature-environment-variants-updated", actor, data=data, pre_data=pre_data, **there)
    # Our choice: off comes first and on last, so that the flag is never on without strategies, in the log as in the transaction.
    if wish.is_switched and not wish.enabled:
        yield Event("feature-environment-disabled", actor, **there)
    for strategy in wish.removed:
        yield Event("feature-strategy-remove", actor, pre_data=strategy, **there)
    kept = {strategy["id"] for strategy in wish.kept}
    for strategy in after["strategies"]:
        if strategy["id"] not in kept:
            yield Event("feature-strategy-add", actor, data=strategy, **there)
    if wish.is_switched and wish.enabled:
        yield Event("feature-environment-enabled", actor, **there)
