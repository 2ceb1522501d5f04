"""The servers that one address names: which is asked first once one of them has answered."""

import pytest
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from sql.hosts import PLACE, beginning_with


@pytest.fixture(autouse=True)
def _nothing_said_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in (*PLACE.values(), "PGSERVICE"):
        monkeypatch.delenv(variable, raising=False)


@pytest.mark.parametrize(
    ("host", "port", "url", "turned"),
    [
        ("b", 5432, "postgresql://u:p@a,b,c/x", {"host": "b,c,a", "port": ",,"}),
        ("a", 5432, "postgresql://u:p@a,b,c/x", {"host": "a,b,c", "port": ",,"}),
        ("b", 5433, "postgresql://a,b:5433/x", {"host": "b,a", "port": "5433,"}),
        ("h", 2, "postgresql://h:1,h:2/x", {"host": "h,h", "port": "2,1"}),
        ("h", 5433, "postgresql://h,h:5433/x", {"host": "h,h", "port": "5433,"}),
        ("b", 7, "postgresql:///x?host=a,b&port=7", {"host": "b,a", "port": "7"}),
        (
            "b",
            7,
            "postgresql:///x?host=a,b&port=7&hostaddr=10.0.0.1,10.0.0.2",
            {"host": "b,a", "port": "7", "hostaddr": "10.0.0.2,10.0.0.1"},
        ),
        ("10.0.0.2", 5432, "postgresql:///x?hostaddr=10.0.0.1,10.0.0.2", {"hostaddr": "10.0.0.2,10.0.0.1"}),
        ("::2", 6, "postgresql://[::1],[::2]:6/x", {"host": "::2,::1", "port": "6,"}),
        ("/b", 5432, "postgresql:///x?host=/a,/b", {"host": "/b,/a"}),
        ("/b", 6, "postgresql://%2Fa,%2Fb:6/x", {"host": "/b,/a", "port": "6,"}),
        ("elsewhere", 5432, "postgresql://a,b/x", {"host": "a,b", "port": ","}),
        ("", 0, "postgresql://a,/x", {"host": "a,", "port": ","}),
        ("/run", 5433, "postgresql://:5433/x", {"port": "5433"}),
        ("/run", 5432, "postgresql:///x", {}),
        ("b", 5432, "postgresql:///x?service=both", {}),
    ],
)
def test_the_hosts_of_an_address_begin_with_the_one_that_answered(host, port, url, turned):
    assert beginning_with(host, port, url) == turned
    attempt = conninfo_to_dict(make_conninfo(url, **turned))
    assert attempt.items() >= {**turned, "dbname": "x"}.items()


@pytest.mark.parametrize(
    ("said", "url", "turned"),
    [
        ({"PGHOST": "a,b", "PGPORT": "7"}, "postgresql:///x", {"host": "b,a", "port": "7"}),
        ({"PGPORT": "6,7"}, "postgresql:///x?host=a,b", {"host": "b,a", "port": "7,6"}),
        ({"PGHOST": "other", "PGPORT": "1"}, "postgresql://a:7,b:7/x", {"host": "b,a", "port": "7,7"}),
        (
            {"PGHOSTADDR": "10.0.0.1,10.0.0.2"},
            "postgresql:///x?host=a,b&port=7",
            {"host": "b,a", "port": "7", "hostaddr": "10.0.0.2,10.0.0.1"},
        ),
        ({"PGSERVICE": "both"}, "postgresql:///x?host=a,b&port=7", {}),
    ],
)
def test_what_the_environment_says_of_them_goes_with_them(monkeypatch, said, url, turned):
    for variable, text in said.items():
        monkeypatch.setenv(variable, text)
    assert beginning_with("b", 7, url) == turned
