"""Check the open page of a window with axe-core, which `make sdks` installs."""

from functools import cache

from tests.support.sdk import NODE_MODULES, require
from tests.support.window import Window

WCAG = ("wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa")
# Hidden parts are not checked, so show what readers can open: details, and dialogs below each other.
OPEN = """
for (const details of document.querySelectorAll('details')) details.open = true;
for (const dialog of document.querySelectorAll('dialog:not([open])')) {
    dialog.style.position = 'static';
    dialog.show();
}
"""
RUN = """
const result = await axe.run(document, { runOnly: { type, values }, resultTypes: ['violations'], preload: false });
return result.violations.flatMap((violation) =>
    violation.nodes.map((node) => `${violation.id}: ${node.target}: ${node.failureSummary}`));
"""


@cache
def script() -> str:
    """Return the source of axe-core. Skip the test if it is not installed; in CI, fail."""
    require(".mjs")
    return (NODE_MODULES / "axe-core" / "axe.min.js").read_text(encoding="utf-8")


def inject(window: Window) -> None:
    """Open all details and dialogs of the page, and load axe-core. The policy of the page allows what drivers do."""
    window.run(f"{OPEN}{script()}\nwindow.axe = axe;")


def violations(window: Window, *rules: str) -> list[str]:
    """Return the violations of these rules on the page; without rules, those of WCAG A and AA."""
    return window.run(
        f"return (async (type, values) => {{{RUN}}})(...arguments)", "rule" if rules else "tag", rules or WCAG
    )
