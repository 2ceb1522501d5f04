"""Which addresses integrations reach, and how long an attempt takes."""

import socket
import time
from ipaddress import ip_network
from threading import Thread

import pytest

from rules.addresses import is_allowed
from serving import outgoing
from tests.support.receiver import receiving, status

LOCAL = (ip_network("127.0.0.0/8"),)


@pytest.mark.parametrize("address", ["8.8.8.8", "2001:4860:4860::8888", "64:ff9b::808:808", "::ffff:8.8.8.8"])
def test_public_addresses_need_tls(address):
    assert is_allowed(address, (), is_encrypted=True)
    assert not is_allowed(address, (), is_encrypted=False)


@pytest.mark.parametrize(
    "address",
    """127.0.0.1 10.0.0.1 172.16.0.1 192.168.0.1 169.254.169.254 192.0.0.192 100.64.0.1 0.0.0.0 224.0.0.1 240.0.0.1
    255.255.255.255 ::1 :: fe80::1 fe80::1%1 fec0::1 fc00::1 ff02::1 ::ffff:127.0.0.1 ::127.0.0.1 64:ff9b::7f00:1
    64:ff9b:1::1 2002:7f00:1:: 2001:db8::1""".split(),
)
def test_private_addresses_are_refused(address):
    assert not is_allowed(address, (), is_encrypted=True)


@pytest.mark.parametrize("address", ["127.0.0.1", "::ffff:127.0.0.1", "64:ff9b::7f00:1", "2002:7f00:1::"])
def test_setting_allows_networks_without_tls(address):
    assert is_allowed(address, LOCAL, is_encrypted=False)
    assert not is_allowed(address, (ip_network("10.0.0.0/8"),), is_encrypted=False)


@pytest.mark.parametrize("host", ["127.0.0.1", "2130706433", "0x7f.1", "[::ffff:127.0.0.1]", "0", "localhost"])
def test_forms_of_private_addresses_are_refused_at_the_attempt(receiver, host):
    url = receiver.url.replace("127.0.0.1", host).replace("http:", "https:")
    with pytest.raises(PermissionError, match="has a private address"):
        outgoing.post(url, {}, b"", ())
    with pytest.raises(PermissionError, match="needs https"):
        outgoing.post(url.replace("https:", "http:"), {}, b"", ())
    assert receiver.received == []


def found(*addresses):
    """What getaddrinfo() returns for a name with these addresses."""
    return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", address) for address in addresses]


def test_every_address_of_a_name_has_to_be_allowed(receiver, monkeypatch):
    port = int(receiver.url.split(":")[2].split("/")[0])
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: found(("127.0.0.1", port), ("10.0.0.1", port)))
    with pytest.raises(PermissionError):
        outgoing.post(receiver.url, {}, b"", LOCAL)
    assert receiver.received == []


def test_name_is_resolved_once(receiver, monkeypatch):
    port = int(receiver.url.split(":")[2].split("/")[0])
    answers = [found(("127.0.0.9", 1), ("127.0.0.1", port))]
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: answers.pop())
    # The first address refuses the connection.
    assert outgoing.post(f"http://rebinding.test:{port}/x?y=1", {"X-Team": "Zoë"}, b"{}", LOCAL) == (200, None)
    (request,) = receiver.received
    assert (request.path, request.headers["Host"], request.body) == ("/x?y=1", f"rebinding.test:{port}", b"{}")
    assert request.headers["Connection"] == "close"
    assert answers == []


def test_tls_checks_the_certificate(tmp_path, monkeypatch):
    with receiving(tmp_path) as receiver:
        networks = (*LOCAL, ip_network("::1/128"))
        with pytest.raises(OSError, match="certificate verify failed"):
            outgoing.post(receiver.url, {}, b"", networks)
        monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "certificate"))
        assert outgoing.post(receiver.url, {}, b"x", networks) == (200, None)
        with pytest.raises(OSError, match="certificate verify failed"):
            outgoing.post(receiver.url.replace("localhost", "127.0.0.1"), {}, b"", networks)
        assert receiver.bodies == [b"x"]


def test_proxies_of_the_environment_are_not_used(receiver, monkeypatch):
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    assert outgoing.post(receiver.url, {}, b"", LOCAL) == (200, None)


def test_redirects_are_not_followed(receiver):
    with receiving() as target:
        receiver.answers = [status(302, Location=target.url)]
        assert outgoing.post(receiver.url, {}, b"", LOCAL) == (302, None)
    assert target.received == []


@pytest.mark.parametrize(
    "answer",
    [
        lambda _handler: None,
        lambda handler: handler.wfile.write(b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 10_000),
        lambda handler: handler.wfile.write(b"x" * 100_000),
    ],
)
def test_invalid_response_is_a_failure(subscribe, alice, receiver, answer):
    receiver.answers = [answer]
    integration = subscribe()
    sent = alice.post(f"/api/admin/addons/{integration['id']}/test").json
    assert sent["state"] == "failed"
    assert ": 127.0.0.1: " in sent["stateDetails"]


def test_long_response_is_not_read(receiver):
    def answer(handler):
        handler.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 1000000000\r\n\r\n")
        try:
            while True:
                handler.wfile.write(bytes(100_000))
        except OSError:
            pass

    receiver.answers = [answer]
    assert outgoing.post(receiver.url, {}, b"", LOCAL) == (200, None)


@pytest.mark.slow
@pytest.mark.timing
def test_attempt_ends_after_15_seconds(receiver):
    def drip(handler):
        try:
            while True:
                handler.wfile.write(b"H")
                time.sleep(0.5)
        except OSError:
            pass

    def endure(name):
        began = time.monotonic()
        try:
            outgoing.post(receiver.url, {}, b"", LOCAL)
        except TimeoutError:
            seconds[name] = time.monotonic() - began

    seconds: dict[str, float] = {}
    receiver.answers = [drip, lambda _handler: time.sleep(17)]
    threads = [Thread(target=endure, args=(name,)) for name in ("drips", "hangs")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert {name: 14.5 < found < 16 for name, found in seconds.items()} == {"drips": True, "hangs": True}
