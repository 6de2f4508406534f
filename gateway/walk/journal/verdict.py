"""Records of a verdict and of a person's answer to a held one."""

from collections.abc import Mapping
from functools import cached_property, lru_cache
from typing import Any, Final, Self, TypeVar, cast

from msgspec import field
from typing_extensions import override

from audit.records.canonical import JSON
from audit.records.kinds import RUN, Kind
from audit.records.record import Draft, Record, parse_payload
from audit.records.record_kind import ACCOUNT, ORDER, Contents, Filing, RecordKind
from audit.records.typed import reader_of
from gateway.walk.journal.contents import Reservation
from gateway.walk.journal.decision import draft, draft_of, inputs_document, inputs_of
from gateway.walk.journal.order import order_draft, order_tags
from gateway.walk.journal.standing import Standing
from gateway.walk.ports import Case
from risk.approved import Approval, approval_document, approval_of, approve, band_of
from risk.errors import ApprovalError
from risk.forms.documents import document_of, value_of
from risk.intent import Intent, intent_digest
from risk.numbers.standing import PolicyStatus
from risk.policy.policy import Policy
from risk.state.inputs.inputs import Inputs
from risk.state.state import KillState, Quote, RiskState
from risk.verdict import Action, Verdict, verdict_document, verdict_from_document


def verdict_given(  # noqa: PLR0913 - what a verdict binds
    case: Case,
    intent: Intent,
    verdict: Verdict,
    state: RiskState,
    *,
    basis_seq: int,
    result: str,
    send_before_us: int,
    approval: Approval | None,
) -> Draft:
    """The verdict with everything that a replay needs, and its reservation."""
    reservation = Reservation(
        instrument=intent.instrument,
        side=intent.side,
        qty_lots=intent.qty_lots,
        limit_ticks=intent.limit_ticks,
        unit_minor=case.instrument.unit_minor,
    )
    return draft_of(
        case,
        VerdictGiven,
        {
            "decision_id": case.decision_id,
            **judged_document(intent, verdict, state, basis_seq=basis_seq),
            "result": result,
            "send_before_us": send_before_us,
            "reservation": reservation.document() if result in {"approved", "held"} else None,
            "approval": None if approval is None else approval_document(approval),
        },
    )


def judged_document(
    intent: Intent, verdict: Verdict, state: RiskState, *, basis_seq: int
) -> dict[str, JSON]:
    """Return a verdict with everything that a replay needs to give it again."""
    return {
        "intent": document_of(intent),
        "intent_digest": intent_digest(intent),
        "verdict": verdict_document(verdict),
        "basis_seq": basis_seq,
        "policy_digest": verdict.policy_digest,
        "policy_status": document_of(state.policy_status),
        "kill_epoch": state.kill.egress_epoch,
        "state": {
            **document_of(state.kill),
            **({"book_differs": True} if state.book_differs else {}),
            **({"narrative_absent": True} if state.narrative_absent else {}),
            **({"stops": [one.value for one in state.stops]} if state.stops else {}),
            **({"override": document_of(state.override)} if state.override else {}),
        },
        **inputs_document(state.inputs),
        "quote": None if state.quote is None else document_of(state.quote),
        "narrative_as_of_us": state.narrative_as_of_us,
        "renewal": state.renewal,
        "market_now_us": state.now_us,
    }


KEPT: Final = 64
"""How many verdicts stay parsed: folds, sending and answers read the same one a dozen times."""
_kill_state: Final = reader_of(KillState)


class VerdictGiven(RecordKind, frozen=True, kw_only=True, dict=True):
    """A verdict, as folds, sending and answers read it; never changed."""

    filing = Filing(
        "decision/{decision_id}",
        "verdict:{basis_seq}",
        tags=RUN,
        section=True,
        loose="result",
        also=("action attempt book egress_epoch history instrument reason sizing state_digest"),
    )

    account: str
    decision_id: str
    intent_document: dict[str, Any] = field(name="intent")
    verdict_document: dict[str, Any] = field(name="verdict")
    basis_seq: int
    result: str
    policy_digest: str
    policy_status: dict[str, Any] | None = None
    kill_epoch: int
    market_now_us: int
    send_before_us: int
    reservation: Reservation | None
    state_document: dict[str, Any] = field(name="state", default_factory=dict)
    intent_digest: str = ""
    quote: dict[str, Any] | None = None
    narrative_as_of_us: int | None = None
    renewal: bool = False
    approval_document: dict[str, Any] | None = field(name="approval", default=None)
    inputs: dict[str, Any] | None = None

    @override
    @classmethod
    def of(cls, record: Record) -> Self:
        """Read a record; the same bytes are parsed once. Raises as `Contents.of`."""
        return cast("Self", _parsed(cls, record.payload))

    @cached_property
    def intent(self) -> Intent:
        """The intent that was judged."""
        return value_of(Intent, self.intent_document)

    @cached_property
    def verdict(self) -> Verdict:
        """The verdict with every rule's result."""
        return verdict_from_document(self.verdict_document)

    @cached_property
    def approval(self) -> Approval | None:
        """The agreement that a renewal was judged under."""
        agreed = self.approval_document
        return None if agreed is None else approval_of(agreed)

    @property
    def stops(self) -> tuple[str, ...]:
        """The stops that were in force, and that an approved intent passed."""
        return tuple(map(str, self.state_document.get("stops", ())))

    @property
    def instrument(self) -> str:
        """The symbol that the intent is about."""
        return str(self.intent_document["instrument"])


_Given = TypeVar("_Given", bound=VerdictGiven)


@lru_cache(maxsize=KEPT)
def _parsed(contents: type[_Given], payload: bytes) -> _Given:
    """Parse a payload; the key is its bytes, so another record is never taken for it."""
    return contents.read(parse_payload(payload))


class VerdictBasis(Contents, frozen=True, kw_only=True):
    """What a replay reads of a verdict, in `verdict_given` or in a replace: what it rested on."""

    basis_seq: int
    market_now_us: int
    state_document: dict[str, Any] = field(name="state")
    policy_status_document: dict[str, Any] = field(name="policy_status")
    inputs_document: dict[str, Any] | None = field(name="inputs", default=None)
    quote_document: dict[str, Any] | None = field(name="quote", default=None)

    @property
    def state(self) -> KillState:
        """What the kill latch had shown."""
        return _kill_state(self.state_document)

    @property
    def quote(self) -> Quote | None:
        """The quote that the intent was judged against."""
        read = self.quote_document
        return None if read is None else value_of(Quote, read)

    @property
    def inputs(self) -> Inputs | None:
        """What the gateway had gathered for the rules of format 2, without the joint paths."""
        read = self.inputs_document
        return None if read is None else inputs_of(read)

    @property
    def path_symbols(self) -> tuple[str, ...] | None:
        """The instruments of its joint paths, the intent's own first; None without paths."""
        named = (self.inputs_document or {}).get("paths")
        return None if named is None else tuple(map(str, named["instruments"]))

    @property
    def policy_status(self) -> PolicyStatus:
        """What verification of the policy's signatures had found."""
        return value_of(PolicyStatus, self.policy_status_document)


def approval_requested(
    case: Case, verdict: Record, intent: Intent, *, until: Mapping[str, JSON]
) -> Draft:
    """A person is asked.

    `until` is what `asked_until` returns; it is empty in records of earlier versions.
    """
    requested = ApprovalRequested(
        decision_id=case.decision_id,
        verdict_seq=verdict.seq,
        intent_digest=intent_digest(intent),
        author=case.author,
    )
    return draft_of(case, ApprovalRequested, {**requested.document(), **until})


class ApprovalRequested(RecordKind, frozen=True, kw_only=True):
    """A person is asked; records of earlier versions name no end."""

    filing = Filing(
        "decision/{decision_id}",
        "approval_requested:{verdict_seq}",
        tags=RUN,
        loose="dev intent_digest mode run_id",
        also="intent reason",
    )

    decision_id: str
    verdict_seq: int | None = None
    intent_digest: str
    author: str | None = None
    expires_us: int | None = None
    band: dict[str, Any] = field(default_factory=dict)
    verdict_digest: str = ""
    policy_digest: str = ""


def approval_resumed(case: Case, verdict: Record, *, run_id: str, expires_us: int) -> Draft:
    """Another run of the gateway keeps a hold that an earlier one began, until the same end."""
    resumed = ApprovalResumed(
        decision_id=case.decision_id,
        verdict_seq=verdict.seq,
        resumed_by=run_id,
        expires_us=expires_us,
    )
    return draft(case, resumed)


class ApprovalResumed(RecordKind, frozen=True, kw_only=True):
    """A hold that goes on in another run."""

    filing = Filing(
        "decision/{decision_id}", "approval_resumed:{resumed_by}", tags=RUN, loose="dev mode run_id"
    )

    decision_id: str
    verdict_seq: int
    resumed_by: str
    expires_us: int


def asked_until(policy: Policy, intent: Intent, verdict: Verdict, ends_us: int) -> dict[str, JSON]:
    """Return what a person who is asked must know: the end, and what a yes would cover."""
    return {
        "expires_us": ends_us,
        "band": document_of(band_of(policy, intent)),
        "verdict_digest": verdict.verdict_digest,
        "policy_digest": verdict.policy_digest,
    }


READABLE: Final = {
    Kind.INTENT_RECEIVED: ("request", "author"),
    Kind.FORECAST_TAKEN: ("instrument", "narrative"),
    Kind.SNAPSHOT_TAKEN: ("instrument", "as_of_us", "bars_digest", "news_digest"),
    Kind.FORECAST_MADE: ("forecast",),
    Kind.PLACEBO_MADE: ("forecast",),
    Kind.QUOTE_TAKEN: ("bid_ticks", "ask_ticks", "market_time_us"),
    Kind.INTENT_PROPOSED: ("intent", "sizing"),
    Kind.VERDICT_GIVEN: ("intent", "intent_digest", "verdict", "policy_digest", "result"),
    Kind.APPROVAL_REQUESTED: ("author", "band", "expires_us"),
}
"""What a person reads of each record; everything else is bound by the record's leaf."""


def readable(record: Record) -> dict[str, JSON]:
    """Return the fields that a person who is asked reads of a record."""
    named = READABLE.get(record.kind, ())
    return {name: record.body[name] for name in named if name in record.body}


class SheetShown(Contents, frozen=True, kw_only=True):
    """What an approver was shown: the sheet's digest in hex, and the record of his reading it."""

    sheet_digest: str
    read_seq: int


def approval_given(
    standing: Standing,
    approval: Approval,
    *,
    verdict_seq: int,
    note: str | None,
    shown: SheetShown | None = None,
) -> Draft:
    """A person agreed, within a band; the order must pass every rule again.

    `note` is the person's reason, `shown` what he read; both None in records of earlier versions.
    """
    given = ApprovalGiven(
        approver=approval.approver,
        intent_digest=approval.intent_digest,
        verdict_digest=approval.verdict_digest,
        verdict_seq=verdict_seq,
        expires_us=approval.expires_us,
        band=approval_document(approval),
        reason=note,
        shown=shown,
    )
    return order_draft(standing, given)


class ApprovalGiven(RecordKind, frozen=True, kw_only=True):
    """A person's yes."""

    filing = Filing(
        "decision/{decision_id}",
        "approval:{verdict_seq}",
        "person:{approver}",
        tags=ORDER,
        section=True,
        loose="band",
        also="author kill_epoch policy_digest role send_before_us",
    )

    approver: str
    intent_digest: str | None = None
    verdict_digest: str | None = None
    verdict_seq: int | None = None
    expires_us: int | None = None
    band: dict[str, Any]
    reason: str | None = None
    shown: SheetShown | None = None

    @property
    def approval(self) -> Approval:
        """The agreement, with its band."""
        return approval_of(self.band)


def approval_refused(
    standing: Standing, approver: str, note: str, *, verdict_seq: int, market_time_us: int
) -> Draft:
    """A person refused; the reservation ends."""
    refused = ApprovalRefused(
        approver=approver, verdict_seq=verdict_seq, market_time_us=market_time_us
    )
    return refused.draft(tags={**order_tags(standing), "reason": note})


class ApprovalRefused(RecordKind, frozen=True, kw_only=True):
    """A person's no."""

    filing = Filing(
        "decision/{decision_id}",
        "approval:{verdict_seq}",
        "person:{approver}",
        tags=ORDER,
        section=True,
        loose="market_time_us",
        also="author intent_digest role",
    )

    approver: str
    market_time_us: int
    reason: str = ""
    verdict_seq: int | None = None


def reservation_released(standing: Standing, reason: str, *, market_time_us: int) -> Draft:
    """A hold's reservation is free again."""
    return order_draft(standing, ReservationReleased(reason=reason, market_time_us=market_time_us))


class ReservationReleased(RecordKind, frozen=True, kw_only=True):
    """A reservation that ended without an order."""

    filing = Filing(
        "decision/{decision_id}",
        "released",
        tags=ACCOUNT,
        section=True,
        loose="market_time_us",
        also="reservation verdict_seq",
    )

    reason: str
    market_time_us: int


def result_of(action: Action) -> str:
    """Return what an action means for the order; a throttled order is refused, not queued."""
    if action <= Action.WARN:
        return "approved"
    return "held" if action is Action.HOLD else "rejected"


def result_under(
    intent: Intent,
    verdict: Verdict,
    state: RiskState,
    send_before_us: int,
    approval: Approval | None,
) -> str:
    """Return the result; a renewal is approved only if `approve` accepts it.

    Even a renewal that needs no person any more (ALLOW) is bound to the agreed band.
    """
    result = result_of(verdict.action)
    if approval is None or result == "rejected":
        return result
    try:
        approve(
            intent,
            verdict,
            bytes(32),  # no leaf exists yet; only band and persons are tested
            send_before_us,
            state.kill.egress_epoch,
            approval,
        )
    except ApprovalError:
        return "rejected"
    return "approved"
