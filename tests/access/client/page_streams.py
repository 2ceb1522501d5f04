"""A stream for web pages is open to everybody who has a ticket."""

from tests.access import Arguments
from tests.support.world import Caller, World

TABLE = """
    route                 project  alice  eve  victor  olga  max  admin  client  frontend  stranger  trips

    GET /ofrep/v1/stream  -        200    200  200     200   200  200    200     200       200       2
"""


def prepare(world: World, cast: dict[str, Caller]) -> Arguments:  # noqa: ARG001
    """A ticket of the frontend token."""
    (stream,) = cast["frontend"].post("/ofrep/v1/evaluate/flags", json={"context": {}}).json["eventStreams"]
    return Arguments(
        queries={"GET /ofrep/v1/stream": stream["endpoint"]["requestUri"].removeprefix("/ofrep/v1/stream")}
    )
