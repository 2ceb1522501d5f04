"""A self-signed certificate for localhost, for the proxies of tests."""

import shutil
import ssl
import subprocess
from pathlib import Path

OPENSSL = shutil.which("openssl")


def certify(folder: Path) -> ssl.SSLContext:
    """Write the files `key` and `certificate` to the folder. Return a context of clients that trust it."""
    assert OPENSSL
    key = "-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -keyout key"
    certificate = "-days 2 -subj /CN=localhost -addext subjectAltName=DNS:localhost -out certificate"
    command = [OPENSSL, "req", "-x509", *key.split(), *certificate.split()]
    subprocess.run(command, cwd=folder, capture_output=True, check=True)
    return ssl.create_default_context(cafile=str(folder / "certificate"))
