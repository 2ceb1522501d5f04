"""No test reads the clock while it is imported: at midnight, what was read then and what is read later differ."""

import ast
import re
from collections.abc import Iterator

import pytest

from tests.support.service import ROOT

CLOCKS = set("now today utcnow time time_ns monotonic perf_counter process_time localtime gmtime".split())


def called(node: ast.Call) -> str:
    """Return the name of the called function, such as now."""
    return node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")


def at_import(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the parts of a module that run at its import: not the bodies of functions, but their decorators and
    defaults.
    """
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        parts = [*node.decorator_list, node.args]
    elif isinstance(node, ast.Lambda):
        parts = [node.args]
    else:
        parts = list(ast.iter_child_nodes(node))
    yield node
    for part in parts:
        yield from at_import(part)


def clock_reads(source: str) -> list[str]:
    """Return the calls that read the clock at import, with their lines."""
    # Parsing takes time, and most modules read no clock.
    if not re.search(rf"\b({'|'.join(CLOCKS)})\(", source):
        return []
    return [
        f"{node.lineno}: {ast.unparse(node)}"
        for node in at_import(ast.parse(source))
        # time(12, 30) of datetime is a constant.
        if isinstance(node, ast.Call) and called(node) in CLOCKS and not (called(node) == "time" and node.args)
    ]


@pytest.mark.parametrize(
    "source",
    [
        "TODAY = date.today()",
        "class Case:\n    at = datetime.now(UTC)",
        "@parametrize('at', [datetime.now(UTC)])\ndef test(at): ...",
        "def test(at=time.time()): ...",
    ],
)
def test_each_kind_of_read_is_found(source):
    assert len(clock_reads(source)) == 1


def test_a_read_inside_a_function_is_allowed():
    assert clock_reads("def test():\n    return now()\nNOON = time(12, 0)\nLATER = lambda: now()") == []


def test_no_module_reads_the_clock_at_import():
    found = {
        str(path.relative_to(ROOT)): reads
        for path in sorted((ROOT / "tests").rglob("*.py"))
        if (reads := clock_reads(path.read_text(encoding="utf-8")))
    }
    assert found == {}
