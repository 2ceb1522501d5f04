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
# Each pattern with words of which a text has one if it matches, and what to write instead.
BANNED: list[tuple[str, str, str]] = [
    ("he him his himself", r"\b(he|him|his|himself)\b", "they, them, their: or name the user, client, process"),
    ("nobody", r"\bnobody('s)?\b", "no user, no caller, no other process"),
    ("whoever whomever", r"\b(whoever|whomever)\b", "every user, every caller: with a noun"),
    ("who", rf"{BEGINNING}(?-i:Who) (?!.*\?)\w+", "a noun as the subject: Users with …, Callers without …"),
    (
        "who",
        r"\b(about|against|as|but|by|for|from|if|let|of|only|than|that|to|with|without) who (?!\w+ \w+\?)",
        "a noun: for callers with …",
    ),
    ("sense", r"\bma[dk]es? no sense\b", "is invalid"),
    ("life", r"\bsigns? of life\b", "does not respond"),
    ("tell tells", r"\btells? of\b", "describes, names, reports"),
    ("goes go went", r"\b(goes|go|went) with it\b", "is deleted too, belongs to it"),
    ("known", r"\bis (not )?known here\b", "exists, unknown property"),
    ("already", r"\b(is|are|was|were) there already\b", "exists, already exists"),
    ("private", r"\bprivate PostgreSQL\b", "embedded PostgreSQL"),
    ("api", r"\bAPI keys?\b", "API token"),
]
# Not English words: the Unix account of processes without rights, and addresses in test data.
NAMES = r"""["'`]nobody["'`]|\bnobody(:nogroup|@)"""
# The schema of a released version never changes.
FROZEN = ROOT / "tests" / "operations" / "schema" / "0001.sql"


def texts() -> Iterator[Path]:
    """Yield the files that people read."""
    roots = [path for path in sorted(ROOT.iterdir()) if not path.name.startswith((".", "data", "requirements"))]
    for root in [*roots, ROOT / ".ci"]:
        for path in sorted(root.rglob("*")) if root.is_dir() else [root]:
            is_text = path.is_file() and path.suffix not in {".js", ".png", ".pyc", ".svg", ".txt"}
            if is_text and path not in (Path(__file__), FROZEN):
                yield path


def found(text: str) -> Iterator[str]:
    """Yield a sentence for each banned word: its line, and what to write instead."""
    words = set(re.findall(r"[a-z]+", text.lower()))
    if "nobody" in words:
        text = re.sub(NAMES, "", text)
    for some, pattern, instead in BANNED:
        # Patterns are slow, and few texts have these words.
        if words.isdisjoint(some.split()):
            continue
        for match in re.finditer(pattern.replace(" ", SPACE), text, re.MULTILINE | re.IGNORECASE):
            line = text.count("\n", 0, match.start()) + 1
            yield f'{line}: "{" ".join(match[0].split())}": write {instead}'


def test_no_text_contains_a_banned_word() -> None:
    mistakes = [
        f"{path.relative_to(ROOT)}:{mistake}" for path in texts() for mistake in found(path.read_text(encoding="utf-8"))
    ]
    assert not mistakes, "\n" + "\n".join(mistakes)


@pytest.mark.parametrize(
    ("text", "mistakes"),
    [
        ("He may wait.", 1),
        ("A user and his tokens", 1),
        ("# Who lacks the permission gets 403.", 1),
        ("It is there already.", 1),
        ("for who may see the project", 1),
        ("so that nobody reads it", 1),
        ("A private PostgreSQL", 1),
        ("-- It starts a private\n-- PostgreSQL", 1),
        ("the value makes no sense", 1),
        ("Users who may see the project", 0),
        ("Who can see a project?", 0),
        ('pwd.getpwnam("nobody")', 0),
        ("The log says who changed it.", 0),
        ("this, the, where, other", 0),
    ],
)
def test_check_finds_mistakes(text: str, mistakes: int) -> None:
    assert len([*found(text)]) == mistakes
