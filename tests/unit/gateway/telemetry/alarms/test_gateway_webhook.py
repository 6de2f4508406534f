"""The webhook delivers at least once, in order and signed; what it gives up is on record."""

import hmac
import json
import threading
from collections.abc import Iterator
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from typing_extensions import override

from audit.errors import LedgerTimeoutError
from audit.records.kinds import Kind
from gateway import clock
from gateway.launch.threads.alarms import record_lost
from gateway.telemetry.alarms.catalogue import Alarm, Notice
from gateway.telemetry.alarms.webhook import DELIVERY, QUEUE_MAX, SIGNATURE, Sink, Webhook
from tests.doubles.memory_ledger import MemoryLedger

SECRET = b"0123456789abcdef0123456789abcdef"


class Receiver:
    """A sink that answers as it was told, and 200 afterwards."""

    def __init__(self, *answers: int) -> None:
        """Listen on a free port of this machine."""
        self.got: list[tuple[str, str, bytes]] = []
        self.arrived = threading.Semaphore(0)
        left = list(answers)
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                receiver.got.append((self.headers[DELIVERY], self.headers[SIGNATURE], body))
                self.send_response(left.pop(0) if left else 200)
                self.send_header("Content-Length", "0")
                self.end_headers()
                receiver.arrived.release()

            @override
            def log_message(self, *_: Any) -> None:
                """Say nothing."""

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    @property
    def address(self) -> str:
        """The address to post to."""
        return f"http://127.0.0.1:{self.server.server_address[1]}/hook"

    def wait(self, posts: int) -> None:
        """Wait until so many more posts have arrived."""
        for _ in range(posts):
            assert self.arrived.acquire(timeout=30)

    def close(self) -> None:
        """Stop listening."""
        self.server.shutdown()
        self.server.server_close()


@pytest.fixture
def log() -> MemoryLedger:
    return MemoryLedger()


@pytest.fixture
def receiver(request: pytest.FixtureRequest) -> Iterator[Receiver]:
    made = Receiver(*getattr(request, "param", ()))
    yield made
    made.close()


def webhook(log: MemoryLedger, address: str, **changes: float) -> Webhook:
    sink = Sink(address=address, secret=SECRET, **changes)
    lost = partial(record_lost, log, "run")
    return Webhook(sink, lost, "run", clock.wall_us, first_wait_s=0.01)


def notice(detail: str = "why", at_us: int | None = None) -> Notice:
    when = clock.wall_us() if at_us is None else at_us
    return Notice(alarm=Alarm.KILL, event="raised", detail=detail, at_us=when)


def lost(log: MemoryLedger) -> list[tuple[str, str]]:
    return [(str(r.body["detail"]), str(r.body["reason"])) for r in log.of_kind(Kind.ALARM_LOST)]


@pytest.mark.parametrize("receiver", [(500, 302, 404)], indirect=True)
def test_a_notice_is_posted_again_until_it_is_taken_and_then_the_next(
    log: MemoryLedger, receiver: Receiver
) -> None:
    hook = webhook(log, receiver.address)
    hook.offer(notice("first"))
    hook.offer(notice("second"))
    hook.start()
    receiver.wait(5)
    hook.stop()
    details = [json.loads(body)["detail"] for _, _, body in receiver.got]
    assert details == ["first"] * 4 + ["second"]
    assert [name for name, _, _ in receiver.got] == ["run-1"] * 4 + ["run-2"]
    assert (hook.delivered, hook.lost, lost(log)) == (2, 0, [])


def test_a_post_is_signed_with_its_time(log: MemoryLedger, receiver: Receiver) -> None:
    hook = webhook(log, receiver.address)
    hook.offer(notice())
    hook.start()
    receiver.wait(1)
    hook.stop()
    _, signed, body = receiver.got[0]
    at, code = (part.partition("=")[2] for part in signed.split(","))
    assert code == hmac.new(SECRET, at.encode() + b"." + body, "sha256").hexdigest()
    assert abs(int(at) - clock.wall_us() // 1_000_000) < 120


def test_a_notice_that_is_too_old_is_given_up_and_on_record(log: MemoryLedger) -> None:
    gone = Receiver()
    gone.close()
    hook = webhook(log, gone.address, give_up_after_s=1.0)
    recorded = threading.Event()
    log.subscribe(lambda _: recorded.set())
    hook.offer(notice("old", at_us=1))
    hook.start()
    assert recorded.wait(30)
    hook.stop()
    assert lost(log) == [("old", "ConnectError")]


def test_a_full_queue_loses_the_newest_and_says_so(log: MemoryLedger) -> None:
    hook = webhook(log, "http://127.0.0.1:1/")
    for number in range(QUEUE_MAX + 1):
        hook.offer(notice(str(number)))
    assert hook.waiting == QUEUE_MAX
    hook.stop()
    found = lost(log)
    assert found[0] == (str(QUEUE_MAX), "the queue was full")
    assert found[1:] == [(str(n), "the gateway stopped") for n in range(QUEUE_MAX)]
    assert hook.lost == QUEUE_MAX + 1


def test_a_ledger_that_does_not_answer_stops_no_delivery(
    log: MemoryLedger, receiver: Receiver
) -> None:
    log.refuses = LedgerTimeoutError("away", written=False)
    hook = webhook(log, receiver.address, give_up_after_s=1.0)
    hook.offer(notice("taken"))
    hook.start()
    receiver.wait(1)
    hook.stop()
    assert len(receiver.got) == 1
