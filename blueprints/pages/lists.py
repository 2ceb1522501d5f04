"""Page long lists, and filter them by a text."""

from collections.abc import Sequence
from typing import Any, ClassVar

from validators import Query
from validators.fields import Text, WholeNumber

# Rows of a page.
PAGE_SIZE = 50


class ListQuery(Query):
    """The query parameters of a page with a list."""

    beyond_json_schema: ClassVar[str] = "NUL|surrogates"

    query = Text(load_default="", max=200)
    offset = WholeNumber(min=0, load_default=0)


def slice_of(items: Sequence[Any], offset: int) -> dict[str, Any]:
    """Return the items of one page, and what the macro pager() needs: offset, limit and total."""
    return {"items": items[offset : offset + PAGE_SIZE], "offset": offset, "limit": PAGE_SIZE, "total": len(items)}
