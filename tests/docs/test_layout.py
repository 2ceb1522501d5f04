"""The layout of the tests: what they share is in tests/support/."""

import re

from tests.support.service import ROOT


def test_no_test_module_imports_another() -> None:
    importing = re.compile(r"^ *(from|import) .*\btest_\w+", re.MULTILINE)
    modules = [*ROOT.glob("tests/**/*.py")]
    assert [str(path) for path in modules if importing.search(path.read_text(encoding="utf-8"))] == []


def test_no_shared_file_is_long() -> None:
    files = [path for folder in ("access", "records", "support") for path in ROOT.glob(f"tests/{folder}/**/*") if path.is_file()]
    lengths = {path.name: len(path.read_text(encoding="utf-8").splitlines()) for path in files if path.suffix in (".py", ".json")}
    assert {name: lines for name, lines in lengths.items() if lines > 300} == {}
