"""What an operation takes and gives, said once beside its view: the OpenAPI document is made from it."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from validators import Body, Query

View = TypeVar("View", bound=Callable[..., object])

# What every operation can answer: no valid HTTP, too large a body, too many requests of the caller at a time, a bug, and overload.
ALWAYS = (400, 413, 429, 500, 503)


@dataclass(frozen=True)
class Operation:
    """The contract of one view; the fields are those of operation()."""

    record: str | None
    body: type[Body] | None = None
    many: bool = False
    query: type[Query] | None = None
    refuses: tuple[int, ...] = ()
    public: bool = False
    deprecated: bool = False
    content: str | None = None
    status: int = 200
    lines: str | None = None


CONTRACTS: dict[Callable[..., object], Operation] = {}


def operation(
    *,
    record: str | None = None,
    body: type[Body] | None = None,
    many: bool = False,
    query: type[Query] | None = None,
    refuses: tuple[int, ...] = (),
    public: bool = False,
    deprecated: bool = False,
    content: str | None = None,
    status: int = 200,
    lines: str | None = None,
) -> Callable[[View], View]:
    """Declare a view's contract.

    status: that of its success; a 201 names in Location where the new record is. record: the JSON Schema of the success in tests/records/.
    content: the media type of a success that no record describes. With neither, the body is empty. many: the request's body is an array
    of what the schema describes. refuses: its statuses beside the success and those of ALWAYS. lines: the record of each line of its
    success for who accepts application/x-ndjson.
    """

    def declare(view: View) -> View:
        CONTRACTS[view] = Operation(record, body, many, query, refuses, public, deprecated, content, status, lines)
        return view

    return declare
