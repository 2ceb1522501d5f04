"""Where things are: which folder may import which, how long a file may be, and how templates are written."""

import ast
import re
import subprocess
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
from jinja2 import Environment, nodes

from tests.support.service import ROOT

# Each folder imports itself and the folders on the right. Nothing imports wsgi or contract; sql, validators and
# evaluation know nothing of each other.
MAY_IMPORT = {
    "app": {"blueprints", "operations", "serving", "rules", "sql", "validators"},
    "blueprints": {"serving", "rules", "sql", "validators", "evaluation"},
    "contract": {"app", "blueprints", "serving", "rules", "validators"},
    "operations": {"serving", "rules", "sql", "validators", "evaluation"},
    "serving": {"rules", "sql", "validators"},
    "rules": {"sql", "validators", "evaluation"},
    "sql": set(),
    "validators": set(),
    "evaluation": set(),
}
# The metrics library is loaded only where metrics are wanted.
LATE = {"serving/metrics_endpoint.py", "operations/metrics_files.py"}
MOST_LINES = 300
TEMPLATES = sorted((ROOT / "blueprints").rglob("templates/**/*.html"))
MOST_TEMPLATE_CHARACTERS = 160
# The whole database in reading order, now and in each release, and the rows of the demo.
LONGER = {
    "schema.sql",
    # It has what schema.sql has gained.
    "operations/postgres/migrations/0004_found_by_users.sql",
    "operations/commands/demo.sql",
    "tests/operations/schema/0001.sql",
    "tests/operations/schema/0003.sql",
    "tests/operations/schema/0004.sql",
}


@cache
def modules() -> list[tuple[str, Path, ast.Module]]:
    """Return each module of the product with the folder that it is in."""
    return [
        (room, path, ast.parse(path.read_text(encoding="utf-8")))
        for room in MAY_IMPORT
        for path in ([ROOT / f"{room}.py"] if room == "app" else sorted((ROOT / room).rglob("*.py")))
    ]


def imported(tree: ast.AST) -> Iterator[str]:
    """Yield the names of all modules that are imported."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.module or ""


@pytest.mark.parametrize("room", MAY_IMPORT)
def test_a_folder_imports_only_the_folders_below_it(room):
    ours = {*MAY_IMPORT, "wsgi", "tests", "bench"}
    wrong = [
        f"{path.relative_to(ROOT)} imports {name}"
        for at, path, tree in modules()
        if at == room
        for name in imported(tree)
        if name.partition(".")[0] in ours - MAY_IMPORT[room] - {room}
    ]
    assert wrong == []


def test_statements_and_schemas_know_nothing_of_a_request():
    assert [
        str(path.relative_to(ROOT))
        for room, path, tree in modules()
        for node in ast.walk(tree)
        if room in ("sql", "validators", "evaluation") and isinstance(node, ast.ImportFrom) and node.module == "flask"
        if {"request", "g"} & {alias.name for alias in node.names}
    ] == []


def test_modules_are_imported_at_the_top():
    late = {
        str(path.relative_to(ROOT))
        for _, path, tree in modules()
        for function in ast.walk(tree)
        if isinstance(function, ast.FunctionDef) and any(imported(function))
    }
    assert late == LATE


def test_no_product_file_has_more_than_300_lines():
    command = ["git", "ls-files", "*.py", "*.sql", "contract/records/*.json", ":!tests/*.py"]
    files = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()
    lengths = {name: (ROOT / name).read_bytes().count(b"\n") for name in files if name not in LONGER}
    assert {name: lines for name, lines in lengths.items() if lines > MOST_LINES} == {}


def test_no_module_imports_a_test_module_or_a_conftest() -> None:
    importing = re.compile(r"^ *(from|import) .*\b(test_\w+|conftest)\b", re.MULTILINE)
    modules = [*ROOT.glob("tests/**/*.py")]
    assert [str(path) for path in modules if importing.search(path.read_text(encoding="utf-8"))] == []


def test_no_template_line_has_more_than_160_characters() -> None:
    long = [
        f"{path.relative_to(ROOT)}:{number} has {len(line)} characters"
        for path in TEMPLATES
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if len(line) > MOST_TEMPLATE_CHARACTERS
    ]
    assert TEMPLATES
    assert long == []


def test_calls_of_macros_have_at_most_one_positional_argument() -> None:
    trees = {path: Environment().parse(path.read_text(encoding="utf-8")) for path in TEMPLATES}
    macros = {macro.name for tree in trees.values() for macro in tree.find_all(nodes.Macro)}
    wrong = [
        f"{path.relative_to(ROOT)}:{call.lineno} calls {name}"
        for path, tree in trees.items()
        for call in tree.find_all(nodes.Call)
        if (name := called(call.node)) in macros and (len(call.args) > 1 or call.dyn_args)
    ]
    assert macros
    assert wrong == []


def called(node: nodes.Expr) -> str:
    """Return the name of a called macro, which is in this file or in an imported one, as parts.time."""
    return node.attr if isinstance(node, nodes.Getattr) else node.name if isinstance(node, nodes.Name) else ""


def test_heavy_tools_are_imported_by_slow_tests_only() -> None:
    heavy = re.compile(
        r"^(from|import) (schemathesis|hypothesis|openapi_spec_validator|yggdrasil_engine)\b", re.MULTILINE
    )
    files = {path.relative_to(ROOT).as_posix(): path for path in ROOT.glob("tests/**/*.py")}
    at_the_top = [name for name, path in files.items() if heavy.search(path.read_text(encoding="utf-8"))]
    assert [name for name in at_the_top if not name.startswith("tests/hunts/")] == []
