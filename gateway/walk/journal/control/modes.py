"""Records of the mode in which a gateway serves, and of what is registered and promoted to run.

Not here: which mode may begin (`gateway.desk.officers.governing.modes`).
"""

from collections.abc import Mapping, Sequence
from enum import StrEnum

from audit.records.canonical import JSON
from audit.records.kinds import Kind
from audit.records.record import Draft
from gateway.walk.journal.contents import Contents
from gateway.walk.journal.decision import digest_of
from gateway.walk.ports import Tags


class Mode(StrEnum):
    """What a gateway's decisions lead to.

    Attributes:
        PAPER: orders to a counterparty that trades no money.
        SHADOW: decisions on record, and nothing is sent.
        PILOT: orders within further limits.
        LIVE: orders.
    """

    PAPER = "paper"
    SHADOW = "shadow"
    PILOT = "pilot"
    LIVE = "live"

    @property
    def risks_money(self) -> bool:
        """Whether its orders may trade money."""
        return self in {Mode.PILOT, Mode.LIVE}


def mode_entered(
    tags: Tags,
    *,
    before: str,
    sender: str,
    target: str,
    limits: str = "",
    log: str = "",
    signatures: Mapping[str, str],
) -> Draft:
    """From this record on the ledger's mode is the tags'; account and CompIDs belong to it."""
    payload: dict[str, JSON] = {
        **tags.document(),
        "before": before,
        "sender": sender,
        "target": target,
    }
    if limits:
        payload["limits"] = limits
    if signatures:
        payload |= {"log_id": log, "signatures": dict(signatures)}
    return Draft(
        stream="control",
        kind=Kind.MODE_ENTERED,
        payload=payload,
        actor="gateway",
        idem_key=f"mode:{tags.run_id}",
    )


class ModeEntered(Contents, frozen=True, kw_only=True):
    account: str
    mode: str
    before: str
    sender: str
    target: str
    limits: str = ""


def digests_registered(
    digests: Mapping[str, str], actor: str, reason: str, *, number: int
) -> Draft:
    """What may run, by SHA-256 (hex); `number` tells two registrations of the same apart."""
    return Draft(
        stream="control",
        kind=Kind.DIGESTS_REGISTERED,
        payload={"digests": dict(digests), "actor_name": actor, "reason": reason},
        actor=f"person:{actor}",
        idem_key=f"registered:{digest_of(dict(digests))[:32]}:{number}",
    )


class DigestsRegistered(Contents, frozen=True, kw_only=True):
    digests: dict[str, str]


def promotion_tested(  # noqa: PLR0913 - the record's fields
    *,
    model_id: str,
    model_digest: str,
    gate: str,
    failed: Sequence[str],
    report_blob: str,
    actor: str,
    reason: str,
    number: int,
) -> Draft:
    """What the promotion gate found, also where it refuses; its report is the blob."""
    return Draft(
        stream="control",
        kind=Kind.PROMOTION_TESTED,
        payload={
            "model_id": model_id,
            "model_digest": model_digest,
            "gate": gate,
            "passed": not failed,
            "failed": list(failed),
            "report_blob": report_blob,
            "actor_name": actor,
            "reason": reason,
        },
        actor=f"person:{actor}",
        idem_key=f"promotion:{model_digest}:{number}",
    )


class PromotionTested(Contents, frozen=True, kw_only=True):
    model_id: str
    model_digest: str
    gate: str
    passed: bool
    failed: list[str]
    report_blob: str
    actor_name: str
    reason: str


def model_promoted(
    tested: PromotionTested, tested_seq: int, *, log: str, signatures: Mapping[str, str]
) -> Draft:
    """From this record on the model may serve with money; both officers signed its report."""
    return Draft(
        stream="control",
        kind=Kind.MODEL_PROMOTED,
        payload={
            "model_id": tested.model_id,
            "model_digest": tested.model_digest,
            "tested_seq": tested_seq,
            "report_blob": tested.report_blob,
            "log_id": log,
            "signatures": dict(signatures),
        },
        actor="gateway",
        idem_key=f"promoted:{tested_seq}",
    )


class ModelPromoted(Contents, frozen=True, kw_only=True):
    model_id: str
    model_digest: str
    tested_seq: int
    report_blob: str
    signatures: dict[str, str]
