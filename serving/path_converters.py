"""Path parameters: converters for those that contain slashes or exclude a word, and the decoding of %2F."""

from typing import Any
from urllib.parse import unquote_to_bytes, urlsplit

from werkzeug.routing import BaseConverter


# Our choice: /api/admin/events/search is the deprecated search for all methods, never the events of a flag `search`.
class NotSearch(BaseConverter):
    """A path segment other than search."""

    regex = r"(?!search\Z)[^/]+"
    part_isolating = True


class Anything(BaseConverter):
    """The rest of a path: the value of a tag can contain slashes, even as its first character, and line breaks."""

    regex = "(?s:.+)"
    part_isolating = False


# Our choice: API tokens from INIT_ADMIN_API_TOKENS and names of API tokens can contain slashes.
class Slashed(BaseConverter):
    """The rest of a path: segments with single slashes between them, none at the end."""

    regex = "[^/]+(?:/[^/]+)*"
    part_isolating = False


CONVERTERS: dict[str, type[BaseConverter]] = {"not_search": NotSearch, "anything": Anything, "slashed": Slashed}


def keep_encoded_slashes(environ: dict[str, Any]) -> dict[str, Any]:
    """Return a WSGI environ in whose PATH_INFO %2F and %25 are still encoded, so that %2F never separates segments.

    decode_path_parameters() decodes both. RAW_URI in environ is the path and query string as the client sent them.
    """
    raw = environ.get("RAW_URI", "").partition("?")[0]
    if "%2f" not in raw.lower() and "%25" not in raw:
        return environ
    # A request line can contain a whole URL (RFC 9112, 3.2.2).
    path = raw if raw.startswith("/") else urlsplit(raw).path
    kept = path.replace("%25", "%2525").replace("%2F", "%252F").replace("%2f", "%252F")
    return {**environ, "PATH_INFO": unquote_to_bytes(kept.encode("latin-1")).decode("latin-1")}


def decode_path_parameters(_endpoint: str | None, values: dict[str, Any] | None) -> None:
    """Decode %2F and %25 in path parameters, and replace NUL with U+FFFD.

    PostgreSQL refuses NUL. Hardly any stored text contains U+FFFD, so views return 404.
    """
    values = {} if values is None else values
    for name, value in values.items():
        if isinstance(value, str):
            values[name] = value.replace("%2F", "/").replace("%25", "%").replace("\0", "\ufffd")
