"""export: one decision as a bundle that proves itself without us."""

import sys
from pathlib import Path

from audit.export import NotYetSignedError, build_bundle
from audit.keys import FileSigner
from audit.ledger import Ledger, LedgerConfig
from gateway import clock
from gateway.attach import Place


def export_decision(place: Place, decision_id: str, out: Path) -> int:
    """Write the bundle; signs a checkpoint first when the newest record has none yet.

    Raises:
        LedgerError: there is no such decision.
    """
    try:
        data = build_bundle(place.reader, decision_id)
    except NotYetSignedError:
        _sign(place)
        data = build_bundle(place.reader, decision_id)
    out.write_bytes(data)
    sys.stdout.write(
        f"{out}: {len(data)} bytes\n"
        "check it with a copy of audit/verify.py that you trust and the log's key from outside:\n"
        f"  python audit/verify.py {out} --key KEYFILE\n"
    )
    return 0


def _sign(place: Place) -> None:
    """Make the checkpoint that a stopped gateway did not get to; refused while one runs."""
    signer = FileSigner.load(place.state.ledger_key, place.settings.ledger.origin)
    with Ledger.open(LedgerConfig(dsn=place.dsn), signer, clock.wall_us) as ledger:
        ledger.checkpoint_now()
