"""`verify-receipt`: an answer's receipt against its signature and this ledger.

Not here: receipts of decisions as proofs (`proof`), the making of an answer's (`desk.receipts`).
"""

import json
from pathlib import Path
from typing import Any, Final

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from pydantic import ValidationError

from audit.errors import CanonicalError
from audit.records.kinds import Kind
from audit.store.reader import LedgerReader
from gateway.desk.bodies.requests import SignedReceipt
from gateway.desk.intake.receipts import FORM, statement
from gateway.walk.journal.control.receipt import ReceiptKey

GOOD: Final = 0
TAMPERED: Final = 1
INCOMPLETE: Final = 2
NOT_CHECKABLE: Final = 3
FILE_BYTES_MAX: Final = 1_048_576


class ReceiptError(Exception):
    """A receipt does not hold; `exit_code` says how."""

    def __init__(self, exit_code: int, text: str) -> None:
        super().__init__(text)
        self.exit_code = exit_code


def check_file(reader: LedgerReader, origin: str, file: Path) -> tuple[int, str]:
    """Return the exit code and a line for the person who asks about a saved answer."""
    try:
        answer = _read(file)
        receipt = _signed(answer, origin)
        _refuse_disavowed(reader, answer, receipt)
        _on_record(reader, answer, receipt)
    except ReceiptError as found:
        return found.exit_code, f"{file}: {found}"
    return GOOD, (
        f"{file}: the gateway answered {answer['result']} on {answer['decision_id']}, signed by the"
        f" key of record {receipt.key_seq}"
    )


def _read(file: Path) -> dict[str, Any]:
    try:
        with file.open("rb") as opened:
            answer = json.loads(opened.read(FILE_BYTES_MAX))
    except (OSError, ValueError, RecursionError) as error:
        raise ReceiptError(NOT_CHECKABLE, f"cannot be read: {error}") from None
    if not isinstance(answer, dict) or not isinstance(answer.get("signed"), dict):
        text = "has no receipt: save the whole answer to POST /v1/intents"
        raise ReceiptError(NOT_CHECKABLE, text)
    return answer


def _signed(answer: dict[str, Any], origin: str) -> SignedReceipt:
    """Return the receipt of an answer, after its signature was checked."""
    try:
        receipt = SignedReceipt.model_validate(answer["signed"])
        told = statement(answer, answer["signed"])
        key = Ed25519PublicKey.from_public_bytes(bytes.fromhex(receipt.key))
        key.verify(bytes.fromhex(receipt.signature), told)
    except ValidationError as error:
        fault = error.errors()[0]
        where = ".".join(map(str, fault["loc"]))
        raise ReceiptError(NOT_CHECKABLE, f"the receipt's {where}: {fault['msg']}") from None
    except (InvalidSignature, CanonicalError, ValueError):
        raise ReceiptError(TAMPERED, "the signature is not that of this answer") from None
    if receipt.form != FORM:
        raise ReceiptError(NOT_CHECKABLE, f"the form {receipt.form} is not known here")
    if receipt.log != origin:
        raise ReceiptError(NOT_CHECKABLE, f"is of the log {receipt.log}; this one is {origin}")
    return receipt


def _refuse_disavowed(reader: LedgerReader, answer: dict[str, Any], receipt: SignedReceipt) -> None:
    """Refuse a receipt that rests on a record which two officers disavowed; name both records."""
    gone = reader.disavowals()
    for seq in (receipt.key_seq, answer.get("record_seq")):
        if seq in gone:
            text = f"record {seq}, on which it rests, is disavowed by record {gone[seq]}:"
            raise ReceiptError(TAMPERED, f"{text} the gateway did not write it")


def _on_record(reader: LedgerReader, answer: dict[str, Any], receipt: SignedReceipt) -> None:
    """Require the key's record and the record that the answer names."""
    announced = reader.record(receipt.key_seq)
    if announced is None:
        text = f"record {receipt.key_seq}, which has the key, is missing here"
        raise ReceiptError(INCOMPLETE, text)
    if announced.kind is not Kind.RECEIPT_KEY or ReceiptKey.of(announced).public != receipt.key:
        raise ReceiptError(TAMPERED, f"record {receipt.key_seq} does not announce the key")
    seq = answer.get("record_seq")
    record = reader.record(seq) if type(seq) is int else None
    if record is None:
        raise ReceiptError(INCOMPLETE, f"record {seq}, which the answer names, is missing here")
    expected = (f"decision/{answer.get('decision_id')}", answer.get("record_leaf"))
    if (record.stream, record.leaf.hex()) != expected:
        raise ReceiptError(TAMPERED, f"record {seq} is another one than the answer names")
