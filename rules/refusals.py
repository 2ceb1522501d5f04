"""Callbacks for rules that check several flags and refuse some of them.

Such a rule calls refuse(error, names) with the names of the refused flags. For a view, raise_error() raises the error,
so that the request changes nothing. For an import, Findings.refuse() collects the errors, and the import continues
without these flags.
"""

from collections.abc import Callable, Collection

from werkzeug.exceptions import HTTPException

Refuse = Callable[[HTTPException, Collection[str]], None]


def raise_error(error: HTTPException, names: Collection[str]) -> None:
    """Raise the error, unless names is empty."""
    if names:
        raise error


def quantity(number: int, noun: str) -> str:
    """Return a number and the noun in its right form, such as "1 strategy" or "2 strategies"."""
    if number == 1:
        return f"1 {noun}"
    return f"{number} {noun[:-1]}ies" if noun.endswith("y") else f"{number} {noun}s"
