"""How many of four drafts the target accepts: as drafted, and as the free table would have done.

The table's figure is computed from the recorded target rows: at each position the chance that a
draft of the table is accepted is sum(min(p, q)), and a run of four is the product along the path.
So both figures come from the same trajectories, whoever drafted.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from audit.queries import LedgerReader
from inference.capture import decode_capture
from inference.codec import ReturnCodec
from inference.rounds import Capture, QTable, row_values, totals

LOOK_AHEAD = 4
TRAJECTORIES = 4
DECISIONS = 40


@dataclass(frozen=True, slots=True, kw_only=True)
class Accepted:
    """Mean accepted drafts per full round, and the table's expectation of `LOOK_AHEAD`."""

    mean_accepted: float | None
    table_accepted: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class TableFigure:
    """The free table with the codec that gives its states."""

    table: QTable
    codec: ReturnCodec

    def measured(
        self, captured: Sequence[tuple[str, tuple[int, ...]]], reader: LedgerReader
    ) -> Accepted:
        """Return both figures over captures, each a blob's digest with its prompt's token ids.

        The table's figure is taken over a sample of decisions and trajectories.
        """
        full = accepted = 0
        expected: list[float] = []
        every = max(1, len(captured) // DECISIONS)
        for place, (digest, prompt_ids) in enumerate(captured):
            data = reader.blob(digest)
            if data is None:
                continue
            capture = decode_capture(data)
            counted = totals(capture)
            full += counted.full_rounds
            accepted += counted.full_accepted
            if place % every == 0:
                expected.extend(self._expectations(capture, self.codec.table_base(prompt_ids)))
        return Accepted(
            mean_accepted=round(accepted / full, 4) if full else None,
            table_accepted=round(sum(expected) / len(expected), 4) if expected else None,
        )

    def _expectations(self, capture: Capture, base: int) -> list[float]:
        """Return the expected accepted drafts of each window of `LOOK_AHEAD` positions."""
        found: list[float] = []
        for index in range(min(TRAJECTORIES, len(capture.seeds))):
            rates = self._rates(capture, index, base)
            for start in range(len(rates) - LOOK_AHEAD + 1):
                run, total = 1.0, 0.0
                for rate in rates[start : start + LOOK_AHEAD]:
                    run *= rate
                    total += run
                found.append(total)
        return found

    def _rates(self, capture: Capture, index: int, base: int) -> list[float]:
        """Return sum(min(p, q)) at each position after the first of one trajectory."""
        last: int | None = None
        rates: list[float] = []
        for one in (r for r in capture.rounds if r.trajectory == index):
            for place, token in enumerate(one.emitted):
                if last is not None:
                    state = self.codec.table_step(base, last)
                    q = row_values(self.table.row(state))
                    p = row_values(one.p_rows[place])
                    rates.append(sum(map(min, p, q)))
                last = token
        return rates
