"""Requests about links of a flag to other pages."""

import re
from typing import Any, ClassVar

from marshmallow import ValidationError

from validators import Body
from validators.fields import TITLE_MAX, Text
from validators.returned import ResponseOnly

# Our choice: the same maximum as Unleash.
MAX_LINKS = 10
URL_MAX = 2000
# Our choice: pages show the addresses as links, so other schemes are refused, such as javascript:.
URL = re.compile(r"[Hh][Tt][Tt][Pp][Ss]?://[^\s/?#\x00-\x1f\x7f-\x9f][^\s\x00-\x1f\x7f-\x9f]*")


class WebAddress(Text):
    """A URL that begins with http:// or https://."""

    def load_value(self, value: Any) -> str:
        value = super().load_value(value)
        if not URL.fullmatch(value):
            raise ValidationError("must be a URL that begins with https:// or http://, without spaces")
        return value


class FlagLink(Body):
    """A link to a page about the flag, such as its issue or its dashboard."""

    class Meta(Body.Meta):
        include = ResponseOnly("flagLink", ignored=("id", "feature")).in_new()

    example: ClassVar[dict[str, Any]] = {"url": "https://issues.example.com/SHOP-42", "title": "Issue"}

    url = WebAddress(max=URL_MAX, required=True, description="URL of the page.")
    title = Text(max=TITLE_MAX, allow_none=True, description="Title of the link.")
