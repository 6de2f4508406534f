"""Paths of a whole book: sampled paths of several instruments, matched as whole paths.

Rules:
- A path is never cut: matching step by step would destroy volatility clusters and drawdowns, and
  the result would no longer be a draw from the model.
- Each instrument keeps exactly the paths that were sampled for it. The first one keeps their order,
  so one instrument alone is unchanged.
- The match follows from the marginals alone; nothing is drawn.
- Of a marginal with a multiple of another's paths the first ones count: each is a draw by itself.
  Other numbers do not fit together, so a path that was dropped joins nothing.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Final

from risk.errors import PathsError
from risk.forms.canonical import digest
from risk.forms.documents import document_of
from risk.state.paths.marginal import Marginal
from risk.state.paths.template import make_template, ranks

DAY_US: Final = 86_400_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class InstrumentPaths:
    """One instrument's moves since its as-of, relative, in 1e-8, shape [paths, steps]."""

    symbol: str
    moves_1e8: tuple[tuple[int, ...], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class BookPaths:
    """Joint paths: path `j` of every instrument happens together.

    Attributes:
        as_of_us: As-of of the oldest forecast among them.
        template_digest: SHA-256 of the template, hex; empty for one instrument.
    """

    as_of_us: int
    bar_us: int
    template_digest: str
    instruments: tuple[InstrumentPaths, ...]

    @property
    def n_paths(self) -> int:
        """Number of joint paths."""
        return len(self.instruments[0].moves_1e8) if self.instruments else 0

    def of(self, symbol: str) -> tuple[tuple[int, ...], ...] | None:
        """Return the moves of an instrument, or None."""
        return next((one.moves_1e8 for one in self.instruments if one.symbol == symbol), None)


def join_paths(own: Marginal, others: Sequence[Marginal]) -> BookPaths:
    """Return the joint paths of an instrument and others, in the order of its own paths.

    Raises:
        PathsError: they differ in paths, steps or bars, one repeats, or their common past is short.
    """
    every = (own, *others)
    names = [one.instrument for one in every]
    if len(set(names)) != len(names):
        raise PathsError("an instrument is there twice")
    if len({(one.steps, one.bar_us) for one in every}) > 1:
        raise PathsError(f"{', '.join(names)}: paths differ in length or bar")
    every = _as_many(every)
    own = every[0]
    places: tuple[tuple[int, ...], ...] = (tuple(range(len(own.moves_1e8))),)
    named = ""
    if others:
        template = make_template(every, len(own.moves_1e8))
        named = digest("countersign.template/1", document_of(template))
        places = _places(template.ranks, [_ranked(one) for one in every])
    return BookPaths(
        as_of_us=min(one.as_of_us for one in every),
        bar_us=own.bar_us,
        template_digest=named,
        instruments=tuple(
            InstrumentPaths(
                symbol=one.instrument, moves_1e8=tuple(one.moves_1e8[i] for i in places[k])
            )
            for k, one in enumerate(every)
        ),
    )


@lru_cache(maxsize=64)
def days_of(steps: int, bar_us: int) -> tuple[int, ...]:
    """Return the day of each step, from 0: with daily bars each step ends one."""
    return tuple((step * bar_us - 1) // DAY_US for step in range(1, steps + 1))


def _as_many(every: tuple[Marginal, ...]) -> tuple[Marginal, ...]:
    """Return all marginals with as many paths as the one that has fewest.

    Raises:
        PathsError: another's number is not a multiple of it.
    """
    fewest = min(len(one.moves_1e8) for one in every)
    if fewest == 0 or any(len(one.moves_1e8) % fewest for one in every):
        raise PathsError(f"{', '.join(one.instrument for one in every)}: paths differ in number")
    return tuple(
        one if len(one.moves_1e8) == fewest else replace(one, moves_1e8=one.moves_1e8[:fewest])
        for one in every
    )


def _ranked(one: Marginal) -> tuple[int, ...]:
    """Return the ranks of an instrument's paths by where they end."""
    return ranks([path[-1] for path in one.moves_1e8])


def _places(
    template: Sequence[tuple[int, ...]], sampled: Sequence[tuple[int, ...]]
) -> tuple[tuple[int, ...], ...]:
    """Return which sampled path of each instrument stands in each joint path.

    Joint path j has the own path j. The window in which the first instrument had that path's rank
    says which rank every other one has in it.
    """
    window_of = {rank: window for window, rank in enumerate(template[0])}
    windows = [window_of[rank] for rank in sampled[0]]
    found = []
    for past, own in zip(template, sampled, strict=True):
        path_of = {rank: path for path, rank in enumerate(own)}
        found.append(tuple(path_of[past[window]] for window in windows))
    return tuple(found)
