"""Statements are literals: the type checker rejects one that contains any other text."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.service import ROOT

CHECKER = Path(sys.executable).parent / "basedpyright"
MODULE = """
from typing import LiteralString

from sql.database import Connection, rows


def read(conn: Connection, column: {type}) -> None:
    rows(conn, f"SELECT {{column}} FROM users")
"""


@pytest.mark.slow
def test_the_type_checker_rejects_a_statement_with_text_that_is_not_literal(tmp_path):
    outputs = {}
    for type in ("str", "LiteralString"):
        file = tmp_path / f"{type}.py"
        file.write_text(MODULE.format(type=type))
        command = [CHECKER, "--pythonpath", sys.executable, file]
        outputs[type] = subprocess.run(command, cwd=ROOT, capture_output=True, text=True).stdout
    assert '"str" is not assignable to "LiteralString"' in outputs["str"]
    assert "0 errors" in outputs["LiteralString"]
