"""The verb disavow: two officers exclude a row that the gateway did not write.

A row that an attacker put into the log stays in the tree, and no gateway starts with it. The
holders of the risk and the compliance key disavow it on record: readers that lead to an effect skip
it, pages and proofs still show it. The gateway must be stopped.
"""

import sys
from pathlib import Path

from audit.errors import RowRefusedError
from audit.records.record_kind import Filing, RecordKind
from audit.records.row_key import disavowal, signed_by_all
from gateway.errors import RequestError
from gateway.installation.keys.keyring import SIGNING_ROLES, Keyring, role_key
from gateway.installation.keys.rotation import held_against_key, open_ledger, stopped
from gateway.installation.settings import Settings

ACTOR = "cli"


class RecordDisavowed(RecordKind, frozen=True, kw_only=True):
    """A row that the gateway did not write, and does not act on; both officers signed."""

    filing = Filing("control", "disavowed:{seq}:{leaf}", ACTOR, firm_wide=True)

    seq: int
    leaf: str
    of_stream: str
    reason: str
    signatures: dict[str, str]


def disavow(settings: Settings, seq: int, reason: str, key_files: dict[str, Path | None]) -> int:
    """Record a row's disavowal, signed by both roles.

    Raises:
        RequestError: there is no such row, it is the gateway's own, or a key is not the role's.
        SettingsError: a key file holds no key.
        AuditError: the ledger does not take the record.
    """
    origin = settings.ledger.origin
    with stopped(settings) as place:
        keyring = Keyring(place.state.keys)
        keys = {role: role_key(keyring, role, key_files.get(role)) for role in SIGNING_ROLES}
        with open_ledger(place) as ledger:
            found = place.reader.leaf(seq)
            if found is None:
                raise _refused(f"there is no record {seq}")
            stream, leaf = found
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
                RecordDisavowed(
                    seq=seq,
                    leaf=leaf.hex(),
                    of_stream=stream,
                    reason=reason,
                    signatures=dict(signatures),
                ).draft()
            )
    sys.stdout.write(
        f"record {seq} in {stream} is disavowed: the gateway no longer acts on it\n"
        "it stays in the log; proofs show it and the record that disavows it\n"
    )
    return 0


def _refused(problem: str) -> RequestError:
    return RequestError(problem=problem)
