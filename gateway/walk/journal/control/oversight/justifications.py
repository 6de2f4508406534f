"""Records of justifications, and what the fairness gate (R48) reads of a decision.

Rules:
- A justification is in force from its start to before its end, unless a later one supersedes it or
  both officers end it.
- Nothing is deleted: whoever reads the log finds every entry.

Not here: who may register one (`gateway.desk`), what it lets through (rule R48).
"""

import threading
from collections.abc import Iterable
from typing import Any, Final

from audit.records.kinds import Kind
from audit.records.record_kind import Contents, Filing, RecordKind
from gateway.walk.journal.control.oversight.ends import END_LINES, ActEnded
from gateway.walk.journal.control.oversight.swaps import SwapsTested, shifts_of, tested_of
from gateway.walk.journal.decision import IntentReceived
from gateway.walk.journal.forecast import forecasts_behind
from gateway.walk.journal.words import Mechanism
from gateway.walk.ports import RecordsPort
from inference.codec.scaled import reads_numbers_only
from risk.forms.terms import MASK, found_terms
from risk.numbers.lexicon import FairnessLexicon
from risk.state.inputs.fairness import UNTESTED, FairnessLook, Justified, SwapShift

JUSTIFICATION_KINDS: Final = (Kind.JUSTIFICATION_ENTERED, Kind.JUSTIFICATION_ENDED)


class JustificationTerms(Contents, frozen=True, kw_only=True):
    """What both officers sign.

    Attributes:
        proposer: whose key proposed it; no officer's.
        side: `BUY`, `SELL`, or empty for both.
        bound_bp: largest shift of a counterfactual swap that it covers.
        evidence: SHA-256 in hex of each document that shows the mechanism.
        dissent: what an approver or stakeholder objected, or empty.
        supersedes: name of the entry that ends with this one, or empty.
    """

    ref: str
    proposer: str
    mechanism: Mechanism
    attribute: str
    asset_class: str
    side: str
    horizon_us_max: int
    bound_bp: int
    valid_from_us: int
    valid_to_us: int
    evidence: tuple[str, ...]
    dissent: str = ""
    supersedes: str = ""


class JustificationEntered(RecordKind, frozen=True, kw_only=True):
    """An entry, with signatures in hex by role.

    It moves every account's basis, so no verdict overlooks it.
    """

    filing = Filing(
        "control",
        "justification:{ref}",
        "person:{actor_name}",
        firm_wide=True,
        signed=("fairness justification", "ref {ref}", "terms {terms:json}"),
    )

    ref: str
    terms: JustificationTerms
    signatures: dict[str, str]
    log_id: str
    actor_name: str


class JustificationEnded(ActEnded, frozen=True, kw_only=True):
    """Which entry is not in force any more, and why; it moves every account's basis as well."""

    filing = Filing(
        "control",
        "justification_ended:{ref}",
        "person:{ended_by}",
        firm_wide=True,
        signed=("justification end", *END_LINES),
        ends="justification_entered",
    )


def justification_key(ref: str) -> str:
    """Return the idempotency key: an entry has its name once."""
    return f"justification:{ref}"


class FairnessSources:
    """Justifications on record, and a decision's own words; safe from any thread.

    Swaps are those on record that moved forecasts of a decision's weights (`swaps_tested`). Weights
    that read words, on which nobody tested a swap, have `UNTESTED`.
    """

    def __init__(self, reader: RecordsPort) -> None:
        """Start with nothing read."""
        self._reader = reader
        self._entries: list[tuple[int, JustificationTerms]] = []
        self._ends: list[tuple[int, str]] = []
        self._runs: list[tuple[int, SwapsTested]] = []
        self._seq = -1
        self._lock = threading.Lock()

    def look(
        self,
        lexicon: FairnessLexicon,
        decision_id: str,
        headlines: Iterable[str],
        moment: tuple[int, int],
    ) -> FairnessLook:
        """Return what is known of a decision at `moment`: a basis, and the market time."""
        basis_seq, now_us = moment
        terms = frozenset(one.name for one in lexicon.words)
        said = self._said(decision_id)
        found = {word for text in (said, *headlines) for word in found_terms(text, terms)}
        return FairnessLook(
            basis_seq=basis_seq,
            words=tuple(sorted(found)),
            masked=said.count(MASK),
            swaps=self._moved(decision_id, basis_seq),
            justified=self.in_force(basis_seq, now_us),
        )

    def in_force(self, basis_seq: int, now_us: int) -> tuple[Justified, ...]:
        """Return the justifications in force, among the records up to a basis, by name."""
        with self._lock:
            self._read(basis_seq)
            known = [(seq, one) for seq, one in self._entries if seq <= basis_seq]
            ends = {ref for seq, ref in self._ends if seq <= basis_seq}
        ended = ends | {one.supersedes for _, one in known}
        live = (
            Justified(
                ref=one.ref,
                seq=seq,
                attribute=one.attribute,
                asset_class=one.asset_class,
                side=one.side,
                horizon_us_max=one.horizon_us_max,
                bound_bp=one.bound_bp,
            )
            for seq, one in known
            if one.ref not in ended and one.valid_from_us <= now_us < one.valid_to_us
        )
        return tuple(sorted(live, key=lambda one: one.ref))

    def _moved(self, decision_id: str, basis_seq: int) -> tuple[SwapShift, ...]:
        with self._lock:
            self._read(basis_seq)
            runs = [run for seq, run in self._runs if seq <= basis_seq]
        made = [*forecasts_behind(self._reader, decision_id)]
        wordy = (one for one in made if not reads_numbers_only(one.codec_digest))
        if not {one.model_digest for one in wordy} <= tested_of(runs):
            return (SwapShift(attribute=UNTESTED, shift_bp=0),)
        return shifts_of(runs, frozenset(one.model_digest for one in made))

    def _said(self, decision_id: str) -> str:
        """Return an agent's own words as they were recorded; empty for the strategy's decisions."""
        records = self._reader.records(
            stream=f"decision/{decision_id}", kinds=(Kind.INTENT_RECEIVED,)
        )
        asked: Iterable[dict[str, Any]] = (IntentReceived.of(one).request for one in records)
        return next((str(one.get("reason", "")) for one in asked), "")

    def _read(self, basis_seq: int) -> None:
        if basis_seq <= self._seq:
            return
        for record in self._reader.records(
            stream="control",
            kinds=(*JUSTIFICATION_KINDS, Kind.SWAPS_TESTED),
            after_seq=self._seq,
            before_seq=basis_seq + 1,
        ):
            if record.kind is Kind.SWAPS_TESTED:
                self._runs.append((record.seq, SwapsTested.of(record)))
            elif record.kind is Kind.JUSTIFICATION_ENDED:
                self._ends.append((record.seq, JustificationEnded.of(record).ref))
            else:
                self._entries.append((record.seq, JustificationEntered.of(record).terms))
        self._seq = basis_seq
