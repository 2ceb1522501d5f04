"""How gunicorn serves the application. The settings come from environment variables (docs/reference/settings.md)."""

import sys

from operations import start
from operations.hooks import (  # noqa: F401 (gunicorn looks for them here)
    address,
    child_exit,
    nworkers_changed,
    on_exit,
    on_starting,
    post_fork,
    post_worker_init,
    pre_fork,
    raise_file_limit,
    when_ready,
    worker_exit,
)
from operations.worker import Worker
from serving.settings import SettingError

try:
    # SIGHUP runs this file again.
    chosen = start.reload_settings()
except SettingError as error:
    sys.exit(str(error))

worker_class = Worker
bind = address()
workers = chosen["WEB_CONCURRENCY"]
threads = chosen["THREADS"]
# Further connections wait until one closes. Event streams do not count.
worker_connections = 800
raise_file_limit()
timeout = 60
# Running requests finish first.
graceful_timeout = chosen["STATEMENT_TIMEOUT_SECONDS"] + 2 * chosen["WAIT_SECONDS"]
keepalive = 5
limit_request_line = 8190
# By default, gunicorn trusts headers about the path and the scheme if the client is on the same machine. Behind a proxy
# on the same machine, all clients seem to be. There are no such headers here, so "*" only saves comparing addresses.
forwarder_headers = ""
secure_scheme_headers = {}
forwarded_allow_ips = "*"
control_socket_disable = True
errorlog = "-"
loglevel = "warning"
