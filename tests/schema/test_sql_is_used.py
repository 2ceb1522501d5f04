"""Every function of sql/ serves the product. What only the demo, the bench or the tests need is beside them."""

import ast
from collections.abc import Iterator
from pathlib import Path

from tests.support.service import ROOT

PRODUCT = ("*.py", *(f"{room}/**/*.py" for room in ("blueprints", "rules", "serving", "sql", "validators", "commands")))


def used_names(module: str, tree: ast.Module) -> Iterator[str]:
    """Yield module.name for each name that this module imports, or that it uses of itself or of an imported module."""
    modules: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            for alias in node.names:
                modules[alias.asname or alias.name] = f"{node.module}.{alias.name}"
                yield f"{node.module}.{alias.name}"
    for node in ast.walk(tree):
        if isinstance(node, ast.Name):
            yield f"{module}.{node.id}"
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in modules:
            yield f"{modules[node.value.id]}.{node.attr}"


def name_of(path: Path) -> str:
    """Return the name under which a file is imported."""
    return ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


def test_every_function_is_used_by_the_product():
    trees = {
        name_of(path): ast.parse(path.read_text(encoding="utf-8")) for pattern in PRODUCT for path in ROOT.glob(pattern)
    }
    used = {name for module, tree in trees.items() for name in used_names(module, tree)}
    defined = {
        f"{module}.{node.name}"
        for module, tree in trees.items()
        if module.startswith("sql.")
        for node in tree.body
        if isinstance(node, ast.FunctionDef)
    }
    assert len(defined) > 300
    assert defined - used == set()
