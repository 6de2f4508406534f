"""A writer process for crash tests: appends fast, says on stdout what was acknowledged.

Lines: `ack <idem key>` after an append returned. With `--mutant early-ack` the sequencer releases
its callers before the commit: the harness must catch that.
"""

import argparse
import itertools
import os
import threading
import time

from typing_extensions import override

import audit.ledger
from audit.batch import Builder
from audit.ledger import Ledger, LedgerConfig
from audit.record import Record
from audit.sequencer import Sequencer
from tests.doubles.audit_log import SIGNER, note


class EarlyAck(Sequencer):
    """A sequencer that is wrong on purpose: it answers first and commits afterwards."""

    @override
    def _write(self, builder: Builder) -> None:
        for request, records in builder.batch.appended:
            request.done.set_result(records)
        builder.batch.appended.clear()
        time.sleep(0.002)
        super()._write(builder)


def main() -> None:
    """Write until killed."""
    parser = argparse.ArgumentParser()
    parser.add_argument("dsn")
    parser.add_argument("run")
    parser.add_argument("--writers", type=int, default=4)
    parser.add_argument("--mutant", choices=["early-ack"])
    asked = parser.parse_args()
    if asked.mutant:
        setattr(audit.ledger, "Sequencer", EarlyAck)  # noqa: B010 - the mutant takes its place
    config = LedgerConfig(dsn=asked.dsn, checkpoint_every_s=0.05)
    ledger = Ledger.open(config, SIGNER, lambda: time.time_ns() // 1000)  # noqa: TID251 - a test's clock
    os.write(1, b"ready\n")

    def write(writer: int) -> None:
        for number in itertools.count():
            key = f"{asked.run}:{writer}:{number}"
            records: tuple[Record, ...] = ledger.append(note("x" * 200, key=key))
            os.write(1, f"ack {records[0].idem_key}\n".encode())

    threads = [threading.Thread(target=write, args=(number,)) for number in range(asked.writers)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


if __name__ == "__main__":
    main()
