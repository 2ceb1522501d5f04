"""Check the parameters of strategies, and add defaults to them.

A parameter that a strategy keeps unchanged is not checked, so that every stored strategy can be sent back.
"""

import difflib
import re
from collections.abc import Collection, Iterator, Mapping
from typing import Any

from evaluation.addresses import network_of
from rules.stickiness import stickiness_problems
from validators.flags.strategies import with_defaults

ITEM_MAX = 500
PERCENTAGE = re.compile("100|[1-9]?[0-9]")
# An address, or a network with the number of its bits: not all SDKs support other masks.
ADDRESS = re.compile(r"[0-9A-Fa-f:.]+(/(0|[1-9][0-9]*))?")
NUMBER = re.compile(r"-?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]{1,3})?")


def filled_parameters(flag: Mapping[str, Any], strategy: Mapping[str, Any]) -> dict[str, str]:
    """Return the parameters of a strategy. A gradual rollout gets defaults for the omitted ones."""
    return with_defaults(
        strategy["name"], strategy["parameters"], flag=flag["name"], stickiness=flag["default_stickiness"]
    )


def changed_strategy(
    before: Mapping[str, Any] | None, change: Mapping[str, Any], flag: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """Return a strategy after a change as StrategyChange loads it, with default parameters if the flag is given."""
    before = before or {}
    after = {**before, **change}
    # Our choice: a new type begins with its own parameters. Those of the old type mean nothing to it.
    if after["name"] != before.get("name") and "parameters" not in change:
        after["parameters"] = {}
    if flag and ("name" in change or "parameters" in change):
        after["parameters"] = filled_parameters(flag, after)
    return after


def parameter_problems(
    type: Mapping[str, Any],
    parameters: Mapping[str, str],
    before: Mapping[str, str] | None,
    stickiness: Collection[str],
) -> Iterator[str]:
    """Yield a message for each invalid parameter.

    type: a strategy type from hold_strategy_types(). before: the parameters that are replaced, or None if the
    strategy is new or had another type. stickiness: the allowed values from list_allowed().
    """
    declared = {parameter["name"]: parameter for parameter in type["parameters"]}
    for name, value in parameters.items():
        if before is not None and before.get(name) == value:
            continue
        field = f"parameters.{name[:100]}"
        if name not in declared:
            # Our choice: custom types may have parameters that they do not declare.
            if not type["editable"]:
                yield f"{field}: {unknown_problem(name, declared)}"
        elif name == "stickiness" and not type["editable"]:
            # Later, with_defaults() changes an empty stickiness to "default".
            yield from stickiness_problems(field, value or "default", stickiness)
        elif (value or not type["editable"]) and (
            problem := value_problem(declared[name]["type"], value) or never_matches(name, value, type)
        ):
            yield f"{field}: {problem}"
    # Our choice: only custom types require parameters. Built-in types match no user without them, or have defaults.
    for name, parameter in declared.items() if type["editable"] else ():
        is_kept = before is not None and before.get(name) == parameters.get(name)
        if parameter["required"] and not parameters.get(name, "").strip() and not is_kept:
            yield f"parameters.{name[:100]}: is required"


def unknown_problem(name: str, declared: Collection[str]) -> str:
    """Return the message for an unknown parameter of a built-in type."""
    if not declared:
        return "unknown parameter; this strategy type has none"
    [nearest] = difflib.get_close_matches(name[:100], declared, n=1, cutoff=0)
    return f"unknown parameter; the nearest one is {nearest}"


def value_problem(type: str, value: str) -> str | None:
    """Return a message if a value does not fit the declared type of its parameter, otherwise None."""
    if type == "percentage":
        return None if PERCENTAGE.fullmatch(value) else "must be a whole number from 0 to 100"
    if type == "number":
        return None if NUMBER.fullmatch(value) else "must be a number"
    if type == "boolean":
        return None if value in ("true", "false") else "must be true or false"
    if type == "list":
        return list_problem(value.split(",") if value.strip() else [])
    return None


def never_matches(name: str, value: str, type: Mapping[str, Any]) -> str | None:
    """Return a message if an item in a list of a built-in type can match no user, otherwise None."""
    # The SDK for Node.js removes white space around commas only.
    if name in ("IPs", "userIds", "hostNames") and not type["editable"] and value != value.strip():
        return f"must not begin or end with spaces or line breaks, as in {value[:100]!r}"
    for item in map(str.strip, value.split(",") if value and not type["editable"] else ()):
        if name == "IPs" and not is_network(item):
            return f"must be IP addresses or networks such as 10.0.0.0/8, with commas between them, not {item[:100]!r}"
        if name in ("userIds", "hostNames") and ("\n" in item or "\r" in item):
            return f"must have commas between the items, not line breaks as in {item[:100]!r}"
    return None


def is_network(item: str) -> bool:
    """Return whether all SDKs can read an item as an IP address or a network."""
    return ADDRESS.fullmatch(item) is not None and network_of(item) is not None


def list_problem(items: Collection[str]) -> str | None:
    """Return a message if an item is empty or longer than ITEM_MAX, otherwise None."""
    if not all(item.strip() for item in items):
        return "must have no empty items between commas"
    if any(len(item.strip()) > ITEM_MAX for item in items):
        return f"must have items of at most {ITEM_MAX} characters"
    return None
