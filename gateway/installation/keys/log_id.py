"""The log id, by which every statement of officers names its ledger."""

from audit.store.reader import LedgerReader
from gateway.errors import NotReadyError


def log_id(reader: LedgerReader, origin: str) -> str:
    """Return the log id.

    Raises:
        NotReadyError: the ledger is empty.
        LedgerError: the ledger cannot be read.
    """
    first = reader.record(0)
    if first is None:
        raise NotReadyError(part="ledger", state="empty: it has no log id yet")
    return f"{origin}#{first.leaf.hex()}"
