"""A row of the ledger as it is written: a record, and what is stored beside it."""

from msgspec import Struct

from audit.records.personal import Sealed
from audit.records.record import Record


class Row(Struct, frozen=True, kw_only=True):
    """A record, the account that its payload names, and its commitments' bytes, joined.

    The MAC is no part of the record: it says to the gateway that it wrote the row, to nobody else.
    """

    record: Record
    account: str | None
    commitments: bytes
    disclosures: tuple[Sealed, ...] = ()
    mac: bytes | None = None
