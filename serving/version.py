"""The version of this service, as in setup.cfg."""

from configparser import ConfigParser

from serving.settings import PROJECT


def read() -> str:
    """Return the version, such as 0.2.0."""
    config = ConfigParser()
    config.read(PROJECT / "setup.cfg", encoding="utf-8")
    return config["metadata"]["version"]


# Read at the start: a running service keeps its version when the files are upgraded.
VERSION = read()
