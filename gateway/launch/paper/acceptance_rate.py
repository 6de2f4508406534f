"""How many of four drafts the target accepts: as drafted, and as the table would have drafted.

The table's figure comes from the recorded tokens. For a token drawn from the target, min(1, q / p)
is on average the chance that the table's draft is accepted there; the product along a window is the
chance that the run goes so far. So both figures use the same trajectories and no row of the target.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from audit.store.reader import LedgerReader
from inference.codec.codec import ReturnCodec
from inference.speculation.evidence import Evidence
from inference.speculation.evidence_bytes import decode_evidence
from inference.speculation.rounds import QTable, row_values
from inference.speculation.totals import totals

LOOK_AHEAD = 4
DECISIONS = 40


@dataclass(frozen=True, slots=True, kw_only=True)
class AcceptanceRate:
    """Mean accepted drafts per full round, and the table's expectation of `LOOK_AHEAD`."""

    mean_accepted: float | None
    table_accepted: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class TableFigure:
    """The table and the codec that gives its states."""

    table: QTable
    codec: ReturnCodec

    def measured(
        self, captured: Sequence[tuple[str, tuple[int, ...]]], reader: LedgerReader
    ) -> AcceptanceRate:
        """Return both figures over captures, each a blob's digest with its prompt's token ids.

        The table's is taken over `DECISIONS` of them.
        """
        full = accepted = 0
        expected: list[float] = []
        every = max(1, len(captured) // DECISIONS)
        for place, (digest, prompt_ids) in enumerate(captured):
            data = reader.blob(digest)
            if data is None:
                continue
            capture = decode_evidence(data)
            counted = totals(capture)
            full += counted.full_rounds
            accepted += counted.full_accepted
            if place % every == 0:
                expected.extend(self._expectations(capture, self.codec.table_base(prompt_ids)))
        return AcceptanceRate(
            mean_accepted=round(accepted / full, 4) if full else None,
            table_accepted=round(sum(expected) / len(expected), 4) if expected else None,
        )

    def _expectations(self, capture: Evidence, base: int) -> list[float]:
        """Return the expected accepted drafts of each window of `LOOK_AHEAD` positions."""
        found: list[float] = []
        for rates in self._rates(capture, base):
            for start in range(len(rates) - LOOK_AHEAD + 1):
                run, total = 1.0, 0.0
                for rate in rates[start : start + LOOK_AHEAD]:
                    run *= rate
                    total += run
                found.append(total)
        return found

    def _rates(self, capture: Evidence, base: int) -> list[list[float]]:
        """Return min(1, q / p) of each token after the first, by trajectory."""
        rates: list[list[float]] = [[] for _ in capture.seeds]
        last: int | None = None
        for r in capture.rounds:
            for place, token in enumerate(r.emitted):
                p = r.p[place] if place < r.accepted else r.token_p
                if last is not None and r.step + place > 0:
                    row = row_values(self.table.row(self.codec.table_step(base, last)))
                    q = row[token - capture.bin_start]
                    rates[r.trajectory].append(min(1.0, q / p) if p > 0.0 else 0.0)
                last = token
        return rates
