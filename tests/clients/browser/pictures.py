"""Write docs/pictures/: python -m tests.clients.browser.pictures. The pictures show the demo."""

import base64
import tempfile
from pathlib import Path

from tests.support.demo import ADMIN, fill
from tests.support.embedded_server import own_server
from tests.support.every_page import values
from tests.support.service import ROOT, Service
from tests.support.window import Window

FOLDER = ROOT / "docs" / "pictures"
WIDTH = 1280
# The pages by the names of their files, and the height of each picture.
PAGES = {
    "projects": ("/", 720),
    "project": ("/projects/checkout", 900),
    "flag": ("/projects/checkout/flags/{flag}", 900),
    "change-request": ("/projects/payments-core/change-requests/{request}", 900),
    "events": ("/events?project=checkout&type=feature-strategy-update", 700),
    "insights": ("/insights", 800),
}


def main() -> None:
    """Start the demo, and write each picture."""
    FOLDER.mkdir(exist_ok=True)
    with own_server() as server, tempfile.TemporaryDirectory(prefix="pictures-") as browser:
        assert fill(server.url).returncode == 0
        with Service(server.url) as service, Window(Path(browser), service.origin) as window:
            window.log_in(server.url, ADMIN)
            window.prefer("light")
            window.cdp("Emulation.setScrollbarsHidden", hidden=True)
            paths = values(server.url)
            for name, (path, height) in PAGES.items():
                window.resize(WIDTH, height)
                window.visit(path.format(**paths))
                picture = window.cdp("Page.captureScreenshot", format="png")["data"]
                (FOLDER / f"{name}.png").write_bytes(base64.b64decode(picture))


if __name__ == "__main__":
    main()
