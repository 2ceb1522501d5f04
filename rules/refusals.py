"""The texts of refusals, and callbacks for rules that check several flags and refuse some of them.

Such a rule calls refuse(error, names) with the names of the refused flags. For a view, raise_error() raises the error,
so that the request changes nothing. For an import, Findings.refuse() collects the errors, and the import continues
without these flags.
"""

from collections.abc import Callable, Collection, Sequence
from typing import NamedTuple

from werkzeug.exceptions import Conflict, HTTPException

Refuse = Callable[[HTTPException, Collection[str]], None]


class Refusal(NamedTuple):
    """How the OpenAPI document describes an error. What is omitted is as for other operations (contract/refusals.py).

    message: an example. By default, the description. name: the name of the error in the example.
    """

    description: str = ""
    message: str = ""
    name: str = ""


def name_taken(noun: str) -> Refusal:
    """Return the 409 of an operation that needs an unused name. noun: with its article, such as "a role"."""
    return Refusal("The name is taken.", f"name: {noun} with this name already exists", "NameExistsError")


USER_TAKEN = Refusal(
    "The e-mail address or the user name is taken.", "email: a user with this email already exists", "NameExistsError"
)


def raise_error(error: HTTPException, names: Collection[str]) -> None:
    """Raise the error, unless names is empty."""
    if names:
        raise error


def refuse_used(noun: str, places: Sequence[str | None]) -> None:
    """Raise 409 that names the first five of the places that use a record. None: a place that the caller cannot see."""
    if places:
        named = [place for place in places if place is not None][:5]
        others = len(places) - len(named)
        more = [quantity(others, "more place" if named else "hidden place")] if others else []
        raise Conflict(f"The {noun} is used by {', '.join([*named, *more])}. Remove it there first.")


def quantity(number: int, noun: str) -> str:
    """Return a number and the noun in its right form, such as "1 strategy" or "2 strategies"."""
    if number == 1:
        return f"1 {noun}"
    return f"{number} {noun[:-1]}ies" if noun.endswith("y") else f"{number} {noun}s"


def first_five(names: Sequence[str]) -> str:
    """Return the first five names and the number of the others, for a message."""
    return ", ".join(names[:5]) + (f" and {len(names) - 5} more" if len(names) > 5 else "")
