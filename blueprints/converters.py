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


CONVERTERS: dict[str, type[BaseConverter]] = {"not_search": NotSearch, "anything": Anything}
