"""What two officers signed: adjustments of a book, overrides, changes of officers, disavowals.

Each signature is over a text that names this log (its origin and the leaf of its first record) or
its origin. The keys come from outside: who writes the log could put keys of his own into it.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from audit.verifier.parts.canonical import text_of
from audit.verifier.parts.contents.overrides import Lifted
from audit.verifier.parts.report import NOT_CHECKABLE, TAMPERED, Report
from audit.verifier.parts.trust.officers import both_signed

_FORM = "countersign statement v2"


@dataclass(slots=True)
class OfficersWord:
    """Statements of two officers in a log; give it every record with `see`, then call `finish`.

    Attributes:
        officers: raw public keys by role, the newest of each; empty judges no signature.
    """

    officers: Mapping[str, bytes]
    _log: str = ""
    _first: bytes = b""
    _adjusted: dict[int, Mapping[str, Any]] = field(default_factory=dict)
    _changed: list[tuple[int, Mapping[str, Any]]] = field(default_factory=list)
    _disavowed: list[tuple[int, Mapping[str, Any]]] = field(default_factory=list)
    _lifted: Lifted = field(default_factory=Lifted)

    def see(self, head: Mapping[str, Any], body: Mapping[str, Any], leaf: bytes) -> None:
        """Take one record whose bytes were verified."""
        self._log = head["log"]
        if head["seq"] == 0:
            self._first = leaf
        self._lifted.see(head, body)
        match head["kind"]:
            case "book_adjusted":
                self._adjusted[head["seq"]] = body
            case "officer_key_changed":
                self._changed.append((head["seq"], body))
            case "record_disavowed":
                self._disavowed.append((head["seq"], body))
            case _:
                pass

    def finish(
        self, report: Report, relied_on: Mapping[int, str]
    ) -> Sequence[tuple[int, Mapping[str, bytes]]]:
        """Judge what was signed; `relied_on` has the records that account for a fill.

        Return the officers' keys with the record after which they count, newest first.
        """
        gone = self._say_disavowed(report)
        for seq in sorted(gone & relied_on.keys()):
            report.find(TAMPERED, f"{relied_on[seq]} rests on record {seq}, which is disavowed")
        log_id = f"{self._log}#{self._first.hex()}" if self._first else ""
        spans = self._spans(report, log_id) if self.officers else []
        self._lifted.finish(report, log_id, spans)
        if self.officers:
            sound = 0
            for seq, body in self._adjusted.items():
                keys = next((keys for began, keys in spans if began < seq), {})
                if seq not in gone and keys:
                    sound += self._judge(report, seq, body, keys)
            if self._adjusted:
                report.say(f"{sound} of {len(self._adjusted)} adjustments: both officers signed")
            return spans
        for seq, line in relied_on.items():
            text = f"{line} rests on record {seq}: give both officers' keys with --officer"
            report.find(NOT_CHECKABLE, text)
        return spans

    def _judge(
        self, report: Report, seq: int, body: Mapping[str, Any], keys: Mapping[str, bytes]
    ) -> bool:
        """Report an adjustment that the officers did not sign; `statements` judges what it does."""
        terms = body.get("terms")
        terms = terms if isinstance(terms, dict) else {}
        particulars = (
            f"ref {text_of(body.get('ref'))}",
            f"sort {text_of(body.get('sort'))}",
            f"account {terms.get('account') or '-'}",
            f"terms {json.dumps(terms, sort_keys=True)}",
        )
        lines = (_FORM, "book adjustment", f"{self._log}#{self._first.hex()}", *particulars)
        statement = "".join(f"{line}\n" for line in lines).encode()
        if not both_signed(statement, body.get("signatures"), keys):
            report.find(TAMPERED, "an adjustment that its two officers did not sign", seq)
            return False
        return True

    def _spans(self, report: Report, log_id: str) -> list[tuple[int, dict[str, bytes]]]:
        """Return the officers' keys with the record after which they count, newest first."""
        keys = dict(self.officers)
        spans: list[tuple[int, dict[str, bytes]]] = []
        for number, (seq, body) in reversed(list(enumerate(self._changed))):
            names = ("role", "before", "after", "name")
            role, before, after, name = (text_of(body.get(one)) for one in names)
            if keys.get(role, b"").hex() != after:
                text = f"record {seq} has another key of the role {role} than the one given"
                report.find(NOT_CHECKABLE, text)
                return spans
            spans.append((seq, dict(keys)))
            statement = (
                f"{_FORM}\nofficer key\n{log_id}\nchange {number}\n"
                f"role {role}\nbefore {before}\nafter {after}\nname {name}\n"
            ).encode()
            keys[role] = bytes.fromhex(before)
            if not both_signed(statement, body.get("signatures"), keys):
                report.find(TAMPERED, "changes an officer's key without both signatures", seq)
                return spans
        return [*spans, (-1, keys)]

    def _say_disavowed(self, report: Report) -> set[int]:
        """Say which records two officers disavowed; return those whose disavowal is proven."""
        gone: set[int] = set()
        for seq, body in self._disavowed:
            names = ("seq", "leaf", "of_stream")
            named, leaf, of_stream = (text_of(body.get(one)) for one in names)
            statement = f"{_FORM}\nrow disavowal\n{self._log}\nrecord {named}\nleaf {leaf}\n"
            text = f"record {named} ({of_stream}) is disavowed by record {seq}"
            if not self.officers:
                report.say(f"{text}; give --officer to check both signatures")
            elif both_signed(statement.encode(), body.get("signatures"), self.officers):
                gone.add(int(body.get("seq") or 0))
                report.say(f"{text}: both officers signed that the gateway did not write it")
            else:
                report.say(f"{text}, without both officers' signatures: it counts for nothing")
        return gone
