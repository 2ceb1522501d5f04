"""Requests to a running Unleash server, and what its errors mean."""

import json
import ssl
import sys
import time
from collections.abc import Callable, Collection
from concurrent.futures import ThreadPoolExecutor
from http.client import HTTPException
from pathlib import Path
from typing import Any, TypeVar
from urllib.error import HTTPError
from urllib.parse import quote, urlsplit
from urllib.request import HTTPRedirectHandler, HTTPSHandler, Request, build_opener

from click import ClickException, progressbar

from rules.import_shapes import Unfit, fit

Item = TypeVar("Item")
Result = TypeVar("Result")

TIMEOUT = 30  # seconds without a byte
TRIES = 3
MAX_WAIT = 60  # seconds
MAX_REQUESTS = 4  # at a time
# The statuses of a server that may answer the next try.
BUSY = (429, 502, 503, 504)


class SameServer(HTTPRedirectHandler):
    """Follows redirects of the same server. Other servers must not get the token."""

    def redirect_request(self, req: Request, fp: Any, code: int, msg: str, headers: Any, newurl: str) -> Request | None:
        """Return the next request. Raises ClickException for another server, and for http after https."""
        before, after = urlsplit(req.full_url), urlsplit(newurl)
        if after.netloc.lower() != before.netloc.lower() or after.scheme not in (before.scheme, "https"):
            fp.close()
            server = f"{after.scheme}://{after.netloc}"
            raise ClickException(f"{req.full_url} redirects to {server}. If that is your server, use its address.")
        return super().redirect_request(req, fp, code, msg, headers, newurl)


class Unleash:
    """An Unleash server.

    url: its address, without /api. token_file: the name of the file with the token, for messages.
    """

    def __init__(self, url: str, token: str, token_file: str, ca_file: Path | None = None) -> None:
        self.url = url
        self._token_file = token_file
        self._headers = {"Authorization": token, "Content-Type": "application/json", "Accept": "application/json"}
        context = ssl.create_default_context()
        if ca_file:
            try:
                context.load_verify_locations(ca_file)
            except OSError:
                raise ClickException(f"{ca_file} contains no certificate in PEM format.") from None
        self._opener = build_opener(HTTPSHandler(context=context), SameServer)
        self._resume_at = 0.0

    def get(self, path: str, shape: Any, *, missing: Collection[int] = (), body: Any = None) -> Any:
        """Return the answer to GET, or to POST if there is a body, in the shape that fit() describes.

        Returns None if the status is one of missing. Raises ClickException for all other errors.
        """
        data = None if body is None else json.dumps(body).encode()
        request = Request(self.url + path, data, self._headers)  # noqa: S310
        asked = f"{request.get_method()} {path}"
        status, text = self._send(request)
        if status in missing:
            return None
        if status == 401:
            advice = "Use an admin token of that server."
            raise ClickException(f"{self.url} does not accept the token in {self._token_file}. {advice}")
        if status == 403:
            raise self.no_admin()
        if not 200 <= status < 300:
            raise ClickException(f"{self.url} answered {asked} with status {status}.")
        try:
            return fit(json.loads(text), shape)
        except Unfit as error:
            raise ClickException(f"{self.url} answered {asked} in an unknown form: {error}.") from None
        except (ValueError, RecursionError):
            raise self.no_unleash(f"{asked} returned no JSON") from None

    def each(self, function: Callable[[Item], Result], items: Collection[Item], label: str = "") -> list[Result]:
        """Return the result of the function for each item. MAX_REQUESTS calls run at a time.

        label: what stderr shows, with the progress if it is a terminal.
        """
        pool = ThreadPoolExecutor(MAX_REQUESTS)
        try:
            with progressbar(
                pool.map(function, items), len(items), label, hidden=not label, file=sys.stderr
            ) as results:
                return list(results)
        finally:
            pool.shutdown(cancel_futures=True)

    def no_admin(self) -> ClickException:
        """Return the error for a token that is valid and no admin token."""
        return ClickException(f"The token in {self._token_file} is no admin token.")

    def no_unleash(self, reason: str) -> ClickException:
        """Return the error for a server that is not Unleash."""
        return ClickException(f"{self.url} is not an Unleash server ({reason}). Use its address without a path.")

    def _send(self, request: Request) -> tuple[int, bytes]:
        """Return the status and the body of a response. Tries again if the server is busy or the connection fails."""
        for tries_left in reversed(range(TRIES)):
            # If the server asks one thread to wait, all threads wait.
            time.sleep(max(0.0, self._resume_at - time.monotonic()))
            wait = (TRIES - tries_left) / 2
            try:
                with self._opener.open(request, timeout=TIMEOUT) as response:
                    return response.status, response.read()
            except HTTPError as error:
                error.close()
                if error.code not in BUSY or not tries_left:
                    return error.code, b""
                seconds = error.headers["Retry-After"] or ""
                wait = min(float(seconds), MAX_WAIT) if seconds.isdecimal() else wait
            except (OSError, HTTPException, ValueError) as error:
                reason = getattr(error, "reason", error)
                why = str(getattr(reason, "strerror", None) or reason).rstrip(".")
                is_untrusted = isinstance(reason, ssl.SSLCertVerificationError)
                if is_untrusted:
                    why = f"its certificate is not trusted ({reason.verify_message}). Use --ca-file"
                if is_untrusted or not tries_left:
                    raise ClickException(f"{self.url} cannot be reached: {why}.") from None
            self._resume_at = max(self._resume_at, time.monotonic() + wait)
        raise AssertionError


def path_of(project: str, *names: str) -> str:
    """Return the path of a project, or of what is below it: fixed words and names in turn."""
    return "/api/admin/projects/" + "/".join(quote(name, safe="") for name in (project, *names))
