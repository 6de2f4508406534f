"""`export`: one decision as a bundle that proves itself."""

from pathlib import Path

from audit.errors import TrustPolicyError
from audit.evidence.bundle import NotYetSignedError, annotations_of, build_bundle
from audit.files import appearing, beside, named
from audit.tlog.note import parse_note
from audit.tlog.policy import QuorumPolicy
from audit.verifier.verify import Bundle, read_bundle, read_link
from gateway.clock import pause
from gateway.errors import StateInUseError
from gateway.evidence.publication.policy import read_policy
from gateway.installation.keys.rotation import open_ledger
from gateway.installation.place import Place

UNWITNESSED = (
    "the quorum has not cosigned it yet: with --policy it is incomplete; make it again later"
)
CADENCE_S = 2.0
"""A running gateway signs each second: after this pause a checkpoint covers all records."""


def export_decision(place: Place, decision_id: str, out: Path) -> int:
    """Write the bundle; sign a checkpoint first if its newest record has none.

    Raises:
        LedgerError: when there is no such decision.
        FileError: when `out` is no regular file.
    """
    _, policy = read_policy(place.settings.ledger)
    with appearing(out) as file:
        data = _bundle(place, decision_id, policy)
        file.write(data)
    bundle = read_bundle(data)
    notes = [bundle.note, *([read_link(bundle.link).note] if bundle.link else [])]
    beside(out).write(
        f"{named(out)}: {len(data)} bytes\n{unwitnessed(policy, *notes)}"
        f"{_annotated_later(place, decision_id, bundle)}"
        "check it with a copy of audit/verifier/verify.py that you trust and the log's key"
        " from outside:\n"
        f"  python audit/verifier/verify.py {named(out)} --key KEYFILE\n"
    )
    return 0


def _bundle(place: Place, decision_id: str, policy: QuorumPolicy | None) -> bytes:
    try:
        return build_bundle(place.reader, decision_id, policy)
    except NotYetSignedError:
        sign_missing(place)
        return build_bundle(place.reader, decision_id, policy)


def _annotated_later(place: Place, decision_id: str, bundle: Bundle) -> str:
    """Return how to prove the annotations that were made after the bundle's checkpoint."""
    there = {int(stem.partition("-")[0]) for stem in bundle.records}
    seqs = [one.seq for one in annotations_of(place.reader, decision_id) if one.seq not in there]
    lines = (f"  annotated later: countersign prove {seq} writes that proof\n" for seq in seqs)
    return "".join(lines)


def unwitnessed(policy: QuorumPolicy | None, *notes: bytes) -> str:
    """Return a warning if no given checkpoint meets the policy; empty if one does."""
    if policy is None:
        return ""
    for note in notes:
        try:
            policy.witnessed(parse_note(note))
        except TrustPolicyError:
            continue
        return ""
    return f"  {UNWITNESSED}\n"


def sign_missing(place: Place) -> None:
    """Sign the checkpoint that a stopped gateway did not sign; a running one signs its own."""
    try:
        lock = place.state.lock()
    except StateInUseError:
        pause(CADENCE_S)
        return
    with lock:
        _sign_stopped(place)


def _sign_stopped(place: Place) -> None:
    with open_ledger(place) as ledger:
        ledger.checkpoint_now()
