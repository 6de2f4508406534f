"""What would have passed instead of a refused or held intent, and which orders use up its room.

It is computed from the state that the verdict rested on, after the verdict and apart from the
sending of orders; nothing of it is on record, because a replay finds it again.

Not here: the search (`risk.windows.edit`).
"""

from collections import OrderedDict
from dataclasses import replace

from gateway.desk.bodies.requests import WouldPass
from gateway.desk.intake.withheld import named
from gateway.walk.journal.verdict import KEPT
from gateway.walk.ports import Judged
from risk.evaluate import Asking, evaluate
from risk.intent import Intent
from risk.policy.policy import Policy, policy_digest
from risk.rules.catalogue import CONDUCT
from risk.rules.limits import R05
from risk.state.book import Book, without
from risk.state.state import RiskState
from risk.verdict import Verdict
from risk.windows.edit import PROBES, MinimalEdit, minimal_edit


def would_pass(
    policy: Policy,
    state: RiskState,
    intent: Intent,
    *,
    openly: bool,
    verdict: Verdict | None = None,
) -> WouldPass | None:
    """Return what would have passed; None without usable units or price to search from.

    Unless `openly`, also None where a rule about conduct stands in the way: its limit would show.
    `verdict` is the one that was given on this intent in this state, if it is at hand.
    """
    step, mid = state.instrument.min_qty, _mid(state, intent)
    if type(step) is not int or step <= 0 or mid <= 0 or intent.qty_lots <= 0:
        return None
    asking = Asking(policy, state)
    edit = minimal_edit(
        lambda one: evaluate(policy, state, one),
        intent,
        step_lots=step,
        mid_ticks=mid,
        passes=asking.passes,
        inside=lambda one: asking.within(R05, one),
    )
    refused = (verdict or evaluate(policy, state, intent)).worst
    if not openly and any(one.rule_id in CONDUCT for one in (*edit.in_the_way, *refused)):
        return None
    return WouldPass(
        qty_lots=edit.qty_lots,
        limit_ticks=edit.limit_ticks,
        low_ticks=edit.low_ticks,
        high_ticks=edit.high_ticks,
        stopped_by=tuple(
            dict.fromkeys(f"{named(one)}: {one.reason.value}" for one in edit.in_the_way)
        ),
        room_used_by=_room_used_by(policy, state, intent),
        searched=_searched(edit),
    )


def _mid(state: RiskState, intent: Intent) -> int:
    quote = state.quote
    return intent.limit_ticks if quote is None else (quote.bid_ticks + quote.ask_ticks) // 2


def _searched(edit: MinimalEdit) -> str:
    if edit.every:
        return f"every larger quantity, {edit.judged} verdicts"
    return f"bisection, and {PROBES} quantities above what it found, {edit.judged} verdicts"


def _room_used_by(policy: Policy, state: RiskState, intent: Intent) -> tuple[str, ...]:
    """Return the account's waiting orders without which the intent passes: the fewest, by size.

    They are left out one after the other, the largest first; empty if it fails even without all.
    """

    def passes(book: Book) -> bool:
        return Asking(policy, replace(state, book=book)).passes(intent)

    book = state.book
    others = [one for one in book.reservations if one.decision_id != intent.decision_id]
    own = tuple(one for one in book.reservations if one.decision_id == intent.decision_id)
    # Asked first: a refusal for another reason would cost a verdict for every waiting order.
    if not others or not passes(replace(book, reservations=own)):
        return ()
    used: list[str] = []
    for one in sorted(others, key=lambda one: (-one.open_lots, one.decision_id)):
        book = without(book, one.decision_id)
        used.append(one.decision_id)
        if passes(book):
            break
    return tuple(used)


class RefusedIntents:
    """The last refused and held intents of this process, and what would have passed."""

    def __init__(self) -> None:
        """Keep nothing yet."""
        self._kept: OrderedDict[str, tuple[Policy, Judged]] = OrderedDict()

    def keep(self, judged: Judged, policy: Policy) -> None:
        """Keep an intent that was not approved, if the policy is still the one that judged it."""
        same = judged.verdict.policy_digest == policy_digest(policy)
        if judged.result == "approved" or not same:
            return
        self._kept[judged.intent.decision_id] = (policy, judged)
        while len(self._kept) > KEPT:
            self._kept.popitem(last=False)

    def would_pass(self, decision_id: str, *, openly: bool = False) -> WouldPass | None:
        """Return what would have passed; None if the decision is not kept (any more)."""
        policy, judged = self._kept.get(decision_id, (None, None))
        if policy is None or judged is None:
            return None
        return would_pass(
            policy, judged.state, judged.intent, openly=openly, verdict=judged.verdict
        )
