"""The closed list of record kinds: stream, fields and guards of each.

Rules:

- A payload has every required field of its kind, any of the optional ones, and no other.
- A kind lives in one sort of stream.
- `section`: the record can change what a verdict rests on, so it moves the guard of its payload's
  `account`. `firm_wide`: it moves the guard of every account.
- A field whose name ends in `_blob` holds the SHA-256 of a stored blob in hex, or null.

Adding an optional field is a compatible change; anything else raises the kind's version. The rows
are written from the kinds' classes (`record_kind`) by `make kinds`.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from audit.records.kind_table import ROWS, SIGNED, Kind

__all__ = ["KINDS", "LEDGER", "MAY", "RUN", "Kind", "KindSpec", "StreamClass"]

LEDGER = "ledger"
"""The actor of records that the ledger writes itself; no caller may use this name."""
RUN: Final = frozenset({"account", "run_id", "mode", "dev"})
"""Fields of every record that belongs to one account's run."""
MAY: Final = RUN | {"decision_id", "detail", "market_time_us", "personal"}
"""Optional fields of every record that a caller writes."""


class StreamClass(StrEnum):
    """The sorts of streams; a name follows all but `control`."""

    CONTROL = "control"
    MARKET = "market/"
    DECISION = "decision/"
    FORECAST = "forecast/"
    INSTRUMENT = "instrument/"
    JOINT = "joint/"
    SAMPLER = "sampler/"
    SESSION = "session/"
    CASE = "case/"


@dataclass(frozen=True, slots=True, kw_only=True)
class KindSpec:
    """What a record of one kind looks like.

    Attributes:
        ledger_only: only the ledger itself writes this kind.
        signed: the purpose and the particulars that both officers sign of it; most have none.
        ends: the kind of the record that it ends, or empty.
    """

    kind: Kind
    version: int
    stream: StreamClass
    fields: frozenset[str]
    optional: frozenset[str]
    section: bool
    firm_wide: bool
    ledger_only: bool
    signed: tuple[str, ...] = ()
    ends: str = ""

    @property
    def own_optional(self) -> frozenset[str]:
        """The optional fields that not every record may have."""
        return self.optional if self.ledger_only else self.optional - MAY

    @property
    def signed_fields(self) -> tuple[str, ...]:
        """The fields that the signatures cover, and the signatures."""
        named = dict.fromkeys(re.findall(r"{(\w+)", " ".join(self.signed)))
        log = ("log_id",) if "log_id" in self.fields else ()
        return (*named, *log, "signatures") if self.signed else ()


def _read(row: str) -> KindSpec:
    """Read a row: name, stream and flags, then the fields, an optional one with `?`."""
    (name, stream, *flags), names = (part.split() for part in row.split("\n", 1))
    required = frozenset(name for name in names if not name.endswith("?"))
    optional = {name[:-1] for name in names if name.endswith("?")}
    ends, *signed = SIGNED.get(name, ("",))
    return KindSpec(
        kind=Kind(name),
        version=1,
        stream=StreamClass(stream),
        fields=required,
        optional=frozenset(optional | (set() if "ledger_only" in flags else MAY)) - required,
        section="section" in flags or "firm_wide" in flags,
        firm_wide="firm_wide" in flags,
        ledger_only="ledger_only" in flags,
        signed=tuple(signed),
        ends=ends,
    )


KINDS: Final[Mapping[Kind, KindSpec]] = {
    spec.kind: spec for spec in map(_read, re.split(r"\n(?=\S)", ROWS.strip()))
}
