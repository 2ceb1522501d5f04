"""Every function of sql/ serves the product: what only demo, bench or tests need is beside them."""

import ast
import re
from collections.abc import Iterator

from tests.support.service import ROOT

PRODUCT = ("*.py", "blueprints/*.py", "commands/*.py", "sql/*.py", "validators/*.py")


def unused() -> Iterator[str]:
    """The functions of sql/ that no product code names, but where they are defined."""
    texts = {path: path.read_text(encoding="utf-8") for pattern in PRODUCT for path in ROOT.glob(pattern)}
    # Modules can have another name where they are imported.
    named = set(re.findall(r"\b(\w+)s?\.(\w+)\b", "\n".join(texts.values())))
    for path, text in texts.items():
        for node in ast.parse(text).body if path.parent.name == "sql" else ():
            if (
                isinstance(node, ast.FunctionDef)
                and not {(it, node.name) for it in (path.stem, f"{path.stem}s", "sql", "database")} & named
            ):
                own = re.search(rf"(?<!def )(?<![\w.\"']){node.name}\b(?=[(),\]])", text)
                imported = any(re.search(rf"^(from sql\b.*\b{node.name}\b|    {node.name},$)", it, re.MULTILINE) for it in texts.values())
                if not own and not imported:
                    yield f"{path.stem}.{node.name}"


def test_every_function_is_used_by_the_product():
    assert list(unused()) == []
