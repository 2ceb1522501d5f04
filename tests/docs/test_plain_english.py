"""No text contains the words that plain English avoids: documentation, error messages, help, API texts, docstrings and
comments.

If a match is right English, make its pattern narrower. If it is a name that somebody else
has chosen, add it to NAMES.
"""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent

# Where a sentence begins: at the beginning of a line, a comment, a docstring, a list item or a table cell, or after
# another sentence.
BEGINNING = r"(?:^\W*|[.:;!|]\x20+)"
# Between two words, also at the end of a line, where a comment continues on the next one.
SPACE = r"\s+(?:(?:#|--|\*)\s+)?"
BANNED: list[tuple[str, str]] = [
    (r"(?i)\b(he|him|his|himself)\b", "they, them, their: or name the user, client, process"),
    (r"(?i)\bnobody('s)?\b", "no user, no caller, no other process"),
    (r"(?i)\b(whoever|whomever)\b", "every user, every caller: with a noun"),
    (rf"{BEGINNING}Who (?!.*\?)\w+", "a noun as the subject: Users with …, Callers without …"),
    (
        r"(?i)\b(about|against|as|but|by|for|from|if|let|of|only|than|that|to|with|without) who (?!\w+ \w+\?)",
        "a noun: for callers with …",
    ),
    (r"(?i)\bma[dk]es? no sense\b", "is invalid"),
    (r"(?i)\bsigns? of life\b", "does not respond"),
    (r"(?i)\btells? of\b", "describes, names, reports"),
    (r"(?i)\b(goes|go|went) with it\b", "is deleted too, belongs to it"),
    (r"(?i)\bis (not )?known here\b", "exists, unknown property"),
    (r"(?i)\b(is|are|was|were) there already\b", "exists, already exists"),
    (r"(?i)\bprivate PostgreSQL\b", "embedded PostgreSQL"),
    (r"(?i)\bAPI keys?\b", "API token"),
]
# Not English words: the Unix account of processes without rights, and addresses in test data.
NAMES = r"""["'`]nobody["'`]|\bnobody(:nogroup|@)"""
# The schema of a released version never changes.
FROZEN = ROOT / "tests" / "schema" / "0001.sql"


def texts() -> Iterator[Path]:
    """Return the files that people read."""
    roots = [path for path in sorted(ROOT.iterdir()) if not path.name.startswith((".", "data", "requirements"))]
    for root in [*roots, ROOT / ".ci"]:
        for path in sorted(root.rglob("*")) if root.is_dir() else [root]:
            is_text = path.is_file() and path.suffix not in {".js", ".png", ".pyc", ".svg", ".txt"}
            if is_text and path not in (Path(__file__), FROZEN):
                yield path


def found(text: str) -> Iterator[str]:
    """Return a sentence for each banned word: its line, and what to write instead."""
    text = re.sub(NAMES, "", text)
    for pattern, instead in BANNED:
        for match in re.finditer(pattern.replace(" ", SPACE), text, re.MULTILINE):
            line = text.count("\n", 0, match.start()) + 1
            yield f'{line}: "{" ".join(match[0].split())}": write {instead}'


def test_no_text_contains_a_banned_word() -> None:
    mistakes = [
        f"{path.relative_to(ROOT)}:{mistake}" for path in texts() for mistake in found(path.read_text(encoding="utf-8"))
    ]
    assert not mistakes, "\n" + "\n".join(mistakes)


@pytest.mark.parametrize(
    "text",
    [
        "He may wait.",
        "A user and his tokens",
        "# Who lacks the permission gets 403.",
        "It is there already.",
        "for who may see the project",
        "so that nobody reads it",
        "A private PostgreSQL",
        "-- It starts a private\n-- PostgreSQL",
        "the value makes no sense",
    ],
)
def test_the_check_finds(text: str) -> None:
    assert list(found(text))


@pytest.mark.parametrize(
    "text",
    [
        "Users who may see the project",
        "Who can see a project?",
        'pwd.getpwnam("nobody")',
        "The log says who changed it.",
        "this, the, where, other",
    ],
)
def test_the_check_lets_pass(text: str) -> None:
    assert not list(found(text))
