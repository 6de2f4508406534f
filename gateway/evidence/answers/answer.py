"""An answer to a supervisor's question: facts, each with the record that proves it.

Not here: finding the facts (`governance`, `trades`).
"""

import datetime as dt
import json
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from audit.records.record import Record
from audit.store.reader import LedgerReader


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    """One line of an answer; `record` proves it, None where it follows from the others."""

    text: str
    record: Record | None = None

    def document(self) -> dict[str, Any]:
        """Return it for a script."""
        if self.record is None:
            return {"text": self.text}
        at_us = self.record.recorded_at_us
        proof = {"seq": self.record.seq, "leaf": self.record.leaf.hex(), "recorded_at_us": at_us}
        return {"text": self.text, **proof}


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedAnswer:
    """What the records answer to a question; `more` is for scripts, and `check` proves the whole.

    `nothing` is said where no record answers.
    """

    question: str
    facts: tuple[Fact, ...]
    nothing: str
    check: str
    more: Mapping[str, Any] = field(default_factory=dict)


def print_answer(answer: RecordedAnswer, reader: LedgerReader, *, as_json: bool) -> int:
    """Print an answer with its proofs; return 0."""
    gone = reader.disavowals()
    if as_json:
        facts = [fact.document() | _disavowed(fact, gone) for fact in answer.facts]
        document = {"question": answer.question, "facts": facts, "check": answer.check}
        sys.stdout.write(json.dumps({**document, **answer.more}, indent=2) + "\n")
        return 0
    lines = [answer.question]
    for fact in answer.facts or (Fact(text=answer.nothing),):
        lines.append(f"- {fact.text}")
        if fact.record is not None:
            lines.append(f"  record {fact.record.seq} of {when(fact.record.recorded_at_us)}")
            lines.append(f"  leaf {fact.record.leaf.hex()}")
        if by := _disavowed(fact, gone):
            lines.append(
                f"  disavowed by record {by['disavowed_by']}: the gateway did not write it"
            )
    sys.stdout.write("\n".join([*lines, f"proof: {answer.check}", ""]))
    return 0


def when(time_us: int) -> str:
    """Return a time in microseconds as UTC, to the second."""
    return f"{dt.datetime.fromtimestamp(time_us / 1_000_000, tz=dt.UTC):%Y-%m-%d %H:%M:%S} UTC"


def _disavowed(fact: Fact, gone: Mapping[int, int]) -> dict[str, int]:
    seq = -1 if fact.record is None else fact.record.seq
    return {"disavowed_by": gone[seq]} if seq in gone else {}
