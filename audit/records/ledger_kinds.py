"""Kinds of the ledger itself: its keys, restores, rows, witnesses, persons, heads, ends of runs.

Not here: what a row means, and the rows of the walk (`kinds`).
"""

from typing import Final

from audit.records.kind_names import Kind, StreamClass
from audit.records.kind_spec import RUN, KindSpec
from audit.records.kind_spec import spec as _spec

_C = StreamClass.CONTROL

LEDGER_KINDS: Final[tuple[KindSpec, ...]] = (
    _spec(
        Kind.KEY_ROTATED, _C, "statement old_vkey new_vkey from_size from_us", "rotated:<key id>"
    ),
    _spec(Kind.KEY_REVOKED, _C, "statement vkey from_us reason?", "revoked:<key id>"),
    _spec(Kind.KEY_DESTROYED, _C, "vkey", "destroyed:<key id>"),
    _spec(
        Kind.LEDGER_RESTORED,
        _C,
        "size root known_size lost reason backup_sha256",
        "restored:<size>:<known_size>",
    ),
    _spec(Kind.ROWS_ACCEPTED, _C, "size root reason", "rows_accepted:<size>:<root>"),
    _spec(
        Kind.RECORD_DISAVOWED,
        _C,
        "seq leaf of_stream reason signatures",
        "disavowed:<seq>:<leaf>",
        firm_wide=True,
    ),
    _spec(
        Kind.OFFICER_KEY_CHANGED, _C, "role name before after reason signatures", "officer_key:<n>"
    ),
    _spec(
        Kind.WITNESS_EVENT,
        _C,
        "event cosigned_size policy_digest witnesses waiting_us?",
        "witness:<run_id>:<n>",
    ),
    _spec(Kind.HOLD_PLACED, _C, "hold_id scope reason placed_by", "hold:<hold_id>"),
    _spec(Kind.HOLD_LIFTED, _C, "hold_id reason lifted_by", "hold_lifted:<hold_id>"),
    _spec(
        Kind.RETENTION_EXPIRED,
        _C,
        "subject classes records newest_us kept_until_us retention_years?",
        "retention_expired:<subject>",
    ),
    _spec(
        Kind.SUBJECT_ERASED,
        _C,
        "subject basis erased_by erased_us records fields fields_blob? retention_years?",
        "erased:<subject>",
    ),
    _spec(
        Kind.PERSONAL_DISCLOSED,
        _C,
        "seq subjects positions reader reason",
        "disclosed:<seq>:<reader>:<time>",
    ),
    _spec(
        Kind.STREAM_HEADS,
        _C,
        "heads part parts",
        "heads:<tree size before it>:<part>",
        ledger_only=True,
    ),
    _spec(
        Kind.RUN_FINISHED, _C, RUN + "summary elapsed_us? outcome? detail?", "run_finished:<run_id>"
    ),
)
