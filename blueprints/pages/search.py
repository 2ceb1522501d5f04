"""The search: flags of all projects, projects, segments and pages, as a page or as the results of the palette."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from flask import Blueprint, Response

from blueprints.pages.admin import entries
from blueprints.pages.cells import cell
from blueprints.pages.lists import PAGE_SIZE
from blueprints.pages.page import page, require_reader
from serving.request_data import load_query
from sql import search
from sql.database import connection
from validators import Query
from validators.fields import OneOf, Text
from validators.query_fields import WholeNumber

bp = Blueprint("search", __name__)

# Results of the palette.
MOST_FLAGS = 12
MOST_OTHERS = 4

PAGES = {
    "": "Projects",
    "archived-projects": "Archived projects",
    "events": "Events",
    "insights": "Insights",
    "profile": "Profile and tokens",
}


class SearchText(Text):
    """A text to search for. Every character is possible: no text in the database has a NUL."""

    def load_value(self, value: Any) -> str:
        return super().load_value(value.replace("\0", "\ufffd"))


class SearchQuery(Query):
    """The query parameters of the search."""

    q = SearchText(load_default="")
    part = OneOf(frozenset({"results"}), "results")
    offset = WholeNumber(min=0, load_default=0)


@bp.get("/search")
def find() -> Response:
    """Show the flags, projects, segments and pages that contain all words, or all flags without words."""
    with connection() as conn:
        reader = require_reader(conn)
        query = load_query(SearchQuery)
        is_part = "part" in query
        words = list(dict.fromkeys(query["q"].split()))
        text = search.search(
            conn,
            words,
            PAGES | {f"admin/{entry.path}": entry.title for entry in entries(reader)},
            viewer=reader.actor.viewer,
            user_id=reader.user_id,
            limit=MOST_FLAGS if is_part else PAGE_SIZE,
            offset=query["offset"],
            others=MOST_OTHERS if words else 0,
        )
    found = json.loads(text)
    places = {place["name"]: place for flag in found["flags"] for place in flag["environments"]}
    return page(
        "search_results.html" if is_part else "search.html",
        **found,
        q=query["q"].strip(),
        places=list(places.values()),
        cell=cell,
        matched_text=lambda flag: matched_text(flag, words),
        offset=query["offset"],
        limit=PAGE_SIZE,
    )


def matched_text(flag: Mapping[str, Any], words: Sequence[str]) -> str:
    """Return the end of the description, or the tag, that has the first word that the name lacks."""
    texts = [flag["description"] or "", *(f"{tag['type']}:{tag['value']}" for tag in flag["tags"])]
    for word in [word.lower() for word in words if word.lower() not in flag["name"].lower()]:
        for text in texts:
            at = text.lower().find(word)
            if at >= 0:
                return text if at < 30 else "…" + text[at - 20 :]
    return ""
