"""Every function of sql/ serves the product, and every statement is a literal."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.service import ROOT

PRODUCT = (
    "*.py",
    *(f"{room}/**/*.py" for room in ("blueprints", "rules", "serving", "sql", "validators", "operations")),
)


def used_names(module, tree):
    """Yield module.name for each name that this module imports, or that it uses of itself or of an imported module."""
    modules = {}
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


def test_every_function_is_used_by_the_product():
    trees = {}
    for path in (path for pattern in PRODUCT for path in ROOT.glob(pattern)):
        module = ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
        trees[module] = ast.parse(path.read_text(encoding="utf-8"))
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


MODULE = """
from typing import LiteralString

from sql.database import Connection, rows


def read(conn: Connection, column: {type}) -> None:
    rows(conn, f"SELECT {{column}} FROM users")
"""


@pytest.mark.slow
@pytest.mark.parametrize(("type", "status"), [("str", 1), ("LiteralString", 0)])
def test_the_type_checker_rejects_a_statement_with_text_that_is_not_literal(tmp_path, type, status):
    (tmp_path / "module.py").write_text(MODULE.format(type=type))
    command = [Path(sys.executable).parent / "basedpyright", "--pythonpath", sys.executable, tmp_path / "module.py"]
    assert subprocess.run(command, cwd=ROOT, capture_output=True).returncode == status
