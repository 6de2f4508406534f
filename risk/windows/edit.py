"""The minimal edit: the largest quantity of a refused intent, and the prices, that would pass.

Rules:
- Only who is asked answers, so every rule counts as it is; nothing here knows a limit.
- A quantity passes if its verdict is ALLOW or WARN: without a person, without a change of price.
- Up to `EVERY` steps each quantity is judged. Above that a bisection finds where passing ends, and
  `PROBES` quantities spread above it are judged too: if one of them passes, the search goes on
  there. So it never claims that rules are monotone; it says how far it has looked.
- The price bounds are those of the collar (R05) at this moment, whatever the other rules say.

Not here: whether the edit still passes later. It is no permission: an order is judged anew.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final

from risk.intent import Intent
from risk.verdict import Action, Outcome, RuleId, RuleResult, Verdict

EVERY: Final = 32
PROBES: Final = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class MinimalEdit:
    """What would have passed in the same state.

    Attributes:
        qty_lots: The largest quantity up to the intent's that passes at `limit_ticks`; 0 for none.
        limit_ticks: The intent's limit, moved to the nearest bound if it is outside of them.
        low_ticks: The lowest limit inside the collar; None if no price is, as `high_ticks`.
        high_ticks: The highest one.
        in_the_way: What stops the next larger quantity, or the smallest if none passes.
        judged: Questions asked.
        every: Whether every quantity above `qty_lots` was judged; otherwise `PROBES` of them were.
    """

    qty_lots: int
    limit_ticks: int
    low_ticks: int | None
    high_ticks: int | None
    in_the_way: tuple[RuleResult, ...]
    judged: int
    every: bool


def minimal_edit(
    judge: Callable[[Intent], Verdict],
    intent: Intent,
    *,
    step_lots: int,
    mid_ticks: int,
    passes: Callable[[Intent], bool] | None = None,
    inside: Callable[[Intent], bool] | None = None,
) -> MinimalEdit:
    """Return the minimal edit of an intent; the same arguments give the same one.

    `step_lots` is the smallest quantity, positive; `mid_ticks` a price at which the search for the
    bounds begins, positive. `passes` and `inside` say what a verdict of `judge` would, which costs
    more: whether it is ALLOW or WARN, and whether the collar (R05) is kept.
    """
    search = _Search(
        judge=judge,
        asked=passes or (lambda one: judge(one).action <= Action.WARN),
        inside=inside or (lambda one: _is_inside(judge(one))),
        intent=intent,
        step_lots=step_lots,
    )
    low, high = search.bounds(mid_ticks)
    if low is not None and high is not None:
        search.intent = replace(intent, limit_ticks=min(max(intent.limit_ticks, low), high))
    steps = max(0, intent.qty_lots // step_lots)
    largest = search.largest(steps)
    # None larger is wanted than the intent's own: at most what stands above it is shown.
    above = min(largest + 1, max(steps, 1))
    stops = () if largest == steps > 0 else search.verdict(above).worst
    return MinimalEdit(
        qty_lots=largest * step_lots,
        limit_ticks=search.intent.limit_ticks,
        low_ticks=low,
        high_ticks=high,
        in_the_way=stops,
        judged=search.judged,
        every=steps <= EVERY,
    )


@dataclass(slots=True, kw_only=True)
class _Search:
    judge: Callable[[Intent], Verdict]
    asked: Callable[[Intent], bool]
    inside: Callable[[Intent], bool]
    intent: Intent
    step_lots: int
    judged: int = 0

    def of(self, steps: int) -> Intent:
        self.judged += 1
        return replace(self.intent, qty_lots=steps * self.step_lots)

    def verdict(self, steps: int) -> Verdict:
        return self.judge(self.of(steps))

    def passes(self, steps: int) -> bool:
        return self.asked(self.of(steps))

    def largest(self, steps: int) -> int:
        """Return the largest passing number of steps found; 0 for none."""
        if steps <= EVERY:
            return next((one for one in range(steps, 0, -1) if self.passes(one)), 0)
        found = self._edge(0, steps + 1)
        while True:
            spread = {found + (steps - found) * place // PROBES for place in range(1, PROBES + 1)}
            probes = sorted(spread - {found}, reverse=True)
            higher = next((place for place, one in enumerate(probes) if self.passes(one)), None)
            if higher is None:
                return found
            end = probes[higher - 1] if higher else steps + 1
            found = self._edge(probes[higher], end)

    def _edge(self, passing: int, failing: int) -> int:
        """Return the last passing number before a failing one, between the two."""
        while failing - passing > 1:
            middle = (passing + failing) // 2
            if self.passes(middle):
                passing = middle
            else:
                failing = middle
        return passing

    def bounds(self, mid_ticks: int) -> tuple[int | None, int | None]:
        """Return the lowest and highest limit inside the collar, or None twice."""
        if not self._inside(mid_ticks):
            return None, None
        low, outside = mid_ticks, 0
        while low - outside > 1:
            middle = (low + outside) // 2
            low, outside = (middle, outside) if self._inside(middle) else (low, middle)
        high, outside = mid_ticks, 2 * mid_ticks + 1  # a collar is at most 10,000 bp
        while outside - high > 1:
            middle = (high + outside) // 2
            high, outside = (middle, outside) if self._inside(middle) else (high, middle)
        return low, high

    def _inside(self, limit_ticks: int) -> bool:
        self.judged += 1
        return self.inside(replace(self.intent, limit_ticks=limit_ticks))


def _is_inside(verdict: Verdict) -> bool:
    collars = [one for one in verdict.results if one.rule_id is RuleId.R05]
    return bool(collars) and all(
        one.outcome in {Outcome.PASS, Outcome.NOT_APPLICABLE} for one in collars
    )
