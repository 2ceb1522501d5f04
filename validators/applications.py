"""Requests about applications."""

from typing import Any, ClassVar

from marshmallow import ValidationError

from validators import Body, Query
from validators.events import QUERY_MAX
from validators.fields import DESCRIPTION_MAX, TITLE_MAX, OneOf, Text
from validators.query_fields import WholeNumber
from validators.returned import UNLEASH_ONLY, ResponseOnly

APPLICATION = ResponseOnly(
    "application applicationOverview",
    ignored=("strategies", "usage", "createdAt", *UNLEASH_ONLY["application"]),
    read_only={"appName": ""},
)


class WebAddress(Text):
    """A URL that begins with http:// or https://, because pages show it as a link. An empty text means none."""

    def load_value(self, value: Any) -> Any:
        value = super().load_value(value)
        if value and not value.lower().startswith(("http://", "https://")):
            raise ValidationError("must begin with http:// or https://")
        return value or None


class UpdateApplication(Body):
    """What people say about an application. Omitted properties keep their values."""

    class Meta(Body.Meta):
        include = APPLICATION.in_change()

    example: ClassVar[dict[str, Any]] = {
        "description": "The web shop.",
        "url": "https://wiki.example.org/shop",
        "icon": "shopping_cart",
        "color": "#2e7d32",
    }
    beyond_json_schema: ClassVar[str] = "must begin with http"

    description = Text(max=DESCRIPTION_MAX, allow_none=True, description="Description.")
    url = WebAddress(max=TITLE_MAX, allow_none=True, description="Page about the application.")
    icon = Text(max=TITLE_MAX, allow_none=True, description="Name of an icon.")
    color = Text(max=TITLE_MAX, allow_none=True, description="Color, such as `#2e7d32`.")


class ApplicationSearch(Query):
    """Query parameters of the list of applications."""

    query = Text(max=QUERY_MAX, load_default="", description="Text in the name; ignores case.")
    # Our choice: the name is the only sort key. Any other is no error.
    sortBy = Text(load_default="appName", description="Sort key: always appName.")
    sortOrder = OneOf(frozenset({"asc", "desc"}), "asc or desc", load_default="asc", description="Sort order.")
    offset = WholeNumber(min=0, load_default=0, description="Number of applications to skip.")
    limit = WholeNumber(min=1, max=1000, load_default=1000, description="Maximum number of applications to return.")
