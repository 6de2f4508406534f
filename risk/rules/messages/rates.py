"""R13 and R16: message rate and duplicates.

Not here: sending. The bucket is recomputed from the book's message times and `now`.

Rules:
- Every order that may still be sent counts as one message.
- New orders leave a reserve of the bucket for cancels.
- The same intent is refused at any age, the same order within the window.

Source: Commission Delegated Regulation (EU) 2017/589 art. 15(1)(d), 15(2).
"""

from typing import Final

from risk.intent import intent_fingerprint
from risk.numbers.sections import AccountPolicy
from risk.rules.exposure import is_renewal, own
from risk.rules.rule import Check, Measured, Rule, RuleCase, RuleRefusal, positive, whole
from risk.state.book import Book
from risk.state.state import HISTORY_US
from risk.verdict import Action, Reason, RuleId, Scope, Unit

MICRO: Final = 1_000_000


def used_micro(times_us: tuple[int, ...], now_us: int, rate: int) -> int:
    """Return the millionths of messages drawn from a bucket that refills at `rate` per second.

    A time after `now_us` counts as now. Draws beyond the burst count too, so nothing passes until
    a flood is refilled.
    """
    used = last = 0
    for time_us in sorted(min(whole(t), now_us) for t in times_us):
        used = max(0, used - (time_us - last) * rate) + MICRO
        last = time_us
    return max(0, used - (now_us - last) * rate)


def message_room(
    book: Book, limits: AccountPolicy, now_us: int, skip: str = ""
) -> tuple[Measured, ...]:
    """Return what one more message draws, against the bucket without and with its reserve.

    `skip` is a decision whose unsent order does not count.
    """
    burst = limits.message_burst.value
    used = used_micro(book.message_times_us, now_us, limits.message_rate.value)
    unsent = sum(
        1 for held in book.reservations if not held.sent and (not skip or held.decision_id != skip)
    )
    wanted = -(-used // MICRO) + unsent + 1
    kept_back = -(-burst * limits.message_reserve.value // 10_000)
    return (
        Measured(observed=wanted, limit=burst - kept_back),
        Measured(observed=wanted, limit=burst),
    )


def _messages(case: RuleCase) -> tuple[Measured, ...]:
    state = case.state
    return message_room(state.book, case.policy.account, positive(state.now_us), own(case))


def _duplicates(case: RuleCase) -> tuple[Measured, ...]:
    state, intent, now = case.state, case.intent, positive(case.state.now_us)
    window = case.policy.account.duplicate_window.value
    if window > HISTORY_US:
        raise RuleRefusal(Reason.OUT_OF_RANGE)
    renewal = is_renewal(case)
    others = tuple(
        entry for entry in state.recent if not renewal or entry.decision_id != intent.decision_id
    )
    same_intent, same_order = case.intent_digest, intent_fingerprint(intent)
    repeated = sum(
        1
        for entry in others
        if entry.intent_digest == same_intent or entry.decision_id == intent.decision_id
    )
    doubled = sum(
        1
        for entry in others
        if entry.fingerprint == same_order and abs(now - whole(entry.time_us)) <= window
    )
    return (
        Measured(observed=repeated, limit=0),
        Measured(observed=doubled, limit=0),
    )


R13: Final = Rule(
    rule_id=RuleId.R13,
    version=1,
    title="Message rate: token bucket with a reserve for cancels",
    checks=(
        Check(
            name="reserve",
            unit=Unit.MESSAGES,
            scope=Scope.ACCOUNT,
            reason=Reason.MESSAGE_RESERVE_REACHED,
            breach=Action.THROTTLE,
        ),
        Check(
            name="bucket",
            unit=Unit.MESSAGES,
            scope=Scope.ACCOUNT,
            reason=Reason.MESSAGE_RATE_ABOVE_MAXIMUM,
        ),
    ),
    measure=_messages,
)

R16: Final = Rule(
    rule_id=RuleId.R16,
    version=1,
    title="Duplicates: the same intent ever, the same order within the window",
    checks=(
        Check(name="intent", unit=Unit.COUNT, scope=Scope.ACCOUNT, reason=Reason.DUPLICATE_INTENT),
        Check(name="order", unit=Unit.COUNT, scope=Scope.ACCOUNT, reason=Reason.DUPLICATE_ORDER),
    ),
    measure=_duplicates,
)

RULES: Final = (R13, R16)
