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


@dataclass(frozen=True, slots=True, kw_only=True)
class Basket:
    """The group of orders to which the intent belongs; alone, the others have no value.

    Attributes:
        group: The group's name; empty for an order by itself.
        others_minor: Value of the other orders of the group, each at its worst price.
    """

    group: str
    others_minor: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelGross:
    """Absolute value of the firm's positions that forecasts of one model decided last."""

    model_digest: str
    gross_minor: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Crowd:
    """What the firm's strategies have in common.

    Attributes:
        basis_seq: Sequence number up to which records were folded.
        accounts: The accounts that were folded, sorted.
        models: Positions by model, sorted; positions without a decision have an empty digest.
        pairs: Pairs of strategies with a last intent in the same instrument.
        agreeing: Of them, those whose last intents have the same side.
    """

    basis_seq: int
    models: tuple[ModelGross, ...]
    pairs: int
    agreeing: int
    accounts: tuple[str, ...] = ()
