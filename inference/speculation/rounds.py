"""Draft rounds with their full rows, and their recomputation.

A round is one verification step of one trajectory. It has the probabilities that the sampler used,
so `round_faults` decides every position again: each draft from its row and draw, each accept or
reject from p, q and u, and the last token from the residual max(p - q, 0) or from p.

Rules:
    - Rows are little-endian float32 bytes over the codec's bins.
    - Rows after the rejecting position decide nothing and are not kept.
    - Float32 arithmetic is done in float64 and rounded once, which gives the same result.

Not here: the byte form (`capture.py`), what the ledger keeps (`evidence.py`), and the engine that
makes rounds (`flight.py`).

Source: Leviathan, Kalman, Matias (2023), "Fast inference from transformers via speculative
decoding".
"""

import struct
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import accumulate
from math import inf, log

from inference.errors import CaptureError
from inference.speculation.seeds import Purpose, accept_draw, pick, token_draw

_FLOAT = struct.Struct("<f")


class DrafterKind(StrEnum):
    """Who proposes tokens."""

    NETWORK = "network"
    TABLE = "table"
    NONE = "none"


class RoundOutcome(StrEnum):
    """The source of the round's last token."""

    BONUS = "bonus"  # every draft was accepted; the token is drawn from the target
    RECOVERED = "recovered"  # a draft was rejected; drawn from the residual max(p - q, 0)
    PLAIN = "plain"  # nothing was drafted; drawn from the target


class PlainReason(StrEnum):
    """Why a round had no drafts."""

    FIRST_TOKEN = "first_token"  # noqa: S105 - not a password; comes out of the prompt's own pass
    LAST_TOKEN = "last_token"  # noqa: S105 - not a password; no token could follow a draft
    DRAFTS_REJECTED = "drafts_rejected"  # fallback: this trajectory's drafts kept being rejected
    SPECULATION_OFF = "speculation_off"  # by request or configuration
    NOT_SCHEDULED = "not_scheduled"  # there was no draft (vLLM preempted the request)


@dataclass(frozen=True, slots=True, kw_only=True)
class DraftRound:
    """One verification step of one trajectory; tokens are vocabulary ids, rows cover the bins."""

    trajectory: int
    step: int  # output position of the round's first token, 0 = first sampled token
    drafts: tuple[int, ...]
    q_states: tuple[int, ...]  # table drafter: the table row behind each draft
    q_rows: tuple[bytes, ...]  # network drafter: one row per verified draft
    p_rows: tuple[bytes, ...]  # accepted + 1 rows
    draws: tuple[float, ...]  # u, one per verified draft
    accepted: int
    token: int
    outcome: RoundOutcome
    plain_reason: PlainReason | None
    truncated: int  # emitted tokens beyond the request's length, dropped by the scheduler
    logits_digest: bytes  # SHA-256 of the target's logits quantised to 1/1024
    tops: tuple[bytes, ...] = ()  # heads of the raw rows (`top_rows.py`); () for small vocabularies

    def __post_init__(self) -> None:
        n = len(self.drafts)
        verified = min(n, self.accepted + 1)
        plain = self.outcome is RoundOutcome.PLAIN
        if (
            not 0 <= self.accepted <= n
            or len(self.p_rows) != self.accepted + 1
            or len(self.draws) != verified
            or (self.q_states and self.q_rows)
            or len(self.q_states) not in (0, n)
            or len(self.q_rows) not in (0, verified)
            or (n > 0 and not (self.q_states or self.q_rows))
            or plain != (n == 0)
            or plain != (self.plain_reason is not None)
            or (not plain and (self.outcome is RoundOutcome.BONUS) != (self.accepted == n))
            or not 0 <= self.truncated <= self.accepted + 1
            or self.step < 0
            or self.trajectory < 0
            or len(self.tops) not in (0, self.accepted + 1)
        ):
            raise CaptureError(f"round {self.trajectory}/{self.step} does not fit together")

    @property
    def verified(self) -> int:
        """How many drafts were decided: the accepted ones and the rejected one."""
        return len(self.draws)

    @property
    def emitted(self) -> tuple[int, ...]:
        """The tokens that this round added to its trajectory."""
        tokens = (*self.drafts[: self.accepted], self.token)
        return tokens[: len(tokens) - self.truncated]

    @property
    def entropies(self) -> tuple[float, ...]:
        """Entropy in nats of each of the target's rows."""
        return tuple(entropy(row_values(row)) for row in self.p_rows)


@dataclass(frozen=True, slots=True, kw_only=True)
class QTable:
    """The distilled table: a row of draft probabilities for each state."""

    digest: str  # SHA-256 of the file it came from
    n_bins: int
    rows: bytes  # float32, [n_states, n_bins]

    @property
    def n_states(self) -> int:
        """Number of rows."""
        return len(self.rows) // (4 * self.n_bins)

    def row(self, state: int) -> bytes:
        """Return one row as float32 bytes.

        Raises:
            CaptureError: when the state does not exist.
        """
        if not 0 <= state < self.n_states:
            raise CaptureError(f"table has {self.n_states} states, no state {state}")
        width = 4 * self.n_bins
        return self.rows[state * width : (state + 1) * width]


@dataclass(frozen=True, slots=True, kw_only=True)
class Capture:
    """Every round of one request, with what is needed to check it."""

    drafter: DrafterKind
    spec_k: int
    bin_start: int
    n_bins: int
    greedy: bool  # temperature 0: accept means equal to the target's largest entry
    table_digest: str  # empty unless the drafter is the table
    seeds: tuple[int, ...]  # one per trajectory
    rounds: tuple[DraftRound, ...]  # by trajectory, then step


class CaptureRow:
    """A row of probabilities, read and summed at most once however many draws pick from it."""

    __slots__ = ("_data", "_sums", "_values")

    def __init__(self, data: bytes) -> None:
        """Take float32 bytes.

        Raises:
            CaptureError: when the length is not a multiple of four.
        """
        if len(data) % 4:
            raise CaptureError("a row is not whole float32 values")
        self._data = data
        self._values: tuple[float, ...] | None = None
        self._sums: list[float] | None = None

    @property
    def values(self) -> tuple[float, ...]:
        """All entries."""
        if self._values is None:
            self._values = row_values(self._data)
        return self._values

    def at(self, bin_: int) -> float:
        """Return one entry; 0 outside the row."""
        if not 0 <= bin_ < len(self._data) // 4:
            return 0.0
        value: float = _FLOAT.unpack_from(self._data, 4 * bin_)[0]
        return value

    def picked(self, draw: float) -> int:
        """Return `seeds.pick`, or raise `CaptureError` for a row without mass."""
        if self._sums is None:
            self._sums = list(accumulate(self.values))
        total = self._sums[-1] if self._sums else 0.0
        index = bisect_right(self._sums, draw * total)
        if 0.0 < total < inf and index < len(self._sums):
            return index
        return picked(self.values, draw)


class CaptureRows(dict[bytes, CaptureRow]):
    """The rows of a capture and its table, each read once."""

    def __missing__(self, data: bytes) -> CaptureRow:
        row = self[data] = CaptureRow(data)
        return row


def round_faults(
    round_: DraftRound,
    capture: Capture,
    table: QTable | None = None,
    rows: CaptureRows | None = None,
) -> tuple[str, ...]:
    """Return the names of what does not follow from a round's rows and seed; () when all does.

    `rows` keeps what was read, for the capture's other rounds.

    Raises:
        CaptureError: when a table drafter's table is missing or not the recorded one, or a row has
            no mass.
    """
    faults: list[str] = []
    rows = CaptureRows() if rows is None else rows
    seed = capture.seeds[round_.trajectory]
    q_rows = [rows[row] for row in _q_rows(round_, capture, table)]
    p_rows = [rows[row] for row in round_.p_rows]
    if not capture.greedy:
        for j, q in enumerate(q_rows):
            drawn = capture.bin_start + q.picked(token_draw(seed, Purpose.DRAFT, round_.step, j))
            if drawn != round_.drafts[j]:
                faults.append(f"draft {j}")
    for j, recorded in enumerate(round_.draws):
        if recorded != accept_draw(seed, round_.step, j):
            faults.append(f"draw {j}")
        bin_ = round_.drafts[j] - capture.bin_start
        if capture.greedy:
            stands = bin_ == _argmax(p_rows[j].values)
        else:
            stands = accepts(p_rows[j].at(bin_), q_rows[j].at(bin_), recorded)
        if stands != (j < round_.accepted):
            faults.append(f"verdict {j}")
    if capture.bin_start + _last_bin(round_, capture, p_rows, q_rows, seed) != round_.token:
        faults.append("token")
    return tuple(faults)


def disagreements(capture: Capture, table: QTable | None = None) -> tuple[str, ...]:
    """Return the faults of all rounds by trajectory and step; () when all numbers follow.

    Raises:
        CaptureError: as in `round_faults`.
    """
    rows = CaptureRows()
    return tuple(
        f"trajectory {r.trajectory} step {r.step}: {fault}"
        for r in capture.rounds
        for fault in round_faults(r, capture, table, rows)
    )


def accepts(p: float, q: float, u: float) -> bool:
    """Return whether a draft is accepted: u <= p/q in float32."""
    if q <= 0.0:
        return False
    return p >= q or _f32(p / q) >= u


def row_values(row: bytes) -> tuple[float, ...]:
    """Read float32 bytes as numbers.

    Raises:
        CaptureError: when the length is not a multiple of four.
    """
    if len(row) % 4:
        raise CaptureError("a row is not whole float32 values")
    return struct.unpack(f"<{len(row) // 4}f", row)


def row_bytes(values: Sequence[float]) -> bytes:
    """Write numbers as float32 bytes."""
    return struct.pack(f"<{len(values)}f", *values)


def residual(p: tuple[float, ...], q: tuple[float, ...]) -> tuple[float, ...]:
    """Return max(p - q, 0) in float32, or p itself when no mass is left."""
    rest = [a - b if a > b else 0.0 for a, b in zip(p, q, strict=True)]
    rounded = row_values(row_bytes(rest))
    return rounded if any(rounded) else p


def entropy(row: tuple[float, ...]) -> float:
    """Return the entropy of a row in nats."""
    return -sum(value * log(value) for value in row if value > 0.0)


def _last_bin(
    round_: DraftRound,
    capture: Capture,
    p_rows: list[CaptureRow],
    q_rows: list[CaptureRow],
    seed: int,
) -> int:
    row = p_rows[-1]
    if capture.greedy:
        return _argmax(row.values)
    if round_.outcome is RoundOutcome.RECOVERED:
        draw = token_draw(seed, Purpose.RECOVER, round_.step, round_.accepted)
        return picked(residual(row.values, q_rows[round_.accepted].values), draw)
    return row.picked(token_draw(seed, Purpose.SAMPLE, round_.step))


def _q_rows(round_: DraftRound, capture: Capture, table: QTable | None) -> tuple[bytes, ...]:
    if not round_.q_states:
        return round_.q_rows
    if table is None or table.digest != capture.table_digest:
        raise CaptureError("the drafter's table is needed and must be the recorded one")
    return tuple(table.row(state) for state in round_.q_states)


def picked(row: tuple[float, ...], draw: float) -> int:
    """Return `seeds.pick`, or raise `CaptureError` for a row without mass."""
    try:
        return pick(row, draw)
    except ValueError as error:
        raise CaptureError(str(error)) from error


def _argmax(row: tuple[float, ...]) -> int:
    return max(range(len(row)), key=row.__getitem__)


def _f32(value: float) -> float:
    rounded: float = _FLOAT.unpack(_FLOAT.pack(value))[0]
    return rounded
