"""Stored headers, payloads and accounts held against leaves and columns: the second pass. Pure."""

from collections.abc import Iterable, Mapping
from typing import Any

from audit.upkeep.fsck.chunk import Finding
from audit.verifier.verify import TAMPERED, Bad, blobs_of, known, leaf_hash, read_record


def missing_values(row: Mapping[str, Any]) -> str:
    """Say which columns of a record have no value and must have one."""
    return ", ".join(
        f"{name} is NULL" for name, value in row.items() if value is None and name != "account"
    )


def judge_payloads(
    rows: Iterable[Mapping[str, Any]], log: str
) -> tuple[list[Finding], dict[str, int]]:
    """Hold stored headers, payloads and accounts against leaves and columns.

    Args:
        rows: with `seq`, `leaf`, `header`, `payload`, `account`, `payload_digest`.
        log: the log's name.

    Returns:
        What is wrong, and the blobs named, each with the first record that names it.
    """
    findings: list[Finding] = []
    blobs: dict[str, int] = {}
    for row in rows:
        try:
            head, body = _record(row, log)
            named = [*blobs_of(body)] if known(head) else []
        except (Bad, TypeError, AttributeError) as error:  # NULL breaks in many ways
            findings.append((TAMPERED, missing_values(row) or str(error), row["seq"]))
            continue
        for digest in named:
            blobs.setdefault(digest, row["seq"])
    return findings, blobs


def _record(row: Mapping[str, Any], log: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return a record's header and payload once leaf and columns agree with them."""
    if leaf_hash(row["header"]) != row["leaf"]:
        raise Bad("the leaf is not the header's hash")
    head, body = read_record(row["header"], row["payload"])
    stated = [row["account"], bytes(row["payload_digest"]).hex(), log]
    if stated != [body.get("account"), head["payload_sha256"], head["log"]]:
        raise Bad("account, payload_digest or log differs from the hashed bytes")
    return head, body
