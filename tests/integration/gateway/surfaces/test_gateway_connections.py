"""Nobody stops a server by connecting: silent, endless, many, or never taking the answer."""

import asyncio
import contextlib
import socket
import time
from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest
from fastapi import FastAPI, Request
from fastapi.responses import StreamingResponse

from gateway.installation.settings import ApiSettings
from gateway.surfaces import server as gateway_server
from gateway.surfaces.connections import ConnectionLimits, peer_of
from gateway.surfaces.server import Server
from gateway.surfaces.witness import server as witness_server
from tests.doubles.audit_log import SIGNER
from tests.doubles.witness_process import WitnessProcess, witness_process

SHORT = ConnectionLimits(request_within_s=0.5, stalled_s=0.5, peer_max=8, total_max=16)
CHUNKS, CHUNK_EVERY_S = 10, 0.2
LONG = 64 * 2**20
GIVE_UP_S = 20.0
HALF = b"POST /body HTTP/1.1\r\nHost: here\r\nContent-Length: 100\r\n\r\nhalf"


def small_site() -> FastAPI:
    """An application that answers at once, slowly, much, and before it has read the body."""
    app = FastAPI()
    app.state.ended = False

    async def drip() -> AsyncIterator[bytes]:
        for _ in range(CHUNKS):
            await asyncio.sleep(CHUNK_EVERY_S)
            yield b"live\n"

    async def much() -> AsyncIterator[bytes]:
        try:
            for _ in range(LONG // 65_536):
                yield bytes(65_536)
        finally:
            app.state.ended = True

    async def live() -> StreamingResponse:
        return StreamingResponse(drip())

    async def export() -> StreamingResponse:
        return StreamingResponse(much())

    async def refused() -> dict[str, bool]:
        return {"read": False}

    async def body(request: Request) -> dict[str, int]:
        return {"bytes": len(await request.body())}

    app.add_api_route("/", refused)
    app.add_api_route("/live", live)
    app.add_api_route("/export", export)
    app.add_api_route("/refused", refused, methods=["POST"])
    app.add_api_route("/body", body, methods=["POST"])
    return app


@contextlib.contextmanager
def served(limits: ConnectionLimits, app: FastAPI | None = None) -> Iterator[str]:
    """Serve the small site as the gateway serves its own; yield the address."""
    server = Server(ApiSettings(port=0), limits)
    server.start(app or small_site())
    try:
        yield server.address
    finally:
        server.stop()


@pytest.fixture(scope="module")
def witness(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WitnessProcess]:
    state = tmp_path_factory.mktemp("bounded") / "w"
    with witness_process(state, [str(SIGNER.vkey)], within_s=1.0) as process:
        yield process


def connect(url: str) -> socket.socket:
    address = urlsplit(url)
    assert address.hostname is not None
    assert address.port is not None
    return socket.create_connection((address.hostname, address.port), timeout=GIVE_UP_S)


def answered(connection: socket.socket) -> bytes:
    """Return one whole answer of the small site; its head and its body may come apart."""
    data = b""
    while not data.endswith(b"}") and (piece := connection.recv(65_536)):
        data += piece
    return data


def closed(connection: socket.socket) -> bool:
    """Say whether the other side closes, without an answer, before this side gives up."""
    try:
        return connection.recv(1) == b""
    except ConnectionResetError:
        return True


def still_open(connection: socket.socket) -> bool:
    connection.settimeout(0)
    try:
        return connection.recv(1) != b""
    except BlockingIOError:
        return True
    except ConnectionResetError:
        return False


def rest(connection: socket.socket) -> bytes:
    """Read to the end."""
    return b"".join(iter(lambda: connection.recv(65_536), b""))


def trickle(connection: socket.socket, every_s: float) -> bool:
    """Send a header's bytes one at a time; say whether the other side ends it."""
    until = time.monotonic() + GIVE_UP_S
    connection.sendall(b"GET / HTTP/1.1\r\nX-Slow: ")
    try:
        while time.monotonic() < until:
            connection.sendall(b"a")
            time.sleep(every_s)
    except OSError:
        return True
    return False


def endless_head(connection: socket.socket, bytes_max: int) -> int:
    """Send headers until the other side ends it; return how many bytes went out."""
    line = b"X-Long: " + b"a" * 8_000 + b"\r\n"
    sent = 0
    try:
        connection.sendall(b"GET / HTTP/1.1\r\n")
        while sent < bytes_max:
            connection.sendall(line)
            sent += len(line)
    except OSError:
        pass
    return sent


def memory_kb(pid: int) -> int:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM"))


@contextlib.contextmanager
def silent(url: str, number: int) -> Iterator[list[socket.socket]]:
    """Hold connections on which nothing is sent."""
    with contextlib.ExitStack() as held:
        yield [held.enter_context(connect(url)) for _ in range(number)]


def test_silent_connections_do_not_keep_others_from_a_witness(witness: WitnessProcess) -> None:
    over = witness_server.LIMITS.peer_max + 10
    with silent(witness.url, over) as held:
        for _ in range(3):
            assert httpx.get(f"{witness.url}/").status_code == httpx.codes.OK
        assert all(map(closed, held)), "the deadline ends those that are not one too many"
    assert httpx.get(f"{witness.url}/").status_code == httpx.codes.OK


def test_a_witness_takes_no_endless_head(witness: WitnessProcess) -> None:
    before_kb = memory_kb(witness.process.pid)
    with connect(witness.url) as connection:
        assert endless_head(connection, LONG) < LONG
    assert memory_kb(witness.process.pid) - before_kb < LONG // 1024 // 2
    assert httpx.get(f"{witness.url}/").status_code == httpx.codes.OK


def test_a_witness_does_not_wait_for_a_trickled_head(witness: WitnessProcess) -> None:
    with connect(witness.url) as connection:
        assert trickle(connection, 0.1)


def test_the_gateway_ends_what_does_not_become_a_request() -> None:
    with served(SHORT) as url:
        with silent(url, 1) as held:
            assert closed(held[0])
        with connect(url) as connection:
            assert trickle(connection, 0.05)
        with connect(url) as connection:
            connection.sendall(HALF)
            assert closed(connection)
        with connect(url) as connection:
            assert endless_head(connection, LONG) < LONG


def test_a_second_request_has_the_same_deadline() -> None:
    with served(replace(SHORT, idle_s=600)) as url, connect(url) as connection:
        connection.sendall(b"GET / HTTP/1.1\r\nHost: here\r\n\r\n")
        assert answered(connection).startswith(b"HTTP/1.1 200")
        assert trickle(connection, 0.05)


def test_an_early_answer_does_not_end_the_wait_for_the_body() -> None:
    with served(SHORT) as url, connect(url) as connection:
        connection.sendall(HALF.replace(b"/body", b"/refused"))
        assert answered(connection).startswith(b"HTTP/1.1 200")
        assert closed(connection)


def test_requests_behind_one_another_on_a_connection_are_all_answered() -> None:
    with served(SHORT) as url, httpx.Client(base_url=url) as client:
        for _ in range(8):
            time.sleep(SHORT.request_within_s / 4)
            assert client.get("/").status_code == httpx.codes.OK
            assert client.post("/body", content=bytes(30_000)).json() == {"bytes": 30_000}


def test_an_answer_may_take_longer_than_a_request() -> None:
    assert 2 * SHORT.request_within_s < CHUNKS * CHUNK_EVERY_S
    with served(SHORT) as url:
        assert httpx.get(f"{url}/live", timeout=GIVE_UP_S).text == "live\n" * CHUNKS


def test_a_download_goes_on_as_long_as_something_is_taken() -> None:
    taken = 0
    with served(SHORT) as url, connect(url) as connection:
        connection.sendall(b"GET /export HTTP/1.1\r\nHost: here\r\nConnection: close\r\n\r\n")
        while data := connection.recv(2**20):
            taken += len(data)
            time.sleep(0.02)
    assert taken > LONG


def test_an_answer_that_nobody_takes_is_given_up() -> None:
    app = small_site()
    with served(SHORT, app) as url, connect(url) as connection:
        connection.sendall(b"GET /export HTTP/1.1\r\nHost: here\r\n\r\n")
        until = time.monotonic() + GIVE_UP_S
        while not app.state.ended and time.monotonic() < until:
            time.sleep(0.05)
        assert app.state.ended


@pytest.mark.parametrize(
    "limits",
    [
        replace(SHORT, request_within_s=600, peer_max=4),
        replace(SHORT, request_within_s=600, total_max=4),
    ],
    ids=["of a peer", "of all"],
)
def test_the_longest_awaited_gives_way_and_answers_do_not(limits: ConnectionLimits) -> None:
    with served(limits) as url, connect(url) as live, silent(url, 3) as held:
        live.sendall(b"GET /live HTTP/1.1\r\nHost: here\r\nConnection: close\r\n\r\n")
        assert live.recv(15) == b"HTTP/1.1 200 OK"
        assert httpx.get(f"{url}/").status_code == httpx.codes.OK
        assert closed(held[0]), "it waited for longest"
        assert all(map(still_open, held[1:]))
        assert rest(live).count(b"live\n") == CHUNKS


def test_where_all_are_being_answered_the_newest_is_closed() -> None:
    limits = replace(SHORT, request_within_s=600, peer_max=3)
    with served(limits) as url, contextlib.ExitStack() as stack:
        answered = [stack.enter_context(connect(url)) for _ in range(3)]
        for one in answered:
            one.sendall(b"GET /live HTTP/1.1\r\nHost: here\r\nConnection: close\r\n\r\n")
            assert one.recv(15) == b"HTTP/1.1 200 OK"
        assert closed(stack.enter_context(connect(url)))
        for one in answered:
            assert rest(one).count(b"live\n") == CHUNKS
        assert httpx.get(f"{url}/").status_code == httpx.codes.OK


def test_what_is_closed_counts_no_more() -> None:
    with served(replace(SHORT, peer_max=4, total_max=4)) as url:
        for _ in range(12):
            with silent(url, 3):
                assert httpx.get(f"{url}/").status_code == httpx.codes.OK


def test_one_peer_does_not_fill_the_defaults() -> None:
    for limits in (gateway_server.LIMITS, witness_server.LIMITS):
        assert limits.peer_max * 2 <= limits.total_max


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("192.0.2.1", "192.0.2.1", True),
        ("192.0.2.1", "192.0.2.2", False),
        ("::ffff:192.0.2.1", "192.0.2.1", True),
        ("2001:db8::1", "2001:db8::ffff:2", True),
        ("2001:db8::1", "2001:db8:0:1::1", False),
        ("fe80::1%lo", "fe80::2", True),
    ],
)
def test_a_peer_is_one_address_or_one_network_of_a_host(
    one: str, other: str, *, same: bool
) -> None:
    assert (peer_of((one, 1)) == peer_of((other, 2))) is same
