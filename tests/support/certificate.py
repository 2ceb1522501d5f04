"""A self-signed certificate for localhost, for the proxies of tests."""

import shutil
import ssl
import subprocess
from pathlib import Path

OPENSSL = shutil.which("openssl")


def certify(folder: Path) -> ssl.SSLContext:
    """Write the files `key` and `certificate` to the folder. Return a context of clients that trust it."""
    assert OPENSSL
    arguments = "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=localhost".split()
    files = ("-addext", "subjectAltName=DNS:localhost", "-keyout", "key", "-out", "certificate")
    subprocess.run([OPENSSL, *arguments, *files], cwd=folder, capture_output=True, check=True)
    return ssl.create_default_context(cafile=str(folder / "certificate"))
