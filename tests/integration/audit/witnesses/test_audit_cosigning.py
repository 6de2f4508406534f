"""A witness that forgot what it cosigned: the log is served, and its operator is told."""

import logging
import socket
import threading
from collections.abc import Sequence

import pytest

from audit.tlog.checkpoint import make_checkpoint
from audit.witnesses.cosigning import WitnessWorker, Work
from tests.doubles.audit_log import SIGNER
from tests.doubles.cosigners import WITNESSES
from tests.doubles.witness_process import serving

CHECKPOINT = make_checkpoint(12, bytes(32), SIGNER)


@pytest.mark.parametrize("cosigned", [9, 3, 2])
def test_a_witness_that_remembers_less_than_it_cosigned_is_named(
    cosigned: int, caplog: pytest.LogCaptureFixture
) -> None:
    asked: list[int] = []
    refused = threading.Event()

    def remembers_three(connection: socket.socket) -> None:
        connection.sendall(
            b"HTTP/1.1 409 Conflict\r\nContent-Type: text/x.tlog.size\r\nContent-Length: 2\r\n"
            b"\r\n3\n"
        )

    def prove(old: int, _: int) -> Sequence[bytes]:
        asked.append(old)
        return ()

    work = Work(
        next=lambda _: None if refused.is_set() else CHECKPOINT,
        prove=prove,
        store=lambda *_: None,
        changed=refused.set,
    )
    with serving(remembers_three) as url, caplog.at_level(logging.WARNING):
        worker = WitnessWorker(url, [WITNESSES[0].vkey], work, 2.0, cosigned)
        worker.start()
        assert refused.wait(10)
        worker.stop()
    assert asked == list(dict.fromkeys([cosigned, 3]))
    said = [one.getMessage() for one in caplog.records if "went_back" in one.getMessage()]
    assert said == [f"witness_went_back url={url} cosigned=9 remembers=3"] * (cosigned == 9)
