"""Draft rounds as a person reads them: each draft with its fate and the numbers that decided it."""

from dataclasses import dataclass
from math import log
from statistics import fmean

from inference.codec.bins import z_of
from inference.codec.text.answer import Grammar
from inference.errors import CaptureError
from inference.speculation.evidence import ENTROPY_SCALE, Evidence, Judge, RoundEvidence
from inference.speculation.overruled import OverruledBar, overruled
from inference.speculation.rounds import QTable, RoundOutcome
from inference.speculation.seeds import accept_draw
from inference.speculation.top_rows import read_top

PATHS_PER_PAGE = 4
SHADES = 5
_SHADE_FROM = 0.70
"""Share of the maximum entropy at which shading starts; return rows are rarely below it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Chip:
    """One token.

    Attributes:
        text: the return in sigma at the middle of its bin.
        fate: accepted, rejected, discarded, recovered, bonus or plain.
        mark: the fate as one character, for readers who do not see colour.
        p: the target's probability; q is the drafter's, u the draw: accepted iff u <= p / q.
        entropy: of the target's row, in nats; None where no row decided.
        shade: 0 (certain) to 4 (near uniform).
        beyond: the token lies beyond the horizon and was dropped.
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
    """A page of trajectories, with counts over all of them.

    Attributes:
        checked: positions recomputed from the record; None without the drafter's table.
        faults: positions that do not follow from the record.
        bars: rejections and excess by bar; empty without the drafter's table.
        legal: mean share of a text model's law that the grammar left; None for other models.
    """

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
    bars: tuple[OverruledBar, ...]
    legal: float | None = None


def tokens_view(capture: Evidence, table: QTable | None, page: int = 0) -> TokensView:
    """Return one page of a capture's trajectories."""
    judge = _judge(capture, table)
    grammar = Grammar.of_capture(capture.bin_start, capture.n_bins)
    pages = max(1, -(-len(capture.seeds) // PATHS_PER_PAGE))
    page = min(max(page, 0), pages - 1)
    shown = range(page * PATHS_PER_PAGE, min(len(capture.seeds), (page + 1) * PATHS_PER_PAGE))
    by_path: dict[int, list[RoundView]] = {n: [] for n in shown}
    faults = 0
    for r in capture.rounds:
        found = judge.faults(r) if judge is not None else ()
        faults += len(found)
        if r.trajectory in by_path:
            holds = None if judge is None else not found
            by_path[r.trajectory].append(_round(r, capture, judge, holds=holds))
    legal = [read_top(one).legal for r in capture.rounds for one in r.tops if one]
    entropies = [value / ENTROPY_SCALE for r in capture.rounds for value in r.entropies]
    return TokensView(
        spec_k=capture.spec_k,
        paths=tuple(_path(n, rounds, capture) for n, rounds in by_path.items()),
        n_paths=len(capture.seeds),
        page=page,
        pages=pages,
        drafted=sum(len(r.drafts) for r in capture.rounds),
        accepted=sum(r.accepted for r in capture.rounds),
        rejected=sum(r.outcome is RoundOutcome.RECOVERED for r in capture.rounds),
        rounds=len(capture.rounds),
        mean_entropy=sum(entropies) / len(entropies) if entropies else 0.0,
        max_entropy=log(capture.n_bins),
        checked=None if judge is None else sum(r.verified + 1 for r in capture.rounds),
        faults=faults,
        legal=fmean(legal) if legal else None,
        bars=()
        if judge is None
        else overruled(capture, table, width=1 if grammar is None else grammar.width),
    )


def _judge(capture: Evidence, table: QTable | None) -> Judge | None:
    try:
        return Judge(capture, table)
    except CaptureError:  # the drafter's table is missing: nothing claims to be checked
        return None


def _path(number: int, rounds: list[RoundView], capture: Evidence) -> PathView:
    own = [r for r in capture.rounds if r.trajectory == number]
    return PathView(
        number=number,
        seed=capture.seeds[number],
        rounds=tuple(rounds),
        drafted=sum(len(r.drafts) for r in own),
        accepted=sum(r.accepted for r in own),
    )


def _round(
    r: RoundEvidence, capture: Evidence, judge: Judge | None, *, holds: bool | None
) -> RoundView:
    kept = len(r.emitted)
    seed = capture.seeds[r.trajectory]
    drafts = []
    for j, token in enumerate(r.drafts):
        fate = "accepted" if j < r.accepted else "rejected" if j == r.accepted else "discarded"
        verified = j < r.verified
        drafts.append(
            _chip(
                token - capture.bin_start,
                fate,
                r.step + j,
                p=r.p[j] if verified else None,
                entropy=r.entropies[j] if verified else None,
                n_bins=capture.n_bins,
                q=judge.q_of(r, j, token) if verified and judge is not None else None,
                u=accept_draw(seed, r.step, j) if verified else None,
                beyond=fate == "accepted" and j >= kept,
                words=capture.bin_start == 0,
            )
        )
    last = _chip(
        r.token - capture.bin_start,
        r.outcome.value,
        r.step + r.accepted,
        p=r.token_p,
        entropy=r.entropies[-1],
        n_bins=capture.n_bins,
        beyond=r.truncated > 0,
        words=capture.bin_start == 0,
    )
    why = r.plain_reason.value.replace("_", " ") if r.plain_reason else ""
    return RoundView(drafts=tuple(drafts), last=last, why_plain=why, holds=holds)


_MARKS = {
    "accepted": "✓",
    "rejected": "✗",
    "discarded": "·",
    "recovered": "↻",
    "bonus": "+",
    "plain": "=",
}


def _chip(  # noqa: PLR0913 - what a person reads of one token
    bin_: int,
    fate: str,
    position: int,
    *,
    n_bins: int,
    p: float | None,
    entropy: int | None,
    q: float | None = None,
    u: float | None = None,
    beyond: bool = False,
    words: bool = False,
) -> Chip:
    held = None if entropy is None else entropy / ENTROPY_SCALE
    return Chip(
        text=_text(bin_, n_bins, words=words),
        bin=bin_,
        fate=fate,
        mark=_MARKS[fate],
        position=position,
        p=p,
        q=q,
        u=u,
        entropy=held,
        shade=_shade(held, n_bins),
        beyond=beyond,
    )


def _text(bin_: int, n_bins: int, *, words: bool) -> str:
    """Return what a token says: a return in sigma, or a character of an answer in words."""
    grammar = Grammar.of_capture(0, n_bins) if words else None
    text = f"{z_of(bin_, 0.5):+.2f}" if grammar is None else grammar.texts[bin_]
    return text.replace("-", "−")


def _shade(value: float | None, n_bins: int) -> int:
    if value is None or n_bins < 2:  # noqa: PLR2004 - the entropy of one bin is zero
        return 0
    share = (value / log(n_bins) - _SHADE_FROM) / (1 - _SHADE_FROM)
    return min(SHADES - 1, max(0, int(share * SHADES)))
