"""Measure the way to the broker: `make bench-fix` writes docs/measured/fix-bench.md.

Three parts. *Decision to wire*: the walk's `dispatch` over a real ledger and a real FIX child,
against one durable INSERT and a bare quickfix initiator in this process; both send to the same
peer, which times what arrives, and they take turns. *Kill*: 500 open orders, by mass cancel and by
paced cancels. *Feed*: quotes posted as NDJSON until the desk could decide on them.

`--quick` takes a minute and shows whether the bench works; its figures are not for the docs.
"""

import argparse
import json
import os
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple, cast

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from audit.sequencer.ledger import Ledger, LedgerConfig
from audit.signers.file import FileSigner
from audit.store.reader import LedgerReader
from audit.store.tables import migrate
from fix.dialects.profile import Capabilities, Pace, Profile, simulator_profile
from fix.durable.inbox import Entry
from fix.session.link import SessionState
from fix.wire.messages import parse
from gateway import clock
from gateway.desk.intake.feeding import Feeding
from gateway.feeds.live.board import FedMarket
from gateway.feeds.live.conditions import FeedLimits
from gateway.feeds.live.items import BarItem, QuoteItem
from gateway.feeds.live.items import parse as parse_item
from gateway.installation.children.postgres import EmbeddedPostgres
from gateway.walk.dispatch import dispatch
from gateway.walk.settlement import Received, settle
from scripts.bare_initiator import BareInitiator
from scripts.bench_fix_page import OPEN, PACED_BURST, PACED_PER_S, Figures, Scale, at, report
from scripts.fix_sink import Sink, Throttle
from scripts.ledger_loads import Yardsticks
from tests.doubles.feeds import bars, quote
from tests.doubles.fix_world import Desk, order_fields, until
from tests.doubles.memory_desk import TABLE, MemoryDesk, Wall
from tests.doubles.memory_ledger import MemoryLedger
from tests.doubles.programs import use_first_parts
from tests.doubles.small_desk import INSTRUMENTS, small_desk

ROOT = Path(__file__).resolve().parent.parent
REPORT = ROOT / "docs" / "measured" / "fix-bench.md"
SIGNER = FileSigner("bench.example/log", Ed25519PrivateKey.from_private_bytes(bytes(range(32))))
LATE_US = 3_600_000_000
APART_S = 0.12
"""Between two orders: the policy's message rate (R13) lets ten a second pass."""
BATCH = 100

FULL = Scale(pairs=1_000, presses=100, paced=5, feed_s=10.0)
QUICK = Scale(pairs=60, presses=3, paced=1, feed_s=1.0)


class Wire(NamedTuple):
    """Times in milliseconds: both sides' to the wire, one INSERT's, one line's and fdatasync's."""

    ours: list[float]
    bare: list[float]
    inserts: list[float]
    syncs: list[float]


class Bench:
    """One server, one ledger, one folder."""

    def __init__(self, scale: Scale, folder: Path, stack: ExitStack) -> None:
        self._scale, self._folder, self._stack = scale, folder, stack
        self._kept: object = None  # an engine that is collected while it runs ends the process
        self._insert_s = 0.0
        self._file = stack.enter_context((folder / "lines").open("wb"))
        server = EmbeddedPostgres(folder)
        server.start()
        stack.callback(server.stop)
        dsn = stack.enter_context(server.administration())
        migrate(dsn)
        self._yard = Yardsticks(dsn)
        stack.callback(self._yard.close)
        ledger = Ledger.open(LedgerConfig(dsn=dsn), SIGNER, clock.wall_us)
        stack.callback(ledger.close)
        reader = LedgerReader(dsn)
        stack.callback(reader.close)
        small = small_desk(ledger, reader, folder / "desk", TABLE, market=None)
        for session in small.playback.sessions(2):
            small.desk.own.market.open_session(session)
        self._desk = MemoryDesk(small=small, log=cast("MemoryLedger", reader), wall=Wall())

    def wire(self) -> Wire:
        """Return both sides' times to the wire, pair by pair, and the disk's, in milliseconds."""
        sink = self._sink()
        profile = simulator_profile(sink.port)
        line = self._line("wire", profile)
        bare_profile = profile.model_copy(update={"sender_comp_id": "BARE"})
        bare = self._kept = BareInitiator(bare_profile, self._folder / "bare")
        bare.start()
        own = self._desk.small.desk.own
        self._desk.small.desk.own = replace(
            own, dispatching=replace(own.dispatching, broker=line.child, profile=profile)
        )
        found = Wire([], [], [], [])
        offset, warm_up = 0, 10
        for number, row in enumerate(self._yard.rows(self._scale.pairs + warm_up)):
            pair = [0.0, 0.0]
            for side in (number % 2, 1 - number % 2):
                pair[side] = self._ours(sink) if side == 0 else self._bare(sink, bare, row, number)
            offset = self._settle(line, offset)
            if number >= warm_up:
                found.ours.append(pair[0] * 1000)
                found.bare.append(pair[1] * 1000)
                found.inserts.append(self._insert_s * 1000)
                found.syncs.append(self._sync() * 1000)
        line.child.stop(sweep=False)
        return found

    def _sync(self) -> float:
        """Append a line to a file as the child's journal does; return the duration in seconds."""
        began = time.perf_counter()
        self._file.write(b"x" * 900)
        self._file.flush()
        os.fdatasync(self._file.fileno())
        return time.perf_counter() - began

    def _ours(self, sink: Sink) -> float:
        time.sleep(APART_S)
        standing = self._desk.approved()
        began = time.perf_counter()
        result = dispatch(standing, self._desk.small.desk.own.dispatching)
        if result is None or result.outcome != "sent":
            why = self._desk.withdrawn(standing.decision_id)
            raise SystemExit(f"bench: an order did not leave: {result} {why}")
        return sink.wait_for(dict(parse(result.raw))[11]) - began

    def _bare(self, sink: Sink, bare: BareInitiator, row: tuple[object, ...], number: int) -> float:
        name = f"BARE{number}"
        fields = [(t, name if t == 11 else v) for t, v in order_fields("bare")]  # noqa: PLR2004 - ClOrdID
        began = time.perf_counter()
        self._insert_s = self._yard.one(row)
        bare.send(fields)
        return sink.wait_for(name) - began

    def _settle(self, line: Desk, offset: int) -> int:
        """Book the broker's answer, which frees the order's reservation."""
        entries: list[Entry] = []

        def came() -> bool:
            entries[:] = line.child.inbox_since(offset)
            return bool(entries)

        _await(came, "the broker's answer did not arrive")
        for entry in entries:
            settle(Received(offset=entry.offset, raw=entry.raw), self._desk.small.settling)
        return entries[-1].next_offset

    def mass(self) -> list[float]:
        """Return the times from a press to the arrival of the mass cancel, in milliseconds."""
        sink = self._sink(ends_orders=False)
        profile = simulator_profile(sink.port)
        line = self._line("mass", profile)
        found = []
        for press in range(self._scale.presses):
            self._open(line, sink, f"mass-{press}", profile)
            sink.times["q"].clear()
            began = time.perf_counter()
            epoch = line.word.press()
            if not until(lambda: sink.times["q"]):
                raise SystemExit("bench: no mass cancel arrived")
            found.append((sink.times["q"][0] - began) * 1000)
            _await(lambda: not line.child.live_orders(), "orders stay live after a mass cancel")
            line.word.release(epoch)
            _say(f"press {press + 1}: {found[-1]:.1f} ms")
        line.child.stop(sweep=False)
        return found

    def paced(self) -> tuple[list[float], int]:
        """Return the rates of single cancels over the profile's limit, and throttle rejects."""
        sink = self._sink(ends_orders=False)
        sink.throttle = Throttle(rate=PACED_PER_S, burst=PACED_BURST)
        base = simulator_profile(sink.port)
        profile = base.model_copy(
            update={
                "capabilities": Capabilities(
                    mass_cancel=False, mass_status=True, cancel_on_disconnect=False
                ),
                "pace": Pace(
                    cancels_per_s=PACED_PER_S, cancel_burst=PACED_BURST, sweep_timeout_s=60
                ),
            }
        )
        line = self._line("paced", profile)
        shares = []
        for press in range(self._scale.paced):
            self._open(line, sink, f"paced-{press}", profile)
            sink.times["F"].clear()
            epoch = line.word.press()
            _await(lambda: len(sink.times["F"]) >= OPEN, "the cancels did not all arrive")
            times = sink.times["F"]
            rate = (OPEN - PACED_BURST) / (times[OPEN - 1] - times[0])
            shares.append(rate / PACED_PER_S)
            _await(lambda: not line.child.live_orders(), "orders stay live after their cancels")
            line.word.release(epoch)
            _say(f"paced {press + 1}: {rate:.0f}/s of {PACED_PER_S}")
        line.child.stop(sweep=False)
        return shares, sink.throttle.rejected

    def feed(self) -> float:
        """Return how many posted quotes a second become what the desk decides on."""
        own = self._desk.small.desk.own
        market = FedMarket(INSTRUMENTS, FeedLimits(late_us=60_000_000))
        feeding = Feeding(
            market=market,
            ledger=own.tools.ledger,
            tags=self._desk.small.tags,
            wall_us=clock.wall_us,
            monotonic_us=clock.monotonic_us,
            accounts=lambda: own.section.accounts,
        )
        feeding.take("bars", [_item("bars", one) for one in bars(60, clock.wall_us())])
        number, spent_s = 0, 0.0
        while spent_s < self._scale.feed_s:
            now_us = clock.wall_us()
            text = "\n".join(json.dumps(quote(number + n + 1, now_us)) for n in range(BATCH))
            began = time.perf_counter()
            items = [_item("quotes", json.loads(line)) for line in text.splitlines()]
            told = feeding.take("quotes", items)
            spent_s += time.perf_counter() - began
            if told["taken"] != BATCH:
                raise SystemExit(f"bench: the feed did not take all quotes: {told}")
            number += BATCH
        symbol = str(quote(1, 1)["instrument"])
        market.snapshot(symbol)  # raises if nothing could be decided on what was fed
        market.tick(symbol)
        return number / spent_s

    def _sink(self, *, ends_orders: bool = True) -> Sink:
        sink = Sink(ends_orders=ends_orders)
        sink.start()
        self._stack.callback(sink.stop)
        return sink

    def _line(self, name: str, profile: Profile) -> Desk:
        (self._folder / name).mkdir()
        line = Desk(self._folder / name, profile)
        self._stack.callback(line.word.close)
        self._stack.callback(line.child.stop, sweep=False)
        line.open()
        return line

    def _open(self, line: Desk, sink: Sink, name: str, profile: Profile) -> None:
        """Let 500 orders work at the peer."""
        epoch = line.word.read().kill_epoch
        _await(lambda: line.child.state is SessionState.READY, "the session is not ready")
        fields = dict(order_fields("open", profile))
        for number in range(OPEN):
            fields[11] = f"{name}-{number}"
            result = line.hand(tuple(fields.items()), kill_epoch=epoch, late_us=LATE_US)
            if result.outcome != "sent":
                raise SystemExit(f"bench: an order did not leave: {result}")
        _await(lambda: len(sink.live) == OPEN, "the orders did not all arrive")


def _item(feed: str, document: object) -> QuoteItem | BarItem:
    return parse_item(feed, document, INSTRUMENTS)


def _await(condition: Callable[[], object], problem: str) -> None:
    if not until(condition, 60.0):
        raise SystemExit(f"bench: {problem}")


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def main(words: Sequence[str]) -> int:
    """Measure, print, write the page unless it was quick."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="a minute; writes nothing")
    scale = QUICK if parser.parse_args(words).quick else FULL
    use_first_parts()  # the measured way begins after the verdict
    with tempfile.TemporaryDirectory(prefix="bench-fix-") as folder, ExitStack() as stack:
        bench, before = Bench(scale, Path(folder), stack), os.getloadavg()[0]
        wire = bench.wire()
        _say(f"to the wire: {at(wire.ours, 0.5):.2f} ms, bare {at(wire.bare, 0.5):.2f} ms")
        mass = bench.mass()
        paced, rejected = bench.paced()
        items = bench.feed()
        found = Figures(
            **wire._asdict(), mass=mass, paced=paced, rejected=rejected, items_per_s=items
        )
        text = report(found, scale, (before, os.getloadavg()[0]))
    _say(text)
    if scale is FULL:
        REPORT.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    code = main(sys.argv[1:])
    sys.stdout.flush()
    os._exit(code)  # quickfix's threads get no chance to hang the exit
