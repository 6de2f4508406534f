"""A person's values, forgotten; every proof stays.

Steps of an erasure, each safe to repeat, in this order:

1. refused inside retention or a hold; else nothing new is said under the pseudonym;
2. the record: who asked, on which legal basis, which fields of which records (and, where a statute
   had kept them, that it no longer does);
3. the caller's own files are cleaned of the person's names;
4. the key is destroyed: from here on no backup, WAL or page slack can be read;
5. the encrypted rows are deleted, as a role that can do nothing else.

A crash leaves a step undone, never a value without its record: `complete` goes on from the record,
at the next start or the next try.
"""

import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Protocol

from audit import holds
from audit.canonical import JSON, canonical
from audit.disclosures import Disclosures, Kept
from audit.errors import (
    AuditError,
    ErasureRefusedError,
    IdempotencyConflictError,
    LedgerStoppedError,
    LedgerTimeoutError,
    VaultError,
)
from audit.kinds import Kind
from audit.personal import Field, fields_of, parse_disclosure
from audit.queries import LedgerReader
from audit.record import Draft, Record, parse_payload
from audit.retention import RULES, Retention, Years, day_of, kept_until_us
from audit.vault import Vault

FIELDS_INLINE_MAX = 200
WORDS_MAX = 300


class AppendPort(Protocol):
    """The ledger's writing side, as far as an erasure needs it."""

    def append(self, *drafts: Draft) -> tuple[Record, ...]:
        """Commit drafts together; durable on return."""
        ...

    def put_blob(self, data: bytes) -> str:
        """Store bytes under their digest."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Erased:
    """What an erasure did.

    Attributes:
        seq: the record that says so.
        fields: how many fields of how many records it names.
        key_destroyed: False when an earlier try had done it.
        rows: encrypted rows deleted just now.
    """

    subject: str
    seq: int
    fields: int
    records: int
    key_destroyed: bool
    rows: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """One personal value, opened; `value` is None when its key is gone."""

    field: Field
    value: str | None
    disclosure: str | None


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
        """Keep the parts.

        Args:
            log: the log's origin, which the encrypted values are bound to.
            ledger: appends records.
            reader: reads them.
            vault: holds the keys.
            disclosures: the encrypted values.
            years: retention by class.
            now_us: microseconds UTC.
            clean: overwrites these names in the caller's own files; may be called again.
            on_step: called after each durable step, for crash tests.
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

    def erase(self, person: str, *, basis: str, actor: str) -> Erased:
        """Forget a person, named by pseudonym or name; on a second call finish what is left.

        A name may have several pseudonyms, where it was heard again during an erasure: all go,
        the figures are those of all.

        Raises:
            ErasureRefusedError: unknown, or kept by a statute or a hold; nothing changed.
            AuditError: a step failed; call again.
        """
        with self._lock:
            self._check_words(basis, what="basis")
            done = [
                self._finish(
                    subject, self._recorded(subject) or self._record(subject, basis, actor)
                )
                for subject in self._vault.find_all(person) or (person,)
            ]
            return replace(
                done[-1],
                fields=sum(one.fields for one in done),
                records=sum(one.records for one in done),
                key_destroyed=any(one.key_destroyed for one in done),
                rows=sum(one.rows for one in done),
            )

    def complete(self) -> int:
        """Finish erasures that a crash left half done; return how many."""
        with self._lock:
            left = 0
            for record in self._reader.records(stream="control", kinds=(Kind.SUBJECT_ERASED,)):
                subject = str(record.body["subject"])
                if subject in self._vault.subjects() or self._disclosures.of_subject(subject):
                    self._finish(subject, record)
                    left += 1
            return left

    def hold(self, scope: str, *, reason: str, actor: str) -> Record:
        """Place a hold; a person may be named by name, on record he is a pseudonym.

        Raises:
            ErasureRefusedError: the scope is none, or names nobody known here.
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
            )[-1]

    def lift(self, hold_id: str, *, reason: str, actor: str) -> Record:
        """Lift a hold.

        Raises:
            ErasureRefusedError: it is not in force, or the actor placed it.
        """
        with self._lock:
            self._check_words(reason, what="reason")
            found = self.holds().get(hold_id)
            if found is None:
                raise ErasureRefusedError(f"no hold {hold_id:.40} is in force")
            return self._ledger.append(holds.lifted(found, reason, actor))[0]

    def holds(self) -> dict[str, holds.Hold]:
        """Return the holds in force, by id."""
        kinds = (Kind.HOLD_PLACED, Kind.HOLD_LIFTED)
        return holds.active(self._reader.records(stream="control", kinds=kinds))

    def disclose(self, seq: int, *, reader: str, reason: str) -> tuple[Shown, ...]:
        """Open a record's personal values; that they were read is on record first.

        Raises:
            ErasureRefusedError: there is no such record, or it names no person.
        """
        self._check_words(reason, what="reason")
        record = self._reader.record(seq)
        fields = () if record is None else fields_of(record.body)
        if record is None or not fields:
            raise ErasureRefusedError(f"record {seq} has no personal fields")
        subjects: list[JSON] = [*sorted({one.subject for one in fields})]
        self._ledger.append(
            Draft(
                stream="control",
                kind=Kind.PERSONAL_DISCLOSED,
                payload={
                    "seq": seq,
                    "subjects": subjects,
                    "positions": [one.index for one in fields],
                    "reader": reader,
                    "reason": reason,
                },
                actor=f"person:{reader}",
                idem_key=f"disclosed:{seq}:{reader}:{self._now_us()}",
            )
        )
        kept = {one.row.position: one for one in self._disclosures.of_record(seq)}
        return tuple(self._shown(field, kept.get(field.index)) for field in fields)

    def _shown(self, field: Field, kept: Kept | None) -> Shown:
        if kept is None or kept.row.subject not in self._vault.subjects():
            return Shown(field=field, value=None, disclosure=None)
        text = self._vault.open(
            kept.row, log=self._log, stream=kept.stream, idem_key=kept.idem_key, path=field.path
        )
        return Shown(field=field, value=parse_disclosure(text)[2], disclosure=text)

    def _recorded(self, subject: str) -> Record | None:
        return self._reader.by_key("control", f"erased:{subject}")

    def _record(self, subject: str, basis: str, actor: str) -> Record:
        """Check that nothing forbids it and put it on record.

        What is said from then on is said under another pseudonym. Where nothing was written the
        old one stays in use; where that is unknown it waits for the next try, its names known.
        """
        if subject not in self._vault.subjects():
            raise ErasureRefusedError("no person of that name or pseudonym is known here")
        kept = self._disclosures.of_subject(subject)
        self._refuse_held(subject, kept)
        self._refuse_retained(subject, kept)
        self._vault.retire(subject)
        try:
            recorded = self._ledger.append(*self._drafts(subject, basis, actor))[-1]
        except AuditError as error:
            if _nothing_written(error):
                self._vault.restore(subject)
            raise
        self._on_step("erase.recorded")
        return recorded

    def _drafts(self, subject: str, basis: str, actor: str) -> tuple[Draft, ...]:
        """Return the records of an erasure; what was said while it was checked counts too."""
        kept = self._disclosures.of_subject(subject)
        expired = self._refuse_retained(subject, kept)
        fields: list[JSON] = [[one.seq, one.row.position] for one in kept]
        payload: dict[str, JSON] = {
            "subject": subject,
            "basis": basis,
            "erased_by": actor,
            "erased_us": self._now_us(),
            "records": len({one.seq for one in kept}),
            "fields": fields,
        }
        if len(fields) > FIELDS_INLINE_MAX:
            payload["fields"] = len(fields)
            payload["fields_blob"] = self._ledger.put_blob(canonical(fields))
        draft = Draft(
            stream="control",
            kind=Kind.SUBJECT_ERASED,
            payload=payload,
            actor=f"person:{actor}",
            idem_key=f"erased:{subject}",
        )
        return (*expired, draft)

    def _finish(self, subject: str, recorded: Record) -> Erased:
        """Carry out what the record says; every step may have been done before."""
        names = self._vault.names_of(subject)
        self._clean(names)
        self._on_step("erase.cleaned")
        destroyed = self._vault.destroy(subject)
        self._on_step("erase.destroyed")
        rows = self._disclosures.delete(subject)
        self._on_step("erase.deleted")
        if subject in self._vault.subjects():
            raise VaultError(f"the key of {subject} is still there")
        fields = recorded.body["fields"]
        return Erased(
            subject=subject,
            seq=recorded.seq,
            fields=fields if isinstance(fields, int) else len(fields),
            records=int(recorded.body["records"]),
            key_destroyed=destroyed,
            rows=rows,
        )

    def _refuse_held(self, subject: str, kept: Iterable[Kept]) -> None:
        streams = frozenset(one.stream for one in kept)
        messages = {(one.stream, one.idem_key) for one in kept}
        for hold in self.holds().values():
            stream = hold.decision_stream
            linked = stream is not None and bool(messages & self._messages_of(stream))
            if linked or hold.covers(subject, streams):
                raise ErasureRefusedError(
                    f"{hold.hold_id} (record {hold.seq}) on {hold.scope} keeps it;"
                    " somebody else than who placed it must lift it first"
                )

    def _messages_of(self, stream: str) -> set[tuple[str, str]]:
        """Return (stream, key) of the messages that a decision's reports were read from."""
        reported = self._reader.records(stream=stream, kinds=(Kind.ORDER_REPORTED,))
        bodies = [record.body for record in reported]
        return {(f"session/{b.get('session')}", f"inbound:{b.get('inbox_offset')}") for b in bodies}

    def _refuse_retained(self, subject: str, kept: Iterable[Kept]) -> tuple[Draft, ...]:
        """Refuse what a statute keeps; return the record that it no longer does, where it did."""
        now_us, newest, until = self._now_us(), 0, 0
        classes: set[str] = set()
        records: set[int] = set()
        for one in kept:
            name = _retention_of(one)
            ends = kept_until_us(one.recorded_at_us, name, self._years)
            if ends > now_us:
                raise ErasureRefusedError(_why(one, name, ends))
            if ends > one.recorded_at_us:
                classes.add(name)
                records.add(one.seq)
                newest, until = max(newest, one.recorded_at_us), max(until, ends)
        if not classes:
            return ()
        named: list[JSON] = [*sorted(classes)]
        return (
            Draft(
                stream="control",
                kind=Kind.RETENTION_EXPIRED,
                payload={
                    "subject": subject,
                    "classes": named,
                    "records": len(records),
                    "newest_us": newest,
                    "kept_until_us": until,
                },
                actor="gateway",
                idem_key=f"retention_expired:{subject}",
            ),
        )

    def _check_words(self, text: str, *, what: str) -> None:
        """Refuse words for the record that are empty, too long, or name a person."""
        if not text.strip() or len(text) > WORDS_MAX or not text.isprintable():
            raise ErasureRefusedError(f"the {what} has 1 to {WORDS_MAX} printable characters")
        if self._vault.named_in(text) is not None:
            raise ErasureRefusedError(f"the {what} would put a person's name on record")


def _nothing_written(error: AuditError) -> bool:
    """Say whether it is certain that an append that failed so wrote nothing."""
    if isinstance(error, LedgerTimeoutError):
        return error.written is False
    return not isinstance(error, LedgerStoppedError | IdempotencyConflictError)


def _retention_of(kept: Kept) -> str:
    fields = {one.index: one.retention for one in fields_of(parse_payload(kept.payload))}
    return fields.get(kept.row.position, "unknown")


def _why(kept: Kept, name: str, ends_us: int) -> str:
    known = name in set(Retention)
    source = RULES[Retention(name)].source if known else "no class: kept as the longest one"
    return (
        f"record {kept.seq} ({name}) must be kept until {day_of(ends_us)}: {source};"
        " years are a setting (COUNTERSIGN_RETENTION__...)"
    )
