"""A row of the ledger as it is written: a record with the columns stored beside it."""

from msgspec import Struct

from audit.records.personal import Sealed
from audit.records.record import Record


class Row(Struct, frozen=True, kw_only=True):
    """A record, its payload's account, its commitments' bytes joined, and the gateway's MAC.

    The MAC is not part of the record: it proves only to the gateway that the gateway wrote the row.
    """

    record: Record
    account: str | None
    commitments: bytes
    disclosures: tuple[Sealed, ...] = ()
    mac: bytes | None = None
