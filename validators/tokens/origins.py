"""Origins of web pages, as browsers send them in the header Origin: scheme://host[:port]."""

import re
from typing import Any

from marshmallow import ValidationError

from validators.fields import Text

# The origin that means every page.
ANY = "*"
# Apps in a web view have schemes of their own, such as capacitor.
ORIGIN = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://([A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])(:\d{1,5})?", re.ASCII)
DEFAULT_PORTS = {"http": ":80", "https": ":443"}


class Origin(Text):
    """An origin, or * for all. It loads as browsers write it: in lower case, without the default port."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(max=300, **kwargs)

    def load_value(self, value: Any) -> str:
        origin = super().load_value(value)
        if origin != ANY and not ORIGIN.fullmatch(origin):
            raise ValidationError("must be an origin such as https://shop.example.org, without a path, or *")
        return written_by_browsers(origin)


def written_by_browsers(origin: str) -> str:
    """Return an origin in lower case, without the default port."""
    origin = origin.lower()
    return origin.removesuffix(DEFAULT_PORTS.get(origin.partition(":")[0], " "))
