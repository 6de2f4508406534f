"""What the firm's other accounts have in the market."""

from dataclasses import dataclass

from risk.state.inputs.activity import OwnFill


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnOrder:
    """An order of any account of the firm that may still execute."""

    account: str
    decision_id: str
    instrument: str
    side: str
    open_lots: int
    limit_ticks: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Firm:
    """The firm's open and held orders in the intent's instrument, as folded up to a record.

    Attributes:
        basis_seq: Sequence number up to which the accounts' books were folded.
        orders: Sorted by account and decision.
        fills: Executions in the instrument in ten minutes, account by account.
    """

    basis_seq: int
    orders: tuple[OwnOrder, ...]
    fills: tuple[OwnFill, ...]
