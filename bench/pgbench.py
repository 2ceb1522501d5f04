"""Run the same statements in pgbench, without the server: the fastest that PostgreSQL allows."""

import os
import shutil
import subprocess
import tempfile

from operations.postgres import embedded

# The page and the count of one project, and one event.
PAGE = """
SELECT * FROM events WHERE project = 'p1' ORDER BY created_at DESC, id DESC LIMIT 50;
SELECT count(*) FROM events WHERE project = 'p1';
"""
WRITE = """
INSERT INTO events (type, created_by, project, feature_name, environment, data)
VALUES ('feature-environment-enabled', 'bench', 'p1', 'p1.f1', 'production',
        '{"name":"flexibleRollout","parameters":{"rollout":"50"}}');
"""


def floor(url: str, script: str, clients: int, seconds: float) -> float:
    """Return rounds a second of a script in pgbench, or 0 without pgbench."""
    program = shutil.which("pgbench", path=f"{embedded.BINARIES}:{os.environ.get('PATH', '')}")
    if program is None:
        return 0
    with tempfile.NamedTemporaryFile("w", suffix=".sql") as file:
        file.write(script)
        file.flush()
        options = ["-n", "-M", "prepared", "-j", "2", "-c", str(clients), "-T", str(max(1, round(seconds)))]
        done = subprocess.run([program, *options, "-f", file.name, url], capture_output=True, text=True, check=True)
    return float(next(line.split()[2] for line in done.stdout.splitlines() if line.startswith("tps")))
