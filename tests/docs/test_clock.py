"""No test reads the clock while it is imported: at midnight, what was read then and what is read later differ."""

import ast
import re
from collections.abc import Iterator

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


def test_check_finds_each_kind_of_read():
    source = (
        "TODAY = date.today()\n"
        "class Case:\n    at = datetime.now(UTC)\n"
        "@parametrize('at', [datetime.now(UTC)])\ndef test(at): ...\n"
        "def test(at=time.time()): ...\n"
        # These are allowed.
        "def test():\n    return now()\n"
        "NOON = time(12, 0)\nLATER = lambda: now()\n"
    )
    assert [read.partition(":")[0] for read in clock_reads(source)] == ["1", "3", "4", "6"]


def test_no_module_reads_the_clock_at_import():
    found = {
        str(path.relative_to(ROOT)): reads
        for path in sorted((ROOT / "tests").rglob("*.py"))
        if (reads := clock_reads(path.read_text(encoding="utf-8")))
    }
    assert found == {}
