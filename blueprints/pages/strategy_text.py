"""Strategies in words: for whom a flag is on."""

from collections.abc import Mapping, Sequence
from typing import Any

from markupsafe import Markup, escape

from blueprints.pages.constraints import MOST_VALUES, as_time, describe, join
from rules.strategy_parameters import PERCENTAGE

# The types with a list of whom they match: its parameter, and the words before one and several of them.
LISTS = {
    "userWithId": ("userIds", "the user", "the users"),
    "remoteAddress": ("IPs", "the IP address", "the IP addresses"),
    "applicationHostname": ("hostNames", "applications on the host", "applications on the hosts"),
}
TIMES = {"DATE_AFTER": "from", "DATE_BEFORE": "until"}


def sentence(strategy: Mapping[str, Any], segments: Mapping[int, str]) -> Markup:
    """Return for whom a strategy is on: On for 25 % of users where country is NO or SE, in the segment Staff.

    segments: the names of segments by id. In an attribute of HTML, use the result with the filter striptags.
    """
    ids, times, others = strategy.get("segments") or [], [], []
    for constraint in strategy.get("constraints") or []:
        is_time = constraint["operator"] in TIMES and constraint["contextName"] == "currentTime"
        (times if is_time and not constraint.get("inverted") and as_time(constraint) else others).append(constraint)
    text = Markup("<strong>On for {}</strong>").format(audience(strategy, is_limited=bool(others or ids)))
    if others:
        text += escape(f" where {join([describe(one, most=MOST_VALUES) for one in others], 'and')}")
    if ids:
        named = join([segments.get(number, str(number)) for number in ids], "and")
        text += escape(f"{',' if others or ',' in text else ''} in the segment{'s' if len(ids) > 1 else ''} {named}")
    for one in times:
        text += Markup(', {} <time datetime="{}">{}</time>').format(TIMES[one["operator"]], one["value"], as_time(one))
    return text


def audience(strategy: Mapping[str, Any], *, is_limited: bool) -> str:
    """Return whom the type of a strategy chooses: a share or a list of users. is_limited: whether conditions follow."""
    name, parameters = strategy["name"], strategy.get("parameters") or {}
    if name in LISTS:
        parameter, one, several = LISTS[name]
        items = [item for item in map(str.strip, parameters.get(parameter, "").split(",")) if item]
        rest = [f"{len(items) - MOST_VALUES} more"] if len(items) > MOST_VALUES else []
        listed = join([*items[:MOST_VALUES], *rest], "and")
        return f"{one if len(items) == 1 else several} {listed}" if items else "no user, because the list is empty"
    if name not in ("default", "flexibleRollout"):
        values = [f"{key} {value}" for key, value in parameters.items()]
        return f"those whom the strategy type {name} chooses{' by ' if values else ''}{join(values, 'and')}"
    share, stickiness = parameters.get("rollout", "100"), parameters.get("stickiness", "default")
    if name == "default" or share == "100":
        return "users" if is_limited else "everybody"
    if not PERCENTAGE.fullmatch(share):
        return f"no user, because {share or 'nothing'} is not a whole number of percent"
    whom = {"random": "requests", "default": "users", "userId": "users", "sessionId": "sessions"}
    return f"{share} % of {whom.get(stickiness) or 'users by ' + stickiness}"


def later(steps: Sequence[tuple[int, Any]], until: Any) -> Markup:
    """Return what follows the first step of a ramp plan. steps: percent and time of the others. Times can be texts."""
    parts = [Markup("{} % on {}").format(percent, as_element(time)) for percent, time in steps]
    texts = [Markup("Then {}").format(Markup(", ").join(parts))] if parts else []
    texts += [Markup("Until {}").format(as_element(until))] if until else []
    return Markup('. <span class="quiet">{}.</span>').format(Markup(". ").join(texts)) if texts else Markup()


def as_element(time: Any) -> Markup:
    """Return a time that the script shows in the zone of the reader."""
    text = str(time or "")
    html = '<time datetime="{}">{} {}</time>' if time else "a day that is missing"
    return Markup(html).format(text, text[:10], f"{text[11:16]} UTC")
