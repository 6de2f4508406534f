"""The byte form of evidence, versions 2 to 4 of a capture.

There is no compressor, and a reader needs only this table. Numbers are
little-endian; `bin` is a token less `bin_start`, one byte for at most 256 bins, else two; `varint`
is LEB128; `near one` is the distance of a float64's bits from those of 1.0, zigzag, as varint.

    magic line
    u8 drafter, u8 spec_k, varint bin_start, varint n_bins, [table: 32 bytes digest, varint base]
    f32 x n_bins first row, u16 its entropy
    varint trajectories, then of each: u64 seed, 32 bytes row digest, varint rounds, its rounds
    round: u8 head (bits 0-2 form, bit 3 picked from the first row, bit 4 truncated), [varint
        truncated], [with drafts: u8 drafts, [recovered: u8 accepted], bin of each draft, [table:
        varint state - base of each]], of each verified draft: f32 p, [network: f32 q, f64 before,
        near one total]; bin token; [not of the first row: f32 p, [network, recovered: f32 q],
        f64 before, total (of a residual: f64; else near one), u16 entropy of each row]

Version 3 is the magic line, varint length and bytes of version 2, varint heads, the heads
(`top_rows.py`), and of each round varint references and the references: 0 for none, else from 1.

Version 4 is of a prompt whose first row was not the same for every trajectory, bit for bit: the
magic line, varint bins, varint other rows, of each: f32 x bins, u16 its entropy, varint
trajectories and each of them; then the bytes of version 2 or 3, in which "the first row" is the
trajectory's own.

An accepted draft takes 8 bytes with the table and 24 with the network, a round's last token 24.
"""

import struct
from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from inference.errors import CaptureError
from inference.speculation.evidence import Bracket, Evidence, OtherFirst, RoundEvidence
from inference.speculation.fields import CaptureFields, digest_bytes, varint
from inference.speculation.rounds import (
    DrafterKind,
    PlainReason,
    RoundOutcome,
)
from inference.speculation.top_rows import WIDTH, heads_of, pool_of, split_pool

MAGIC: Final = b"countersign.capture/2\n"
MAGIC_3: Final = b"countersign.capture/3\n"
MAGIC_4: Final = b"countersign.capture/4\n"
_DRAFTERS: Final = (DrafterKind.NONE, DrafterKind.NETWORK, DrafterKind.TABLE)
_BONUS, _RECOVERED, _NO_REST, _PLAIN = 0, 1, 2, 3
_REASONS: Final = (
    PlainReason.FIRST_TOKEN,
    PlainReason.LAST_TOKEN,
    PlainReason.DRAFTS_REJECTED,
    PlainReason.SPECULATION_OFF,
    PlainReason.NOT_SCHEDULED,
)
_FORM, _OF_FIRST, _CUT = 0b111, 0b1000, 0b10000
_MAX_BINS: Final = 1 << 16
_BYTE_BINS: Final = 1 << 8
_ONE: Final = int.from_bytes(struct.pack(">d", 1.0))


def encode_evidence(evidence: Evidence) -> bytes:
    """Return the bytes of evidence; equal evidence gives equal bytes.

    Raises:
        CaptureError: when rounds are out of order or leave a gap, or a number is too large.
    """
    try:
        return _others(evidence) + _with_heads(evidence)
    except (struct.error, ValueError, OverflowError) as error:
        raise CaptureError(f"a number does not fit its field: {error}") from error


def _others(evidence: Evidence) -> bytes:
    """Return the beginning of version 4, or nothing where all trajectories share one first row."""
    if not evidence.other_firsts:
        return b""
    out = bytearray(MAGIC_4) + varint(evidence.n_bins) + varint(len(evidence.other_firsts))
    for one in evidence.other_firsts:
        out += struct.pack(f"<{evidence.n_bins}fH", *one.row, one.entropy)
        out += varint(len(one.trajectories)) + b"".join(map(varint, one.trajectories))
    return bytes(out)


def _with_heads(evidence: Evidence) -> bytes:
    """Return version 3, or version 2 where no row has a head."""
    body = _body(evidence)
    heads, refs = pool_of([r.tops for r in evidence.rounds])
    if not heads:
        return body
    out = bytearray(MAGIC_3) + varint(len(body)) + body + varint(len(heads)) + b"".join(heads)
    for row in refs:
        out += varint(len(row)) + b"".join(map(varint, row))
    return bytes(out)


def _body(evidence: Evidence) -> bytes:
    out = bytearray(MAGIC)
    base = min((s for r in evidence.rounds for s in r.states), default=0)
    by_path: list[list[RoundEvidence]] = [[] for _ in evidence.seeds]
    for r in _in_order(evidence):
        by_path[r.trajectory].append(r)
    out += bytes((_DRAFTERS.index(evidence.drafter), evidence.spec_k))
    out += varint(evidence.bin_start) + varint(evidence.n_bins)
    if evidence.drafter is DrafterKind.TABLE:
        out += digest_bytes(bytes.fromhex(evidence.table_digest)) + varint(base)
    out += struct.pack(f"<{evidence.n_bins}f", *evidence.first_row)
    out += struct.pack("<H", evidence.first_entropy) + varint(len(evidence.seeds))
    for seed, digest, rounds in zip(evidence.seeds, evidence.row_digests, by_path, strict=True):
        out += struct.pack("<Q", seed) + digest_bytes(digest) + varint(len(rounds))
        for r in rounds:
            out += _round_bytes(r, evidence, base)
    return bytes(out)


def decode_evidence(data: bytes) -> Evidence:
    """Read version 2, 3 or 4.

    Raises:
        CaptureError: for any bytes that `encode_evidence` would not have written.
    """
    evidence = _Reader(data).capture()
    if encode_evidence(evidence) != data:
        raise CaptureError("capture is not in canonical form")
    return evidence


def _in_order(evidence: Evidence) -> Iterator[RoundEvidence]:
    at = (0, 0)
    for r in evidence.rounds:
        if r.trajectory != at[0]:
            at = (r.trajectory, 0) if r.trajectory > at[0] else at
        if (r.trajectory, r.step) != at:
            raise CaptureError(f"round {r.trajectory}/{r.step} is out of order")
        at = (r.trajectory, r.step + len(r.emitted))
        yield r


def _round_bytes(r: RoundEvidence, evidence: Evidence, base: int) -> bytes:
    out = bytearray((_head(r),))
    recovered, kept = r.outcome is RoundOutcome.RECOVERED, evidence.n_bins
    if r.truncated:
        out += varint(r.truncated)
    if r.drafts:
        out += bytes((len(r.drafts), r.accepted) if recovered else (len(r.drafts),))
        out += b"".join(_bin(token - evidence.bin_start, kept) for token in r.drafts)
        out += b"".join(varint(state - base) for state in r.states)
    for j, p in enumerate(r.p):
        out += struct.pack("<f", p)
        if r.q:
            out += struct.pack("<fd", r.q[j], r.q_picks[j].before) + _near_one(r.q_picks[j].total)
    out += _bin(r.token - evidence.bin_start, kept)
    if r.picked is None:
        return bytes(out)
    out += struct.pack("<f", r.token_p)
    if r.token_q is not None:
        out += struct.pack("<f", r.token_q)
    out += struct.pack("<d", r.picked.before)
    of_rest = recovered and not r.no_rest
    out += struct.pack("<d", r.picked.total) if of_rest else _near_one(r.picked.total)
    return bytes(out) + struct.pack(f"<{len(r.entropies)}H", *r.entropies)


def _head(r: RoundEvidence) -> int:
    form = _BONUS
    if r.outcome is RoundOutcome.RECOVERED:
        form = _NO_REST if r.no_rest else _RECOVERED
    elif r.plain_reason is not None:
        form = _PLAIN + _REASONS.index(r.plain_reason)
    return form | (_OF_FIRST if r.picked is None else 0) | (_CUT if r.truncated else 0)


def _bin(index: int, n_bins: int) -> bytes:
    return index.to_bytes(1 if n_bins <= _BYTE_BINS else 2, "little")


def _near_one(value: float) -> bytes:
    gap = int.from_bytes(struct.pack(">d", value)) - _ONE
    return varint(gap * 2 if gap >= 0 else -gap * 2 - 1)


class _Reader(CaptureFields):
    """Reads a capture of any version."""

    def __init__(self, data: bytes, others: tuple[OtherFirst, ...] = ()) -> None:
        super().__init__(data, at=len(MAGIC))  # all magic lines are as long
        self._others = others
        self._own = {n: (one.row, one.entropy) for one in others for n in one.trajectories}

    def capture(self) -> Evidence:
        """Return what the magic line announces."""
        if self.begins(MAGIC_4) and not self._others:
            others = self._other_firsts()
            return _Reader(self.take(self.left), others).capture()
        if self.begins(MAGIC_3):
            return self.with_heads()
        if self.begins(MAGIC):
            return self.evidence()
        raise CaptureError("not a capture of version 2, 3 or 4")

    def _other_firsts(self) -> tuple[OtherFirst, ...]:
        bins = self.varint()
        if not 0 < bins <= _MAX_BINS:
            raise CaptureError(f"{bins} bins are too many or none")
        return tuple(
            OtherFirst(
                row=self.floats(bins),
                entropy=self.shorts(1)[0],
                trajectories=tuple(self.varint() for _ in range(self.varint())),
            )
            for _ in range(self.varint())
        )

    def evidence(self) -> Evidence:
        code, self.spec_k = self.take(2)
        if code >= len(_DRAFTERS):
            raise CaptureError("unknown drafter")
        self.drafter = _DRAFTERS[code]
        self.bin_start, self.n_bins = self.varint(), self.varint()
        if not 0 < self.n_bins <= _MAX_BINS:
            raise CaptureError(f"{self.n_bins} bins are too many or none")
        digest, self.base = "", 0
        if self.drafter is DrafterKind.TABLE:
            digest, self.base = self.take(32).hex(), self.varint()
        self.first_row = self.floats(self.n_bins)
        (self.first_entropy,) = self.shorts(1)
        seeds, digests, rounds = [], [], []
        for trajectory in range(self.varint()):
            seeds.append(int.from_bytes(self.take(8), "little"))
            digests.append(self.take(32))
            step = 0
            for _ in range(self.varint()):
                rounds.append(self._round(trajectory, step))
                step += len(rounds[-1].emitted)
        if self.left:
            raise CaptureError("bytes behind the last round")
        return Evidence(
            drafter=self.drafter,
            spec_k=self.spec_k,
            bin_start=self.bin_start,
            n_bins=self.n_bins,
            table_digest=digest,
            first_row=self.first_row,
            first_entropy=self.first_entropy,
            seeds=tuple(seeds),
            row_digests=tuple(digests),
            rounds=tuple(rounds),
            other_firsts=self._others,
        )

    def _round(self, trajectory: int, step: int) -> RoundEvidence:
        head = self.byte()
        form, of_first = head & _FORM, bool(head & _OF_FIRST)
        truncated = self.varint() if head & _CUT else 0
        plain, recovered = form >= _PLAIN, form in (_RECOVERED, _NO_REST)
        n = 0 if plain else self.byte()
        accepted = self.byte() if recovered else n
        drafts = tuple(self._token() for _ in range(n))
        by_table = self.drafter is DrafterKind.TABLE
        of_network = self.drafter is DrafterKind.NETWORK
        states = tuple(self.base + self.varint() for _ in range(n if by_table else 0))
        p: list[float] = []
        q: list[float] = []
        q_picks: list[Bracket] = []
        for _ in range(min(n, accepted + 1)):
            p += self.floats(1)
            if of_network:
                q += self.floats(1)
                q_picks.append(Bracket(before=self.double(), total=self._near_one()))
        token = self._token()
        index, token_q, picked = token - self.bin_start, None, None
        first, entropy = self._own.get(trajectory, (self.first_row, self.first_entropy))
        token_p = first[index] if index < len(first) else 0.0
        entropies: tuple[int, ...] = (entropy,)
        if not of_first:
            (token_p,) = self.floats(1)
            token_q = self.floats(1)[0] if recovered and of_network else None
            before = self.double()
            total = self.double() if form == _RECOVERED else self._near_one()
            picked = Bracket(before=before, total=total)
            entropies = self.shorts(accepted + 1)
        outcome = RoundOutcome.RECOVERED if recovered else RoundOutcome.BONUS
        return RoundEvidence(
            trajectory=trajectory,
            step=step,
            drafts=drafts,
            states=states,
            p=tuple(p),
            q=tuple(q),
            q_picks=tuple(q_picks),
            accepted=accepted,
            token=token,
            token_p=token_p,
            token_q=token_q,
            picked=picked,
            no_rest=form == _NO_REST,
            outcome=RoundOutcome.PLAIN if plain else outcome,
            plain_reason=_REASONS[form - _PLAIN] if plain else None,
            truncated=truncated,
            entropies=entropies,
        )

    def with_heads(self) -> Evidence:
        """Return what version 3 holds."""
        body = self.take(self.varint())
        if not body.startswith(MAGIC):
            raise CaptureError("version 3 does not hold one of version 2")
        evidence = _Reader(body, self._others).capture()
        n = self.varint()
        pool = split_pool(self.take(n * WIDTH), n)
        rounds = []
        for r in evidence.rounds:
            refs = [self.varint() for _ in range(self.varint())]
            rounds.append(replace(r, tops=heads_of(pool, refs)))
        return replace(evidence, rounds=tuple(rounds))

    def _token(self) -> int:
        width = 1 if self.n_bins <= _BYTE_BINS else 2
        return self.bin_start + int.from_bytes(self.take(width), "little")

    def _near_one(self) -> float:
        coded = self.varint()
        bits = _ONE + (coded // 2 if coded % 2 == 0 else -(coded + 1) // 2)
        if not 0 <= bits < 1 << 64:
            raise CaptureError("a sum is not a float64")
        (value,) = struct.unpack(">d", bits.to_bytes(8))
        return float(value)
