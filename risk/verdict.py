"""The verdict on one intent: the results of every rule, and their join.

Not here: how a verdict is made (`risk/evaluate.py`) and what it permits (`risk/approved.py`).

Rules:
- Actions are ordered by severity; a verdict's action is the most severe of its results.
- Every reason comes from one closed list, beside the measured value and the limit.
- A margin is never negative on a pass and always negative on a breach.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import IntEnum, StrEnum
from hashlib import sha256
from typing import Final

from msgspec import Struct, json

from risk.canonical import JSON, digest
from risk.documents import document_of, value_of
from risk.errors import DocumentError


class Action(IntEnum):
    """What happens to the intent, in order of severity."""

    ALLOW = 0
    WARN = 1
    THROTTLE = 2
    HOLD = 3
    REJECT = 4
    HALT = 5
    KILL = 6


NEWEST_DIGEST: Final = 2


def join(actions: Iterable[Action]) -> Action:
    """Return the most severe action; REJECT for none, because no rule has run."""
    return max(actions, default=Action.REJECT)


class RuleId(StrEnum):
    """The closed list of rules, in the order in which they run."""

    R00 = "R00"
    R01 = "R01"
    R02 = "R02"
    R03 = "R03"
    R04 = "R04"
    R05 = "R05"
    R06 = "R06"
    R07 = "R07"
    R08 = "R08"
    R09 = "R09"
    R10 = "R10"
    R11 = "R11"
    R12 = "R12"
    R13 = "R13"
    R14 = "R14"
    R15 = "R15"
    R16 = "R16"
    R17 = "R17"
    R18 = "R18"
    R19 = "R19"
    R20 = "R20"
    R21 = "R21"
    R22 = "R22"
    R23 = "R23"
    R24 = "R24"
    R25 = "R25"
    R26 = "R26"
    R27 = "R27"
    R28 = "R28"
    R29 = "R29"
    R30 = "R30"
    R31 = "R31"
    R32 = "R32"
    R33 = "R33"
    R34 = "R34"
    R35 = "R35"
    R36 = "R36"
    R37 = "R37"
    R38 = "R38"
    R40 = "R40"
    R42 = "R42"
    R43 = "R43"
    R45 = "R45"
    R46 = "R46"
    R48 = "R48"
    R49 = "R49"
    R50 = "R50"
    R51 = "R51"
    R52 = "R52"
    R53 = "R53"
    R54 = "R54"


class Outcome(StrEnum):
    """How one check of one rule ended."""

    PASS = "PASS"  # noqa: S105 - an outcome, not a password
    BREACH = "BREACH"
    NOT_APPLICABLE = "NOT_APPLICABLE"
    REFUSED = "REFUSED"


class Bound(StrEnum):
    """Whether a limit is a maximum or a minimum."""

    MAX = "MAX"
    MIN = "MIN"


class Scope(StrEnum):
    """What a limit applies to."""

    ORDER = "order"
    INSTRUMENT = "instrument"
    ACCOUNT = "account"
    FIRM = "firm"


class Unit(StrEnum):
    """Unit of observed value, limit and margin."""

    FLAG = "flag"
    LOTS = "lots"
    MINOR = "minor"
    BASIS_POINTS = "bp"
    PERCENT = "pct"
    MICROSECONDS = "us"
    MESSAGES = "messages"
    COUNT = "count"
    TICKS = "ticks"
    LOG_RETURN_1E8 = "log_return_1e8"


class Reason(StrEnum):
    """Why a check ended as it did; a closed list."""

    WITHIN_LIMIT = "WITHIN_LIMIT"
    NEAR_LIMIT = "NEAR_LIMIT"
    OVERRIDDEN = "OVERRIDDEN"
    # not applicable
    DISARMED = "DISARMED"
    REDUCES_RISK = "REDUCES_RISK"
    NOT_DIRECTIONAL = "NOT_DIRECTIONAL"
    NARRATIVE_ABSENT = "NARRATIVE_ABSENT"
    TOO_FEW_MESSAGES = "TOO_FEW_MESSAGES"
    NOT_SHORT = "NOT_SHORT"
    TOO_FEW_ORDERS = "TOO_FEW_ORDERS"
    EXECUTED = "EXECUTED"
    OUTSIDE_THE_WINDOW = "OUTSIDE_THE_WINDOW"
    NOT_AGGRESSIVE = "NOT_AGGRESSIVE"
    NO_MANDATE = "NO_MANDATE"
    ONE_SIDED = "ONE_SIDED"
    TOO_FEW_SCORES = "TOO_FEW_SCORES"
    # unusable inputs
    INPUT_MISSING = "INPUT_MISSING"
    NOT_AN_INTEGER = "NOT_AN_INTEGER"
    OUT_OF_RANGE = "OUT_OF_RANGE"
    UNKNOWN_VALUE = "UNKNOWN_VALUE"
    UNKNOWN_INSTRUMENT = "UNKNOWN_INSTRUMENT"
    UNKNOWN_CLASS = "UNKNOWN_CLASS"
    RULE_NOT_IN_POLICY = "RULE_NOT_IN_POLICY"
    RULE_FAILED = "RULE_FAILED"
    ACCOUNT_MISMATCH = "ACCOUNT_MISMATCH"
    INSTRUMENT_MISMATCH = "INSTRUMENT_MISMATCH"
    CURRENCY_MISMATCH = "CURRENCY_MISMATCH"
    INTENT_MALFORMED = "INTENT_MALFORMED"
    STATE_MALFORMED = "STATE_MALFORMED"
    NO_EQUITY = "NO_EQUITY"
    POLICY_EXPIRED = "POLICY_EXPIRED"
    POLICY_UNSIGNED = "POLICY_UNSIGNED"
    POLICY_NOT_YET_VALID = "POLICY_NOT_YET_VALID"
    POLICY_MISMATCH = "POLICY_MISMATCH"
    # breaches
    KILLED = "KILLED"
    KILL_EPOCH_DIFFERS = "KILL_EPOCH_DIFFERS"
    QUANTITY_ABOVE_MAXIMUM = "QUANTITY_ABOVE_MAXIMUM"
    QUANTITY_BELOW_MINIMUM = "QUANTITY_BELOW_MINIMUM"
    QUANTITY_OFF_STEP = "QUANTITY_OFF_STEP"
    NOTIONAL_ABOVE_MAXIMUM = "NOTIONAL_ABOVE_MAXIMUM"
    PRICE_OUTSIDE_COLLAR = "PRICE_OUTSIDE_COLLAR"
    POSITION_ABOVE_MAXIMUM = "POSITION_ABOVE_MAXIMUM"
    SHORT_ABOVE_MAXIMUM = "SHORT_ABOVE_MAXIMUM"
    GROSS_ABOVE_MAXIMUM = "GROSS_ABOVE_MAXIMUM"
    NET_ABOVE_MAXIMUM = "NET_ABOVE_MAXIMUM"
    LEVERAGE_ABOVE_MAXIMUM = "LEVERAGE_ABOVE_MAXIMUM"
    DAY_LOSS_ABOVE_MAXIMUM = "DAY_LOSS_ABOVE_MAXIMUM"
    DRAWDOWN_ABOVE_MAXIMUM = "DRAWDOWN_ABOVE_MAXIMUM"
    MESSAGE_RESERVE_REACHED = "MESSAGE_RESERVE_REACHED"
    MESSAGE_RATE_ABOVE_MAXIMUM = "MESSAGE_RATE_ABOVE_MAXIMUM"
    DUPLICATE_INTENT = "DUPLICATE_INTENT"
    DUPLICATE_ORDER = "DUPLICATE_ORDER"
    QUOTE_STALE = "QUOTE_STALE"
    QUOTE_FROM_THE_FUTURE = "QUOTE_FROM_THE_FUTURE"
    QUOTE_CROSSED = "QUOTE_CROSSED"
    BOOK_DIFFERS = "BOOK_DIFFERS"
    ACCOUNT_DIFFERS = "ACCOUNT_DIFFERS"
    ENTRIES_PAUSED = "ENTRIES_PAUSED"
    REASONING_ANOMALOUS = "REASONING_ANOMALOUS"
    DOES_NOT_REDUCE = "DOES_NOT_REDUCE"
    MARKET_DATA_GAP = "MARKET_DATA_GAP"
    MARKET_NOT_OPEN = "MARKET_NOT_OPEN"
    CLOCK_BACKWARDS = "CLOCK_BACKWARDS"
    FORECAST_STALE = "FORECAST_STALE"
    FORECAST_FROM_THE_FUTURE = "FORECAST_FROM_THE_FUTURE"
    NARRATIVE_STALE = "NARRATIVE_STALE"
    NARRATIVE_FROM_THE_FUTURE = "NARRATIVE_FROM_THE_FUTURE"
    DIRECTION_NOT_SUPPORTED = "DIRECTION_NOT_SUPPORTED"
    TOO_FEW_PATHS = "TOO_FEW_PATHS"
    INTERVAL_TOO_WIDE = "INTERVAL_TOO_WIDE"
    VOLUME_SHARE_ABOVE_MAXIMUM = "VOLUME_SHARE_ABOVE_MAXIMUM"
    INSTRUMENT_SHARE_ABOVE_MAXIMUM = "INSTRUMENT_SHARE_ABOVE_MAXIMUM"
    SECTOR_SHARE_ABOVE_MAXIMUM = "SECTOR_SHARE_ABOVE_MAXIMUM"
    WOULD_MEET_AN_OWN_ORDER = "WOULD_MEET_AN_OWN_ORDER"
    RESTRICTED = "RESTRICTED"
    FAR_ABOVE_USUAL = "FAR_ABOVE_USUAL"
    MESSAGES_ABOVE_MAXIMUM = "MESSAGES_ABOVE_MAXIMUM"
    ORDERS_TO_TRADES_ABOVE_MAXIMUM = "ORDERS_TO_TRADES_ABOVE_MAXIMUM"
    CREDIT_ABOVE_MAXIMUM = "CREDIT_ABOVE_MAXIMUM"
    MARGIN_ABOVE_EQUITY = "MARGIN_ABOVE_EQUITY"
    EXECUTIONS_REPEATED = "EXECUTIONS_REPEATED"
    BURSTS_ABOVE_MAXIMUM = "BURSTS_ABOVE_MAXIMUM"
    BRIEF_ORDERS_ABOVE_MAXIMUM = "BRIEF_ORDERS_ABOVE_MAXIMUM"
    MESSAGES_WITHOUT_EXECUTION = "MESSAGES_WITHOUT_EXECUTION"
    OTHER_SIDE_WITHDRAWN = "OTHER_SIDE_WITHDRAWN"
    OTHER_SIDE_LEVELS_OPEN = "OTHER_SIDE_LEVELS_OPEN"
    REVERSAL_ON_THE_SAME_FORECAST = "REVERSAL_ON_THE_SAME_FORECAST"
    MATCHES_AN_OWN_EXECUTION = "MATCHES_AN_OWN_EXECUTION"
    NOT_PERMITTED = "NOT_PERMITTED"
    NOT_LOCATED = "NOT_LOCATED"
    LOCATE_STALE = "LOCATE_STALE"
    MOVE_ABOVE_MAXIMUM = "MOVE_ABOVE_MAXIMUM"
    BARS_STALE = "BARS_STALE"
    BARS_FROM_THE_FUTURE = "BARS_FROM_THE_FUTURE"
    HEALTH_STALE = "HEALTH_STALE"
    DISK_NEARLY_FULL = "DISK_NEARLY_FULL"
    CLOCK_STEPPED = "CLOCK_STEPPED"
    REFERENCE_STALE = "REFERENCE_STALE"
    SHORTFALL_ABOVE_MAXIMUM = "SHORTFALL_ABOVE_MAXIMUM"
    TRIP_CHANCE_ABOVE_MAXIMUM = "TRIP_CHANCE_ABOVE_MAXIMUM"
    OWN_LEVELS_STACKED = "OWN_LEVELS_STACKED"
    SIZES_GROW_BEHIND = "SIZES_GROW_BEHIND"
    QUOTED_AND_WITHDRAWN = "QUOTED_AND_WITHDRAWN"
    SHAPE_DENIED = "SHAPE_DENIED"
    NEEDS_A_PERSON = "NEEDS_A_PERSON"
    BASKET_ABOVE_MAXIMUM = "BASKET_ABOVE_MAXIMUM"
    MARKET_STRESSED = "MARKET_STRESSED"
    MARKET_FALL_ABOVE_MAXIMUM = "MARKET_FALL_ABOVE_MAXIMUM"
    FORECASTS_DRIFTED = "FORECASTS_DRIFTED"
    SHARE_OF_THE_CLOSE_ABOVE_MAXIMUM = "SHARE_OF_THE_CLOSE_ABOVE_MAXIMUM"
    QUOTING_BELOW_MANDATE = "QUOTING_BELOW_MANDATE"
    QUOTES_UNEQUAL = "QUOTES_UNEQUAL"
    SPREAD_ABOVE_MANDATE = "SPREAD_ABOVE_MANDATE"
    MODEL_SHARE_ABOVE_MAXIMUM = "MODEL_SHARE_ABOVE_MAXIMUM"
    STRATEGIES_AGREE = "STRATEGIES_AGREE"
    OWN_PUBLICATION = "OWN_PUBLICATION"
    PROTECTED_ATTRIBUTE = "PROTECTED_ATTRIBUTE"
    NOT_JUSTIFIED = "NOT_JUSTIFIED"


class RuleResult(Struct, frozen=True, kw_only=True, gc=False):
    """One check of one rule; a verdict makes a hundred of them, so it is cheap to make.

    Attributes:
        check: Which of the rule's checks ("age", "spread", ...).
        version: Version of the rule's code.
        observed: Measured value, None if it could not be measured.
        limit: The policy's limit, None if there is none.
        margin: How far inside (>= 0) or outside (< 0) the limit; None if either is missing.
        action: This check's part of the join.
        note: The policy's reason for disarming the rule, or empty.
    """

    rule_id: RuleId
    check: str
    version: int
    scope: Scope
    observed: int | None
    limit: int | None
    margin: int | None
    unit: Unit
    bound: Bound
    outcome: Outcome
    action: Action
    reason: Reason
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """The rules' results, bound to their inputs.

    Attributes:
        action: The join of all results.
        results: Every check of every rule, in fixed order.
        policy_digest: 64 zeros, as in the next two, if the input could not be encoded.
        verdict_digest: Digest of all other fields.
        digest_version: 1: of the canonical document; 2: of the trace (`trace_digest`).
    """

    action: Action
    results: tuple[RuleResult, ...]
    policy_digest: str
    intent_digest: str
    state_digest: str
    verdict_digest: str
    digest_version: int = 1

    @property
    def worst(self) -> tuple[RuleResult, ...]:
        """The results that decided the action, in rule order; empty on ALLOW."""
        if self.action is Action.ALLOW:
            return ()
        return tuple(result for result in self.results if result.action is self.action)


def make_verdict(
    *,
    results: tuple[RuleResult, ...],
    policy_digest: str,
    intent_digest: str,
    state_digest: str,
    digest_version: int = 1,
) -> Verdict:
    """Return the verdict of these results, with its digest."""
    action = join([result.action for result in results])
    sealed = ""
    if digest_version == NEWEST_DIGEST:
        sealed = trace_digest(action, policy_digest, intent_digest, state_digest, results)
    unsealed = Verdict(
        action=action,
        results=results,
        policy_digest=policy_digest,
        intent_digest=intent_digest,
        state_digest=state_digest,
        verdict_digest=sealed,
        digest_version=digest_version,
    )
    if sealed:
        return unsealed
    body = verdict_document(unsealed)
    del body["verdict_digest"]
    return replace(unsealed, verdict_digest=digest("countersign.verdict/1", body))


def trace_digest(
    action: Action,
    policy_digest: str,
    intent_digest: str,
    state_digest: str,
    results: tuple[RuleResult, ...],
) -> str:
    """Return the SHA-256 in hex of a verdict's trace, as JSON in UTF-8 without spaces.

    It is the list of tag, action, the three digests, and the results in their order; a result is an
    object with its fields in the order of `RuleResult`, and an action its number.
    """
    trace = ("countersign.verdict/2", action, policy_digest, intent_digest, state_digest, results)
    return sha256(json.encode(trace)).hexdigest()


def is_intact(verdict: Verdict) -> bool:
    """Return whether action and digest of a verdict follow from its results."""
    again = make_verdict(
        results=verdict.results,
        policy_digest=verdict.policy_digest,
        intent_digest=verdict.intent_digest,
        state_digest=verdict.state_digest,
        digest_version=verdict.digest_version,
    )
    return again == verdict


def verdict_document(verdict: Verdict) -> dict[str, JSON]:
    """Return a verdict as a document; version 1 of the digest is not named, as it never was."""
    document = document_of(verdict)
    if verdict.digest_version == 1:
        del document["digest_version"]
    return document


def verdict_from_document(document: object) -> Verdict:
    """Parse a verdict and check that it is intact.

    Raises:
        DocumentError: The document is not a verdict, or its digest or action does not follow.
    """
    if type(document) is dict:
        document = {"digest_version": 1} | document
    verdict = value_of(Verdict, document)
    if not is_intact(verdict):
        raise DocumentError("verdict does not follow from its results")
    return verdict
