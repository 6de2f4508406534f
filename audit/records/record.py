"""A draft becomes a header, a leaf and a record. Pure.

The header is the tree's entry: canonical bytes of

    {actor, commitments, idem_key, kind, log, payload_sha256, prev, recorded_at_us, seq, stream,
     stream_seq, version}

The leaf is SHA-256(0x00 || header); `prev` is the previous leaf of the stream (zeros for its
first record). This form is frozen: later work extends payloads and kinds, never the leaf.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from hashlib import sha256
from typing import Any

from msgspec import Struct

from audit.errors import CanonicalError, DraftError
from audit.records.canonical import INT_MAX, JSON, canonical, parse, quoted, written
from audit.records.kinds import KINDS, LEDGER, Kind, KindSpec, StreamClass
from audit.records.personal import Personal, Sealed
from audit.tlog.merkle import HASH_BYTES, leaf_hash

ENTRY_BYTES_MAX = 65_535
ZERO_HASH = bytes(HASH_BYTES)
COMMITMENTS_MAX = 64
_STREAM = re.compile(r"[!-~]{1,200}")
_TEXT = re.compile(r"[^\x00-\x1f\x7f-\x9f\ud800-\udfff]{1,200}")
_DIGEST = re.compile(r"[0-9a-f]{64}")
_LEAVES = frozenset({str, int, bool, type(None)})
_BLOB_KEY = b'_blob":'
"""Occurs in the canonical bytes of every payload with a `*_blob` field."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """What a caller wants on record.

    Attributes:
        stream: printable ASCII without spaces, of the sort that the kind lives in.
        actor: who did it; `ledger` is reserved for the ledger itself.
        idem_key: unique within the stream; the same key with the same payload is the same record.
        commitments: hex digests of personal values stored elsewhere; part of the leaf.
        personal: values that a ledger with a vault turns into commitments; never in the payload.
    """

    stream: str
    kind: Kind
    payload: Mapping[str, JSON]
    actor: str
    idem_key: str
    commitments: tuple[str, ...] = ()
    personal: tuple[Personal, ...] = ()


class Prepared(Struct, frozen=True, kw_only=True):
    """A checked draft with its payload as canonical bytes.

    All types made for every record are `Struct`s: ten times faster to make than frozen
    dataclasses, five of which would cost a tenth of an append.
    """

    draft: Draft
    spec: KindSpec
    payload: bytes
    payload_digest: bytes
    account: str | None
    blobs: tuple[str, ...]
    header_parts: tuple[str, str, str]
    """The header's text up to the log's name, from there up to `prev`, and from the stream on."""
    disclosures: tuple[Sealed, ...] = ()
    """Encrypted personal values, committed with the record."""


class Record(Struct, frozen=True, kw_only=True):
    """One committed line of the ledger, with the exact bytes that were hashed."""

    seq: int
    stream: str
    stream_seq: int
    kind: Kind
    version: int
    recorded_at_us: int
    actor: str
    prev: bytes
    payload_digest: bytes
    header: bytes
    payload: bytes
    leaf: bytes
    idem_key: str

    @property
    def body(self) -> dict[str, Any]:
        """Return the payload, parsed anew at each call."""
        return parse_payload(self.payload)


def prepare(draft: Draft, disclosures: tuple[Sealed, ...] = ()) -> Prepared:
    """Check a draft against its kind and make its payload bytes; runs in the caller's thread.

    A vault has put commitments in place of personal values; `disclosures` are the encrypted values.

    Raises:
        DraftError: the kind does not allow the draft, or it is too large.
    """
    spec, account = KINDS[draft.kind], draft.payload.get("account")
    if not _is_stream(draft.stream):
        raise DraftError(f"stream {draft.stream!r:.80} is not 1 to 200 printable ASCII characters")
    _check_text(draft.actor, _is_text)
    _check_text(draft.idem_key, _TEXT.fullmatch)
    _check_place(spec, draft.stream, draft.actor)
    _check_payload(spec, draft.payload, account)
    if draft.personal:
        raise DraftError(f"{draft.kind}: no vault has sealed the personal values")
    if draft.commitments and (
        len(draft.commitments) > COMMITMENTS_MAX
        or not all(map(_DIGEST.fullmatch, draft.commitments))
    ):
        raise DraftError(f"commitments must be at most {COMMITMENTS_MAX} SHA-256 digests in hex")
    try:
        payload = written(draft.payload)
    except CanonicalError as error:
        raise DraftError(f"{draft.kind}: {error}") from error
    if len(payload) > ENTRY_BYTES_MAX:
        raise DraftError(f"{draft.kind}: payload of {len(payload)} bytes; put the rest in a blob")
    digest = sha256(payload).digest()
    return Prepared(
        draft=draft,
        spec=spec,
        payload=payload,
        payload_digest=digest,
        account=account if isinstance(account, str) else None,
        blobs=tuple(blob_digests(draft.payload)) if _BLOB_KEY in payload else (),
        header_parts=_header_parts(draft, digest.hex()),
        disclosures=disclosures,
    )


def make_record(
    prepared: Prepared,
    *,
    log: str,
    seq: int,
    stream_seq: int,
    prev: bytes,
    recorded_at_us: int,
) -> Record:
    """Return the record of a prepared draft at its place in the log and its stream."""
    draft = prepared.draft
    header = header_line(
        prepared,
        log=log,
        seq=seq,
        stream_seq=stream_seq,
        prev=prev,
        recorded_at_us=recorded_at_us,
    )
    return Record(
        seq=seq,
        stream=draft.stream,
        stream_seq=stream_seq,
        kind=draft.kind,
        version=prepared.spec.version,
        recorded_at_us=recorded_at_us,
        actor=draft.actor,
        prev=prev,
        payload_digest=prepared.payload_digest,
        header=header,
        payload=prepared.payload,
        leaf=leaf_hash(header),
        idem_key=draft.idem_key,
    )


def header_line(
    prepared: Prepared,
    *,
    log: str,
    seq: int,
    stream_seq: int,
    prev: bytes,
    recorded_at_us: int,
) -> bytes:
    """Return what `header_bytes` does, and raise alike, from parts made in the caller's thread."""
    before_log, before_prev, from_stream = prepared.header_parts
    if not (0 <= seq <= INT_MAX and 0 <= stream_seq <= INT_MAX and 0 <= recorded_at_us <= INT_MAX):
        raise DraftError("a header's number is out of range")
    header = (
        f'{before_log}{quoted(log)}{before_prev}{prev.hex()}","recorded_at_us":{recorded_at_us},'
        f'"seq":{seq}{from_stream}{stream_seq},"version":{prepared.spec.version}}}'
    ).encode()
    if len(header) > ENTRY_BYTES_MAX:
        raise DraftError("a header's size is out of range")
    return header


def _header_parts(draft: Draft, payload_sha256: str) -> tuple[str, str, str]:
    joined = '","'.join(draft.commitments)
    commitments = f'["{joined}"]' if joined else "[]"
    return (
        (
            f'{{"actor":{quoted(draft.actor)},"commitments":{commitments},'
            f'"idem_key":{quoted(draft.idem_key)},"kind":"{draft.kind}","log":'
        ),
        f',"payload_sha256":"{payload_sha256}","prev":"',
        f',"stream":{quoted(draft.stream)},"stream_seq":',
    )


def header_bytes(fields: Mapping[str, JSON]) -> bytes:
    """Encode a header canonically; raise DraftError if a number or the size is out of range."""
    header = canonical(fields)
    negative = any(isinstance(value, int) and value < 0 for value in fields.values())
    if negative or len(header) > ENTRY_BYTES_MAX:
        raise DraftError("a header's number or size is out of range")
    return header


def parse_payload(data: bytes) -> dict[str, JSON]:
    """Parse payload bytes; raise CanonicalError if they are not canonical, or not an object."""
    value = parse(data)
    if not isinstance(value, dict):
        raise CanonicalError("payload is not an object")
    return value


def blob_digests(value: JSON) -> Iterator[str]:
    """Yield the digest in every `*_blob` field, at any depth; raise DraftError for other values."""
    if isinstance(value, Mapping):
        for key, item in value.items():
            if key.endswith("_blob"):
                if item is not None:
                    if not isinstance(item, str) or not _DIGEST.fullmatch(item):
                        raise DraftError(f"{key} is not a SHA-256 in hex")
                    yield item
            elif type(item) not in _LEAVES:
                yield from blob_digests(item)
    elif isinstance(value, list | tuple):
        for item in value:
            if type(item) not in _LEAVES:
                yield from blob_digests(item)


@lru_cache(maxsize=4096)
def _is_stream(text: str) -> bool:
    """Return whether a text may name a stream; a decision's records ask ten times in a row."""
    return _STREAM.fullmatch(text) is not None


@lru_cache(maxsize=1024)
def _is_text(text: str) -> bool:
    """Return whether a text may name an actor or an account; there are few of them."""
    return _TEXT.fullmatch(text) is not None


def _check_text(text: object, fits: Callable[[str], object]) -> None:
    if not isinstance(text, str) or not fits(text):
        raise DraftError(f"{text!r:.80} is not 1 to 200 characters without controls")


@lru_cache(maxsize=1024)
def _misfit(kind: Kind, names: tuple[str, ...]) -> str | None:
    """Return what is wrong with a payload's fields, or None; callers repeat the same names."""
    spec = KINDS[kind]
    missing, unknown = spec.fields - {*names}, {*names} - spec.fields - spec.optional
    if not missing and not unknown:
        return None
    return f"{kind}: missing {sorted(missing)}, unknown {sorted(unknown)}"


def _check_payload(spec: KindSpec, payload: Mapping[str, JSON], account: JSON) -> None:
    if (misfit := _misfit(spec.kind, tuple(payload))) is not None:
        raise DraftError(misfit)
    if account is None or account == "":
        if spec.section and not spec.firm_wide:
            raise DraftError(f"{spec.kind}: moves a section but names no account")
    else:
        _check_text(account, _is_text)


def _check_place(spec: KindSpec, stream: str, actor: str) -> None:
    if spec.stream is StreamClass.CONTROL:
        fits = stream == spec.stream
    else:
        fits = stream.startswith(spec.stream) and len(stream) > len(spec.stream)
    if not fits:
        raise DraftError(f"{spec.kind} lives in {spec.stream}, not in {stream!r}")
    if spec.ledger_only != (actor == LEDGER):
        raise DraftError(f"{spec.kind} is not written by {actor!r}")
