"""Compares an answer with the one that a page of documentation shows."""

import re

from tests.support.service import ROOT

README = ROOT / "README.md"


def fits(shown: str, answer: str) -> bool:
    """Whether an answer is what the page shows, where an ellipsis stands for anything."""
    pattern = ".*?".join(re.escape(" ".join(part.split())) for part in re.split(r"\s*…\s*", shown))
    return re.fullmatch(pattern.replace(r"\ ", r"\s*"), " ".join(answer.split()), re.DOTALL) is not None
