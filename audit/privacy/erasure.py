"""Forgets persons' values; every proof stays valid.

Steps of an erasure, in this order, each safe to repeat:

1. All subjects (a person may have several pseudonyms) are judged by sound records (`erasable`). One
   refusal by a statute or a hold refuses all.
2. The pseudonyms are retired. Records in flight are then either in the ledger or refused by it, and
   what was added since step 1 is judged, too.
3. The records are committed together: who asked, the legal basis, which fields of which records, by
   which retention periods (and that a statute's period is over).
4. The caller's own files are cleaned of the person's names.
5. The key is destroyed: from here on no backup, WAL or page slack can be read.
6. The encrypted rows are deleted, as a role that can do nothing else.

A crash before step 3 leaves everything as it was. After it, `complete` goes on from the records, at
the next start or the next attempt.
"""

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Protocol

from audit.errors import (
    AuditError,
    ErasureRefusedError,
    IdempotencyConflictError,
    LedgerStoppedError,
    LedgerTimeoutError,
    VaultError,
)
from audit.privacy import holds, journal
from audit.privacy.disclosures import Disclosures, Erased, Kept, Shown
from audit.privacy.erasable import Due, Inquiry, judge
from audit.privacy.journal import ErasureRecord
from audit.privacy.mentions import Wanted
from audit.privacy.retention import Years
from audit.privacy.vault import Vault
from audit.records.canonical import canonical
from audit.records.kinds import Kind
from audit.records.personal import Field, fields_of, is_subject, parse_disclosure
from audit.records.record import Draft, Record
from audit.records.sound import checked
from audit.store.reader import LedgerReader

FIELDS_INLINE_MAX = 200
WORDS_MAX = 300
HOLDS_SAID = 10


class AppendPort(Protocol):
    """The methods of `Ledger` that an erasure needs."""

    def append(self, *drafts: Draft) -> tuple[Record, ...]:
        """Commit drafts together; durable on return."""

    def put_blob(self, data: bytes) -> str:
        """Store bytes durably and return their SHA-256 in hex."""

    def resolve(self, stream: str, idem_key: str) -> Record | None:
        """Return a key's record; all earlier requests are decided by then."""


class Privacy:
    """Erasure, holds and disclosure over one ledger; safe for many threads, one at a time."""

    def __init__(  # noqa: PLR0913 - what an erasure touches
        self,
        *,
        log: str,
        ledger: AppendPort,
        reader: LedgerReader,
        vault: Vault,
        disclosures: Disclosures,
        years: Years,
        now_us: Callable[[], int],
        clean: Callable[[tuple[str, ...]], None] = lambda _: None,
        on_step: Callable[[str], None] = lambda _: None,
    ) -> None:
        """Compose the parts; `log` is the log's origin, `years` is retention by class.

        `clean` overwrites names in the caller's own files and must be safe to repeat. `on_step` is
        called after each durable step, for crash tests.
        """
        self._log = log
        self._ledger = ledger
        self._reader = reader
        self._vault = vault
        self._disclosures = disclosures
        self._years = years
        self._now_us = now_us
        self._clean = clean
        self._on_step = on_step
        self._lock = threading.RLock()

    def erase(self, *persons: str, basis: str, actor: str) -> Erased:
        """Forget persons, given by pseudonym or name; a second call finishes what is left.

        All or none. A name may have several pseudonyms, because it was recorded again during an
        erasure or in another letter case: all are erased.

        Raises:
            ErasureRefusedError: unknown, or kept by a statute or a hold; nothing changed.
            AuditError: a step failed; call again.
        """
        with self._lock:
            self._check_words(basis, what="basis")
            subjects = self._subjects_of(persons)
            recorded = {one: self._recorded(one) for one in subjects}
            new = tuple(one for one in subjects if recorded[one] is None)
            if new:
                recorded |= self._record(new, basis, actor)
            return self._finish({one: found for one, found in recorded.items() if found}, persons)

    def complete(self) -> int:
        """Finish erasures that a crash interrupted; return their number of subjects.

        Raises:
            ErasureRefusedError: a record's columns do not match its leaf; nothing was done.
            AuditError: a step failed; call again.
        """
        with self._lock:
            records = self._reader.records(stream="control", kinds=(Kind.SUBJECT_ERASED,))
            erased = {one.subject: one for one in map(journal.erasure_on, checked(records))}
            left = self._vault.subjects() | self._disclosures.left_of(erased)
            unfinished = {subject: one for subject, one in erased.items() if subject in left}
            if unfinished:
                self._finish(unfinished, None)  # no caller waits for a search of the text
            return len(unfinished)

    def hold(self, scope: str, *, reason: str, actor: str) -> tuple[Record, ...]:
        """Place a hold; a person's name becomes a hold on each of the name's pseudonyms.

        Raises:
            ErasureRefusedError: the scope is invalid, or names no known person or decision.
        """
        with self._lock:
            self._check_words(reason, what="reason")
            kind, _, person = scope.partition(":")
            if kind == "subject":
                found = self._vault.find_all(person)
                if not found:
                    raise ErasureRefusedError("no person of that name or pseudonym is known here")
                scopes = [f"subject:{one}" for one in found]
            else:
                scopes = [scope]
                stream = f"decision/{person}"
                if kind == "decision" and next(self._reader.records(stream=stream), None) is None:
                    raise ErasureRefusedError(f"no decision {person:.60} is on record here")
            now_us = self._now_us()
            return self._ledger.append(
                *(holds.placed(one, reason, actor, now_us) for one in scopes)
            )

    def lift(self, hold_id: str, *, reason: str, actor: str) -> Record:
        """Lift a hold; raise ErasureRefusedError if it is not in force, or the actor placed it."""
        with self._lock:
            self._check_words(reason, what="reason")
            found = self.holds().get(hold_id)
            if found is None:
                raise ErasureRefusedError(f"no hold {hold_id:.40} is in force{self._in_force()}")
            return self._ledger.append(holds.lifted(found, reason, actor))[0]

    def holds(self) -> dict[str, holds.Hold]:
        """Return the holds in force, by id."""
        kinds = (Kind.HOLD_PLACED, Kind.HOLD_LIFTED)
        return holds.active(self._reader.records(stream="control", kinds=kinds))

    def disclose(self, seq: int, *, reader: str, reason: str) -> tuple[Shown, ...]:
        """Decrypt a record's personal values, after the reading is on record.

        Raises:
            ErasureRefusedError: there is no such record, or it names no person.
        """
        self._check_words(reason, what="reason")
        record = self._reader.record(seq)
        if record is None:
            raise ErasureRefusedError(f"there is no record {seq}")
        fields = fields_of(record.body)
        if not fields:
            raise ErasureRefusedError(f"record {seq} ({record.kind}) has no personal fields")
        kept = {one.row.position: one for one in self._disclosures.of_record(seq)}
        known = self._vault.subjects()
        readable = [one for one in fields if one.index in kept and one.subject in known]
        self._ledger.append(
            journal.disclosed(seq, readable, reader=reader, reason=reason, now_us=self._now_us())
        )
        return tuple(self._shown(field, kept.get(field.index)) for field in fields)

    def _in_force(self) -> str:
        """Return the end of a message: the holds in force, for a caller who lost the id."""
        there = [f"{one.hold_id} on {one.scope}" for one in self.holds().values()]
        more = f" and {len(there) - HOLDS_SAID} more" * (len(there) > HOLDS_SAID)
        return f": {', '.join(there[:HOLDS_SAID])}{more} are" if there else ", and no other is"

    def _shown(self, field: Field, kept: Kept | None) -> Shown:
        if kept is None or kept.row.subject not in self._vault.subjects():
            return Shown(field=field, value=None, disclosure=None)
        text = self._vault.open(
            kept.row, log=self._log, stream=kept.stream, idem_key=kept.idem_key, path=field.path
        )
        return Shown(field=field, value=parse_disclosure(text)[2], disclosure=text)

    def _subjects_of(self, persons: Sequence[str]) -> tuple[str, ...]:
        found: dict[str, None] = {}
        for place, person in enumerate(persons, 1):
            known = self._vault.find_all(person)
            if not known and not (is_subject(person) and self._recorded(person)):
                which = f"subject {place} of {len(persons)}: " if len(persons) > 1 else ""
                raise ErasureRefusedError(
                    f"{which}no person of that name or pseudonym is known here; nothing is erased"
                )
            found |= dict.fromkeys(known or (person,))
        return tuple(found)

    def _recorded(self, subject: str) -> ErasureRecord | None:
        return _erasure(self._reader.by_key("control", f"erased:{subject}"))

    def _record(self, subjects: Sequence[str], basis: str, actor: str) -> dict[str, ErasureRecord]:
        """Judge the subjects and record their erasure, all in one commit.

        New values then get a new pseudonym. If nothing was written, the old one returns to use; if
        that is unknown, it stays retired until the next attempt, and its names stay known.
        """
        inquiry = Inquiry(self._disclosures)
        self._judge(subjects, inquiry)
        for subject in subjects:
            self._vault.retire(subject)
        self._on_step("erase.retired")  # a crash here leaves all as it was: retired only in memory
        try:
            recorded = self._append(subjects, basis, actor, inquiry)
        except AuditError as error:
            if _nothing_written(error):
                for subject in subjects:
                    self._vault.restore(subject)
            raise
        self._on_step("erase.recorded")  # a crash here leaves the records; `complete` goes on
        return recorded

    def _append(
        self, subjects: Sequence[str], basis: str, actor: str, inquiry: Inquiry
    ) -> dict[str, ErasureRecord]:
        """Judge again once no request is in flight any more, and record the erasure."""
        resolve = self._ledger.resolve
        late = {one: _erasure(resolve("control", f"erased:{one}")) for one in subjects}
        recorded = {one: found for one, found in late.items() if found is not None}
        judged = self._judge([one for one in subjects if one not in recorded], inquiry)
        now_us = self._now_us()
        drafts = [draft for due in judged for draft in self._drafts(due, basis, actor, now_us)]
        for record in self._ledger.append(*drafts) if drafts else ():
            if record.kind is Kind.SUBJECT_ERASED:
                erasure = journal.erasure_on(record)
                recorded[erasure.subject] = erasure
        return recorded

    def _judge(self, subjects: Sequence[str], inquiry: Inquiry) -> tuple[Due, ...]:
        if not subjects:
            return ()
        return judge(
            inquiry.findings(subjects),
            messages_of=self._messages_of,
            years=self._years,
            now_us=self._now_us(),
        )

    def _drafts(self, due: Due, basis: str, actor: str, now_us: int) -> tuple[Draft, ...]:
        blob = None
        if len(due.values) > FIELDS_INLINE_MAX:
            blob = self._ledger.put_blob(canonical(journal.fields_of_due(due)))
        draft = journal.erased(due, basis=basis, actor=actor, now_us=now_us, fields_blob=blob)
        return (draft,) if due.expired is None else (due.expired, draft)

    def _finish(self, recorded: Mapping[str, ErasureRecord], asked: Sequence[str] | None) -> Erased:
        """Carry out recorded erasures; every step may have been done before."""
        names = {name for subject in recorded for name in self._vault.names_of(subject)}
        wanted = Wanted(names | {name for name in asked or () if not is_subject(name)})
        searched = asked is not None and bool(wanted.names)
        in_words = self._disclosures.records_naming(wanted) if searched else None
        self._clean(tuple(sorted(names)))
        self._on_step("erase.cleaned")  # a crash here leaves the keys; `complete` cleans again
        keys = rows = 0
        for subject in recorded:
            keys += self._vault.destroy(subject)
            self._on_step("erase.destroyed")  # a crash here leaves unreadable rows for `complete`
            rows += self._disclosures.delete(subject)
            self._on_step("erase.deleted")  # a crash here leaves the next subjects for `complete`
        for subject in recorded:
            if subject in self._vault.subjects():
                raise VaultError(f"the key of {subject} is still there")
        return Erased(
            subjects=tuple(recorded),
            seqs=tuple(one.seq for one in recorded.values()),
            fields=sum(one.fields for one in recorded.values()),
            records=sum(one.records for one in recorded.values()),
            keys_destroyed=keys,
            rows=rows,
            shown=tuple(self._shown_to(frozenset(recorded))),
            in_words=in_words,
        )

    def _shown_to(self, subjects: frozenset[str]) -> Iterator[tuple[str, int]]:
        kinds = (Kind.PERSONAL_DISCLOSED,)
        for record in self._reader.records(stream="control", kinds=kinds):
            shown = journal.disclosure_on(record)
            if subjects & shown.subjects:
                yield shown.reader, shown.seq

    def _messages_of(self, stream: str) -> set[tuple[str, str]]:
        """Return (stream, key) of the broker messages that a decision's reports come from."""
        kinds = (Kind.ORDER_REPORTED, Kind.ORDER_ENDED)
        reported = self._reader.records(stream=stream, kinds=kinds)
        bodies = [record.body for record in checked(reported)]
        return {(f"session/{b.get('session')}", f"inbound:{b.get('inbox_offset')}") for b in bodies}

    def _check_words(self, text: str, *, what: str) -> None:
        """Refuse text for the record that is empty, too long, or names a person."""
        if not text.strip() or len(text) > WORDS_MAX or not text.isprintable():
            raise ErasureRefusedError(f"the {what} must have 1 to {WORDS_MAX} printable characters")
        if self._vault.named_in(text) is not None:
            raise ErasureRefusedError(f"the {what} would put a person's name on record")


def _erasure(record: Record | None) -> ErasureRecord | None:
    """Return what a record says; refuse one whose columns do not match its leaf."""
    return None if record is None else journal.erasure_on(next(checked((record,))))


def _nothing_written(error: AuditError) -> bool:
    if isinstance(error, LedgerTimeoutError):
        return error.written is False
    return not isinstance(error, LedgerStoppedError | IdempotencyConflictError)
