"""Page long lists, and filter them by a text."""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from serving.request_data import load_query
from validators import Query
from validators.fields import Text
from validators.query_fields import WholeNumber

# Rows of a page.
PAGE_SIZE = 50


class ListQuery(Query):
    """The query parameters of a page with a list."""

    beyond_json_schema: ClassVar[str] = "NUL|surrogates"

    query = Text(load_default="", max=200)
    offset = WholeNumber(min=0, load_default=0)


def list_page(items: Sequence[Mapping[str, Any]], *names: str) -> dict[str, Any]:
    """Return, for search() and pager(), one page of the items that contain the query in one of these properties."""
    query = load_query(ListQuery)
    text = query["query"].strip().lower()
    found = [item for item in items if any(text in (item.get(name) or "").lower() for name in names)]
    return {"query": query["query"], **slice_of(found, query["offset"])}


def slice_of(items: Sequence[Any], offset: int) -> dict[str, Any]:
    """Return the items of one page, and what the macro pager() needs: offset, limit and total.

    After the end of the list, for example when the last item of the last page was deleted, it is the last page.
    """
    offset = min(offset, max(0, len(items) - 1) // PAGE_SIZE * PAGE_SIZE)
    return {"items": items[offset : offset + PAGE_SIZE], "offset": offset, "limit": PAGE_SIZE, "total": len(items)}
