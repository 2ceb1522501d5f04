"""Prints the dependencies that setup.cfg declares, one a line; with the argument dev, those for development too.

For `make pins`.
"""

import configparser
import sys
from pathlib import Path


def declared(*extras: str) -> list[str]:
    """The requirements of setup.cfg, with those of the named extras."""
    config = configparser.ConfigParser()
    config.read(Path(__file__).parents[2] / "setup.cfg", encoding="utf-8")
    texts = [config["options"]["install_requires"], *(config["options.extras_require"][extra] for extra in extras)]
    return [line for text in texts for line in text.split()]


if __name__ == "__main__":
    print(*declared(*sys.argv[1:]), sep="\n")
