"""Two environments side by side: what one flag has in them, and the flags of a project that differ."""

import json
from collections.abc import Mapping, Sequence
from itertools import zip_longest
from typing import Any

from flask import Blueprint, Response, abort
from markupsafe import Markup

from blueprints.pages.flag_text import texts_of
from blueprints.pages.lists import ListQuery, slice_of
from blueprints.pages.page import page, require_reader
from blueprints.pages.project import read_project, read_tabs
from rules.environment_copies import PERMISSIONS
from rules.flags import NO_FLAG
from serving.etags import content_version
from serving.request_data import load_query
from sql.catalog import segments
from sql.database import connection
from sql.flags import comparison, variants
from sql.flags.strategies import list_by_flag
from sql.projects import environments
from validators.fields import Text
from validators.flags.strategies import CHANGEABLE

bp = Blueprint("compare", __name__)

Json = dict[str, Any]
# The class and the text of the state of a flag.
STATES = {True: ("good", "on"), False: ("off", "off")}


class ComparisonQuery(ListQuery):
    """The query parameters of a comparison."""

    left = Text(load_default="", max=100)
    right = Text(load_default="", max=100)


@bp.get("/projects/<project_id>/compare")
@bp.get("/projects/<project_id>/flags/<feature_name>/compare")
def compare(project_id: str, feature_name: str | None = None) -> Response:
    """Show the flags of a project that differ in two environments, or what one flag has in them.

    By default, the last two environments are compared. Production is the last one.
    """
    with connection() as conn:
        reader = require_reader(conn, project=project_id)
        query = load_query(ComparisonQuery)
        project = (read_project if feature_name else read_tabs)(conn, project_id, reader)
        linked = json.loads(environments.list_all(conn, project_id))["environments"]
        by_name = {one["name"]: one for one in sorted(linked, key=lambda one: one["type"] == "production")}
        if len(by_name) < 2:
            abort(404, "The project has fewer than two environments, so there is nothing to compare.")
        right = query["right"] if query["right"] in by_name else [*by_name][-1]
        others = [one for one in by_name if one != right]
        sides = (query["left"] if query["left"] in others else others[-1], right)
        found = comparison.list_flags(conn, project_id, *sides, feature_name)
        if feature_name and not found:
            abort(404, NO_FLAG)
        part = slice_of(found, query["offset"])
        ids = [flag["id"] for flag in part["items"]]
        by_side = [list_by_flag(conn, ids, side) for side in sides]
        own = iter(variants.list_each(conn, [{"id": id, "environment": side} for id in ids for side in sides]))
        used = any(one["segments"] for side in by_side for strategies in side.values() for one in strategies)
        known = json.loads(segments.list_all(conn, reader.actor.viewer))["segments"] if used else []
    names = {segment["id"]: segment["name"] for segment in known}
    flags = [
        compared(flag, sides, [side[flag["id"]] for side in by_side], [next(own), next(own)], names)
        for flag in part["items"]
    ]
    # The parts that the reader may copy to the left, and to the right.
    may = [
        [
            part
            for part, needed in PERMISSIONS.items()
            if all(reader.may(one, project=project_id, environment=side) for one in needed)
        ]
        for side in sides
    ]
    shown = {"project": project, "environments": by_name, "sides": sides, "may": may, "name": feature_name}
    return page("compare.html", **shown, **part, flags=flags)


def compared(
    flag: Mapping[str, Any],
    sides: Sequence[str],
    strategies: Sequence[Sequence[Json]],
    own: Sequence[Any],
    names: Mapping[int, str],
) -> Json:
    """Return the name of a flag, its version, its rows, its texts and the parts that differ.

    rows: the part, a title, the texts of both sides, and what differs. texts: those of both sides by part, and of all
    that differs. strategies, own: the strategies and the variants of the flag on both sides. names: those of segments.
    """
    states = [Markup('<span class="state {}">{}</span>').format(*STATES[is_on]) for is_on in flag["enabled"]]
    rows = [("enabled", "State", states, ["state"] if states[0] != states[1] else [])]
    said = zip_longest(*(map(text_of, side, texts_of(side, names)) for side in strategies), fillvalue=Markup())
    for number, (left, right) in enumerate(zip_longest(*strategies), 1):
        differs = [key for key in CHANGEABLE if not (left and right) or left[key] != right[key]]
        rows.append(("strategies", f"Strategy {number}", list(next(said)), differs))
    if any(own):
        rows.append(("variants", "Flag's own variants", [*map(variants_text, own)], ["details"] * (own[0] != own[1])))
    differing = [part for part in PERMISSIONS if any(row[0] == part and row[3] for row in rows)]
    texts = {
        part: [Markup("; or ").join(row[2][side] for row in rows if row[0] == part and row[2][side]) for side in (0, 1)]
        for part in PERMISSIONS
    }
    # A flag that is off says so, because its strategies say for whom it would be on.
    everything = [differing if is_on else dict.fromkeys(["enabled", *differing]) for is_on in flag["enabled"]]
    texts["everything"] = [
        Markup(" · ").join(texts[part][side] or f"no {part}" for part in everything[side]) for side in (0, 1)
    ]
    shown = {side: list(found) for side, *found in zip(sides, flag["enabled"], strategies, own, strict=True)}
    seen = content_version(shown, *sorted(sides))
    return {"name": flag["name"], "seen": seen, "rows": rows, "texts": texts, "differing": differing}


def text_of(strategy: Json, said: Markup) -> Markup:
    """Return for whom a strategy is on, with its variants."""
    text = said + (", with " if strategy["variants"] else "") + variants_text(strategy["variants"])
    return Markup('<span class="quiet">Paused: {}</span>').format(text) if strategy["disabled"] else text


def variants_text(variants: Sequence[Json]) -> Markup:
    """Return variants with their shares and payloads."""
    values = [f" ({one['payload']['value']})" if "payload" in one else "" for one in variants]
    texts = [f"{one['name']} {one['weight'] / 10:g} %{value}" for one, value in zip(variants, values, strict=True)]
    return Markup(", ").join(texts)
