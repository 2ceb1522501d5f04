"""pages.md describes the attributes that console.js and console.css read, and templates use no others."""

import re

from tests.support.service import ROOT

PAGES = ROOT / "blueprints" / "pages"
# Only the stylesheet reads these.
STYLED = {"label", "theme"}


def read_by_the_script() -> set[str]:
    """Return the names after data- of the attributes that console.js reads."""
    script = (PAGES / "static" / "console.js").read_text(encoding="utf-8")
    code = re.sub(r"^\s*//.*$", "", script, flags=re.MULTILINE)
    names = set(re.findall(r"dataset\.(\w+)", code)) | set(re.findall(r'"(\w+)" in \w+(?:\.\w+)?\.dataset', code))
    # const { said = "Saved.", send: method, show } = form.dataset;
    for group in re.findall(r"const \{([^{}]+)\} = [^;\n]*\.dataset(?: \})?;", code):
        names |= set(re.findall(r"(?:^|,)\s*(\w+)", group))
    kebab = {re.sub(r"[A-Z]", lambda letter: f"-{letter[0].lower()}", name) for name in names}
    return kebab | set(re.findall(r"\[data-([a-z-]+)", code))


def test_the_page_describes_what_the_script_reads() -> None:
    page = (ROOT / "docs" / "development" / "pages.md").read_text(encoding="utf-8")
    assert set(re.findall(r"data-([a-z-]+)", page)) == read_by_the_script() | STYLED


def test_templates_use_what_the_script_reads() -> None:
    templates = [path.read_text(encoding="utf-8") for path in (PAGES / "templates").rglob("*.html")]
    assert {name for text in templates for name in re.findall(r"[\s\"]data-([a-z-]+)", text)} == (
        read_by_the_script() | STYLED
    )
