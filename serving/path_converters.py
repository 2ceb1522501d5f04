"""Converters for path parameters that can contain slashes, or exclude a word."""

from werkzeug.routing import BaseConverter


# Our choice: the path search belongs to the search, for all methods.
class NotSearch(BaseConverter):
    """A path segment other than search."""

    regex = r"(?!search\Z)[^/]+"
    part_isolating = True


class Anything(BaseConverter):
    """The rest of a path: the value of a tag can contain slashes, even as its first character."""

    regex = ".+"
    part_isolating = False


# Our choice: API tokens from INIT_ADMIN_API_TOKENS and names of API tokens can contain slashes.
class Slashed(BaseConverter):
    """The rest of a path: segments with single slashes between them, none at the end."""

    regex = "[^/]+(?:/[^/]+)*"
    part_isolating = False


CONVERTERS: dict[str, type[BaseConverter]] = {"not_search": NotSearch, "anything": Anything, "slashed": Slashed}
