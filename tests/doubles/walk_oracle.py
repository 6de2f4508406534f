"""The judge of the walk: the simulator's own capture against the ledger.

Nothing of the gateway's memory.

Checks, each named after the invariant of the design:
    I1  every order on the wire has a committed SENDING record, made before the broker received it
    I2  it maps to exactly one approving record, its name follows from that record's leaf, its
    fields are
        the announced ones, and no name is on the wire twice
    I4  every report that the broker sent for an order is on record, as received, once
"""

from collections import Counter
from pathlib import Path

from audit.records.kinds import Kind
from audit.store.reader import LedgerReader
from fix.simulator.control import read_capture
from fix.wire.identity import cl_ord_id
from fix.wire.messages import parse

NEW_ORDER = "D"
REPORT = "8"
CL_ORD_ID = 11
ENGINE_FIELDS = frozenset({8, 9, 10, 34, 49, 52, 56, 35})
SLACK_US = 0


def faults(capture: Path, reader: LedgerReader) -> list[str]:
    """Return every broken promise, in words; empty when all hold."""
    return [*order_faults(capture, reader), *report_faults(capture, reader)]


def order_faults(capture: Path, reader: LedgerReader) -> list[str]:
    """I1 and I2."""
    sending = {r.body["cl_ord_id"]: r for r in reader.records(kinds=(Kind.ORDER_SENDING,))}
    found: list[str] = []
    seen: Counter[str] = Counter()
    for message in read_capture(capture):
        if message.direction != "in" or message.msg_type != NEW_ORDER:
            continue
        fields = parse(message.raw)
        name = dict(fields)[CL_ORD_ID]
        seen[name] += 1
        record = sending.get(name)
        if record is None:
            found.append(f"I1: order {name} left without a record")
            continue
        if record.recorded_at_us > message.wall_us + SLACK_US:
            found.append(f"I1: order {name} was received before its record was made")
        approving = reader.record(record.body["approving_seq"])
        if approving is None or approving.kind is not Kind.VERDICT_GIVEN:
            found.append(f"I2: order {name} names no verdict")
        elif cl_ord_id(approving.leaf) != name or approving.body["result"] != "approved":
            found.append(f"I2: order {name} does not follow from its approving record")
        announced = [
            (int(tag), text) for tag, text in record.body["fields"] if tag not in ENGINE_FIELDS
        ]
        on_wire = [(tag, text) for tag, text in fields if tag not in ENGINE_FIELDS]
        if sorted(announced) != sorted(on_wire):
            found.append(f"I2: order {name} left with other fields than announced")
    found.extend(f"I2: order {name} left {n} times" for name, n in seen.items() if n > 1)
    return found


def report_faults(capture: Path, reader: LedgerReader) -> list[str]:
    """I4, the part that a broker can see: what it said of an order is on record."""
    recorded = Counter(
        _identity(r.body["raw"])
        for r in reader.records(kinds=(Kind.FIX_INBOUND,))
        if r.body["msg_type"] == REPORT
    )
    sent = Counter(
        _identity(m.raw)
        for m in read_capture(capture)
        if m.direction == "out" and m.msg_type == REPORT
    )
    return [f"I4: report {name} is not on record" for name in sent if name not in recorded]


def _identity(raw: str) -> tuple[str, ...]:
    """Return what identifies a report: order, execution, type, status."""
    fields = dict(parse(raw))
    return tuple(fields.get(tag, "") for tag in (CL_ORD_ID, 17, 150, 39, 14))
