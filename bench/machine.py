"""The machine that was measured: what decides over figures, and nothing that tells whose it is."""

import os
import platform
import re
from pathlib import Path

import psycopg

SETTINGS = ("shared_buffers", "max_wal_size", "maintenance_work_mem", "fsync", "synchronous_commit", "work_mem", "wal_level")


def describe(url: str) -> dict[str, str]:
    """CPU, cores, memory, system, PostgreSQL and its settings, Python."""
    model = re.search(r"^model name\s*:\s*(.+)$", read("/proc/cpuinfo"), re.MULTILINE)
    memory = re.search(r"^MemTotal:\s+(\d+) kB", read("/proc/meminfo"), re.MULTILINE)
    name = re.search(r'^PRETTY_NAME="?([^"\n]+)', read("/etc/os-release"), re.MULTILINE)
    with psycopg.connect(url) as conn:
        version = conn.info.server_version
        settings = [(setting, conn.execute("SELECT current_setting(%s)", [setting]).fetchone()) for setting in SETTINGS]
        trigrams = conn.execute("SELECT count(*) FROM pg_extension WHERE extname = 'pg_trgm'").fetchone()
    return {
        "CPU": model[1].strip() if model else platform.machine(),
        "cores": str(len(os.sched_getaffinity(0))),
        "memory": f"{int(memory[1]) / 1024**2:.0f} GiB" if memory else "unknown",
        "system": f"{name[1] if name else platform.system()}, Linux {platform.release().split('-')[0]}",
        "Python": platform.python_version(),
        "PostgreSQL": f"{version // 10000}.{version % 10000}, {'with' if trigrams and trigrams[0] else 'without'} pg_trgm",
        "its settings": ", ".join(f"{setting} {row[0]}" for setting, row in settings if row),
    }


def read(path: str) -> str:
    """A file's text; nothing where there is no such file."""
    return Path(path).read_text(encoding="utf-8", errors="replace") if Path(path).exists() else ""
