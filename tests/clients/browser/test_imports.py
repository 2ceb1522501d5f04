"""Export and import in Chromium: files are saved, chosen, reported and confirmed, with and without JavaScript."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.demo import ADMIN
from tests.support.service import wait_until
from tests.support.window import Window

pytestmark = pytest.mark.slow
TICK = "document.querySelectorAll('[name=features]')[arguments[0]].click()"
PROJECT = "document.getElementById('project').value = 'gift-registry'"
VALUES = "return [...document.querySelectorAll('[name=features]')].map((box) => box.value)"


def choose(window: Window, file: Path) -> None:
    """Choose a file in the form of the page."""
    field = window.send("POST", "/element", {"using": "css selector", "value": "input[type=file]"})
    window.send("POST", f"/element/{next(iter(field.values()))}/value", {"text": str(file)})


def export(window: Window, folder: Path, menu: str, button: str) -> Any:
    """Click a button in a menu, and return the document of the saved file."""
    file = folder / "features-development.json"
    file.unlink(missing_ok=True)
    window.click("DisclosureTriangleGrouped", menu)
    window.click("button", button)
    # The browser creates it empty.
    wait_until(lambda: file.exists() and file.stat().st_size > 0, "the file was saved")
    return json.loads(file.read_text(encoding="utf-8"))


def names(document: Any) -> list[str]:
    return [flag["name"] for flag in document["features"]]


@pytest.mark.parametrize("scripts", [True, False])
def test_exported_flags_are_imported(window: Window, demo_url: str, tmp_path: Path, scripts: bool) -> None:
    window.cdp("Browser.setDownloadBehavior", behavior="allow", downloadPath=str(tmp_path))
    window.log_in(demo_url, ADMIN)
    window.switch_scripts(scripts)
    window.visit("/projects/checkout")
    flags = window.run(VALUES)
    assert names(export(window, tmp_path, "More actions for Checkout", "Export flags of development")) == sorted(flags)
    for position in (1, 3):
        window.run(TICK, position)
    document = export(window, tmp_path, "Export", "development")
    assert names(document) == [flags[1], flags[3]]

    window.visit("/admin")
    window.click("link", "Import")
    choose(window, tmp_path / "features-development.json")
    window.click("button", "Dry run")
    window.wait_for_text("Nothing to move: everything exists.")
    window.click("link", "Choose another file")
    choose(window, tmp_path / "features-development.json")
    window.run(PROJECT)
    window.expect("409")
    window.click("button", "Dry run")
    window.wait_for_text("Nothing was imported.", flags[1], flags[3])

    file = tmp_path / "<b>new.json"
    prefix = "scripted" if scripts else "plain"
    renamed = json.dumps(document).replace(flags[1], f"{prefix}-one").replace(flags[3], f"{prefix}-two")
    file.write_text(renamed, encoding="utf-8")
    choose(window, file)
    # The form has kept the project.
    window.click("button", "Dry run")
    window.wait_for_text("Dry run of <b>new.json", "Would move 2 flags")
    window.click("button", "Import")
    window.wait_for_text("Import of <b>new.json", "Moved 2 flags")
    window.visit(f"/projects/gift-registry?query={prefix}")
    window.wait_for_text(f"{prefix}-one", f"{prefix}-two")
