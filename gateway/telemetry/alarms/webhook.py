"""Delivery of notices to the operator's webhook: signed, at least once, never waited for.

Rules:
- A notice waits in a bounded queue and is posted again, with back-off, until the sink answers 2xx.
- One that finds the queue full, is too old, or is left at the stop, is on record as lost
  (`alarm_lost`). After a crash the next start raises what still stands.
- Redirects are not followed and no proxy is taken from the environment: the address is the one
  that the operator wrote.

The signature is `t=SECONDS,v1=HEX`: HMAC-SHA256 with the shared secret over `SECONDS.BODY`.
"""

import hmac
import json
import logging
import threading
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import httpx

from gateway.telemetry.alarms.catalogue import Notice

_log = logging.getLogger(__name__)
QUEUE_MAX: Final = 100
ANSWER_WITHIN_S: Final = 5.0
FIRST_WAIT_S: Final = 1.0
WAIT_MAX_S: Final = 60.0
STOP_WITHIN_S: Final = 10.0
SIGNATURE: Final = "Countersign-Signature"
DELIVERY: Final = "Countersign-Delivery"
_US: Final = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Sink:
    """Where notices go; `secret` is shared with the sink."""

    address: str
    secret: bytes
    give_up_after_s: float = 3_600.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Lost:
    """A notice that was given up: its number in the run, its attempts, and why."""

    notice: Notice
    number: int
    tries: int
    reason: str


@dataclass(slots=True)
class _Waiting:
    notice: Notice
    number: int
    tries: int = 0


class Webhook:
    """Posts notices from a thread of its own."""

    def __init__(
        self,
        sink: Sink,
        record_lost: Callable[[Lost], None],
        run_id: str,
        wall_us: Callable[[], int],
        first_wait_s: float = FIRST_WAIT_S,
    ) -> None:
        """Connect to nothing yet; `record_lost` puts a lost notice on record, or logs it."""
        self._sink = sink
        self._tell_lost = record_lost
        self._run_id = run_id
        self._wall_us = wall_us
        self._first_wait_s = first_wait_s
        self._queue: deque[_Waiting] = deque()
        self._news = threading.Condition()
        self._stopping = threading.Event()
        self._number = 0
        self._lost: deque[tuple[_Waiting, str]] = deque()
        self.delivered = self.lost = 0
        self._thread = threading.Thread(target=self._run, name="webhook", daemon=True)

    @property
    def waiting(self) -> int:
        """The number of notices that are not delivered yet."""
        return len(self._queue)

    def offer(self, notice: Notice) -> None:
        """Take a notice for delivery; never waits and never fails."""
        with self._news:
            self._number += 1
            one = _Waiting(notice, self._number)
            if len(self._queue) < QUEUE_MAX:
                self._queue.append(one)
            else:
                self._lost.append((one, "the queue was full"))
            self._news.notify()

    def start(self) -> None:
        """Start delivering."""
        self._thread.start()

    def stop(self) -> None:
        """Stop after the attempt at hand; what is left is recorded as lost."""
        self._stopping.set()
        with self._news:
            self._news.notify()
        if self._thread.ident is not None:
            self._thread.join(STOP_WITHIN_S)
        with self._news:
            self._lost.extend((one, "the gateway stopped") for one in self._queue)
            self._queue.clear()
        self._record_lost()

    def _run(self) -> None:
        with httpx.Client(timeout=ANSWER_WITHIN_S, trust_env=False) as client:
            while not self._stopping.is_set():
                with self._news:
                    self._news.wait_for(
                        lambda: self._queue or self._lost or self._stopping.is_set()
                    )
                    one = self._queue[0] if self._queue else None
                self._record_lost()
                if one is not None and not self._stopping.is_set():
                    self._try(client, one)

    def _try(self, client: httpx.Client, one: _Waiting) -> None:
        """Post one notice; on failure wait before the next attempt, or give it up."""
        one.tries += 1
        if trouble := self._post(client, one):
            age_us = self._wall_us() - one.notice.at_us
            if age_us < self._sink.give_up_after_s * _US:
                wait_s = min(self._first_wait_s * 2 ** (one.tries - 1), WAIT_MAX_S)
                _log.warning("alarm not delivered (%s), tried again in %g s", trouble, wait_s)
                self._stopping.wait(wait_s)
                return
            self._lost.append((one, trouble))
        else:
            self.delivered += 1
        self._queue.popleft()
        self._record_lost()

    def _post(self, client: httpx.Client, one: _Waiting) -> str:
        """Return '' once the sink took it, otherwise why it did not."""
        document = {**one.notice.document(), "run_id": self._run_id, "number": one.number}
        body = json.dumps(document, separators=(",", ":")).encode()
        headers = {
            "Content-Type": "application/json",
            DELIVERY: f"{self._run_id}-{one.number}",
            SIGNATURE: signature(self._sink.secret, self._wall_us() // _US, body),
        }
        try:
            answer = client.post(self._sink.address, content=body, headers=headers)
        except (httpx.HTTPError, OSError) as error:
            return type(error).__name__
        return "" if answer.is_success else f"status {answer.status_code}"

    def _record_lost(self) -> None:
        while self._lost:
            one, why = self._lost[0]
            self._tell_lost(Lost(notice=one.notice, number=one.number, tries=one.tries, reason=why))
            self._lost.popleft()
            self.lost += 1


def signature(secret: bytes, at_s: int, body: bytes) -> str:
    """Return the header that a sink compares with its own."""
    code = hmac.new(secret, f"{at_s}.".encode() + body, "sha256").hexdigest()
    return f"t={at_s},v1={code}"
