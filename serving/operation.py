"""Declare the request and the responses of a view. The OpenAPI document is generated from these declarations."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TypeVar

from rules.refusals import Refusal
from validators import Body, Query

View = TypeVar("View", bound=Callable[..., object])

# The error statuses of every operation: malformed request, body too large, too many requests, internal error, overload.
ALWAYS = (400, 413, 429, 500, 503)


@dataclass(frozen=True, kw_only=True)
class Operation:
    """The contract of a view. As a decorator, it declares the contract of the view below it.

    status: the status of a success. With 201, Location is the path of the new record.
    record: the JSON Schema of a success, in contract/records/. content: the media type of a success without a record.
    Without both, the body is empty.
    body: the schema of the request body. many: the body is an array of such objects.
    deprecated: True, or the path of the operation that replaces this one, with its parameters in braces.
    refuses: the error statuses besides those of ALWAYS. With 412, requests can have an If-Match.
    errors: statuses that this operation describes differently.
    lines: the record of each line, for clients that accept application/x-ndjson.
    etag: a success has an ETag, and is 304 without a body if the client has it already.
    """

    record: str | None = None
    body: type[Body] | None = None
    many: bool = False
    query: type[Query] | None = None
    refuses: tuple[int, ...] = ()
    errors: Mapping[int, Refusal] = field(default_factory=dict)
    public: bool = False
    deprecated: bool | str = False
    content: str | None = None
    status: int = 200
    lines: str | None = None
    etag: bool = False

    def __call__(self, view: View) -> View:
        """Declare this contract for a view, and return the view."""
        CONTRACTS[view] = self
        return view


CONTRACTS: dict[Callable[..., object], Operation] = {}
operation = Operation
