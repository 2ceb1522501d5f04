"""Read the files that are imported. They may be compressed."""

import gzip
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

from werkzeug.exceptions import BadRequest

from serving.body_limits import IMPORT_BYTES
from validators import parse


def read_document(file: Any, name: str, parser: Callable[[bytes, str], Any] = parse) -> Any:
    """Return the parsed content of a binary file. Raise 400 if it is too large, or as the parser."""
    raw = file.read(IMPORT_BYTES + 1)
    if len(raw) > IMPORT_BYTES:
        raise BadRequest(f"{name} is larger than {IMPORT_BYTES} bytes.")
    return parser(raw, name)


def open_document(path: Path, parser: Callable[[bytes, str], Any] = parse) -> Any:
    """Return the parsed content of the file with this path. Raise 400 also if it cannot be read."""
    try:
        with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as file:
            return read_document(file, str(path), parser)
    except (OSError, EOFError, zlib.error) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise BadRequest(f"{path} cannot be read: {reason.rstrip('.')}.") from None
