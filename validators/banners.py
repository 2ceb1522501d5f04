"""Requests about banners."""

import re
from typing import Any, ClassVar

from marshmallow import ValidationError

from validators import Body
from validators.fields import DESCRIPTION_MAX, TITLE_MAX, Boolean, NotBlank, OneOf, Text
from validators.flags.links import URL, URL_MAX
from validators.returned import ResponseOnly

VARIANTS = frozenset({"info", "warning", "error", "success"})
# Our choice: browsers read //host and /\host as another site.
PATH = re.compile(r"/(?![/\\])[^\s\x00-\x1f\x7f-\x9f]*")


def require_link(link: str | None) -> None:
    """Raise ValidationError unless this is a URL, a path of this service, or the word dialog."""
    if link not in (None, "dialog") and not URL.fullmatch(link) and not PATH.fullmatch(link):
        raise ValidationError(
            "must be dialog, a path such as /events, or a URL with https:// or http://, without spaces"
        )


# Our choice: like other properties that a PUT omits, these get their defaults.
OPTIONAL: dict[str, Any] = {"allow_none": True, "load_default": None}


class Banner(Body):
    """A banner. Omitted properties get their defaults, also in an update."""

    class Meta(Body.Meta):
        include = ResponseOnly("banner", ignored=("id", "createdAt")).in_new()

    example: ClassVar[dict[str, Any]] = {"message": "No changes in production before Monday.", "variant": "warning"}
    beyond_json_schema: ClassVar[str] = "must be dialog"

    message = NotBlank(min=1, max=1000, required=True, description="Plain text.")
    enabled = Boolean(load_default=True, description="Whether the pages show it.")
    variant = OneOf(VARIANTS, "info, warning, error or success", load_default="info", description="Its color and icon.")
    sticky = Boolean(load_default=False, description="Whether it stays visible while the page scrolls.")
    icon = Text(max=TITLE_MAX, description="Kept for the web UI of Unleash.", **OPTIONAL)
    link = Text(max=URL_MAX, validate=require_link, description="A URL, a path here, or the word dialog.", **OPTIONAL)
    linkText = NotBlank(max=TITLE_MAX, allow_none=True, load_default="More info", description="Text of the link.")
    dialogTitle = NotBlank(max=TITLE_MAX, description="Heading of the text of `dialog`.", **OPTIONAL)
    dialog = Text(max=DESCRIPTION_MAX, description="Plain text that a click shows.", **OPTIONAL)
