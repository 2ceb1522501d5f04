"""Replace the variants of flags in one or more environments."""

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from psycopg.rows import DictRow
from werkzeug.exceptions import BadRequest

from rules.access import Actor
from rules.flags import flag_event
from rules.refusals import Refuse, raise_error
from rules.stickiness import list_allowed, stickiness_of, variant_problems
from sql import events
from sql.catalog.context_fields import list_legal_values
from sql.database import Connection
from sql.flags import variants

Variant = Mapping[str, Any]


def replace_variants(
    conn: Connection,
    actor: Actor,
    changes: Sequence[tuple[DictRow, Sequence[Variant], Sequence[Variant]]],
    refuse: Refuse = raise_error,
) -> None:
    """Replace the variants of flags in environments, and record the events.

    Refuse flags if the stickiness of a variant is not allowed, or the context field of an override does not exist.
    changes: tuples of the flag with its environment, its present variants from list_each(), and the new ones from
    balanced().
    """
    allowed = list_allowed(conn, {value for *_, wanted in changes for value in stickiness_of(wanted)})
    fields = list({name for *_, wanted in changes for name in override_fields(wanted)})
    known = list_legal_values(conn, fields, hold=True) if fields else {}
    valid, stored = [], defaultdict[int, list[Variant]](list)
    for flag, before, _ in changes:
        stored[flag["id"]] += before
    for flag, before, wanted in changes:
        present = stored[flag["id"]]
        if problems := variant_problems(wanted, present, allowed) + override_problems(wanted, present, known):
            refuse(BadRequest("; ".join(problems)), [flag["name"]])
        elif by_name(wanted) != by_name(before):
            valid.append((flag, before, wanted))
    changes = valid
    if not changes:
        return
    owners = [
        {"flagId": flag["id"], "environment": flag["environment"], "strategyId": None, "variants": wanted}
        for flag, _, wanted in changes
    ]
    variants.replace(conn, owners)
    after = variants.list_each(conn, [flag for flag, _, _ in changes])
    log = [
        flag_event(
            "feature-environment-variants-updated",
            actor,
            flag,
            data={"variants": replaced},
            pre_data={"variants": before},
        )
        for (flag, before, _), replaced in zip(changes, after, strict=True)
        if replaced != before
    ]
    events.record(conn, *log)


def override_fields(variants: Sequence[Variant]) -> list[str]:
    """Return the context field of each override."""
    return [override["contextName"] for variant in variants for override in variant["overrides"]]


def override_problems(wanted: Sequence[Variant], before: Sequence[Variant], known: Collection[str]) -> list[str]:
    """Return a message for each override whose context field is neither known nor one of before."""
    usable = {*known, *override_fields(before)}
    return [
        f"variants.{i}.overrides.{j}.contextName: must be an existing context field, not {override['contextName']}"
        for i, variant in enumerate(wanted)
        for j, override in enumerate(variant["overrides"])
        if override["contextName"] not in usable
    ]


def in_order(variants: Sequence[Variant]) -> list[Variant]:
    """Return variants with their positions, so that they keep this order."""
    return [{**variant, "position": position} for position, variant in enumerate(variants)]


def by_name(variants: Sequence[Variant]) -> list[Variant]:
    """Return variants in the order of their names. Only those of a moved flag can have another order."""
    return sorted(variants, key=lambda variant: variant["name"])


def replace_variants_in_environments(
    conn: Connection, actor: Actor, places: Sequence[DictRow], wanted: Sequence[Variant]
) -> None:
    """Replace the variants of a flag in these places. wanted: from balanced()."""
    existing = variants.list_each(conn, places)
    replace_variants(conn, actor, [(flag, before, wanted) for flag, before in zip(places, existing, strict=True)])
