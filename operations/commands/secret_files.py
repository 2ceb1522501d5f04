"""Read a password or a token from a file, so that it is no argument: process lists show arguments."""

from typing import TextIO

import click

# The number of characters to read. Valid secrets are shorter.
MAX_CHARACTERS = 1000


def read_secret(file: TextIO, noun: str) -> str:
    """Return the only line of the file. Raise ClickException if it has several. noun: such as "password"."""
    try:
        text = file.read(MAX_CHARACTERS)
    except UnicodeDecodeError:
        raise click.ClickException(f"The {noun} file must be UTF-8 text.") from None
    text = text.removesuffix("\n").removesuffix("\r")
    if "\n" in text:
        raise click.ClickException(f"The {noun} file must have exactly one line.")
    return text
