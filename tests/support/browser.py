"""Drive Debian's chromium with the WebDriver protocol and the standard library.

The browser can reach only this machine.
"""

import json
import os
import re
import shutil
import subprocess
import time
import urllib.request
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any

FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    # Names of other machines are not even looked up.
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost",
    "--window-size=1400,1000",
)


def missing_programs() -> str:
    return " and ".join(name for name in ("chromium", "chromedriver") if not shutil.which(name))


class Browser:
    def __init__(self, folder: Path, **capabilities: Any) -> None:
        self.folder = folder
        self.capabilities = capabilities
        self.seen: dict[str, list[dict[str, Any]]] = {"browser": [], "performance": []}

    def __enter__(self) -> "Browser":
        # Pages show times in the zone of the reader, so it must differ from UTC.
        self.driver = subprocess.Popen(
            ["chromedriver", "--port=0"],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env=os.environ | {"TZ": "America/New_York"},
        )
        try:
            assert self.driver.stdout
            started = next(
                found for line in self.driver.stdout if (found := re.search(r"successfully on port (\d+)", line))
            )
            self.address = f"http://127.0.0.1:{started[1]}"
            options = {
                "binary": shutil.which("chromium"),
                "args": [*FLAGS, f"--user-data-dir={self.folder / 'profile'}"],
            }
            logs = {"browser": "ALL", "performance": "ALL"}
            wanted = {"browserName": "chrome", "goog:chromeOptions": options, "goog:loggingPrefs": logs}
            wanted |= self.capabilities
            self.session = self.call("POST", "/session", {"capabilities": {"alwaysMatch": wanted}})["sessionId"]
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            self.call("DELETE", f"/session/{self.session}")
        finally:
            self.stop()

    def stop(self) -> None:
        """Stop the driver, which stops the browser."""
        self.driver.terminate()
        self.driver.wait(timeout=30)
        if self.driver.stdout:
            self.driver.stdout.close()

    def call(self, method: str, path: str, body: Any = None) -> Any:
        """Send a command to the driver, and return the value of its response."""
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.address + path, data, {"Content-Type": "application/json"}, method=method)
        with urllib.request.urlopen(request, timeout=60) as answer:
            return json.load(answer)["value"]

    def open(self, url: str) -> None:
        """Open a page, wait until it is loaded, and discard the logs of earlier pages."""
        for kind in self.seen:
            self.entries(kind)
            self.seen[kind] = []
        self.call("POST", f"/session/{self.session}/url", {"url": url})

    def run(self, script: str, *arguments: Any) -> Any:
        """Run a script in the page, and return its result. If that is a promise, wait for it."""
        return self.call("POST", f"/session/{self.session}/execute/sync", {"script": script, "args": arguments})

    def wait_for(self, script: str, enough: Callable[[Any], bool], *arguments: Any) -> Any:
        """Run a script until enough(result) is true, and return the result. Raise AssertionError after 20 seconds."""
        deadline = time.monotonic() + 20
        while not enough(found := self.run(script, *arguments)):
            if time.monotonic() > deadline:
                raise AssertionError(f"the page did not get there: {found}; {self.complaints()}")
            time.sleep(0.05)
        return found

    def entries(self, kind: str) -> list[dict[str, Any]]:
        """Return the entries of one of the browser's logs since the page was opened."""
        self.seen[kind] += self.call("POST", f"/session/{self.session}/se/log", {"type": kind})
        return self.seen[kind]

    def addresses(self) -> list[str]:
        """Return every URL that was requested, without the browser's own pages (chrome://)."""
        messages = [json.loads(entry["message"])["message"] for entry in self.entries("performance")]
        requests = [message["params"] for message in messages if message["method"] == "Network.requestWillBeSent"]
        sockets = [message["params"]["url"] for message in messages if message["method"] == "Network.webSocketCreated"]
        requested = [params["request"]["url"] for params in requests] + sockets
        return [address for address in requested if not address.startswith("chrome://")]

    def complaints(self) -> list[str]:
        """Return the warnings and errors on the console: violations of the policy, failed scripts, error statuses."""
        return [entry["message"] for entry in self.entries("browser") if entry["level"] in ("WARNING", "SEVERE")]
