"""disavow: two officers leave one row out, which the gateway did not write and nobody can remove.

A row that somebody else put into the log stands in the tree for ever, and no start passes it.
Whoever holds the risk key and the compliance key may say, on record, that it counts for nothing:
readers that lead to an effect then pass over it, pages and proofs go on showing it. The gateway
must be stopped: it would not have started with that row.
"""

import sys
from pathlib import Path

from audit.errors import RowRefusedError
from audit.records.kinds import Kind
from audit.records.row_key import disavowal, signed_by_all
from audit.sequencer.ledger import Draft
from gateway.errors import RequestError
from gateway.installation.keys.keyring import SIGNING_ROLES, Keyring, role_key
from gateway.installation.keys.rotation import held_against_key, open_ledger, stopped
from gateway.installation.settings import Settings

ACTOR = "cli"


def disavow(settings: Settings, seq: int, reason: str, key_files: dict[str, Path | None]) -> int:
    """Put a row's disavowal on record, signed by both roles.

    Raises:
        RequestError: there is no such row, or it is the gateway's own.
        SettingsError: a key file holds no key.
        AuditError: the ledger does not take it.
    """
    origin = settings.ledger.origin
    with stopped(settings) as place:
        keyring = Keyring(place.state.keys)
        keys = {role: role_key(keyring, role, key_files.get(role)) for role in SIGNING_ROLES}
        with open_ledger(place) as ledger:
            stream, leaf = _stranger(place.reader.leaf(seq), seq)
            with held_against_key(place) as reader:
                try:
                    own = reader.record(seq)
                except RowRefusedError as refused:
                    if not refused.disavowable:
                        raise
                else:
                    raise _refused(
                        f"record {seq} is disavowed already"
                        if own is None
                        else f"record {seq} was written by this gateway: it cannot be disavowed"
                    )
            statement = disavowal(origin, seq, leaf)
            signatures = {role: key.sign(statement).hex() for role, key in keys.items()}
            if not signed_by_all(statement, signatures, keyring.public_keys()):
                raise _refused("both roles, risk and compliance, must sign with their present keys")
            ledger.append(
                Draft(
                    stream="control",
                    kind=Kind.RECORD_DISAVOWED,
                    payload={
                        "seq": seq,
                        "leaf": leaf.hex(),
                        "of_stream": stream,
                        "reason": reason,
                        "signatures": dict(signatures),
                    },
                    actor=ACTOR,
                    idem_key=f"disavowed:{seq}:{leaf.hex()}",
                )
            )
    sys.stdout.write(
        f"record {seq} in {stream} is disavowed: nothing is done on its word any more\n"
        "it stays in the log, where every proof shows it and the record that disavows it\n"
    )
    return 0


def _stranger(found: tuple[str, bytes] | None, seq: int) -> tuple[str, bytes]:
    if found is None:
        raise _refused(f"there is no record {seq}")
    return found


def _refused(problem: str) -> RequestError:
    return RequestError(problem=problem)
