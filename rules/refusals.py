"""How a rule that takes several flags refuses some of them.

A rule calls refuse(error, names) for the flags that it refuses. A view leaves that to at_once(), which raises the
error: all or nothing. An import collects the errors with the names of the flags, and leaves these flags out of what
follows.
"""

from collections.abc import Callable, Collection

from werkzeug.exceptions import HTTPException

Refuse = Callable[[HTTPException, Collection[str]], None]


def at_once(error: HTTPException, names: Collection[str]) -> None:
    """Raise the error if it is about any flag."""
    if names:
        raise error
