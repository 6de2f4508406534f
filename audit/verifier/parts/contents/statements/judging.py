"""Every statement of the table, judged record by record.

A finding begins with the statement's id. Signatures are checked with the officers' keys that come
from outside; without them the end says what was not checked.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from audit.verifier.parts.contents.statements.adjustments import judge_adjustment
from audit.verifier.parts.contents.statements.forecasts import judge_forecast
from audit.verifier.parts.contents.statements.governing import (
    ToSign,
    judge_criteria,
    judge_difference,
    judge_ended,
    judge_justification,
    judge_mode,
    judge_policy,
    judge_promotion,
    judge_release,
    judge_resume,
    judge_signed,
    to_sign,
)
from audit.verifier.parts.contents.statements.joint import judge_joint
from audit.verifier.parts.contents.statements.listings import judge_index
from audit.verifier.parts.contents.statements.orders import (
    judge_fill,
    judge_order,
    judge_replace,
    judge_wire,
)
from audit.verifier.parts.contents.statements.seen import Earlier, VerifiedRecord
from audit.verifier.parts.contents.statements.table import STATEMENTS
from audit.verifier.parts.contents.statements.verdicts import (
    Judge,
    judge_decision,
    judge_hold,
    judge_intent,
    judge_run,
    judge_verdict,
)
from audit.verifier.parts.report import INCOMPLETE, TAMPERED, Report
from audit.verifier.parts.trust.officers import one_signed

JUDGES: Mapping[str, Judge] = {
    "run": judge_run,
    "decision": judge_decision,
    "forecast": judge_forecast,
    "index": judge_index,
    "joint": judge_joint,
    "intent": judge_intent,
    "verdict": judge_verdict,
    "hold": judge_hold,
    "order": judge_order,
    "wire": judge_wire,
    "replace": judge_replace,
    "fill": judge_fill,
    "policy": judge_policy,
    "mode": judge_mode,
    "release": judge_release,
    "resume": judge_resume,
    "promotion": judge_promotion,
    "criteria": judge_criteria,
    "justification": judge_justification,
    "signed": judge_signed,
    "ended": judge_ended,
    "difference": judge_difference,
    "adjustment": judge_adjustment,
}
"""The function of each statement that no class of its own judges."""


def _by_kind() -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for one in STATEMENTS:
        for kind in one.judges if one.id in JUDGES else ():
            found.setdefault(kind, []).append(one.id)
    return found


_IDS = _by_kind()


@dataclass(slots=True)
class Statements:
    """The statements over a log or a bundle; give it every record with `see`, then call `finish`.

    `whole` says whether every record is given, from the first on.
    """

    seen: Earlier = field(default_factory=Earlier)
    _signed: list[ToSign] = field(default_factory=list)

    def see(
        self, report: Report, head: Mapping[str, Any], body: Mapping[str, Any], leaf: bytes
    ) -> None:
        """Take one record whose bytes were verified."""
        said = VerifiedRecord(head, body, leaf)
        self.seen.enter(said)
        ids = [*_IDS.get("*", ()), *(_IDS["decision"] if said.decision else ())]
        for name in dict.fromkeys((*ids, *_IDS.get(said.kind, ()))):
            for text in JUDGES[name](self.seen, said):
                report.find(TAMPERED, f"{name}: {text}", said.seq)
        self._signed.extend(to_sign(self.seen, said))
        self.seen.take(said)

    def skip(self, head: Mapping[str, Any]) -> None:
        """Note a record of which only the bytes were verified."""
        self.seen.indexes.skip(head)

    def finish(self, report: Report, spans: Sequence[tuple[int, Mapping[str, bytes]]]) -> None:
        """Check what officers signed; `spans` has their keys with the record they count from."""
        if self.seen.whole and self.seen.indexes.awaited is not None:
            text = "index: the log ends before the line of its last record"
            report.find(INCOMPLETE, text, self.seen.indexes.last)
        if not spans:
            counts = Counter(one.id for one in self._signed)
            for name, count in sorted(counts.items()):
                text = (
                    f"{count} records of the statement {name}: `verify --officer` checks who signed"
                )
                report.say(text)
            return
        sound = 0
        for one in self._signed:
            keys = next((keys for began, keys in spans if began < one.seq), {})
            given = sum(
                one_signed(text, one.signatures.get(role), keys.get(role, b""))
                for role, text in one.statements.items()
            )
            sound += given >= one.needed
            if given < one.needed:
                text = f"{one.id}: its officers did not sign this"
                report.find(TAMPERED, text, one.seq)
        if self._signed:
            report.say(f"{sound} of {len(self._signed)} statements of officers: signed as needed")
