"""Errors of the gateway.

GatewayError
├── SettingsError        a setting is missing, unknown or out of range
├── NoLedgerError        this folder or database holds no ledger
├── EarlierLedgerError   the ledger is of a form that is no longer read
├── StateInUseError      another gateway holds this state folder
├── CustodyError         other users can read or change key files
├── DoorError            another process could answer in the gateway's place
├── IntakeError          data from outside was refused
├── InstrumentsError     the table of instruments has faults
│   └── SourcesError     the description of the followed files has faults
├── PostgresError        the embedded PostgreSQL cannot be started
├── NotReadyError        a part that the request needs is not up
│   └── BusyError        too many intents are being handled
├── SessionLostError     the FIX session's folder is behind the ledger
├── LedgerLostError      the ledger stopped taking records during a run
├── RequestError         the caller's request cannot be carried out
│   ├── UnknownDecisionError
│   ├── UnknownInstrumentError
│   ├── UnknownOrderError
│   ├── NotCancellableError
│   ├── NotReplaceableError
│   ├── FeedRefusedError
│   ├── ApprovalRefusedError
│   ├── ReviewRefusedError
│   ├── ReleaseRefusedError
│   ├── StopRefusedError
│   ├── OverrideRefusedError
│   ├── ModeRefusedError
│   └── ResolutionRefusedError
├── OutOfScopeError      the agent's key does not cover the request
│   └── OverBudgetError
└── ReplayDiffersError   a recorded step does not recompute
"""

from dataclasses import dataclass
from typing import ClassVar

from typing_extensions import override


class GatewayError(Exception):
    """Root of this package's errors.

    `code` is stable and maps to an HTTP status in `gateway.surfaces.api.app`.
    """

    code: ClassVar[str] = "gateway"
    says: ClassVar[str] = ""

    @override
    def __str__(self) -> str:
        """Return `says` filled from the fields, or the arguments when `says` is empty."""
        return self.says.format(self=self) or super().__str__()


_FORM_6 = 6
"""The form in which a decision had its forecast inside."""


@dataclass(slots=True, kw_only=True)
class SettingsError(GatewayError):
    """A setting is wrong; the message names it and says what to do."""

    code: ClassVar[str] = "settings"
    says: ClassVar[str] = "setting {self.name}: {self.problem}"
    name: str
    problem: str


@dataclass(slots=True, kw_only=True)
class NoLedgerError(GatewayError):
    """The folder or database that a verb was given holds no ledger; the verb creates none."""

    code: ClassVar[str] = "no_ledger"
    says: ClassVar[str] = "no ledger in {self.where}: {self.advice}"
    where: str
    advice: str


@dataclass(slots=True, kw_only=True)
class EarlierLedgerError(GatewayError):
    """The ledger's records are of a form that is no longer read; nothing was changed."""

    code: ClassVar[str] = "earlier_ledger"
    says: ClassVar[str] = (
        "the records of this ledger are of form {self.form}, which commit {self.reads} is the last"
        " to read: keep it with that version, and begin a new ledger in a folder of its own"
        " (--state)"
    )
    form: int

    @property
    def reads(self) -> str:
        """The last commit that reads the form."""
        return "932434e3" if self.form < _FORM_6 else "6fbeddcd"


@dataclass(slots=True, kw_only=True)
class StateInUseError(GatewayError):
    """Another process holds this state folder."""

    code: ClassVar[str] = "state_in_use"
    says: ClassVar[str] = (
        "state folder {self.state} is in use by process {self.pid}: stop it, or choose another"
        " with COUNTERSIGN_STATE"
    )
    state: str
    pid: str


@dataclass(slots=True, kw_only=True)
class CustodyError(GatewayError):
    """Others may read or change key files; nothing was started."""

    code: ClassVar[str] = "custody"
    says: ClassVar[str] = "others can use or own keys: {self.problem}. Type: {self.commands}"
    problem: str
    commands: str


@dataclass(slots=True, kw_only=True)
class DoorError(GatewayError):
    """The socket of the local verbs is not the gateway's alone; no key was sent."""

    code: ClassVar[str] = "door"
    says: ClassVar[str] = (
        "{self.place} {self.problem}: no key was sent. Find out who made it, remove the"
        " folder, and start the gateway again"
    )
    place: str
    problem: str


@dataclass(slots=True, kw_only=True)
class IntakeError(GatewayError):
    """Data from outside was refused as a whole; the message says where and why.

    Only `seen` quotes the data; the other two have `SEEN` in its place. It goes back to who sent
    them, and into no record of what others wrote.
    """

    SEEN: ClassVar[str] = "{seen}"
    code: ClassVar[str] = "intake"
    where: str
    problem: str
    seen: str = ""

    @override
    def __str__(self) -> str:
        return ": ".join(self.told)

    @property
    def told(self) -> tuple[str, str]:
        """Where and what is wrong, for whoever sent the data."""
        return self._with(self.seen)

    @property
    def kept(self) -> tuple[str, str]:
        """Where and what is wrong, without a word of the data."""
        return self._with("(..)")

    def _with(self, word: str) -> tuple[str, str]:
        return self.where.replace(self.SEEN, word), self.problem.replace(self.SEEN, word)


@dataclass(slots=True, kw_only=True)
class InstrumentsError(GatewayError):
    """A table of instruments cannot be used; the message has a line for each fault."""

    code: ClassVar[str] = "instruments"
    file: str
    faults: tuple[str, ...]

    @override
    def __str__(self) -> str:
        count = f"{len(self.faults)} error{'s' * (len(self.faults) != 1)}"
        return "\n".join((f"{self.file}: {count}", *(f"  {one}" for one in self.faults)))


class SourcesError(InstrumentsError):
    """The description of the followed files cannot be used; a line for each fault."""

    code: ClassVar[str] = "sources"


@dataclass(slots=True, kw_only=True)
class NotReadyError(GatewayError):
    """A part that is needed is down; the caller may try again."""

    code: ClassVar[str] = "not_ready"
    says: ClassVar[str] = "{self.part} is {self.state}; nothing was sent"
    part: str
    state: str


@dataclass(slots=True, kw_only=True)
class BusyError(NotReadyError):
    """The desk has more to do than it can answer in time; nothing was begun."""

    code: ClassVar[str] = "busy"
    retry_after_s: int


@dataclass(slots=True, kw_only=True)
class UndecidedError(NotReadyError):
    """A decision has no answer yet; who asks again gets the same decision."""

    says: ClassVar[str] = "decision {self.part} is {self.state}; ask again with the same key"
    retry_after_s: int = 1


@dataclass(slots=True, kw_only=True)
class SessionLostError(GatewayError):
    """The FIX session cannot continue from its folder; nothing was written."""

    code: ClassVar[str] = "session_lost"
    folder: str
    lacking: tuple[str, ...]

    @override
    def __str__(self) -> str:
        return (
            f"{self.folder} is behind the ledger: {'; '.join(self.lacking)}. Nothing was written."
            " Bring fix/ of the old state folder; if it is lost, begin a new session on record:"
            " --new-fix-session 'REASON'"
        )


@dataclass(slots=True, kw_only=True)
class LedgerLostError(GatewayError):
    """The ledger became unavailable during a run; the run ends."""

    code: ClassVar[str] = "ledger_lost"
    says: ClassVar[str] = (
        "the ledger takes no more records ({self.detail}): nothing more was sent."
        " Look at the database, then start again: the next run recovers this one"
    )
    detail: str


@dataclass(slots=True, kw_only=True)
class RequestError(GatewayError):
    """The request cannot be carried out; the message says why."""

    code: ClassVar[str] = "request"
    says: ClassVar[str] = "{self.problem}"
    problem: str


class UnknownDecisionError(RequestError):
    """The ledger has no decision with this id."""

    code: ClassVar[str] = "unknown_decision"


class UnknownInstrumentError(RequestError):
    """No table of this gateway has the instrument."""


class UnknownOrderError(RequestError):
    """The caller has no order of this name; another's is not named."""

    code: ClassVar[str] = "unknown_order"


class NotCancellableError(RequestError):
    """Nothing of the order is left to cancel, or it is not at the broker."""

    code: ClassVar[str] = "not_cancellable"


class NotReplaceableError(RequestError):
    """The order stays as it is: its state, a stop, a rule or the broker's profile forbids it."""

    code: ClassVar[str] = "not_replaceable"


@dataclass(slots=True, kw_only=True)
class FeedRefusedError(RequestError):
    """An item was refused: another one has its sequence, or another source delivers the feed.

    `item` is its number in what was delivered, from 1.
    """

    code: ClassVar[str] = "feed_refused"
    item: int = 1


class ApprovalRefusedError(RequestError):
    """The approval was refused: wrong person, expired, nothing to approve, or outside the band."""

    code: ClassVar[str] = "approval_refused"


class ReviewRefusedError(RequestError):
    """The answer would not be blind, or is there already."""

    code: ClassVar[str] = "review_refused"


class ReleaseRefusedError(RequestError):
    """The kill was not released: two valid signatures from distinct roles are needed."""

    code: ClassVar[str] = "release_refused"


class StopRefusedError(RequestError):
    """A stop was not ended, or not carried out; the message says what to do."""

    code: ClassVar[str] = "stop_refused"


class OverrideRefusedError(RequestError):
    """An exceptional override was not granted or withdrawn; the message says why."""

    code: ClassVar[str] = "override_refused"


class PolicyRefusedError(RequestError):
    """A policy may not follow the one in force; the message says why."""

    code: ClassVar[str] = "policy_refused"


class AllocationRefusedError(RequestError):
    """A split is not the sealed one, or there is nothing to split yet; the message says which."""

    code: ClassVar[str] = "allocation_refused"


class ModeRefusedError(RequestError):
    """A mode may not begin; the message says everything that is missing."""

    code: ClassVar[str] = "mode_refused"


class ResolutionRefusedError(RequestError):
    """A difference was not resolved; the message says what is missing."""

    code: ClassVar[str] = "resolution_refused"


class AdjustmentRefusedError(RequestError):
    """An adjustment of a book would not apply; the message says what is there instead."""

    code: ClassVar[str] = "adjustment_refused"


@dataclass(slots=True, kw_only=True)
class OutOfScopeError(GatewayError):
    """The scope of the agent's key does not cover the request; no model was called.

    Attributes:
        bound: the part of the scope: `instrument`, `side`, `order_notional` ..
        limit: what the scope allows.
        observed: what was asked for.
        advice: the next thing that the key may do.
    """

    code: ClassVar[str] = "out_of_scope"
    says: ClassVar[str] = (
        "key {self.key}: {self.bound} {self.observed} is beyond its scope, which allows"
        " {self.limit}; {self.advice}"
    )
    key: str
    bound: str
    limit: str
    observed: str
    advice: str

    def details(self) -> dict[str, str]:
        """Return the fields for the answer."""
        return {
            "bound": self.bound,
            "limit": self.limit,
            "observed": self.observed,
            "next": self.advice,
        }


@dataclass(slots=True, kw_only=True)
class OverBudgetError(OutOfScopeError):
    """The key has used up its rate or its day's notional; it may ask again later.

    Attributes:
        retry_after_s: When the rate has room again; 0 where that is not known.
    """

    code: ClassVar[str] = "over_budget"
    retry_after_s: int = 0


@dataclass(slots=True, kw_only=True)
class PairMissingError(GatewayError):
    """What a decision's forecasts follow from is not at hand; nothing was judged."""

    code: ClassVar[str] = "pair_missing"
    says: ClassVar[str] = (
        "the decision names {self.named}, which is neither in {self.looked_in}"
        " nor among those that ship: set COUNTERSIGN_ENGINE__MODEL to that pair's folder"
    )
    named: str
    looked_in: str


@dataclass(slots=True, kw_only=True)
class ReplayDiffersError(GatewayError):
    """A step recomputed from the ledger differs from its record."""

    code: ClassVar[str] = "replay_differs"
    says: ClassVar[str] = "first differing step: {self.step}: {self.detail}"
    step: str
    detail: str


class PostgresError(GatewayError):
    """The embedded PostgreSQL cannot be set up or started."""

    code: ClassVar[str] = "postgres"
