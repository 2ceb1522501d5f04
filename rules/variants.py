"""Replace the variants of flags in an environment."""

from collections.abc import Mapping, Sequence
from typing import Any

from psycopg.rows import DictRow
from werkzeug.exceptions import BadRequest

from rules.access import Actor
from rules.flags import flag_event
from rules.refusals import Refuse, raise_error
from rules.stickiness import list_allowed, stickiness_of, variant_problems
from sql import events
from sql.database import Connection
from sql.flags import variants

Variant = Mapping[str, Any]


def replace_variants(
    conn: Connection,
    actor: Actor,
    changes: Sequence[tuple[DictRow, Sequence[Variant], Sequence[Variant]]],
    refuse: Refuse = raise_error,
) -> None:
    """Replace the variants of flags in one environment, and record the events.

    Refuse flags if the stickiness of a variant is not allowed. changes: tuples of the flag with its environment, its
    present variants from list_by_flag(), and the new ones from balanced().
    """
    allowed = list_allowed(conn, {value for *_, wanted in changes for value in stickiness_of(wanted)})
    problems = {flag["name"]: variant_problems(wanted, before, allowed) for flag, before, wanted in changes}
    for name, messages in problems.items():
        if messages:
            refuse(BadRequest("; ".join(messages)), [name])
    changes = [
        (flag, before, wanted)
        for flag, before, wanted in changes
        if not problems[flag["name"]] and sorted(wanted, key=lambda variant: variant["name"]) != before
    ]
    if not changes:
        return
    environment = changes[0][0]["environment"]
    owners = [{"flagId": flag["id"], "strategyId": None, "variants": wanted} for flag, _, wanted in changes]
    variants.replace(conn, environment, owners)
    after = variants.list_by_flag(conn, [flag["id"] for flag, _, _ in changes], environment)
    log = [
        flag_event(
            "feature-environment-variants-updated",
            actor,
            flag,
            data={"variants": after[flag["id"]]},
            pre_data={"variants": before},
        )
        for flag, before, _ in changes
        if after[flag["id"]] != before
    ]
    events.record(conn, *log)


def replace_variants_in_environments(
    conn: Connection, actor: Actor, places: Sequence[DictRow], wanted: Sequence[Variant]
) -> None:
    """Replace the variants of a flag in several environments, and record the events.

    places: the flag, once for each environment, from lock_in_environments(). wanted: the variants, from balanced().
    """
    for flag in places:
        before = variants.list_by_flag(conn, [flag["id"]], flag["environment"])[flag["id"]]
        replace_variants(conn, actor, [(flag, before, wanted)])
