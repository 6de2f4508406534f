"""The record of the key that signs receipts.

Not here: what a receipt says (`gateway.desk.intake.receipts`).
"""

from audit.records.record_kind import Filing, RecordKind


class ReceiptKey(RecordKind, frozen=True, kw_only=True):
    """The public half (hex) of the key that signs a run's receipts."""

    filing = Filing("control", "receipt_key:{public}")

    algorithm: str
    public: str
    run_id: str
