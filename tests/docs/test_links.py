"""Links between the pages of the documentation lead to files and headings that exist."""

import re
import subprocess
from pathlib import Path

import pytest

from tests.support.service import ROOT

PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])


def anchors(page: Path) -> set[str]:
    """The anchors of a page's headings, as GitHub forms them."""
    titles = re.findall(r"^#+ (.*)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-") for title in titles}


@pytest.mark.parametrize("page", PAGES, ids=[str(page.relative_to(ROOT)) for page in PAGES])
def test_every_link_leads_to_a_file_and_a_heading(page: Path) -> None:
    links = re.findall(r"\]\((?!https?:)([^)#\s]*)(?:#([^)\s]*))?\)", page.read_text(encoding="utf-8"))
    for path, anchor in links:
        target = (page.parent / path).resolve() if path else page
        assert target.exists(), f"{page.name}: {path} does not exist"
        if anchor:
            assert anchor in anchors(target), f"{page.name}: {path}#{anchor} is not a heading"


def test_the_index_lists_every_page() -> None:
    index = ROOT / "docs" / "README.md"
    assert "(docs/README.md)" in (ROOT / "README.md").read_text(encoding="utf-8")
    listed = {
        (index.parent / path).resolve()
        for path in re.findall(r"\]\(([^)#\s]+\.md)\)", index.read_text(encoding="utf-8"))
    }
    pages = {page for page in (ROOT / "docs").rglob("*.md") if "viewer" not in page.parts}
    assert listed == pages - {index}


def test_the_paths_that_contributing_names_exist() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    paths = re.findall(r"`([\w./]+/[\w./]*|[\w]+\.\w+)`", text)
    assert len(paths) > 20
    assert [
        path for path in paths if not path.startswith("/") and path != "operations.md" and not (ROOT / path).exists()
    ] == []


def project_files(*patterns: str) -> list[str]:
    """The paths of the files in Git that match one of these patterns."""
    listed = subprocess.run(["git", "ls-files", *patterns], cwd=ROOT, capture_output=True, text=True, check=True)
    return listed.stdout.split()


def test_every_markdown_file_that_a_text_names_is_in_the_project() -> None:
    pages = tuple(f"/{path}" for path in project_files("*.md"))
    # The changelog names pages that were renamed, and the schema of a release never changes.
    texts = project_files("*.py", "*.sql", "*.md", "*.html", ":!CHANGELOG.md", ":!tests/operations/schema/*.sql")
    named = [
        (text, name)
        for text in texts
        for name in re.findall(r"(?<![\w/.:-])(?:\.\.?/)*([\w/-]+\.md)\b", (ROOT / text).read_text(encoding="utf-8"))
    ]
    assert len(named) > 100
    assert [(text, name) for text, name in named if not any(page.endswith(f"/{name}") for page in pages)] == []
