"""The child's list of live orders, fsynced and hash-chained, from which it can cancel them all.

The child sweeps from this file when gateway or database is down; the gateway reads it at a start.

Rules:
- An order is in the journal before it can leave, and fsynced at once after it. The end of the
  process loses nothing; after a power cut in between the gateway names it again (`told`).
- Each line carries the SHA-256 of the line before it. A last line cut off by a crash is dropped;
  any other break in the chain is an error.
- A closing need not be durable (one cancel too many), a revival must be: a kill must see it.
- A replace is in the journal before it can leave. Until the broker answered, the order is cancelled
  under both ClOrdIDs; its name here stays the first one.

JSON lines: ``prev``, ``op`` (``order``, ``closed``, ``reopened``, ``cancel``, ``replace``,
``replaced``, ``kept``), monotonic time and boot id, and the fields of that op.
"""

import hashlib
import json
import os
import threading
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

from fix.durable.kill_word import boot_id, monotonic_us, sync_folder
from fix.errors import JournalError
from fix.orders.live import LiveOrder
from fix.wire.messages import CL_ORD_ID, Fields

_GENESIS = hashlib.sha256(b"countersign journal of live orders").hexdigest()
COMPACT_BYTES = 4 << 20
CLOSED_KEPT = 1000
"""How many ended orders a compaction keeps: a bust may make one live again."""
CANCELS_KEPT = 10_000
"""How many cancels a compaction keeps: the gateway may not have recorded them yet."""
_OPENING = frozenset({"order", "reopened"})
_REPLACING = frozenset({"replace", "replaced", "kept"})


@dataclass(frozen=True, slots=True, kw_only=True)
class CancelNote:
    """A cancel (F) or mass cancel (q) that was about to leave.

    Attributes:
        cl_ord_id: of the order; empty for a mass cancel.
        kill_epoch: the kill in force; 0 without one.
        asked: an agent or a person asked for it; the id names the request.
        at_us: monotonic microseconds in the boot `boot_id`; 0 before the note is made and in older
            journals.
    """

    cancel_id: str
    cl_ord_id: str
    kill_epoch: int
    asked: bool = False
    at_us: int = 0
    boot_id: str = ""


class Journal:
    """The writing side, for the child that holds the session's lock; safe from any thread."""

    def __init__(self, path: Path) -> None:
        """Open or create the journal.

        Raises:
            JournalError: a line before the last does not chain.
        """
        path.parent.mkdir(parents=True, exist_ok=True)
        self._lock = threading.Lock()
        self._path = path
        found = _read(path)
        self._live, self._ended = _fold(found.lines)
        self._ids = {line.cl_ord_id for line in found.lines if line.op in _OPENING}
        self._first = _first_names(found.lines)
        self._offset = max((line.inbox for line in found.lines), default=0)
        self._cancels = _cancels(found.lines)
        for note in self._cancels:
            self._first[note.cancel_id] = self._first.get(note.cl_ord_id, note.cl_ord_id)
        self._boot = boot_id().hex()
        self._last_order_us = max(
            (one.at_us for one in found.lines if one.op == "order" and one.boot_id == self._boot),
            default=0,
        )
        self._prev = found.last_hash
        self._descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        os.ftruncate(self._descriptor, found.sound_bytes)
        os.lseek(self._descriptor, 0, os.SEEK_END)
        if found.sound_bytes > COMPACT_BYTES:
            self._compact()
        os.fsync(self._descriptor)
        sync_folder(path.parent)  # without it a power cut can undo the creation or the compaction

    @property
    def last_order_us(self) -> int:
        """Monotonic time at which the newest order of this boot was noted; 0 without one."""
        return self._last_order_us

    @property
    def inbox_offset(self) -> int:
        """Inbox offset up to which reports are accounted for."""
        return self._offset

    def accounted(self, inbox_offset: int) -> None:
        """Remember that the reports up to this offset are accounted for; the next line says it."""
        with self._lock:
            self._offset = max(self._offset, inbox_offset)

    def knows(self, cl_ord_id: str) -> bool:
        """Return whether this order was ever handed over here, live or not."""
        with self._lock:
            return cl_ord_id in self._ids or cl_ord_id in self._first

    def order(self, name: str) -> LiveOrder | None:
        """Return the order, live or ended, that any of its ClOrdIDs names; None if unknown."""
        with self._lock:
            first = self._first.get(name, name)
            return self._live.get(first) or self._ended.get(first)

    def first_name(self, name: str) -> str:
        """Return the name here of the order with this ClOrdID, which a replace may have given."""
        with self._lock:
            return self._first.get(name, name)

    def live(self) -> tuple[LiveOrder, ...]:
        """Return the orders that may be working, oldest first."""
        with self._lock:
            return tuple(self._live.values())

    def opened(self, order: LiveOrder, words: str = "") -> None:
        """Note an order that is about to leave; `words` are its fields as compact JSON, if made.

        Raises:
            OSError: the disk refused; the order must not leave.
        """
        with self._lock:
            fields = words or json.dumps(order.fields, separators=(",", ":"))
            self._write(
                f'{{"at_us":{monotonic_us()},"boot":"{self._boot}","fields":{fields},'
                f'"id":{json.dumps(order.cl_ord_id)},"inbox":{order.inbox_offset},'
                f'"op":"order","prev":"{self._prev}"}}',
                order.inbox_offset,
            )
            self._live[order.cl_ord_id] = order
            self._ids.add(order.cl_ord_id)

    def sync(self) -> None:
        """Make everything durable that was noted; raises OSError if the disk refuses."""
        os.fdatasync(self._descriptor)

    def told(self, orders: Iterable[LiveOrder]) -> None:
        """Note orders that the ledger announced and that this journal never had; durable on return.

        Raises:
            OSError: the disk refused.
        """
        for order in orders:
            if not self.knows(order.cl_ord_id):
                self.opened(order)
        self.sync()

    def closed(self, cl_ord_id: str, inbox_offset: int, why: str, *, filled: bool = False) -> None:
        """Note that an order ended, after the report that ends at this inbox offset."""
        with self._lock:
            order = self._live.pop(cl_ord_id, None)
            if order is not None:
                self._ended[cl_ord_id] = replace(order, filled=filled)
                self._append("closed", cl_ord_id, inbox_offset, {"why": why, "filled": filled})

    def reopened(self, found: LiveOrder) -> None:
        """Note that an ended or unknown order lives again; durable on return.

        Raises:
            OSError: the disk refused.
        """
        with self._lock:
            if found.cl_ord_id in self._live:
                return
            order = self._ended.pop(found.cl_ord_id, found)  # with the fields that were sent
            order = replace(order, filled=False)
            self._live[order.cl_ord_id] = order  # first: in doubt it is live
            self._ids.add(order.cl_ord_id)
            self._append("reopened", order.cl_ord_id, found.inbox_offset, {"fields": order.fields})
            os.fdatasync(self._descriptor)

    def replacing(self, cl_ord_id: str, fields: Fields, inbox_offset: int) -> None:
        """Note a replace that is about to leave; durable on return.

        Raises:
            OSError: the disk refused; the replace must not leave.
        """
        with self._lock:
            order = self._live[cl_ord_id]
            self._append("replace", cl_ord_id, inbox_offset, {"fields": fields})
            os.fdatasync(self._descriptor)
            self._first[dict(fields)[CL_ORD_ID]] = cl_ord_id
            self._live[cl_ord_id] = replace(order, asked=fields)

    def replaced(self, cl_ord_id: str, inbox_offset: int) -> None:
        """Note that the broker carried out the replace; until this is durable, both names count."""
        self._answered("replaced", cl_ord_id, inbox_offset)

    def kept(self, cl_ord_id: str, inbox_offset: int) -> None:
        """Note that the replace did not happen: the order works as before."""
        self._answered("kept", cl_ord_id, inbox_offset)

    def _answered(self, op: str, cl_ord_id: str, inbox_offset: int) -> None:
        with self._lock:
            orders = self._live if cl_ord_id in self._live else self._ended
            order = orders.get(cl_ord_id)
            if order is not None and order.asked:
                self._append(op, cl_ord_id, inbox_offset, {})
                orders[cl_ord_id] = _after(order, op)

    def cancelling(self, notes: Iterable[CancelNote], inbox_offset: int) -> None:
        """Note cancels that are about to leave; durable on return.

        Raises:
            OSError: the disk refused.
        """
        with self._lock:
            for note in notes:
                self._append("cancel", note.cl_ord_id, inbox_offset, _document(note))
                self._first[note.cancel_id] = self._first.get(note.cl_ord_id, note.cl_ord_id)
            os.fdatasync(self._descriptor)

    def close(self) -> None:
        """Make everything durable and close the file."""
        os.fsync(self._descriptor)
        os.close(self._descriptor)

    def _append(self, op: str, cl_ord_id: str, offset: int, rest: Mapping[str, object]) -> None:
        line = {
            "prev": self._prev,
            "op": op,
            "id": cl_ord_id,
            "inbox": offset,
            "at_us": monotonic_us(),
            "boot": self._boot,
            **rest,
        }
        self._write(json.dumps(line, separators=(",", ":"), sort_keys=True), offset)

    def _write(self, line: str, offset: int) -> None:
        text = line.encode("ascii")
        written = os.write(self._descriptor, text + b"\n")
        if written != len(text) + 1:
            raise OSError("the journal of live orders was written short")
        self._prev = hashlib.sha256(text).hexdigest()
        self._offset = max(self._offset, offset)

    def _compact(self) -> None:
        """Rewrite the file with live orders, the last ended ones and cancels; swaps atomically."""
        old, fresh = self._descriptor, self._path.with_suffix(".fresh")
        self._descriptor = os.open(fresh, os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
        os.close(old)
        self._prev = _GENESIS
        self._ended = dict(list(self._ended.items())[-CLOSED_KEPT:])
        for order in (*self._ended.values(), *self._live.values()):
            document = {"fields": order.fields, "at_us": 0}
            self._append("order", order.cl_ord_id, self._offset, document)
            if order.asked:
                self._append("replace", order.cl_ord_id, self._offset, {"fields": order.asked})
        for one in self._ended.values():
            why = {"why": "compacted", "filled": one.filled}
            self._append("closed", one.cl_ord_id, self._offset, why)
        for note in self._cancels[-CANCELS_KEPT:]:
            rest = {"at_us": note.at_us, "boot": note.boot_id}
            self._append("cancel", note.cl_ord_id, self._offset, _document(note) | rest)
        os.fsync(self._descriptor)
        fresh.replace(self._path)


def read_live(path: Path) -> tuple[LiveOrder, ...]:
    """Return the live orders of a journal that another process may be writing.

    Raises:
        JournalError: a line before the last does not chain.
    """
    return tuple(_fold(_read(path).lines)[0].values())


def read_cancels(path: Path) -> tuple[CancelNote, ...]:
    """Return every cancel in a journal, oldest first; none if its chain is broken."""
    try:
        return _cancels(_read(path).lines)
    except JournalError:
        return ()  # the child sets it aside


def _document(note: CancelNote) -> dict[str, str | int]:
    asked = {"asked": True} if note.asked else {}
    return {"cancel_id": note.cancel_id, "kill_epoch": note.kill_epoch, **asked}


def _cancels(lines: Iterable["_Line"]) -> tuple[CancelNote, ...]:
    return tuple(
        CancelNote(
            cancel_id=line.cancel_id,
            cl_ord_id=line.cl_ord_id,
            kill_epoch=line.kill_epoch,
            asked=line.asked,
            at_us=line.at_us,
            boot_id=line.boot_id,
        )
        for line in lines
        if line.op == "cancel"
    )


def read_offset(path: Path) -> int:
    """Return a journal's inbox offset (`Journal.inbox_offset`); 0 if its chain is broken."""
    try:
        return max((line.inbox for line in _read(path).lines), default=0)
    except JournalError:
        return 0  # the child sets it aside


@dataclass(frozen=True, slots=True, kw_only=True)
class _Line:
    op: str
    cl_ord_id: str
    inbox: int
    fields: Fields
    cancel_id: str = ""
    kill_epoch: int = 0
    asked: bool = False
    at_us: int = 0
    boot_id: str = ""
    filled: bool = False


class _Contents(NamedTuple):
    lines: tuple[_Line, ...]
    sound_bytes: int
    last_hash: str


def _read(path: Path) -> _Contents:
    """Return the chained lines, without a last line that has no newline."""
    whole = path.read_bytes() if path.exists() else b""
    rows = whole.split(b"\n")[:-1]
    lines: list[_Line] = []
    expected, size = _GENESIS, 0
    for number, row in enumerate(rows, start=1):
        try:
            document = json.loads(row)
            line = _Line(
                op=str(document["op"]),
                cl_ord_id=str(document["id"]),
                inbox=int(document["inbox"]),
                fields=tuple((int(tag), str(value)) for tag, value in document.get("fields", ())),
                cancel_id=str(document.get("cancel_id", "")),
                kill_epoch=int(document.get("kill_epoch", 0)),
                asked=document.get("asked") is True,
                at_us=int(document.get("at_us", 0)),
                boot_id=str(document.get("boot", "")),
                filled=document.get("filled") is True,
            )
            chained = document["prev"] == expected
        except (ValueError, KeyError, TypeError) as error:
            raise JournalError(path=str(path), line=number) from error
        if not chained:
            raise JournalError(path=str(path), line=number)
        lines.append(line)
        expected, size = hashlib.sha256(row).hexdigest(), size + len(row) + 1
    return _Contents(lines=tuple(lines), sound_bytes=size, last_hash=expected)


def _fold(lines: Iterable[_Line]) -> tuple[dict[str, LiveOrder], dict[str, LiveOrder]]:
    """Return the live orders, and the ended ones, newest last."""
    live: dict[str, LiveOrder] = {}
    ended: dict[str, LiveOrder] = {}
    for line in lines:
        if line.op in _OPENING:
            ended.pop(line.cl_ord_id, None)
            live[line.cl_ord_id] = LiveOrder(
                cl_ord_id=line.cl_ord_id, fields=line.fields, inbox_offset=line.inbox
            )
        elif line.op == "closed" and line.cl_ord_id in live:
            ended[line.cl_ord_id] = replace(live.pop(line.cl_ord_id), filled=line.filled)
        elif line.op in _REPLACING:
            for orders in (live, ended):
                if line.cl_ord_id in orders:
                    orders[line.cl_ord_id] = _after(orders[line.cl_ord_id], line.op, line.fields)
    return live, ended


def _after(order: LiveOrder, op: str, fields: Fields = ()) -> LiveOrder:
    """Return an order after its replace was asked for, carried out or not."""
    if op == "replace":
        return replace(order, asked=fields)
    if op == "replaced" and order.asked:
        return replace(order, fields=order.asked, asked=())
    return replace(order, asked=())


def _first_names(lines: Iterable[_Line]) -> dict[str, str]:
    """Return the first ClOrdID of each order that a replace named anew, by the later ones."""
    later = (line for line in lines if line.fields and line.op in _OPENING | _REPLACING)
    named = ((dict(line.fields).get(CL_ORD_ID, ""), line.cl_ord_id) for line in later)
    return {name: first for name, first in named if name and name != first}
