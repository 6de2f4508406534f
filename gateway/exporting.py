"""export: one decision as a bundle that proves itself without us."""

from pathlib import Path

from audit.export import NotYetSignedError, build_bundle
from audit.whole_file import appearing, beside
from gateway.attach import Place
from gateway.clock import pause
from gateway.errors import StateInUseError
from gateway.rotating import open_ledger
from gateway.witness_policy import read_policy

CADENCE_S = 2.0
"""A running gateway signs each second; after this its checkpoint covers what was recorded."""


def export_decision(place: Place, decision_id: str, out: Path) -> int:
    """Write the bundle; signs a checkpoint first when the newest record has none yet.

    Raises:
        LedgerError: there is no such decision.
        FileError: something that is no file has that name.
    """
    with appearing(out) as file:
        data = _bundle(place, decision_id)
        file.write(data)
    beside(out).write(
        f"{out}: {len(data)} bytes\n"
        "check it with a copy of audit/verify.py that you trust and the log's key from outside:\n"
        f"  python audit/verify.py {out} --key KEYFILE\n"
    )
    return 0


def _bundle(place: Place, decision_id: str) -> bytes:
    _, policy = read_policy(place.settings.ledger)
    try:
        return build_bundle(place.reader, decision_id, policy)
    except NotYetSignedError:
        sign_missing(place)
        return build_bundle(place.reader, decision_id, policy)


def sign_missing(place: Place) -> None:
    """Make the checkpoint that a stopped gateway did not get to; a running one makes its own."""
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
