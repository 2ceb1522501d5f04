"""Read the values of settings. Each function returns the value of a text, or raises ValueError with what is right."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from ipaddress import ip_address, ip_network
from pathlib import Path
from typing import Any
from urllib.parse import SplitResult, urlsplit

import psycopg
from marshmallow import ValidationError
from psycopg.conninfo import conninfo_to_dict

from rules.addresses import Network
from validators.fields import Name
from validators.people.users import PASSWORD_MAX_BYTES
from validators.tokens.api_tokens import Secret
from validators.tokens.origins import Origin


@dataclass(frozen=True)
class Setting:
    """An environment variable, with its default as text. secret: <name>_FILE can name a file with it."""

    name: str
    read: Callable[[str], Any]
    default: str | None
    meaning: str
    secret: bool = False


def number(low: int, high: int) -> Callable[[str], int]:
    """Return a function that reads a whole number from low to high."""

    def read(text: str) -> int:
        if not re.fullmatch(r"\d{1,9}", text, re.ASCII) or not low <= int(text) <= high:
            raise ValueError(f"must be a whole number from {low} to {high}")
        return int(text)

    return read


# Stricter than libpq. If a password contains / or @, libpq can mistake a part of it for a host or database, and errors
# would contain it.
HOST_AND_PORT = r"(\[[0-9A-Fa-f:.]+\]|[^\s@/?:,\[\]]*)(:\d{1,5})?"
DATABASE_URL = re.compile(
    rf"postgres(ql)?://([^\s@/]*@)?{HOST_AND_PORT}(,{HOST_AND_PORT})*(/[^\s@/?]*)?(?P<query>\?\S*)?", re.ASCII
)
DATABASE_URL_FORM = (
    "must look like postgresql://user:password@host:5432/database, with special characters percent-encoded"
)


def database_url(text: str) -> str:
    """Read a PostgreSQL URL."""
    match = DATABASE_URL.fullmatch(text)
    if not match or re.search(r"%(?![0-9A-Fa-f]{2})", text):
        raise ValueError(DATABASE_URL_FORM)
    try:
        conninfo_to_dict(text)
    except (psycopg.ProgrammingError, UnicodeDecodeError):
        # The message of libpq is not shown: it can quote a part of the password. psycopg reads only UTF-8.
        raise ValueError(unknown_parameter(match["query"] or "") or DATABASE_URL_FORM) from None
    return text


def unknown_parameter(query: str) -> str | None:
    """Return a message about the first parameter unknown to libpq, or None. It never contains a secret."""
    # A password that contains an unencoded / or ? can be taken for a query.
    if "@" in query:
        return None
    is_secret = {option.keyword.decode(): option.dispchar == b"*" for option in psycopg.pq.Conninfo.get_defaults()}
    # libpq takes ssl=true as sslmode=require.
    is_secret["ssl"] = False
    for parameter in query[1:].split("&"):
        name = parameter.partition("=")[0]
        if name not in is_secret and re.fullmatch(r"\w+", name, re.ASCII):
            return f"must not have the parameter {name}: PostgreSQL has no such connection parameter"
        # What follows can be a part of this parameter, if that contains an unencoded &.
        if is_secret.get(name, True):
            return None
    return None


def folder(text: str) -> Path:
    """Read the path of a folder."""
    if re.search(r"[\x00-\x1f\x7f]", text):
        raise ValueError("must be a path without control characters")
    return Path(text)


BASE_URL = re.compile(r"https?://([A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])(:\d{1,5})?(/[A-Za-z0-9._~-]+)*/?", re.ASCII)


def base_url(text: str) -> str:
    """Read the URL of a site, without a slash at its end."""
    if not BASE_URL.fullmatch(text) or not is_port(urlsplit(text)):
        raise ValueError("must look like https://flags.example.org or https://example.org/flags")
    text = text.rstrip("/")
    # Our choice: with such a path, /api/admin/projects could be the page /admin/projects or the path of the API.
    if urlsplit(text).path.endswith("/api"):
        raise ValueError("must not end in /api, because the paths of the API begin with /api themselves")
    return text


def is_port(parts: SplitResult) -> bool:
    """Return whether the port of a URL is valid or missing."""
    try:
        return parts.port != 0
    except ValueError:
        return False


# A name or an IPv4 address, or an IPv6 address, which has at least two colons.
HOST = re.compile(r"[A-Za-z0-9_-]{1,63}(\.[A-Za-z0-9_-]{1,63})*\.?|[0-9A-Fa-f.]*(:[0-9A-Fa-f.]*){2,}")


def host(text: str) -> str:
    """Read a host name or address."""
    if not HOST.fullmatch(text):
        raise ValueError("must be a host name or an address without a port, such as 127.0.0.1 or ::1")
    return text


def is_local(host: str) -> bool:
    """Return whether a host is this machine."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")


def one_of(*words: str) -> Callable[[str], str]:
    """Return a function that reads one of these words."""

    def read(text: str) -> str:
        if text not in words:
            raise ValueError(f"must be {', '.join(words[:-1])} or {words[-1]}")
        return text

    return read


def switch(text: str) -> bool:
    """Read on or off."""
    if text not in ("on", "off"):
        raise ValueError("must be on or off")
    return text == "on"


def username(text: str) -> str:
    """Read a user name."""
    if "@" in text or text != text.strip() or len(text) > 255:
        raise ValueError("must be a user name of at most 255 characters, without @ and leading or trailing spaces")
    return text


def password(text: str) -> str:
    """Read a password. load() checks its minimum length, which is another setting."""
    if len(text.encode()) > PASSWORD_MAX_BYTES:
        raise ValueError(f"must be at most {PASSWORD_MAX_BYTES} bytes long")
    return text


def api_tokens(text: str) -> tuple[str, ...]:
    """Read API tokens, separated by commas."""
    try:
        tokens = tuple(Secret().deserialize(token.strip()) for token in text.split(","))
    except ValidationError:
        raise ValueError(
            "must be tokens of 16 to 255 printable characters without spaces, separated by commas"
        ) from None
    if len(set(tokens)) < len(tokens):
        raise ValueError("must not contain a token twice")
    return tokens


# In this form, Unleash finds the project and the environment of a token. [] would be a list of projects.
SCOPED_TOKEN = re.compile(r"(\*|[^\s:\[\]*]+):[^\s:.*]+\.\S+")


def scoped_tokens(text: str) -> tuple[str, ...]:
    """Read tokens project:environment.secret, separated by commas or lines. Messages have positions, and no secrets."""
    tokens = [token for token in map(str.strip, re.split(r"[,\n]", text)) if token]
    for position, token in enumerate(tokens, start=1):
        if not SCOPED_TOKEN.fullmatch(token) or not (16 <= len(token) <= 255 and token.isprintable()):
            form = "must be tokens project:environment.secret of 16 to 255 characters, for one project or * and for one"
            raise ValueError(f"{form} environment, separated by commas or lines; token {position} is not")
    return tuple(tokens)


def identifier(text: str) -> str:
    """Read the name of a project or an environment."""
    try:
        return Name().load_value(text)
    except ValidationError as error:
        raise ValueError(error.messages[0]) from None


def origins(text: str) -> tuple[str, ...]:
    """Read origins of web pages, separated by commas."""
    try:
        return tuple(Origin().deserialize(origin.strip()) for origin in text.split(","))
    except ValidationError:
        raise ValueError("must be origins such as https://shop.example.org, separated by commas, or *") from None


def networks(text: str) -> tuple[Network, ...]:
    """Read networks, separated by commas."""
    try:
        return tuple(ip_network(network.strip()) for network in text.split(",") if text)
    except ValueError:
        raise ValueError("must be networks such as 10.1.0.0/16, separated by commas") from None


def bearer_token(text: str) -> str:
    """Read a bearer token."""
    if not re.fullmatch(r"[!-~]{16,255}", text):
        raise ValueError("must be 16 to 255 ASCII characters without spaces")
    return text


def ascii_text(text: str) -> str:
    """Read a name or a secret for another server, which is ASCII."""
    if not (text.isascii() and text.isprintable() and len(text) <= 255):
        raise ValueError("must be at most 255 printable ASCII characters")
    return text
