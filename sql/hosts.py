"""The servers that one address names, and with which of them one begins."""

import os

from psycopg.conninfo import conninfo_to_dict

# What says where a server is, and the variables that say it where an address does not; the port where nothing does.
PLACE = {"host": "PGHOST", "hostaddr": "PGHOSTADDR", "port": "PGPORT"}
DEFAULT_PORT = "5432"


def beginning_with(host: str, port: int, url: str) -> dict[str, str]:
    """The hosts that an address names, and what goes with them, in turn from this one on; from the first on where it is not named.

    What it does not say may stand in the environment, and counts there as if it did. Nothing where a service file may say it.
    """
    told = conninfo_to_dict(url)
    if "service" in told or "PGSERVICE" in os.environ:
        return {}
    said = {name: str(told.get(name) or os.environ.get(variable) or "").split(",") for name, variable in PLACE.items()}
    hosts = said["host"] if said["host"] != [""] else said["hostaddr"]
    ports = said["port"] * len(hosts) if len(said["port"]) == 1 else said["port"]
    places = [(name, number or DEFAULT_PORT) for name, number in zip(hosts, ports, strict=False)]
    turn = places.index((host, str(port))) if (host, str(port)) in places else 0
    return {name: ",".join(words[turn:] + words[:turn]) for name, words in said.items() if words != [""]}
