"""Signed receipts: what the gateway told an agent, in a form that it cannot take back.

A start makes a key that lives in memory only; its public half is on record (`receipt_key`) before
the first receipt, so the signed tree says whose it is, and no file of it can be stolen (decision
057). A receipt signs the whole answer. The same answer has the same receipt while a process lives.

Not here: the check of a receipt (`gateway.evidence.publication.receipts`), proofs of
records (`proof`).
"""

import threading
from dataclasses import dataclass, field
from typing import Any, Final

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from audit.records.canonical import canonical
from gateway.desk.bodies.requests import IntentResponse, SignedReceipt
from gateway.walk.journal.control.receipt import ReceiptKey
from gateway.walk.ports import LedgerPort

FORM: Final = "countersign.receipt/1"


def statement(answer: dict[str, Any], receipt: dict[str, Any]) -> bytes:
    """Return the bytes that a receipt signs: its own fields and the answer without it.

    Raises:
        CanonicalError: the answer has a value that no answer has, such as a float.
    """
    said = {name: value for name, value in receipt.items() if name != "signature"}
    told = {name: value for name, value in answer.items() if name != "signed"}
    return canonical({**said, "answer": told})


@dataclass(slots=True)
class Receipts:
    """Signs the answers of one process; safe from any thread."""

    ledger: LedgerPort
    origin: str
    run_id: str
    _key: Ed25519PrivateKey = field(default_factory=Ed25519PrivateKey.generate)
    _seq: int | None = None
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def announce(self) -> int:
        """Put the public key on record, once; return the record's number.

        Raises:
            AuditError: the ledger does not take it; no receipt can be signed.
        """
        with self._lock:
            if self._seq is None:
                # a crash here leaves the public half of a key that signs nothing
                key = ReceiptKey(algorithm="ed25519", public=self._public(), run_id=self.run_id)
                (record,) = self.ledger.append(key.draft())
                self._seq = record.seq
            return self._seq

    def signed(self, answer: IntentResponse) -> IntentResponse:
        """Return an answer with its receipt.

        Raises:
            AuditError: the key is not on record yet, and the ledger does not take it.
        """
        unsigned: dict[str, Any] = {
            "form": FORM,
            "log": self.origin,
            "key": self._public(),
            "key_seq": self.announce(),
        }
        told = statement(answer.model_dump(mode="json"), unsigned)
        receipt = SignedReceipt(**unsigned, signature=self._key.sign(told).hex())
        return answer.model_copy(update={"signed": receipt})

    def _public(self) -> str:
        return self._key.public_key().public_bytes_raw().hex()
