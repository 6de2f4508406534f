"""What a forecast asks of the engine: how many paths, how far it drafts ahead, and in which mode.

Without modes in the policy every forecast is the plan's. With them, the mode follows from the
snapshot, the policy's table and the records before the forecast, so a replay chooses it again.

Rules:
- Each event makes one forecast deep: the one that was opened first. Of two opened before either
  chose, both go deep.
- The look-ahead follows from the acceptance of the engine's self-test, as `model_loaded` has it.
- Whether an instrument's forecast is its first follows from its index before the first opening.
"""

import threading
from dataclasses import dataclass, replace
from typing import Final

from audit.records.canonical import JSON
from audit.records.kinds import Kind
from audit.records.record import Draft
from gateway.walk.journal import forecast as journal
from gateway.walk.ports import Forecasting, RecordsPort, SamplingPlan
from inference.codec.prompt import Prompt
from inference.engine.port import EngineDescription
from inference.forecast.direct import rows_known
from inference.forecast.modes import (
    DirectUse,
    ForecastMode,
    ModeTable,
    Occasion,
    Sampler,
    Usual,
    choose_mode,
)
from inference.forecast.trajectory import Sawtooth, TrajectoryPolicy
from inference.speculation.look_ahead import accepted_pm
from risk.policy.policy import Policy

MODE_KINDS: Final = (Kind.MODE_CHOSEN,)
_LOG_RETURN: Final = 100_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Planned:
    """A forecast's plan, and who draws it; `records` stand before its request."""

    plan: SamplingPlan
    sampler: Sampler = Sampler.ENGINE
    records: tuple[Draft, ...] = ()


class LookedInto:
    """The events for which a forecast went deep, by instrument; safe from any thread."""

    def __init__(self, reader: RecordsPort) -> None:
        """Start with nothing read."""
        self._reader = reader
        self._found: dict[str, list[tuple[int, str]]] = {}
        self._seq = -1
        self._lock = threading.Lock()

    def before(self, seq: int, instrument: str) -> frozenset[str]:
        """Return the events of an instrument that records before `seq` have looked into."""
        with self._lock:
            self._read(seq)
            found = self._found.get(instrument, ())
            return frozenset(event for at, event in found if at < seq)

    def _read(self, size: int) -> None:
        if size <= self._seq + 1:
            return
        for record in self._reader.records(kinds=MODE_KINDS, after_seq=self._seq, before_seq=size):
            chosen = journal.ModeChosen.of(record)
            if chosen.chosen == ForecastMode.DEEP:
                events = self._found.setdefault(chosen.instrument, [])
                events.extend((record.seq, event) for event in chosen.events)
        self._seq = size - 1


def mode_table(policy: Policy) -> ModeTable | None:
    """Return the policy's numbers for modes, or None."""
    modes = None if policy.families is None else policy.families.modes
    if modes is None:
        return None
    return ModeTable(
        fast_divisor=modes.fast_divisor.value,
        fast_look_ahead=modes.fast_look_ahead.value,
        deep_factor=modes.deep_factor.value,
        turbulence_bp=modes.turbulence.value,
        conflict_bp=modes.conflict.value,
        direct=DirectUse(modes.direct_sampler.value),
    )


def template_permitted(policy: Policy) -> bool:
    """Return whether the table alone may answer while the engine cannot."""
    modes = None if policy.families is None else policy.families.modes
    return modes is not None and modes.template_when_away.value > 0


def trajectory_policy(policy: Policy) -> TrajectoryPolicy | None:
    """Return which paths are dropped; None where verdicts on paths are not recorded."""
    modes = None if policy.families is None else policy.families.modes
    listed = None if policy.families is None else policy.families.denied
    if modes is None and (listed is None or not listed.paths):
        return None
    most = 0 if modes is None else modes.path_move_max.value
    return TrajectoryPolicy(
        max_abs_log_return=most / _LOG_RETURN if most else None,
        denied=tuple(
            Sawtooth(reversals=one.reversals, move=one.move_1e8 / _LOG_RETURN)
            for one in (() if listed is None else listed.paths)
        ),
    )


def path_terms(policy: Policy) -> dict[str, JSON]:
    """Return what a policy says of a forecast's paths: whether they are kept, which are dropped."""
    families = policy.families
    if families is None:
        return {"kept": False}
    modes, listed = families.modes, families.denied
    return {
        "kept": True,
        "judged": trajectory_policy(policy) is not None,
        "move_max_1e8": 0 if modes is None else modes.path_move_max.value,
        "denied": [
            {"reversals": one.reversals, "move_1e8": one.move_1e8}
            for one in (() if listed is None else listed.paths)
        ],
    }


def acceptance(mean_accepted: str, spec_k: int) -> int:
    """Return the chance of a draft, in 1/1000, from the self-test's mean as it is on record."""
    return accepted_pm(float(mean_accepted), spec_k)


def planned(
    asked: Forecasting,
    policy: Policy,
    plan: SamplingPlan,
    described: EngineDescription | None,
    occasion: Occasion,
) -> Planned:
    """Return how a forecast is sampled; without an engine nothing is drafted."""
    if described is None:
        return Planned(plan=replace(plan, spec_k=0))
    table = mode_table(policy)
    if table is None:
        return Planned(plan=replace(plan, spec_k=0) if occasion.secure else plan)
    mean = f"{described.self_test.mean_accepted:.4f}"
    usual = Usual(
        paths=plan.paths,
        horizon=plan.horizon,
        spec_k=plan.spec_k,
        accepted_pm=acceptance(mean, described.spec_k),
    )
    chosen = choose_mode(asked.snapshot, table, usual, occasion)
    return Planned(
        plan=replace(plan, paths=chosen.paths, spec_k=chosen.look_ahead.drafts),
        sampler=chosen.sampler,
        records=(journal.mode_chosen(asked, chosen, usual, occasion),),
    )


def occasion_of(
    asked: Forecasting, prompt: Prompt, blank: Prompt | None, looked: LookedInto, *, first: bool
) -> Occasion:
    """Return what a forecast's mode is chosen for; a replay calls this too.

    `blank` is the prompt of its news twin, `first` whether none of the instrument stood before the
    first attempt was opened.
    """
    opened = asked.opened_seq
    if opened is None:
        raise AssertionError("a mode is chosen after the forecast was opened")
    return Occasion(
        secure=bool(asked.inputs["secure"]),
        by_state=blank is None and rows_known(str(asked.inputs["model"]), prompt),
        first=first,
        known=looked.before(opened, asked.instrument.symbol),
    )
