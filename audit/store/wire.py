"""Rows as PostgreSQL's binary wire forms: values, array parameters, the COPY stream. Pure.

Written by hand because the driver's adaptation of sixteen columns costs more per row than building
the record. A wrong byte here cannot become a wrong record: the server checks each row's hashes
again, and refuses a stream that does not parse.

Source: PostgreSQL 18 documentation, COPY, "Binary Format"; src/backend/utils/adt/arrayfuncs.c
(array_send) for arrays.
"""

from collections.abc import Iterable, Mapping, Sequence
from struct import Struct

from audit.records.row import Row

COLUMNS: Mapping[str, str] = {
    "seq": "bigint",
    "stream": "text",
    "stream_seq": "bigint",
    "kind": "text",
    "version": "integer",
    "recorded_at_us": "bigint",
    "actor": "text",
    "idem_key": "text",
    "account": "text",
    "prev": "bytea",
    "payload_digest": "bytea",
    "leaf": "bytea",
    "header": "bytea",
    "payload": "bytea",
    "commitments": "bytea",
    "mac": "bytea",
}
"""The columns of `ledger.entry` with their types, in the order of every form."""

_BYTEA, _INT8, _INT4, _TEXT = 17, 20, 23, 25
OIDS = {"bigint": _INT8, "text": _TEXT, "integer": _INT4, "bytea": _BYTEA}
ARRAY_OIDS = {"bigint": 1016, "text": 1009, "integer": 1007, "bytea": 1001}

_ARRAY = Struct(">iiiii").pack
_LENGTH = Struct(">i").pack
_INT4_ALONE = Struct(">i").pack
_INT8_ALONE = Struct(">q").pack
_INT4_FIELD = Struct(">ii").pack
_INT8_FIELD = Struct(">iq").pack
_ROW = Struct(">hiq").pack
_TIMES = Struct(">iiiq").pack
_NULL = _LENGTH(-1)
_HASH = _LENGTH(32)
_COPY_HEAD = b"PGCOPY\n\xff\r\n\x00" + bytes(8)
_COPY_END = Struct(">h").pack(-1)


def copy_stream(rows: Iterable[Row]) -> bytes:
    """Return the rows as one binary COPY stream."""
    parts = [_COPY_HEAD]
    for row in rows:
        record = row.record
        stream, kind = record.stream.encode(), record.kind.value.encode()
        actor, key = record.actor.encode(), record.idem_key.encode()
        account = _NULL if row.account is None else _field(row.account.encode())
        parts += (
            _ROW(len(COLUMNS), 8, record.seq),
            _LENGTH(len(stream)),
            stream,
            _INT8_FIELD(8, record.stream_seq),
            _LENGTH(len(kind)),
            kind,
            _TIMES(4, record.version, 8, record.recorded_at_us),
            _LENGTH(len(actor)),
            actor,
            _LENGTH(len(key)),
            key,
            account,
            _HASH,
            record.prev,
            _HASH,
            record.payload_digest,
            _HASH,
            record.leaf,
            _LENGTH(len(record.header)),
            record.header,
            _LENGTH(len(record.payload)),
            record.payload,
            _LENGTH(len(row.commitments)),
            row.commitments,
            _mac(row),
        )
    parts.append(_COPY_END)
    return b"".join(parts)


def row_parameters(row: Row) -> list[bytes | None]:
    """Return one row as one binary value per column."""
    record, account = row.record, row.account
    return [
        _INT8_ALONE(record.seq),
        record.stream.encode(),
        _INT8_ALONE(record.stream_seq),
        record.kind.value.encode(),
        _INT4_ALONE(record.version),
        _INT8_ALONE(record.recorded_at_us),
        record.actor.encode(),
        record.idem_key.encode(),
        None if account is None else account.encode(),
        record.prev,
        record.payload_digest,
        record.leaf,
        record.header,
        record.payload,
        row.commitments,
        row.mac,
    ]


def array_parameters(rows: Sequence[Row]) -> list[bytes]:
    """Return the rows as one binary array per column."""
    records = [row.record for row in rows]
    columns: list[tuple[int, list[bytes]]] = [
        (_INT8, [_INT8_FIELD(8, record.seq) for record in records]),
        (_TEXT, [_field(record.stream.encode()) for record in records]),
        (_INT8, [_INT8_FIELD(8, record.stream_seq) for record in records]),
        (_TEXT, [_field(record.kind.value.encode()) for record in records]),
        (_INT4, [_INT4_FIELD(4, record.version) for record in records]),
        (_INT8, [_INT8_FIELD(8, record.recorded_at_us) for record in records]),
        (_TEXT, [_field(record.actor.encode()) for record in records]),
        (_TEXT, [_field(record.idem_key.encode()) for record in records]),
        (_TEXT, [_NULL if row.account is None else _field(row.account.encode()) for row in rows]),
        (_BYTEA, [_HASH + record.prev for record in records]),
        (_BYTEA, [_HASH + record.payload_digest for record in records]),
        (_BYTEA, [_HASH + record.leaf for record in records]),
        (_BYTEA, [_field(record.header) for record in records]),
        (_BYTEA, [_field(record.payload) for record in records]),
        (_BYTEA, [_field(row.commitments) for row in rows]),
        (_BYTEA, [_mac(row) for row in rows]),
    ]
    return [_array(oid, fields) for oid, fields in columns]


def disclosure_parameters(rows: Sequence[Row]) -> list[bytes]:
    """Return the rows' encrypted personal values as one binary array per column."""
    pairs = [(row.record.seq, one) for row in rows for one in row.disclosures]
    return [
        _array(_INT8, [_INT8_FIELD(8, seq) for seq, _ in pairs]),
        _array(_INT4, [_INT4_FIELD(4, one.position) for _, one in pairs]),
        _array(_TEXT, [_field(one.subject.encode()) for _, one in pairs]),
        _array(_BYTEA, [_field(one.sealed) for _, one in pairs]),
    ]


def _mac(row: Row) -> bytes:
    return _NULL if row.mac is None else _HASH + row.mac


def _field(data: bytes) -> bytes:
    return _LENGTH(len(data)) + data


def _array(oid: int, fields: Sequence[bytes]) -> bytes:
    """Join fields as an array of one dimension that starts at 1."""
    has_null = 1 if _NULL in fields else 0
    return b"".join((_ARRAY(1, has_null, oid, len(fields), 1), *fields))
