"""Golden evidence on which two verifiers once gave two answers: odd spellings, numbers, keys."""

import base64
import json
from collections.abc import Mapping
from dataclasses import replace
from hashlib import sha256

from audit.evidence.receipt import prove_record
from audit.records.canonical import canonical
from audit.tlog.checkpoint import make_checkpoint
from audit.tlog.proof import parse_proof
from tests.doubles.audit_log import SIGNER, MemoryLog, dump_of, note
from tests.doubles.cosigners import WITNESSES, Cosigner
from tests.doubles.evidence_collection import (
    KEY,
    NOT_CHECKABLE,
    OK,
    TAMPERED,
    Collection,
    with_extra,
)
from tests.doubles.evidence_limits import OddLog
from tests.doubles.evidence_log import MemoryReader
from tests.doubles.evidence_maps import STREAM, bundle_of, maps_of, receipt_of

BLANKS = {"nbsp": "\u00a0", "nel": "\u0085", "bom": "\ufeff", "line": "\u2028"}
"""What one language's idea of white space or of a line's end takes in, and another's does not."""


def add_parity(found: Collection) -> None:
    """Everything here; what comes from outside is a file too."""
    _statements(found)
    _outside(found)
    _numbers(found)
    _disclosures(found)
    _keys_twice(found)


def _statements(found: Collection) -> None:
    """Changes of keys that are no text, and wrong ones given beside sound files."""
    data = found.files["rotated-old.receipt"]
    keys = json.loads(parse_proof(data).extra)["keys"]
    for name, odd in (("list", [keys]), ("number", [7]), ("null", [None])):
        changed = with_extra(data, keys=odd)
        why = f"a change of keys inside is a {name}"
        found.add(f"statement-{name}.receipt", changed, KEY, TAMPERED, why)
    for name, body in (("none", {}), ("list", {"statement": keys})):
        log = OddLog().add("control", "key_rotated", body).signed()
        dump = b"".join(dump_of(log))
        found.add(f"statement-{name}.jsonl", dump, KEY, TAMPERED, "the record holds no statement")
    crlf = found.files["rotation.statement"].replace(b"\n", b"\r\n")
    found.files["rotation-crlf.statement"] = crlf
    arguments = (*KEY, "--rotation", "rotation-crlf.statement")
    found.ask("rotated.note", arguments, NOT_CHECKABLE, "the rotation has other line ends")
    for name in ("other", "half", "size", "v2", "crlf"):
        arguments = (*KEY, "--rotation", f"rotation-{name}.statement")
        why = f"sound, beside a change of keys that says nothing: {name}"
        for file in ("first.note", "d1.receipt", "d1.zip", "dump.jsonl", "tiles-small"):
            found.ask(file, arguments, NOT_CHECKABLE, why)


def _outside(found: Collection) -> None:
    """Keys and policies between characters that some call blank."""
    key, after = str(SIGNER.vkey), found.files["next.pub"].decode().strip()
    sorts: Mapping[str, str] = {**BLANKS, "cr": "\r"}
    for name, blank in sorts.items():
        text = f"{key}{blank}{after}\n"
        found.files[f"{name}.pub"] = text.encode()
        why = f"two keys with no line's end between them: {name}"
        found.ask("first.note", ("--key", f"{name}.pub"), NOT_CHECKABLE, why)
    found.files["mark.pub"] = f"\ufeff{key}\n".encode()
    found.ask("first.note", ("--key", "mark.pub"), NOT_CHECKABLE, "a mark before the key")
    found.files["blanks.pub"] = f" \t{key} \r\n\r\n\t{after}\r\n".encode()
    found.ask("first.note", ("--key", "blanks.pub"), OK, "plain blanks, other line ends")
    witness = f"witness w {WITNESSES[0].vkey}"
    for name, blank in BLANKS.items():
        for sort, lines in (("log", (f"log {key}{blank}",)), ("witness", (f"{witness}{blank}",))):
            policy = "\n".join((f"log {key}" if sort == "witness" else "", *lines, "quorum none\n"))
            found.files[f"{sort}-{name}.policy"] = policy.encode()
            arguments = ("--policy", f"{sort}-{name}.policy")
            why = f"a character after the {sort}'s key: {name}"
            found.ask("first.note", arguments, NOT_CHECKABLE, why)


def _numbers(found: Collection) -> None:
    """The largest sizes and times."""
    large = make_checkpoint(2**60, bytes(32), SIGNER).note
    found.add("large.note", large, KEY, OK, "a tree of 2^60: 3 without such numbers")
    found.files["w.policy"] = f"witness w {WITNESSES[0].vkey}\nquorum w\n".encode()
    arguments = (*KEY, "--policy", "w.policy")
    for time_s in (9_223_372_036_854, 9_223_372_036_855, 2**53, 2**63 - 1):
        data = _seen(make_checkpoint(7, bytes(32), SIGNER).note, WITNESSES[0], time_s)
        found.add(f"at-{time_s}.note", data, arguments, OK, "cosigned in a far future")


def _seen(data: bytes, witness: Cosigner, time_s: int) -> bytes:
    text = data[: data.rindex(b"\n\n") + 1]
    signature = witness.sign(b"cosignature/v1\ntime %d\n" % time_s + text)
    line = base64.b64encode(witness.vkey.key_id + time_s.to_bytes(8, "big") + signature)
    return data + f"\u2014 {witness.vkey.name} {line.decode()}\n".encode()


def _disclosures(found: Collection) -> None:
    """A disclosure with bits that its last letter has no use for, and of the other alphabet."""
    plain = base64.urlsafe_b64encode(canonical(["aa", "p", "v"])).rstrip(b"=")
    last = plain[-1:].decode()
    stray = plain[:-1] + bytes([ord(last) + 1])
    assert len(plain) % 4, "its last letter must have bits to spare"
    other = base64.b64encode(canonical(["a", "p", "\u00ff\u00ff\u00ff"])).rstrip(b"=")
    assert b"/" in other or b"+" in other
    padded = base64.urlsafe_b64encode(canonical(["aa", "p", "v"]))
    assert padded.endswith(b"=")
    for name, text in (("stray", stray), ("alphabet", other), ("padded", padded)):
        log = MemoryLog()
        log.append(replace(note("one"), commitments=(sha256(text).hexdigest(),)))
        log.checkpoint()
        found.files[f"{name}.disclosure"] = text
        proof = prove_record(MemoryReader(log), 0)
        arguments = (*KEY, "--disclosure", f"{name}.disclosure")
        why = f"commits to another spelling of a disclosure: {name}"
        found.add(f"disclosed-{name}.tlog-proof", proof, arguments, TAMPERED, why)


def _keys_twice(found: Collection) -> None:
    """One idempotency key twice in one stream, which no log takes; in two streams it is two."""
    for name, keys, code in (("twice", ("k", "k"), TAMPERED), ("apart", ("k", "l"), OK)):
        odd = OddLog().add("control", "operator_note", {"text": "one"}, idem_key="k")
        odd.add(STREAM, "reservation_released", {}, idem_key=keys[0])
        log = odd.add(STREAM, "decision_sealed", {}, idem_key=keys[1]).signed()
        why = f"keys of two records of the decision: {' and '.join(keys)}"
        found.add(f"key-{name}.jsonl", b"".join(dump_of(log)), KEY, code, why)
        found.add(f"key-{name}.zip", bundle_of(log, range(4)), KEY, code, why)
        found.add(f"key-{name}.receipt", receipt_of(log, maps_of(log)), KEY, code, why)
