"""Event streams of the real service: what they send, and who gets a place."""

import time
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from http.client import HTTPSConnection
from pathlib import Path

import pytest

from tests.support.certificate import OPENSSL, certify
from tests.support.event_streams import (
    AUTHORIZED,
    EVALUATE,
    FLAGS,
    SDK,
    STRATEGY,
    EventStream,
    change,
    listeners,
    new_flag,
    new_token,
    page_path,
    scraped,
    switch,
)
from tests.support.metrics import TOKEN
from tests.support.service import PATIENCE, Service, wait_until

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def service(make_database: Callable[..., str]) -> Iterator[Service]:
    """The service with few threads and metrics."""
    with Service(make_database(), THREADS=4, METRICS_TOKEN=TOKEN) as service:
        yield service


def is_refused(stream: EventStream) -> bool:
    """Return whether a stream got no place: it ends at once, after what its client needs."""
    sent = stream.all()
    if sent[-1].name == "fetch-mode":
        assert (sent[0].name, sent[-1].data) == ("unleash-connected", "polling")
        return True
    return sent[-1].data["type"] == "refetchEvaluation"


# --- What they send ---------------------------------------------------------------------------------------------------


@pytest.mark.gate
@pytest.mark.parametrize("version", [10, 11])
def test_changes_follow_the_first_event(service: Service, version: int) -> None:
    token, name = new_token(service), f"followed-{version}"
    new_flag(service, name)
    with EventStream(service, SDK, token, version=version) as stream:
        assert stream.status == 200
        assert stream.headers["Content-Type"] == "text/event-stream; charset=utf-8"
        assert (stream.headers["Cache-Control"], stream.headers["X-Accel-Buffering"]) == ("no-store", "no")
        assert (stream.headers["Transfer-Encoding"] == "chunked") == (version == 11)
        first = stream.event()
        assert (first.name, first.flags[name]) == ("unleash-connected", True)
        switch(service, name, "off")
        second = stream.event()
        assert (second.name, second.flags) == ("unleash-updated", {name: False})
        headers = {"Authorization": token, "Unleash-Client-Spec": "5.2.0"}
        polled = service.get("/api/client/features", headers=headers).headers["ETag"]
        assert f'"{second.id}"' == polled != f'"{first.id}"'


@pytest.mark.gate
def test_a_page_is_told_to_read_again(service: Service) -> None:
    token = new_token(service, "frontend")
    new_flag(service, "page")
    path = page_path(service, token)
    with EventStream(service, path) as stream:
        # The flags have just changed, perhaps after the page read them.
        first = stream.event()
        assert first.data == {"type": "refetchEvaluation", "etag": first.id}
        switch(service, "page", "off")
        second = stream.event()
        assert second.data == {"type": "refetchEvaluation", "etag": second.id}
        assert second.id != first.id
    with EventStream(service, path, last=second.id) as stream:
        assert stream.event().data == ""
    with EventStream(service, path, last=first.id) as stream:
        assert stream.event().data["etag"] == second.id


def test_head_has_the_headers_and_leaves_the_connection_open(service: Service) -> None:
    head = f"HEAD {SDK} HTTP/1.1\r\nHost: x\r\nAuthorization: {new_token(service)}\r\n"
    answer = service.exchange(f"{head}\r\n{head}Connection: close\r\n\r\n".encode())
    assert answer.count(b"HTTP/1.1 200 OK") == 2
    assert b"unleash-connected" not in answer


def test_comments_come(service: Service) -> None:
    token = new_token(service)
    new_flag(service, "commented")
    with EventStream(service, SDK, token) as stream:
        stream.event()
        stream.comment()
        switch(service, "commented", "off")
        assert stream.event().flags == {"commented": False}


@pytest.mark.timing
def test_a_page_reads_again_when_a_date_passes(service: Service) -> None:
    token, date = new_token(service, "frontend"), datetime.now(UTC) + timedelta(seconds=3)
    constraint = {"contextName": "currentTime", "operator": "DATE_AFTER", "value": date.isoformat()}
    change(service, "POST", FLAGS, {"name": "dated"})
    strategy = STRATEGY | {"constraints": [constraint]}
    change(service, "POST", f"{FLAGS}/dated/environments/development/strategies", strategy)
    path = page_path(service, token)
    with EventStream(service, path) as stream:
        etag = stream.event().id
    with EventStream(service, path, last=etag) as stream, EventStream(service, SDK, new_token(service)) as sdk:
        assert stream.event().data == ""
        assert stream.event().data == {"type": "refetchEvaluation", "etag": etag}
        assert datetime.now(UTC) > date
        # SDKs compare dates themselves.
        sdk.event()
        switch(service, "dated", "on")
        assert sdk.event().flags == {"dated": True}


def test_a_page_that_was_told_reads_the_new_flags(make_database: Callable[..., str]) -> None:
    with Service(make_database(), WEB_CONCURRENCY=2, CLIENT_KEEP_MS=60_000) as service:
        new_flag(service, "kept")
        token = new_token(service, "frontend")

        def read_flags(query: str = "") -> bool:
            headers = {"Authorization": token}
            answer = service.request("POST", EVALUATE + query, {"context": {"targetingKey": "u"}}, headers)
            return {flag["key"]: flag["value"] for flag in answer.json["flags"]}["kept"]

        # Both workers know the token for a minute.
        assert all(read_flags() for _ in range(40))
        with EventStream(service, page_path(service, token)) as stream:
            stream.event()
            switch(service, "kept", "off")
            etag = stream.event().id
        assert any(read_flags() for _ in range(40))
        assert not any(read_flags(f"?flagConfigEtag={etag}") for _ in range(40))


# --- Places -----------------------------------------------------------------------------------------------------------


def test_streams_get_the_places_of_the_setting(make_database: Callable[..., str]) -> None:
    with Service(make_database(), CLIENT_STREAMS=4, METRICS_TOKEN=TOKEN) as service:
        sdk, page = new_token(service), new_token(service, "frontend")
        path = page_path(service, page)
        with EventStream(service, path) as first, EventStream(service, path) as second:
            for stream in (first, second):
                stream.event()
            wait_until(lambda: scraped(service, "flags_client_streams") == 2, "both had a place")
            # Pages get half of the places.
            with EventStream(service, path) as third:
                assert third.status == 200
                assert is_refused(third)
            with EventStream(service, SDK, sdk) as third, EventStream(service, SDK, sdk) as fourth:
                for stream in (third, fourth):
                    stream.event()
                wait_until(lambda: scraped(service, "flags_client_streams") == 4, "all places were taken")
                with EventStream(service, SDK, sdk) as fifth:
                    assert fifth.status == 200
                    assert is_refused(fifth)
                assert scraped(service, "flags_client_streams_refused_total") == 2
                began = time.time()
                new_flag(service, "pushed")
                assert {stream.event().name for stream in (third, fourth)} == {"unleash-updated"}
                pushes = scraped(service, "flags_client_stream_pushes_total")
                assert pushes >= 4
                assert began <= scraped(service, "flags_client_stream_last_push_timestamp_seconds") <= time.time()
        # Clients that have closed free their places at once.
        wait_until(lambda: scraped(service, "flags_client_streams") == 0, "all places were free")
        with EventStream(service, SDK, sdk) as stream:
            assert stream.event().name == "unleash-connected"
            new_flag(service, "later")
            assert stream.event().name == "unleash-updated"


def test_without_places_streams_end_at_once(make_database: Callable[..., str]) -> None:
    with Service(make_database(), CLIENT_STREAMS=0) as service:
        sdk, path = new_token(service), page_path(service, new_token(service, "frontend"))
        for version in (10, 11):
            with EventStream(service, SDK, sdk, version=version) as stream:
                assert is_refused(stream)
            with EventStream(service, path, version=version) as stream:
                assert is_refused(stream)
        assert b"\r\n\r\nretry: 20000\nid: " in service.exchange(f"GET {path} HTTP/1.0\r\nHost: x\r\n\r\n".encode())
        head = f"GET {SDK} HTTP/1.0\r\nHost: x\r\nAuthorization: {sdk}\r\n\r\n".encode()
        assert b"\r\n\r\nretry: 15000\nevent: " in service.exchange(head)


@pytest.mark.skipif(not OPENSSL, reason="needs openssl (on Debian: apt-get install openssl)")
def test_with_tls_by_gunicorn_streams_end_at_once_and_connections_stay(
    make_database: Callable[..., str], tmp_path: Path
) -> None:
    context, files = certify(tmp_path), f"--certfile {tmp_path}/certificate --keyfile {tmp_path}/key"
    service = Service(make_database(), GUNICORN_CMD_ARGS=files).start()
    try:
        wait_until(lambda: "Serving at" in service.err, "the service was ready")
        address = ("localhost", service.port)
        with (
            closing(HTTPSConnection(*address, timeout=PATIENCE, context=context)) as one,
            closing(HTTPSConnection(*address, timeout=PATIENCE, context=context)) as other,
        ):
            # In turn, so that each connection waits for its next request.
            for number, connection in enumerate((one, other) * 3):
                before = connection.sock
                connection.request("GET", SDK, headers=AUTHORIZED)
                assert b"fetch-mode" in connection.getresponse().read()
                assert number < 2 or connection.sock is before
    finally:
        service.end()


def test_streams_take_no_request_threads(service: Service) -> None:
    with listeners(service, new_token(service), 12):
        assert [service.get("/health", timeout=PATIENCE).status for _ in range(8)] == [200] * 8


def test_few_open_files_lower_the_places(make_database: Callable[..., str]) -> None:
    limited = ("sh", "-c", 'ulimit -n 912 && exec "$@"', "sh")
    with Service(make_database(), prefix=limited, METRICS_TOKEN=TOKEN) as service:
        assert (
            "Each worker can have 4 event streams instead of CLIENT_STREAMS=400, because it can open only 912 files. "
            "Raise the limit of open files to 1308." in service.err
        )
        token = new_token(service)
        with listeners(service, token, 4):
            wait_until(lambda: scraped(service, "flags_client_streams") == 4, "all places were taken")
            with EventStream(service, SDK, token) as stream:
                assert is_refused(stream)
