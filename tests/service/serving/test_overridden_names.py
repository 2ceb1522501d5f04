"""The undocumented names of libraries that we override exist, in the versions that setup.cfg allows."""

import configparser
import re
from importlib.metadata import version

import psycopg
import pytest
from gunicorn.http import wsgi
from gunicorn.workers import gthread
from prometheus_client import multiprocess, values
from psycopg_pool import ConnectionPool

from tests.support.service import ROOT

OVERRIDDEN = [
    (gthread, "TConn"),
    (gthread, "_DEFER"),
    (gthread.TConn, "init"),
    (gthread.TConn, "wait_for_data"),
    (gthread.TConn, "close"),
    *((gthread.ThreadWorker, name) for name in ("is_parent_alive", "handle", "handle_error", "set_accept_enabled")),
    (gthread.ThreadWorker, "handle_quit"),
    (wsgi, "Response"),
    (wsgi.Response, "write"),
    (ConnectionPool, "_get_ready_connection"),
    (psycopg.Connection, "wait"),
    (psycopg.errors, "_WaitTimeout"),
    (values, "ValueClass"),
    (values, "MultiProcessValue"),
    (multiprocess, "mark_process_dead"),
    (multiprocess.MultiProcessCollector, "merge"),
]


@pytest.mark.parametrize(("owner", "name"), OVERRIDDEN)
def test_an_overridden_name_exists(owner: object, name: str) -> None:
    assert hasattr(owner, name)


def test_the_pool_keeps_its_connections_in_a_deque() -> None:
    with ConnectionPool("postgresql://127.0.0.1/none", min_size=0, max_size=1, open=False) as pool:
        pool._pool.rotate(1)


@pytest.mark.parametrize("library", ["gunicorn", "prometheus_client", "psycopg", "psycopg_pool"])
def test_setup_bounds_the_version(library: str) -> None:
    setup = configparser.ConfigParser()
    setup.read(ROOT / "setup.cfg")
    names = {re.split(r"\W", line)[0]: line for line in setup["options"]["install_requires"].split()}
    low, high = names[library].partition(">=")[2].split(",<")
    found = [int(part) for part in version(library).split(".")[:2]]
    assert [int(part) for part in low.split(".")] <= found < [int(part) for part in high.split(".")]
