"""One row of the list of kinds, built from a line of field names."""

from dataclasses import dataclass

from audit.records.kind_names import Kind, StreamClass


@dataclass(frozen=True, slots=True, kw_only=True)
class KindSpec:
    """What a record of one kind looks like; `kinds` explains `section` and `firm_wide`.

    Attributes:
        idem: how callers form the idempotency key, which is unique within the stream.
        ledger_only: only the ledger itself writes this kind.
    """

    kind: Kind
    version: int
    stream: StreamClass
    fields: frozenset[str]
    optional: frozenset[str]
    idem: str
    section: bool
    firm_wide: bool
    ledger_only: bool


LEDGER = "ledger"
"""The actor of records that the ledger writes itself; no caller may use this name."""

RUN = " account run_id mode dev "
"""Fields of every record that belongs to one account's run."""

_MAY = " account? run_id? mode? dev? decision_id? detail? market_time_us? personal? "
"""Optional fields of every record that a caller writes."""


def spec(
    kind: Kind,
    stream: StreamClass,
    fields: str,
    idem: str,
    *,
    section: bool = False,
    firm_wide: bool = False,
    ledger_only: bool = False,
) -> KindSpec:
    """Build one row; a field name that ends in a question mark is optional."""
    names = [*fields.split(), *(() if ledger_only else _MAY.split())]
    required = frozenset(name for name in names if not name.endswith("?"))
    return KindSpec(
        kind=kind,
        version=1,
        stream=stream,
        fields=required,
        optional=frozenset(name[:-1] for name in names if name.endswith("?")) - required,
        idem=idem,
        section=section or firm_wide,
        firm_wide=firm_wide,
        ledger_only=ledger_only,
    )
