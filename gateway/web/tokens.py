"""Draft rounds as a person reads them: each draft with its fate and the numbers that decided it.

Not here: deciding again whether the record holds (`inference.rounds.recompute`), only its result.
"""

from dataclasses import dataclass
from math import log

from inference.bins import z_of
from inference.errors import CaptureError
from inference.rounds import Capture, DraftRound, Outcome, QTable, entropy, recompute, row_values

PATHS_PER_PAGE = 4
SHADES = 5
_SHADE_FROM = 0.70
"""Entropy over its maximum at which shading starts; return rows hardly ever fall below."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Chip:
    """One token.

    Attributes:
        text: the return in sigma at the middle of its bin.
        fate: accepted, rejected, discarded, recovered, bonus or plain.
        mark: the same in one character, for readers who do not see colour.
        p: the target's probability, q the drafter's, u the draw; accepted iff u <= p / q.
        entropy: of the target's row, nats; None where no row decided.
        shade: 0 (certain) to 4 (near uniform).
        beyond: the token fell behind the horizon and was dropped.
    """

    text: str
    bin: int
    fate: str
    mark: str
    position: int
    p: float | None = None
    q: float | None = None
    u: float | None = None
    entropy: float | None = None
    shade: int = 0
    beyond: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class RoundView:
    """One draft-and-verify step: the drafts, then the token that the target added."""

    step: int
    drafts: tuple[Chip, ...]
    last: Chip
    why_plain: str
    holds: bool | None


@dataclass(frozen=True, slots=True, kw_only=True)
class PathView:
    """One trajectory."""

    number: int
    seed: int
    rounds: tuple[RoundView, ...]
    drafted: int
    accepted: int


@dataclass(frozen=True, slots=True, kw_only=True)
class TokensView:
    """A page of trajectories with the counts of all.

    Attributes:
        checked: positions decided again from the record, over all trajectories; None when the
            drafter's table is not at hand.
        faults: positions that did not follow from the record.
    """

    drafter: str
    spec_k: int
    paths: tuple[PathView, ...]
    n_paths: int
    page: int
    pages: int
    drafted: int
    accepted: int
    rejected: int
    rounds: int
    mean_entropy: float
    max_entropy: float
    checked: int | None
    faults: int


def tokens_view(capture: Capture, table: QTable | None, page: int = 0) -> TokensView:
    """Return one page of a capture's trajectories."""
    usable = table if table is not None and table.digest == capture.table_digest else None
    pages = max(1, -(-len(capture.seeds) // PATHS_PER_PAGE))
    page = min(max(page, 0), pages - 1)
    shown = range(page * PATHS_PER_PAGE, min(len(capture.seeds), (page + 1) * PATHS_PER_PAGE))
    checks = [_check(r, capture, usable) for r in capture.rounds]
    by_path: dict[int, list[tuple[DraftRound, bool | None]]] = {n: [] for n in shown}
    for r, (holds, _) in zip(capture.rounds, checks, strict=True):
        if r.trajectory in by_path:
            by_path[r.trajectory].append((r, holds))
    entropies = [value for r in capture.rounds for value in r.entropies]
    complete = all(holds is not None for holds, _ in checks)
    return TokensView(
        drafter=capture.drafter.value,
        spec_k=capture.spec_k,
        paths=tuple(_path(n, rounds, capture, usable) for n, rounds in by_path.items()),
        n_paths=len(capture.seeds),
        page=page,
        pages=pages,
        drafted=sum(len(r.drafts) for r in capture.rounds),
        accepted=sum(r.accepted for r in capture.rounds),
        rejected=sum(r.outcome is Outcome.RECOVERED for r in capture.rounds),
        rounds=len(capture.rounds),
        mean_entropy=sum(entropies) / len(entropies) if entropies else 0.0,
        max_entropy=log(capture.n_bins),
        checked=sum(len(r.draws) + 1 for r in capture.rounds) if complete else None,
        faults=sum(count for _, count in checks),
    )


def _check(r: DraftRound, capture: Capture, table: QTable | None) -> tuple[bool | None, int]:
    try:
        again = recompute(r, capture, table)
    except CaptureError:
        return None, 0
    return again.agrees, len(again.faults)


def _path(
    number: int,
    rounds: list[tuple[DraftRound, bool | None]],
    capture: Capture,
    table: QTable | None,
) -> PathView:
    return PathView(
        number=number,
        seed=capture.seeds[number],
        rounds=tuple(_round(r, capture, table, holds=holds) for r, holds in rounds),
        drafted=sum(len(r.drafts) for r, _ in rounds),
        accepted=sum(r.accepted for r, _ in rounds),
    )


def _round(
    r: DraftRound, capture: Capture, table: QTable | None, *, holds: bool | None
) -> RoundView:
    kept = len(r.drafts[: r.accepted]) + 1 - r.truncated
    drafts = []
    for j, token in enumerate(r.drafts):
        fate = "accepted" if j < r.accepted else "rejected" if j == r.accepted else "discarded"
        verified = j <= r.accepted
        bin_ = token - capture.bin_start
        drafts.append(
            _chip(
                bin_,
                fate,
                r.step + j,
                row=r.p_rows[j] if verified else None,
                q=_q(r, j, bin_, table) if verified else None,
                u=r.draws[j] if verified else None,
                beyond=fate == "accepted" and j >= kept,
            )
        )
    last = _chip(
        r.token - capture.bin_start,
        r.outcome.value,
        r.step + r.accepted,
        row=r.p_rows[-1],
        beyond=r.truncated > 0,
    )
    why = r.plain_reason.value.replace("_", " ") if r.plain_reason else ""
    return RoundView(step=r.step, drafts=tuple(drafts), last=last, why_plain=why, holds=holds)


_MARKS = {
    "accepted": "✓",
    "rejected": "✗",
    "discarded": "·",
    "recovered": "↻",
    "bonus": "+",
    "plain": "=",
}


def _chip(
    bin_: int,
    fate: str,
    position: int,
    *,
    row: bytes | None = None,
    q: float | None = None,
    u: float | None = None,
    beyond: bool = False,
) -> Chip:
    values = row_values(row) if row is not None else ()
    held = entropy(values) if values else None
    return Chip(
        text=f"{z_of(bin_, 0.5):+.2f}".replace("-", "−"),
        bin=bin_,
        fate=fate,
        mark=_MARKS[fate],
        position=position,
        p=values[bin_] if 0 <= bin_ < len(values) else None,
        q=q,
        u=u,
        entropy=held,
        shade=_shade(held, len(values)),
        beyond=beyond,
    )


def _q(r: DraftRound, j: int, bin_: int, table: QTable | None) -> float | None:
    if r.q_rows:
        row = r.q_rows[j]
    elif table is not None and 0 <= r.q_states[j] < table.n_states:
        row = table.row(r.q_states[j])
    else:
        return None
    values = row_values(row)
    return values[bin_] if 0 <= bin_ < len(values) else None


def _shade(value: float | None, n_bins: int) -> int:
    if value is None or n_bins < 2:  # noqa: PLR2004 - the entropy of one bin is zero
        return 0
    share = (value / log(n_bins) - _SHADE_FROM) / (1 - _SHADE_FROM)
    return min(SHADES - 1, max(0, int(share * SHADES)))
