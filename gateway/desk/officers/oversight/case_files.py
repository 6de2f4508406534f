"""The cases on record, one case with its evidence, and the draft of a report about it.

Rules:
- A case is a question. No text says what anybody intended.
- Who may see a case is in `roles.MAY["review"]`.

Not here: finding (`gateway.launch.threads.conduct`), notes (`cases`).
"""

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

from audit.records.kinds import Kind
from audit.records.record import Record
from audit.store.reader import LedgerReader
from gateway.errors import UnknownDecisionError
from gateway.installation.keys.roles import MAY, Role
from gateway.walk.journal.control.oversight.cases import (
    CASE_KINDS,
    PREFIX,
    CaseMoved,
    CaseNoted,
    CaseOpened,
)
from gateway.walk.journal.words import CaseState

LISTED_MAX: Final = 500
SOURCES: Final = {
    "spoofing": "Regulation (EU) 596/2014 art. 12(2)(c); FINRA rule 5210.03",
    "layering": "FINRA rule 5210.03; Regulation (EU) 596/2014 art. 12(2)(c)",
    "wash": "Delegated Regulation (EU) 2016/522 Annex II, indicator A(c); FINRA rule 6140",
    "quote stuffing": "Regulation (EU) 596/2014 art. 12(2)(c)(i)",
    "momentum ignition": "Delegated Regulation (EU) 2016/522 Annex II; rule R40 of the gate",
    "front-running": "Regulation (EU) 596/2014 art. 7(1)(d) and 8; FINRA rule 5270",
    "stop run": "Regulation (EU) 596/2014 art. 12(1)(a); rule R41 of the catalogue",
    "coordination": "Regulation (EU) 596/2014 art. 12(1)(a)",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseLook:
    """One case as its records tell."""

    seq: int
    opened_us: int
    opened: CaseOpened
    state: CaseState
    notes: tuple[tuple[int, CaseNoted | CaseMoved], ...]

    def document(self) -> dict[str, Any]:
        """Return it for the API."""
        return {
            "seq": self.seq,
            "opened_us": self.opened_us,
            "state": self.state.value,
            **self.opened.document(),
            "notes": [{"seq": seq, **one.document()} for seq, one in self.notes],
        }


def read_cases(reader: LedgerReader) -> tuple[CaseLook, ...]:
    """Return the newest cases, newest first."""
    opened = reader.records(kinds=(Kind.CASE_OPENED,), newest_first=True, limit=LISTED_MAX)
    return tuple(_folded(tuple(reader.records(stream=one.stream))) for one in opened)


def read_case(reader: LedgerReader, case_id: str) -> CaseLook:
    """Return one case.

    Raises:
        UnknownDecisionError: there is none with this id.
    """
    records = tuple(reader.records(stream=PREFIX + case_id)) if case_id.isalnum() else ()
    if not records:
        raise UnknownDecisionError(problem=f"no case {case_id[:40]}: countersign cases list")
    return _folded(records)


def _folded(records: tuple[Record, ...]) -> CaseLook:
    state, notes = CaseState.OPEN, list[tuple[int, CaseNoted | CaseMoved]]()
    for record in records:
        if record.kind is Kind.CASE_NOTED:
            notes.append((record.seq, CaseNoted.of(record)))
        elif record.kind is Kind.CASE_MOVED:
            moved = CaseMoved.of(record)
            state = moved.case_state
            notes.append((record.seq, moved))
    return CaseLook(
        seq=records[0].seq,
        opened_us=records[0].recorded_at_us,
        opened=CaseOpened.of(records[0]),
        state=state,
        notes=tuple(notes),
    )


def evidence_lines(reader: LedgerReader, case: CaseLook) -> tuple[str, ...]:
    """Return one line for each record that the case rests on."""
    found = (reader.record(seq) for seq in case.opened.evidence)
    return tuple(
        f"record {one.seq}, {_at(one.recorded_at_us)}: {one.kind.value.replace('_', ' ')},"
        f" {one.stream.replace('/', ' ', 1)}, leaf {one.leaf.hex()[:16]}"
        for one in found
        if one is not None
    )


def draft_report(reader: LedgerReader, case: CaseLook) -> str:
    """Return the draft of a report of suspicious orders and transactions, as text."""
    opened = case.opened
    lines = "\n".join(f"- {line}" for line in evidence_lines(reader, case))
    notes = "\n".join(
        f"- {one.actor_name}: {one.text if isinstance(one, CaseNoted) else _moved(one)}"
        for _, one in case.notes
    )
    return (
        f"DRAFT of a report of suspicious orders and transactions, case {opened.case_id}\n\n"
        f"The {len(opened.evidence)} records below match the indicator *{opened.indicator}*"
        f" ({SOURCES.get(opened.indicator, 'own rule')}). This is not a statement about anybody's"
        " intent. A person decides whether anything is reported.\n\n"
        f"Instrument: {opened.instrument}\nLast event: {_at(opened.at_us)}\n"
        f"Agents: {', '.join(opened.agents)}\nAccounts: {', '.join(opened.accounts)}\n"
        f"State: {case.state.value}; opened {_at(case.opened_us)} as record {case.seq}\n\n"
        f"Evidence\n{lines}\n\nNotes\n{notes or '- none'}\n\n"
        "To be written by a person: what the orders were for, other explanations, what was asked"
        " of whom.\n"
    )


def kinds_for(role: Role) -> tuple[Kind, ...]:
    """Return the kinds of records that this role is shown."""
    return tuple(kind for kind in Kind if kind not in CASE_KINDS or role in MAY["review"])


def shown_to(record: Record, role: Role) -> bool:
    """Return whether this role is shown a record; those of cases only reviewers are."""
    return record.kind not in CASE_KINDS or role in MAY["review"]


def _moved(moved: CaseMoved) -> str:
    return f"{moved.case_state.value}: {moved.reason}"


def _at(time_us: int) -> str:
    return datetime.fromtimestamp(time_us / 1_000_000, UTC).isoformat(timespec="milliseconds")
