"""Read the files that are imported. They may be compressed."""

import gzip
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
from werkzeug.exceptions import BadRequest

from rules.import_contents import Contents
from rules.import_files import read_file
from serving.body_limits import IMPORT_BYTES
from validators import parse


def open_file(
    path: Path, project: str | None, environment: str | None, parser: Callable[[bytes, str], Any] = parse
) -> Contents:
    """Return the contents of a file, or of stdin for -. Raise 400 if it cannot be read, or as read_file()."""
    name = "stdin" if str(path) == "-" else str(path)
    try:
        with gzip.open(path) if path.suffix == ".gz" else click.open_file(str(path), "rb") as file:
            raw = file.read(IMPORT_BYTES + 1)
    except (OSError, EOFError, zlib.error) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise BadRequest(f"{name} cannot be read: {reason.rstrip('.')}.") from None
    if len(raw) > IMPORT_BYTES:
        raise BadRequest(f"{name} is larger than {IMPORT_BYTES} bytes.")
    return read_file(parser(raw, name), name, project, environment)
