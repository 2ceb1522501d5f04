"""Words of addresses that are more, or less, than what stands between two slashes."""

from werkzeug.routing import BaseConverter


# Our choice: the word search is the address of the search, also for who asks with another method.
class NotSearch(BaseConverter):
    """A word of a path other than search."""

    regex = r"(?!search\Z)[^/]+"
    part_isolating = True


class Anything(BaseConverter):
    """The end of an address, whatever is in it: the value of a tag may have slashes, also as its first character."""

    regex = ".+"
    part_isolating = False


# Our choice: names of API tokens, and keys that an operator made up, may have slashes; one at an end, or two together, is still no address.
class Slashed(BaseConverter):
    """The end of an address: one word, or several with a slash between each two."""

    regex = "[^/]+(?:/[^/]+)*"
    part_isolating = False


CONVERTERS: dict[str, type[BaseConverter]] = {"not_search": NotSearch, "anything": Anything, "slashed": Slashed}
