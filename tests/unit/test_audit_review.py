"""What a hostile review of the outsider's verifier found; a test holds each answer."""

import base64
from collections.abc import Sequence

from audit.checkpoint import make_checkpoint
from audit.cosignature import cosign
from audit.merkle import consistency_path, leaf_hash, root_of
from audit.note import parse_note
from audit.verify import (
    INCOMPLETE,
    NOT_CHECKABLE,
    OK,
    TAMPERED,
    Outside,
    verify_note,
)
from tests.doubles.audit_log import SIGNER
from tests.doubles.cosigners import WITNESSES

KEY = str(SIGNER.vkey)
SHARED = [leaf_hash(b"shared %d" % n) for n in range(5)]
HONEST = SHARED + [leaf_hash(b"honest %d" % n) for n in range(15)]
FORKED = SHARED + [leaf_hash(b"forged %d" % n) for n in range(4)]
POLICY = f"witness w {WITNESSES[0].vkey}\nquorum w\n".encode()


def signed(leaves: Sequence[bytes], *times_s: int) -> bytes:
    """A checkpoint, cosigned at these times by one witness after the other."""
    made = parse_note(make_checkpoint(len(leaves), root_of(leaves), SIGNER).note)
    lines = [cosign(made.text, who, at) for who, at in zip(WITNESSES, times_s, strict=False)]
    return made.with_signatures(*lines).to_bytes()


def linked(old: int, leaves: Sequence[bytes], checkpoint: bytes) -> bytes:
    path = "".join(f"{base64.b64encode(node).decode()}\n" for node in consistency_path(leaves, old))
    return f"old {old}\n{path}\n".encode() + checkpoint


def test_only_what_contains_the_judged_tree_shows_that_it_is_public() -> None:
    kept, newest = signed(HONEST[:5], 7), signed(HONEST, 7)

    def judged(note: bytes, notes: Sequence[bytes], *links: bytes) -> int:
        given = Outside(vkeys=[KEY], policy=POLICY, notes=notes, links=links)
        return verify_note(note, given).exit_code

    honest = linked(5, HONEST, newest)
    assert judged(signed(HONEST[:5]), [], honest) == OK, "a later one that contains it"
    assert judged(signed(HONEST[:9]), [], linked(9, HONEST, newest)) == OK
    steps = (linked(9, HONEST[:12], signed(HONEST[:12])), linked(12, HONEST, newest))
    assert judged(signed(HONEST[:9]), [], *steps) == judged(signed(HONEST[:9]), [], *steps[::-1])
    assert judged(signed(HONEST[:9]), [], *steps) == OK
    assert judged(signed(HONEST[:9]), [kept], honest, *steps) == OK, "both are in the newest"
    forks = [linked(5, FORKED, signed(FORKED)), honest]
    for note in (signed(FORKED), signed([leaf_hash(b"other")] * 9)):
        for links in ([honest], forks, forks[::-1]):
            assert judged(note, [kept], *links) in {TAMPERED, INCOMPLETE}, "a fork's quorum"
    unasked = Outside(vkeys=[KEY], notes=[kept], links=[honest])
    assert verify_note(signed(FORKED), unasked).exit_code == NOT_CHECKABLE
    zero = [linked(0, FORKED, signed(FORKED)), linked(0, HONEST, newest)]
    assert judged(signed(FORKED), [signed([])], *zero) == INCOMPLETE, "all extend nothing"
