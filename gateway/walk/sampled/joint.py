"""The paths of the whole book: joined once per set of standing forecasts, on record.

Nothing is joined under a policy of format 1.

Rules:
- Of each other instrument the forecast counts that stood when the decision named its own, so a
  replay finds the same ones.
- The target's paths are joined with the target's, a twin's with those of the same twin, and the
  news twin's with the targets' of other instruments.
- A set has a record of its own (`paths_joined`), before a decision names it. One instrument alone
  has none: its paths are its forecast's.
- Without paths of something that the book holds there are no joint paths; sizing then makes no
  order, and the rules refuse what raises risk.
"""

import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from audit.records.kinds import Kind
from audit.records.record import Draft, Record
from gateway.walk.journal.forecast import JointMember, PathsJoined, joint_id, rule_digest
from gateway.walk.ports import Case, Joined, JointNamed
from gateway.walk.projections.forecasts import ForecastsOnRecord, StandingForecast
from inference.codec.scaled import codec_of, reads_numbers_only
from inference.errors import InferenceError
from inference.forecast.draws import CodecLaw, GjrLaw, PathLaw
from inference.forecast.joint import Member, exchanged, joint_seed
from inference.scale.correlation import (
    KEEP_BP,
    RULE,
    CorrelationFactor,
    PastCloses,
    correlation_of,
    factor_of,
)
from inference.snapshot import Snapshot
from risk.errors import PathsError
from risk.policy.policy import Policy
from risk.state.book import Book
from risk.state.paths.arrays import paths_digest
from risk.state.paths.joint import BookPaths, InstrumentPaths
from risk.state.paths.losses import instruments_of
from risk.state.paths.marginal import Marginal

MEMBERS_KEPT: Final = 256
"""Members of the sets that are kept; 1,024 paths of ten steps take about 0.4 MB."""
PAIRS_KEPT: Final = 4_096
"""Correlations that are kept."""
_PER_BP: Final = 100

Joining = Callable[[Book], Joined | None]
"""Returns the paths of a whole book."""
_Members = tuple[tuple[str, str, int, Kind], ...]
"""Instrument, forecast, attempt and whose paths, by instrument."""


def unjoined(_: Book) -> Joined | None:
    """Return no joint paths, as under a policy of format 1."""
    return None


@dataclass(frozen=True, slots=True, kw_only=True)
class SampledPaths:
    """One instrument's paths as they are joined: their law and their forecast's seed beside."""

    paths: Marginal
    law: PathLaw | None
    seed: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class JoinedSet:
    """Joint paths, and what they follow from beside the members."""

    paths: BookPaths
    factor: CorrelationFactor
    seed: bytes


Pairs = Callable[[int, int], int]
"""Returns the correlation of two members in 1e-6, by their places."""


def together(members: Sequence[SampledPaths], pairs: Pairs) -> JoinedSet:
    """Return the joint paths of instruments, by symbol; one alone keeps its paths.

    Raises:
        PathsError: they differ in steps or bars.
        ValueError: a price of a path is zero.
    """
    marginals = [one.paths for one in members]
    if len({(one.steps, one.bar_us) for one in marginals}) > 1:
        raise PathsError("paths differ in length or bar")
    count = len(members)
    factor = factor_of([pairs(i, j) for i in range(count) for j in range(i)], count)
    seed = joint_seed([one.seed for one in members])
    moves = exchanged(
        [
            Member(symbol=m.instrument, moves_1e8=np.array(m.moves_1e8), law=one.law)
            for one, m in zip(members, marginals, strict=True)
        ],
        factor,
        seed,
    )
    paths = BookPaths(
        as_of_us=min(one.as_of_us for one in marginals),
        bar_us=marginals[0].bar_us,
        rule_digest=rule_digest(factor.correlation, seed) if count > 1 else "",
        instruments=tuple(
            InstrumentPaths(symbol=m.instrument, moves_1e8=tuple(map(tuple, own.tolist())))
            for m, own in zip(marginals, moves, strict=True)
        ),
    )
    return JoinedSet(paths=paths, factor=factor, seed=seed)


def past_of(paths: Marginal) -> PastCloses:
    """Return the closes that paths follow."""
    return PastCloses(bar_us=paths.bar_us, times_us=paths.times_us, closes=paths.closes_ticks)


def law_of(snapshot: Snapshot, codec_digest: str, kind: Kind) -> PathLaw | None:
    """Return what draws and returns of a forecast's paths have to do with each other, if known.

    `kind` is that of the record that has the paths.

    Raises:
        InferenceError: the snapshot has no prompt.
    """
    if kind is not Kind.GJR_MADE and not reads_numbers_only(codec_digest):
        return None
    codec = codec_of(snapshot)
    prompt = codec.encode(snapshot)
    if kind is not Kind.GJR_MADE:
        return CodecLaw(scale=codec.scale_of(prompt))
    return None if prompt.scale is None else GjrLaw(scale=prompt.scale)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Of:
    """The paths of one forecast in a set."""

    standing: StandingForecast
    kind: Kind

    def sampled(self) -> SampledPaths:
        """Return its paths.

        Raises:
            PathsError: none are on record.
        """
        own, found = self.standing, self.standing.paths.get(self.kind)
        if found is None:
            raise PathsError(f"{own.target.instrument}: no {self.kind.value} paths")
        law = law_of(own.snapshot, own.target.codec_digest, self.kind)
        return SampledPaths(paths=found, law=law, seed=own.seed)

    @property
    def member(self) -> JointMember:
        """What a record names it by."""
        named = self.standing.named
        return JointMember(
            instrument=self.standing.target.instrument,
            forecast_id=named.forecast_id,
            attempt=named.forecast_attempt,
            of_seq=named.of_seq or 0,
            of_leaf=named.of_leaf,
            paths=self.kind.value,
        )


class JointPaths:
    """Joins paths of standing forecasts, each set once; safe from any thread.

    `policy` returns the policy in force; `on_record` appends a set's record, or finds it.
    """

    def __init__(
        self,
        forecasts: ForecastsOnRecord,
        policy: Callable[[], Policy],
        on_record: Callable[[Draft], Record],
    ) -> None:
        """Start with nothing joined."""
        self._forecasts, self._policy, self._on_record = forecasts, policy, on_record
        self._kept: OrderedDict[tuple[_Members, int], Joined | None] = OrderedDict()
        self._pairs: OrderedDict[tuple[str, str, int], int] = OrderedDict()
        self._lock = threading.Lock()

    def joining(self, own: StandingForecast, kind: Kind, case: Case) -> Joining:
        """Return what joins a forecast's paths with those of the rest of a book."""
        symbol = own.target.instrument
        return lambda book: self.joined(own, kind, case, instruments_of(book, symbol))

    def joined(
        self, own: StandingForecast, kind: Kind, case: Case, others: Sequence[str]
    ) -> Joined | None:
        """Return the joint paths with other instruments, or None if some are missing.

        Raises:
            audit.errors.AuditError: when the ledger cannot take the set's record.
        """
        if kind not in own.paths or case.taken_seq is None:
            return None
        beside = Kind.FORECAST_MADE if kind is Kind.NEWS_TWIN_MADE else kind
        named = own.named
        found = {own.target.instrument: (named.forecast_id, named.forecast_attempt, kind)}
        for other in others:
            stood = self._forecasts.stood(other, case.taken_seq)
            if stood is None:
                return None
            found[other] = (*stood, beside)
        without_bp = self._without_bp()
        members = tuple((name, *found[name]) for name in sorted(found))
        key = members, without_bp
        with self._lock:  # who wants the same set waits for it
            if key not in self._kept:
                self._kept[key] = self._made(own, members, without_bp, case.tags.mode)
                self._drop_oldest()
            self._kept.move_to_end(key)
            return self._kept[key]

    def _drop_oldest(self) -> None:
        size = sum(len(members) for members, _ in self._kept)
        while size > MEMBERS_KEPT and len(self._kept) > 1:
            (members, _), _ = self._kept.popitem(last=False)
            size -= len(members)

    def _without_bp(self) -> int:
        families = self._policy().families
        return 0 if families is None else families.horizon.joint_correlation.value

    def _made(
        self, own: StandingForecast, named: _Members, without_bp: int, mode: str
    ) -> Joined | None:
        try:
            members = [
                _Of(
                    standing=own
                    if name == own.target.instrument
                    else self._forecasts.made(forecast_id, attempt),
                    kind=kind,
                )
                for name, forecast_id, attempt, kind in named
            ]
            return self._together(members, without_bp, mode)
        except (PathsError, InferenceError, ArithmeticError, ValueError):
            return None

    def _together(self, members: Sequence[_Of], without_bp: int, mode: str) -> Joined:
        """Join paths, and put on record how.

        Raises:
            PathsError: as in `together`, or some are missing.
            ValueError: as in `together`, or records are missing.
        """
        sampled = [one.sampled() for one in members]
        pasts = [past_of(one.paths) for one in sampled]
        names = [one.standing.named.forecast_id for one in members]
        without = without_bp * _PER_BP

        def pair(i: int, j: int) -> int:
            known = (names[i], names[j], without)
            if known not in self._pairs:
                self._pairs[known] = correlation_of(pasts[i], pasts[j], without)
                while len(self._pairs) > PAIRS_KEPT:
                    self._pairs.popitem(last=False)
            return self._pairs[known]

        made = together(sampled, pair)
        if len(members) == 1:
            return Joined(paths=made.paths, digest=paths_digest(made.paths))
        named = tuple(one.member for one in members)
        said = PathsJoined(
            joint_id=joint_id(named, without_bp),
            members=tuple(one.document() for one in named),
            rule=RULE,
            keep_bp=KEEP_BP,
            without_bp=without_bp,
            shrunk_bp=made.factor.shrunk_bp,
            correlation_1e6=made.factor.correlation,
            seed=made.seed.hex(),
            n_paths=made.paths.n_paths,
            digest=paths_digest(made.paths),
        )
        record = self._on_record(said.draft(tags={"mode": mode}))
        by = JointNamed(joint_id=said.joint_id, of_seq=record.seq, of_leaf=record.leaf.hex())
        return Joined(paths=made.paths, digest=said.digest, named=by)
