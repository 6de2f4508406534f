"""The approved order, which is the only value that may become a message, and its approval.

Not here: who a person is (the gateway's keys) and when to send (`dispatch`).

Rules:
- Only `approve` makes an `ApprovedOrder`, and it rejects what it cannot check.
- ALLOW and WARN may be sent. HOLD needs the approval of a person other than the author, and the
  order must stay inside its band of price, size and exposure, before it expires. THROTTLE, REJECT
  and above are never sent.
- An approval is void under another policy, and releases the rules that held what the person saw,
  no other: an order that another rule holds when it is judged again is refused.
- An approval binds the renewed order even if no rule asks for a person any more.
"""

from dataclasses import InitVar, asdict, dataclass
from typing import Final

from risk.errors import ApprovalError
from risk.forms.canonical import JSON
from risk.forms.documents import document_of, value_of
from risk.intent import Intent, Side, intent_digest
from risk.policy.policy import Policy, policy_digest
from risk.rules.catalogue import IN_VERDICTS
from risk.verdict import Action, RuleId, Verdict, is_intact

BP: Final = 10_000
LEAF_BYTES: Final = 32
FOR_A_PERSON: Final = frozenset(
    rule.rule_id
    for rule in IN_VERDICTS
    if any(check.breach is Action.HOLD for check in rule.checks)
)
"""The rules that hold an order for a person; he may release no other."""
_ALONE: Final = (RuleId.R31,)
"""What an approval releases whose document names no rule: such was every earlier one."""
_SEAL: Final = object()


@dataclass(frozen=True, slots=True, kw_only=True)
class Band:
    """The band of limit price, quantity and target exposure that an approval covers."""

    price_low_ticks: int
    price_high_ticks: int
    qty_max_lots: int
    exposure_low_bp: int
    exposure_high_bp: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Approval(Band):
    """One person's approval of one held order, within a band of price, size and exposure.

    Attributes:
        approver: Never the author.
        intent_digest: The intent that the person saw.
        verdict_digest: The verdict that held it.
        given_at_us: Wall clock.
        expires_us: Wall clock; the order must be sent before.
        releases: The rules that held what the person saw, sorted.
    """

    decision_id: str
    account: str
    instrument: str
    side: Side
    approver: str
    intent_digest: str
    verdict_digest: str
    policy_digest: str
    given_at_us: int
    expires_us: int
    releases: tuple[RuleId, ...] = _ALONE


def approval_document(approval: Approval) -> dict[str, JSON]:
    """Return an approval as a document; one that releases R31 alone names no rule."""
    document = document_of(approval)
    if approval.releases == _ALONE:
        del document["releases"]
    return document


def approval_of(document: object) -> Approval:
    """Read what `approval_document` returned.

    Raises:
        DocumentError: It is no approval.
    """
    if isinstance(document, dict) and "releases" not in document:
        document = {**document, "releases": [one.value for one in _ALONE]}
    return value_of(Approval, document)


@dataclass(frozen=True, slots=True, kw_only=True)
class ApprovedOrder:
    """An order that may be sent once; only `approve` makes one.

    Attributes:
        approving_leaf: Leaf hash of the approving record, from which ClOrdID derives.
        send_before_us: Wall clock; not sent from then on.
        kill_epoch: Epoch of the kill latch that it was judged under.
        approver: Who approved it; empty if no approval was needed.
    """

    intent: Intent
    verdict_digest: str
    policy_digest: str
    approving_leaf: bytes
    send_before_us: int
    kill_epoch: int
    approver: str
    seal: InitVar[object]

    def __post_init__(self, seal: object) -> None:
        if seal is not _SEAL:
            raise ApprovalError("an approved order is made by approve()")


def grant(policy: Policy, intent: Intent, verdict: Verdict, approver: str, now_us: int) -> Approval:
    """Return a person's approval of a held intent; `now_us` is wall clock.

    Raises:
        ApprovalError: The approver is the author, or the verdict is not a HOLD on this intent
            under this policy.
    """
    _require(_is_other(approver, intent), "the author may not approve")
    held_by = _holding(verdict)
    _require(verdict.action is Action.HOLD and held_by <= FOR_A_PERSON, "nothing waits here")
    _require(is_intact(verdict), "the verdict is not intact")
    _require(verdict.intent_digest == intent_digest(intent), "the verdict is on another intent")
    digest = policy_digest(policy)
    _require(verdict.policy_digest == digest, "the verdict is under another policy")
    return Approval(
        decision_id=intent.decision_id,
        account=intent.account,
        instrument=intent.instrument,
        side=intent.side,
        approver=approver,
        intent_digest=verdict.intent_digest,
        verdict_digest=verdict.verdict_digest,
        policy_digest=digest,
        given_at_us=now_us,
        expires_us=now_us + policy.approval.ttl.value,
        releases=tuple(sorted(held_by)),
        **asdict(band_of(policy, intent)),
    )


def band_of(policy: Policy, intent: Intent) -> Band:
    """Return the band that an approval of this intent covers."""
    allowed = policy.approval
    price = intent.limit_ticks * allowed.price_band.value // BP
    return Band(
        price_low_ticks=intent.limit_ticks - price,
        price_high_ticks=intent.limit_ticks + price,
        qty_max_lots=intent.qty_lots + intent.qty_lots * allowed.size_band.value // BP,
        exposure_low_bp=intent.target_exposure_bp - allowed.exposure_band.value,
        exposure_high_bp=intent.target_exposure_bp + allowed.exposure_band.value,
    )


def approve(
    intent: Intent,
    verdict: Verdict,
    approving_leaf: bytes,
    send_before_us: int,
    kill_epoch: int,
    approval: Approval | None = None,
) -> ApprovedOrder:
    """Return the order that may be sent for an intent; on release of a hold, the renewed one.

    `approving_leaf` is the leaf hash of the verdict's or the approval's record. `send_before_us` is
    wall clock, not after the approval expires. `kill_epoch` is that of the verdict's state. HOLD
    needs an `approval`, which binds for every action.

    Raises:
        ApprovalError: The order may not be sent.
    """
    _require(is_intact(verdict), "the verdict is not intact")
    _require(verdict.intent_digest == intent_digest(intent), "the verdict is on another intent")
    _require(type(approving_leaf) is bytes and len(approving_leaf) == LEAF_BYTES, "no leaf hash")
    _require(type(send_before_us) is int and send_before_us > 0, "no time to send before")
    _require(type(kill_epoch) is int and kill_epoch >= 0, "no kill epoch")
    if verdict.action > Action.WARN:
        _require(verdict.action is Action.HOLD, f"the verdict is {verdict.action.name}")
        _require(_holding(verdict) <= FOR_A_PERSON, "no person may release this")
        released = () if approval is None else approval.releases
        _require(approval is not None, "a held order needs a person's agreement")
        _require(_holding(verdict) <= {*released}, "a rule holds it that the person did not see")
    approver = "" if approval is None else _agreed(intent, verdict, send_before_us, approval)
    return ApprovedOrder(
        intent=intent,
        verdict_digest=verdict.verdict_digest,
        policy_digest=verdict.policy_digest,
        approving_leaf=approving_leaf,
        send_before_us=send_before_us,
        kill_epoch=kill_epoch,
        approver=approver,
        seal=_SEAL,
    )


Terms = tuple[Intent, Verdict, int, int, Approval | None]
"""What `approve` needs beside the leaf: intent, verdict, send_before_us, kill_epoch, approval."""


class KeptOrders:
    """The last orders that were approved here, by the leaf that approves each; for one thread."""

    def __init__(self, most: int) -> None:
        """Keep at most so many; the oldest is forgotten."""
        self.most = most
        self._orders: dict[bytes, ApprovedOrder] = {}

    def get(self, leaf: bytes) -> ApprovedOrder | None:
        """Return the order, or None if it is not kept."""
        return self._orders.get(leaf)

    def keep(self, leaf: bytes, terms: Terms) -> ApprovedOrder | None:
        """Return a new order; None if it is kept already or may not be sent."""
        if leaf in self._orders:
            return None
        intent, verdict, send_before_us, kill_epoch, approval = terms
        try:
            order = approve(intent, verdict, leaf, send_before_us, kill_epoch, approval)
        except ApprovalError:
            return None
        while len(self._orders) >= self.most:
            del self._orders[next(iter(self._orders))]
        self._orders[leaf] = order
        return order


def _agreed(intent: Intent, verdict: Verdict, send_before_us: int, approval: Approval) -> str:
    same_order = (
        approval.decision_id == intent.decision_id
        and approval.account == intent.account
        and approval.instrument == intent.instrument
        and approval.side is intent.side
    )
    _require(same_order, "the agreement is for another order")
    _require(_is_other(approval.approver, intent), "the author may not approve")
    _require(approval.policy_digest == verdict.policy_digest, "the agreement's policy is gone")
    priced = approval.price_low_ticks <= intent.limit_ticks <= approval.price_high_ticks
    _require(priced, "the price left the agreed band")
    _require(intent.qty_lots <= approval.qty_max_lots, "the size left the agreed band")
    exposed = approval.exposure_low_bp <= intent.target_exposure_bp <= approval.exposure_high_bp
    _require(exposed, "the exposure left the agreed band")
    _require(send_before_us <= approval.expires_us, "the agreement ends before sending does")
    return approval.approver


def _is_other(approver: str, intent: Intent) -> bool:
    """Return whether the approver is neither author nor strategy, ignoring case and blanks."""
    name = approver.strip().casefold()
    return bool(name) and name not in {
        intent.author.strip().casefold(),
        intent.strategy.strip().casefold(),
    }


def _holding(verdict: Verdict) -> frozenset[RuleId]:
    """Return the rules that gave the verdict its action."""
    return frozenset(result.rule_id for result in verdict.worst)


def _require(condition: bool, problem: str) -> None:  # noqa: FBT001 - a checked fact, not a switch
    if not condition:
        raise ApprovalError(problem)
