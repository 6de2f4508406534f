"""The record of the key that signs receipts.

Not here: what a receipt says (`gateway.desk.intake.receipts`).
"""

from audit.records.kinds import Kind
from audit.records.record import Draft
from gateway.walk.journal.contents import Contents
from gateway.walk.journal.decision import GATEWAY


def receipt_key(public: str, run_id: str) -> Draft:
    """The public half (hex) of the key that signs a run's receipts."""
    return Draft(
        stream="control",
        kind=Kind.RECEIPT_KEY,
        payload={"algorithm": "ed25519", "public": public, "run_id": run_id},
        actor=GATEWAY,
        idem_key=f"receipt_key:{public}",
    )


class ReceiptKey(Contents, frozen=True, kw_only=True):
    algorithm: str
    public: str
    run_id: str
