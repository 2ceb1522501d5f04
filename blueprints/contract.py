"""What an operation takes and gives, said once beside its view: the OpenAPI document is made from it."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from validators import Body, Query

View = TypeVar("View", bound=Callable[..., object])


@dataclass(frozen=True)
class Operation:
    """The contract of one view. record: the JSON Schema of its 200 in tests/records/, None for an empty body."""

    record: str | None
    body: type[Body] | None = None
    query: type[Query] | None = None
    refuses: tuple[int, ...] = ()
    public: bool = False
    deprecated: bool = False


CONTRACTS: dict[Callable[..., object], Operation] = {}


def operation(
    *,
    record: str | None,
    body: type[Body] | None = None,
    query: type[Query] | None = None,
    refuses: tuple[int, ...] = (),
    public: bool = False,
    deprecated: bool = False,
) -> Callable[[View], View]:
    """Declare a view's contract. refuses: its statuses beside 200 and those that every operation can give (413, 500, 503)."""

    def declare(view: View) -> View:
        CONTRACTS[view] = Operation(record, body, query, refuses, public, deprecated)
        return view

    return declare
