"""State files of real Unleash servers, and the documents that these servers gave to applications."""

import json
from pathlib import Path
from typing import Any

FILES = Path(__file__).parent / "state_files"
# By the version of the format.
STATES = {3: "4.19.5", 4: "5.12.8"}


def parsed(name: str) -> Any:
    return json.loads((FILES / name).read_text())
