"""Ctrl-C at many moments of a start."""

import os
import re
import signal
import subprocess
import time
from pathlib import Path

import pytest

from tests.support.command_line import install
from tests.support.service import PATIENCE, environment, free_port, is_alive, postmaster_of, wait_until

pytestmark = pytest.mark.slow
MOMENTS = 15


def press_ctrl_c(process: subprocess.Popen[bytes]) -> bool:
    """Press Ctrl-C, and return whether the process could ignore it, as it does until flags.py runs."""
    (ignored,) = re.findall(r"^SigIgn:\t(\w+)$", Path(f"/proc/{process.pid}/status").read_text(), re.MULTILINE)
    os.killpg(process.pid, signal.SIGINT)
    return bool(int(ignored, 16) & 1 << signal.SIGINT - 1)


def interrupt(folder: Path, data: Path, seconds: float | None) -> tuple[float, str]:
    """Start the service as at a terminal, and press Ctrl-C after so many seconds; None: when it serves.

    Return the seconds until Ctrl-C, and the output.
    """
    log, began = folder / "output", time.monotonic()
    given = {"env": environment(DATA_DIR=data, PORT=free_port()), "start_new_session": True}
    with log.open("wb") as output:
        process = subprocess.Popen([folder / "flags", "serve"], stdout=output, stderr=output, **given)
    if seconds is None:
        wait_until(lambda: "Serving at" in log.read_text(), "it served")
    else:
        # The moment is what is tested, so there is no condition to wait for.
        time.sleep(seconds)
    spent = time.monotonic() - began
    is_ignored = press_ctrl_c(process)
    # gunicorn waits up to 40 s for a worker (graceful_timeout).
    while process.poll() is None:
        assert time.monotonic() < began + spent + 40 + PATIENCE, log.read_text()
        time.sleep(0.5)
        if process.poll() is None and (is_ignored or "Serving at" not in log.read_text()):
            is_ignored = press_ctrl_c(process)
    return spent, log.read_text()


def test_ctrl_c_prints_no_traceback_at_any_moment(tmp: Path) -> None:
    install(tmp)
    data, outputs = tmp / "data", {}
    # The first start creates the database.
    for kind, count in (("new", 3), ("again", MOMENTS)):
        whole, outputs[kind] = interrupt(tmp, data, None)
        for number in range(count):
            moment = whole * (number + 1) / (count + 1)
            place = tmp / f"data-{number}" if kind == "new" else data
            _, outputs[f"{kind}, {moment:.2f} s"] = interrupt(tmp, place, moment)
    assert {moment: text for moment, text in outputs.items() if "Traceback" in text or "Interrupt" in text} == {}
    assert [path.name for path in tmp.glob("data*") if is_alive(postmaster_of(path))] == []
