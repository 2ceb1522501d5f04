"""A browser in which users read the pages of a service, as people do: by roles, labels, clicks and keys."""

import re
import secrets
from pathlib import Path
from typing import Any, Self

from rules.access import SESSION_COOKIE
from sql import sessions
from sql.access import digest
from sql.database import connect, value
from tests.support.browser import Browser
from tests.support.service import wait_until

FIND_USER = "SELECT id FROM users WHERE email = %(name)s OR username = %(name)s"
KEYS = {"Control": "\ue009", "Down": "\ue015", "Tab": "\ue004", "Space": " ", "Escape": "\ue00c", "Enter": "\ue007"}
# Makes a node of the Chrome DevTools Protocol an element of WebDriver.
KEEP = "function () { window.found = this; }"
TAKE = "const found = window.found; delete window.found; return found;"
# The key of an element in the JSON of WebDriver.
ELEMENT = "element-6066-11e4-a52e-4f735466cecf"
QUESTION = "return document.querySelector('#question[open] p')?.innerText ?? ''"
# The dialog on top: its text, or null without one.
DIALOG = "return [...document.querySelectorAll('dialog[open]')].at(-1)?.innerText ?? null"
# Fill in the fields of the form that contains a button with this text, and press it.
SEND = """
const [label, fields] = arguments;
const button = [...document.querySelectorAll('main form button')].find((one) => one.textContent.trim() === label);
for (const [name, value] of Object.entries(fields)) button.form.querySelector(`[name="${name}"]`).value = value;
button.form.requestSubmit(button);
"""
TEXT = "return document.querySelector('main')?.innerText ?? ''"
OVERFLOW = "return document.documentElement.scrollWidth - document.documentElement.clientWidth"


def open_session(url: str, name: str) -> str:
    """Create a session of a user in the database of this URL, and return its id. name: their user name or e-mail."""
    session = secrets.token_urlsafe()
    with connect(url) as conn:
        sessions.insert(conn, digest(session), value(conn, FIND_USER, {"name": name}), 48)
    return session


class Window(Browser):
    """A browser with an empty profile, started on entry and closed on exit.

    home: the address of the start page without the last slash. at() sets another one.
    """

    def __init__(self, folder: Path, home: str = "") -> None:
        # nginx has a certificate that only the tests know.
        super().__init__(folder, acceptInsecureCerts=True)
        self.home = home
        self.faults: list[str] = []
        self.expected: list[str] = []

    def at(self, home: str) -> Self:
        """Let the paths of visit() and path() begin at this address. Return the browser."""
        self.home = home
        return self

    # --- The reader ---------------------------------------------------------------------------------------------------

    def log_in(self, url: str, name: str) -> None:
        """Log a user of the database of this URL in by a new session, without the login form."""
        cookie = {"name": SESSION_COOKIE, "value": open_session(url, name), "url": f"{self.home}/", "httpOnly": True}
        self.cdp("Network.setCookie", **cookie)

    def log_out(self) -> None:
        self.cdp("Network.clearBrowserCookies")

    def resize(self, width: int, height: int = 900) -> None:
        self.cdp("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)

    def prefer(self, scheme: str) -> None:
        self.cdp("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])

    def touch(self, on: bool) -> None:
        """Switch between a finger and a mouse."""
        self.cdp("Emulation.setTouchEmulationEnabled", enabled=on)

    def switch_scripts(self, on: bool) -> None:
        self.cdp("Emulation.setScriptExecutionDisabled", value=not on)

    # --- Actions ------------------------------------------------------------------------------------------------------

    def visit(self, path: str = "/") -> None:
        self.collect_faults()
        self.open(self.home + path)

    def find(self, role: str, name: str) -> str:
        """Return the path of the only element with this role and name for further commands, as soon as it exists.

        Role and name are those that screen readers hear.
        """
        nodes: list[int] = []

        def is_there() -> bool:
            nodes[:] = self.nodes(role, name)
            return len(nodes) == 1

        wait_until(is_there, f"the page had one {role} {name!r}: {self.text()}")
        found = self.cdp("DOM.resolveNode", backendNodeId=nodes[0])
        self.cdp("Runtime.callFunctionOn", objectId=found["object"]["objectId"], functionDeclaration=KEEP)
        return f"/element/{next(iter(self.run(TAKE).values()))}"

    def nodes(self, role: str, name: str) -> list[int]:
        root = self.cdp("DOM.getDocument", depth=0)["root"]["nodeId"]
        found = self.cdp("Accessibility.queryAXTree", nodeId=root, role=role, accessibleName=name)["nodes"]
        return [node["backendDOMNodeId"] for node in found if not node["ignored"]]

    def click(self, role: str, name: str) -> None:
        """Click an element in the middle of the window, where no sticky bar covers it."""
        found = self.find(role, name)
        self.run("arguments[0].scrollIntoView({ block: 'center' })", {ELEMENT: found.removeprefix("/element/")})
        self.send("POST", f"{found}/click", {})

    def double_click(self, selector: str) -> None:
        element = self.send("POST", "/element", {"using": "css selector", "value": selector})
        twice = [{"type": kind, "button": 0} for _ in range(2) for kind in ("pointerDown", "pointerUp")]
        move = {"type": "pointerMove", "origin": element, "x": 0, "y": 0}
        self.send("POST", "/actions", {"actions": [{"type": "pointer", "id": "mouse", "actions": [move, *twice]}]})

    def type(self, label: str, text: str, role: str = "textbox") -> None:
        field = self.find(role, label)
        self.send("POST", f"{field}/clear", {})
        self.send("POST", f"{field}/value", {"text": text})

    def press(self, *keys: str) -> None:
        """Press keys one after another: Tab, Space, Escape, Enter or a character."""
        pressed = [{"type": kind, "value": KEYS.get(key, key)} for key in keys for kind in ("keyDown", "keyUp")]
        self.send("POST", "/actions", {"actions": [{"type": "key", "id": "keyboard", "actions": pressed}]})

    def write(self, text: str) -> None:
        """Type a text into the element that has the focus."""
        pressed = [{"type": kind, "value": letter} for letter in text for kind in ("keyDown", "keyUp")]
        self.send("POST", "/actions", {"actions": [{"type": "key", "id": "keyboard", "actions": pressed}]})

    def chord(self, *keys: str) -> None:
        """Press keys together, such as Control and Enter."""
        pressed = [("keyDown", key) for key in keys] + [("keyUp", key) for key in reversed(keys)]
        actions = [{"type": kind, "value": KEYS.get(key, key)} for kind, key in pressed]
        self.send("POST", "/actions", {"actions": [{"type": "key", "id": "keyboard", "actions": actions}]})

    def focus(self, role: str, name: str) -> None:
        """Give the focus to the only element with this role and name."""
        self.run("arguments[0].focus()", {ELEMENT: self.find(role, name).removeprefix("/element/")})

    def accept(self) -> str:
        """Answer the question of a dialog with yes, and return its text."""
        self.wait_for(QUESTION, bool)
        question = self.run(QUESTION)
        self.run("document.querySelector('#question [value=yes]').click()")
        return question

    def go_back(self) -> None:
        self.send("POST", "/back", {})

    # --- What is visible ----------------------------------------------------------------------------------------------

    def text(self) -> str:
        return self.run(TEXT)

    def wait_for_text(self, *texts: str) -> None:
        self.wait_for(TEXT, lambda shown: all(text in shown for text in texts))

    def path(self) -> str:
        """Return the path and the query of the page, without the path of the service."""
        return self.send("GET", "/url").removeprefix(self.home)

    def wait_for_path(self, path: str) -> None:
        wait_until(lambda: self.path() == path, f"the path was {path}")

    def focused(self) -> str:
        return self.run("const e = document.activeElement; return e.ariaLabel || e.id || e.innerText.trim()")

    def overflow(self) -> int:
        return self.run(OVERFLOW)

    # --- Faults -------------------------------------------------------------------------------------------------------

    def expect(self, pattern: str) -> None:
        """Let this test's pages complain about what the pattern matches, for example a refused request."""
        self.expected.append(pattern)

    def collect_faults(self) -> list[str]:
        """Return the errors and warnings on the console that the test did not expect, and violations of the policy."""
        self.faults += self.complaints()
        self.seen["browser"] = []
        return [fault for fault in self.faults if not any(re.search(pattern, fault) for pattern in self.expected)]

    def forget(self) -> None:
        """Forget faults, cookies and settings of the test before."""
        self.complaints()
        self.seen["browser"], self.faults, self.expected = [], [], []
        self.log_out()
        self.switch_scripts(True)
        self.resize(1280)
        self.prefer("light")
        self.touch(on=False)

    # --- Commands -----------------------------------------------------------------------------------------------------

    def send(self, method: str, path: str, body: Any = None) -> Any:
        return self.call(method, f"/session/{self.session}{path}", body)

    def cdp(self, command: str, **parameters: Any) -> Any:
        return self.send("POST", "/goog/cdp/execute", {"cmd": command, "params": parameters})
