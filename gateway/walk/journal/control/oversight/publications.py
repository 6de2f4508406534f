"""Records of what the firm itself published, and what they say of an instrument.

Rules:
- An act is on record once, by its name. Only both officers end one that was recorded by mistake;
  its record stays, and verdicts before the end go on counting it.
- An act about every instrument says so: its instrument is `EVERY`.

Not here: who may record one (`gateway.desk`), what it keeps from trading (rule R49).
"""

import threading
from typing import Final

from audit.records.kinds import Kind
from audit.records.record import Record
from audit.records.record_kind import Filing, RecordKind
from gateway.walk.journal.control.oversight.ends import END_LINES, ActEnded
from gateway.walk.journal.words import EVERY, Medium
from gateway.walk.ports import RecordsPort
from risk.state.inputs.activity import OwnAct, Publications

PUBLICATION_KINDS: Final = (Kind.PUBLICATION_NOTED, Kind.PUBLICATION_ENDED)
REMEMBERED: Final = 20
"""How many acts a verdict reads: those with the latest times, which alone can be recent."""


class PublicationNoted(RecordKind, frozen=True, kw_only=True):
    """An act; it moves every account's basis, so no verdict overlooks it.

    Attributes:
        ref: the firm's own name of the act.
        instrument: its symbol, or `EVERY`; empty for each in records of earlier versions.
        published_us: when the act was or will be public, market time.
        author: code of the desk or person who spoke, never a name.
        reference: where it stands: an address or a document's number.
    """

    filing = Filing("control", "publication:{ref}", "person:{actor_name}", firm_wide=True)

    ref: str
    instrument: str
    published_us: int
    author: str
    medium: Medium
    reference: str
    actor_name: str


class PublicationEnded(ActEnded, frozen=True, kw_only=True):
    """Which act does not count any more, and why; it moves every account's basis, like the act."""

    filing = Filing(
        "control",
        "publication_ended:{ref}",
        "person:{ended_by}",
        firm_wide=True,
        signed=("publication end", *END_LINES),
        ends="publication_noted",
    )


def publication_key(ref: str) -> str:
    """Return the idempotency key: an act has its name once."""
    return f"publication:{ref}"


class OwnPublications:
    """The acts on record, up to the last record read; safe from any thread."""

    def __init__(self, reader: RecordsPort) -> None:
        """Start with nothing read."""
        self._reader = reader
        self._acts: list[OwnAct] = []
        self._ended: dict[int, int] = {}  # an act's record: the record that ended it
        self._seq = -1
        self._lock = threading.Lock()

    def until(self, basis_seq: int, symbol: str) -> Publications:
        """Return the latest acts about an instrument among the records up to a basis."""
        with self._lock:
            self._read(basis_seq)
            about = [
                one
                for one in self._acts
                if one.seq <= basis_seq < self._ended.get(one.seq, basis_seq + 1)
                and one.instrument in {symbol, ""}
            ]
        about.sort(key=lambda one: (one.time_us, one.seq))
        return Publications(basis_seq=basis_seq, acts=tuple(about[-REMEMBERED:]))

    def _read(self, basis_seq: int) -> None:
        if basis_seq <= self._seq:
            return
        for record in self._reader.records(
            stream="control",
            kinds=PUBLICATION_KINDS,
            after_seq=self._seq,
            before_seq=basis_seq + 1,
        ):
            if record.kind is Kind.PUBLICATION_NOTED:
                self._acts.append(_act(record))
            else:
                self._ended[PublicationEnded.of(record).of_seq] = record.seq
        self._seq = basis_seq


def _act(record: Record) -> OwnAct:
    noted = PublicationNoted.of(record)
    about = "" if noted.instrument == EVERY else noted.instrument  # as the rule has it
    return OwnAct(instrument=about, seq=record.seq, time_us=noted.published_us)
