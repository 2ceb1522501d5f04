"""Change requests in words: whom one waits for, and what each of its changes would do."""

from collections.abc import Callable, Collection, Mapping
from operator import itemgetter
from typing import Any

from blueprints.pages.constraints import describe, join
from blueprints.pages.strategy_text import sentence
from rules.change_request_actions import load_payload
from rules.refusals import quantity
from rules.strategy_parameters import changed_strategy

Json = dict[str, Any]
# What changes result in, by the flag or segment, the key of the base, and the id of the strategy or segment.
Results = dict[tuple[str | None, str, Any], Any]
# What each change does, the key of its base, and what the present record and the payload become in the flag.
TEXTS: dict[str, tuple[str, str, Callable[[Any, Any, Json], Any]]] = {
    "addStrategy": ("Add a strategy", "", changed_strategy),
    "updateStrategy": ("Change a strategy", "strategy", changed_strategy),
    "deleteStrategy": ("Delete a strategy", "strategy", lambda *_: None),
    "reorderStrategy": (
        "Change the order of strategies",
        "positions",
        lambda before, places, _: (before or {}) | {one["id"]: one["sortOrder"] for one in places},
    ),
    "patchVariant": ("Change the variants of the flag", "variants", lambda _, payload, __: payload["variants"]),
    "archiveFeature": ("Archive the flag in all environments", "", lambda *_: None),
    "addDependency": (
        "Add a parent flag in all environments",
        "parents",
        lambda parents, one, _: [*(old for old in parents if old["feature"] != one["feature"]), one],
    ),
    "deleteDependency": ("Remove all parent flags in all environments", "parents", lambda *_: []),
    "updateSegment": ("Change the segment", "segment", lambda before, payload, _: before | payload),
    "deleteSegment": ("Delete the segment", "segment", lambda *_: None),
}


def waits(request: Json, own: Collection[int]) -> str:
    """Return for whom or what a change request waits, or an empty text. own: ids of those for the reader."""
    missing = request["minApprovals"] - len(request["approvals"])
    if request["state"] == "Scheduled" and request["schedule"]["status"] != "pending":
        return request["schedule"]["reason"]
    if request["id"] in own:
        return "Waits for your approval." if request["state"] == "In review" else "Waits for you to apply it."
    return {
        "Draft": "Only you see it.",
        "In review": f"Waits for {quantity(missing, 'approval')} by others.",
        "Approved": "Waits for somebody who may apply it.",
    }.get(request["state"], "")


def effect(change: Json, flag: Json, results: Results) -> tuple[Any, Any]:
    """Return the values before and after a change. results: those of the changes before it. Its own is added."""
    payload = load_payload(change["action"], change["payload"])
    _, key, result = TEXTS[change["action"]]
    place = flag["name"], key, payload.pop("id", None) if isinstance(payload, dict) else None
    before = results.get(place)
    # A change of what an earlier one deletes is refused when it is applied.
    if before is None:
        base = change.get("base") or {}
        # Bases of older versions have no positions.
        positions = {id: number for number, id in enumerate(base.get("strategyIds", ()))}
        before = base.get(key, positions if key == "positions" else None)
    after = result(before, payload, flag)
    if key:
        results[place] = after
    return before, after


def describe_change(change: Json, flag: Json, names: Mapping[int, str], results: Results) -> Json:
    """Return what a change does: a title, texts before and after it, and records for changes().

    names: of segments. results: see effect(). Call it for the changes of a request in their order.
    """
    if change["action"] == "updateEnabled":
        payload = load_payload(change["action"], change["payload"])
        resumed = ", and resume the paused strategies" if payload["shouldActivateDisabledStrategies"] else ""
        return {"title": f"Switch {'on' if payload['enabled'] else 'off'}{resumed}", "preData": None, "data": None}
    title, key, _ = TEXTS[change["action"]]
    before, after = effect(change, flag, results)
    texts = [text_of(key, one, before, names) for one in (before, after)]
    if key == "strategy" and before and after and before["name"] == after["name"] == "flexibleRollout":
        # The sentence says the share.
        before, after = ({**one, "parameters": {**one["parameters"], "rollout": None}} for one in (before, after))
    if key in ("variants", "parents"):
        before, after = ({one.get("name") or one["feature"]: one for one in items or ()} for items in (before, after))
    records = {} if key == "positions" else {"preData": before, "data": after}
    shown = "" if texts[0] == texts[1] else texts[0]
    return {"title": title, "before": shown, "after": texts[1], "preData": None, "data": None} | records


def text_of(key: str, record: Any, before: Any, names: Mapping[int, str]) -> str:
    """Return a part of the base, or what replaces it, in words. before: the part of the base."""
    match key:
        case "positions":
            both = (sorted((places or {}).items(), key=itemgetter(1)) for places in (before, record))
            present, new = ([id for id, _ in places] for places in both)
            return ", ".join(str(present.index(one) + 1) if one in present else "?" for one in new)
        case "variants":
            return ", ".join(f"{one['name']} {one['weight'] / 10:g} %" for one in record) or "none"
        case "parents":
            states = [f"{one['feature']} must be {'on' if one['enabled'] else 'off'}" for one in record or ()]
            return join(states, "and")
        case "segment":
            return join([describe(one) for one in record["constraints"]], "and") or "all users" if record else ""
        case _:
            return sentence(record, names) + (" (paused)" if record["disabled"] else "") if record else ""
