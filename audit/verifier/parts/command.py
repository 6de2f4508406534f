"""Verify files that Countersign hands out, without trusting who made them.

    python verify.py FILE --key VKEY [--policy POLICY] [--checkpoint NOTE] [--broker-fills FILE] ..

One file; it needs the standard library and cryptography. Take it, the key and the policy from
places you trust, never from beside FILE. It reads the formats with code of its own: it shares
nothing with the ledger that it judges.

The type of FILE is recognised by its content:

    bundle        ZIP: one decision, what it rests on, its checkpoint
    receipt       one decision's list of records and its seal, as a C2SP tlog-proof
    proof         one record (or a range of one stream) in the tree, as a C2SP tlog-proof
    consistency   a later checkpoint extends an earlier one (body of C2SP add-checkpoint)
    checkpoint    a C2SP signed note alone
    dump          JSON lines: the whole log
    folder        C2SP tlog-tiles: checkpoint and tile/..., the whole log's hashes and headers

Exit codes: 0 all as signed; 1 tampered; 2 incomplete (records, blobs or cosignatures missing);
3 not checkable (no trusted key, an unknown version, a signature type that is missing here).

Source: RFC 6962 section 2.1, RFC 9162 section 2.1, RFC 8785, https://c2sp.org/signed-note,
tlog-checkpoint, tlog-cosignature, tlog-policy, tlog-proof, tlog-tiles and tlog-witness.
"""

import argparse
import contextlib
import io
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from audit.verifier.parts.bundle import verify_bundle
from audit.verifier.parts.dump import verify_dump
from audit.verifier.parts.proof import verify_link, verify_note, verify_proof
from audit.verifier.parts.report import NOT_CHECKABLE, Bad, Report
from audit.verifier.parts.tiles import verify_tiles
from audit.verifier.parts.trust.brokerfile import BrokerFile, read_broker_files
from audit.verifier.parts.trust.checkpoint import Outside
from audit.verifier.parts.trust.note import BLANK, DASH, read_vkey
from audit.verifier.parts.trust.officers import read_officers

_BROKER = ("broker_fills", "broker_from", "broker_to", "broker_account", "officer")
_RECORD = ("disclosure", "header", "payload", *_BROKER)


HELP = """\
examples:
  verify.py DECISION.zip --key log.pub                 one decision, everything it rests on
  verify.py DECISION.receipt.tlog-proof --key log.pub --policy witnesses.policy
  verify.py 17.tlog-proof --key log.pub                one record
  verify.py 1200-3400.consistency --key log.pub --checkpoint kept.txt
  verify.py ledger.dump --key log.pub --checkpoint kept.txt
  verify.py tiles/ --policy witnesses.policy           a mirrored log
  verify.py ledger.dump --key log.pub --broker-fills fills.csv

what to bring, from places that you trust and not from beside FILE:
  a key        proves who signed; the owner of the log can still have rewritten it
  a policy     proves that witnesses saw the same log, so that no rewriting stays unseen
  a checkpoint that you kept earlier proves the same against your own memory
  the broker's fills prove the same against the broker: a ClOrdID is the hash of its approval,
               so a history that was written again does not match the fills of the true one
  both officers' keys  prove who signed the adjustments of a book, such as a trade by phone, and
               the disavowals; without them a fill that rests on one is not checkable

the broker's file is CSV with a header, or a FIX log (| or SOH) whose 35=8 messages count:
  cl_ord_id exec_id instrument side quantity price          needed; FIX names are taken too
  account time exec_type exec_ref_id orig_cl_ord_id fee     compared where they are given

exit codes:
  0  all as signed
  1  tampered: bytes, signatures or order are not what was signed
  2  incomplete: records, blobs, tiles or cosignatures are missing
  3  not checkable: no trusted key, unknown version, nothing to compare with, wrong arguments
the last line is the code's word and the first reason for it
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Verify a file from the command line; return the exit code."""
    parser = argparse.ArgumentParser(
        allow_abbrev=False,
        description="Verify a Countersign bundle, receipt, proof, checkpoint, dump or tiles.",
        epilog=HELP,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    many: dict[str, Any] = {"action": "append", "default": []}
    parser.add_argument("file", type=Path, help="what to judge; a folder for tiles")
    parser.add_argument("--key", **many, help="trusted log key (vkey), or a file with some")
    parser.add_argument("--policy", type=Path, help="C2SP tlog-policy: logs, witnesses, quorum")
    parser.add_argument("--checkpoint", **many, type=Path, help="a checkpoint that was kept")
    parser.add_argument("--consistency", **many, type=Path, help="proof between checkpoints")
    parser.add_argument("--rotation", **many, type=Path, help="signed change of the log's keys")
    parser.add_argument("--disclosure", **many, type=Path, help="a disclosed personal value")
    parser.add_argument("--broker-fills", **many, type=Path, help="the broker's own file of fills")
    parser.add_argument("--broker-from", default="", help="first day of that file, YYYYMMDD")
    parser.add_argument("--broker-to", default="", help="last day of that file, YYYYMMDD")
    parser.add_argument("--broker-account", **many, help="only this account must be in that file")
    parser.add_argument("--officer", **many, type=Path, help="an officer's .pub file; give both")
    parser.add_argument("--header", type=Path, help="the entry of a proof, if it is not in it")
    parser.add_argument("--payload", type=Path, help="the payload of the record that it proves")
    report = Report()
    try:
        report = _judge(parser.parse_args(arguments))
    except SystemExit as stop:  # argparse has said why; its own code 2 means incomplete here
        if not stop.code:
            raise
        report.find(NOT_CHECKABLE, "the arguments cannot be read; --help says more")
    except (OSError, Bad) as error:
        report.find(NOT_CHECKABLE, str(error))
    except Exception as error:  # noqa: BLE001 - whatever the input breaks is a finding
        report.caught(error)
    report.conclude()
    try:
        print(*report.lines, sep="\n", flush=True)
    except OSError as error:  # nobody heard the verdict
        sys.stdout = io.StringIO()  # or what is left fails once more at the end
        print(f"NOT CHECKABLE: the report cannot be written: {error}", file=sys.stderr)
        return NOT_CHECKABLE
    return report.exit_code


def _judge(asked: argparse.Namespace) -> Report:
    """Return the report on a file, whose type is told by its first bytes."""
    outside = Outside(
        vkeys=[key for given in asked.key for key in read_keys(given)],
        policy=None if asked.policy is None else asked.policy.read_bytes(),
        notes=[path.read_bytes() for path in asked.checkpoint],
        links=[path.read_bytes() for path in asked.consistency],
        rotations=[read_text(path) for path in asked.rotation],
        disclosures=[path.read_bytes() for path in asked.disclosure],
        fills=read_fills(
            asked.broker_fills, asked.broker_from, asked.broker_to, asked.broker_account
        ),
        officers=read_officers((path.name, read_text(path)) for path in asked.officer),
    )
    outside.check()
    if asked.file.is_dir():
        return _refuse(verify_tiles(asked.file, outside), asked, "tiles", *_RECORD)
    if asked.file.exists() and not asked.file.is_file():
        raise Bad(f"{asked.file} is a pipe or a device: save what comes from it to a file first")
    with asked.file.open("rb") as file:
        start = file.read(4096)
    whole = asked.file.read_bytes
    if start.startswith(b"PK"):
        return _refuse(verify_bundle(whole(), outside=outside), asked, "a bundle", *_RECORD[1:3])
    if start.startswith(b"c2sp.org/tlog-proof"):
        header, payload = (path and path.read_bytes() for path in (asked.header, asked.payload))
        return _refuse(verify_proof(whole(), outside, header, payload), asked, "a proof", *_BROKER)
    if start.startswith(b"old "):
        return _refuse(verify_link(whole(), outside), asked, "a consistency proof", *_RECORD)
    if b"\n\n" + DASH.encode() in start.replace(b"\r", b""):
        return _refuse(verify_note(whole(), outside), asked, "a checkpoint", *_RECORD)
    if start and not start.startswith(b"{"):
        raise Bad(f"{asked.file} is none of the files that --help names")
    with asked.file.open("rb") as lines:
        report = verify_dump(watched(lines, asked.file.stat().st_size), (), (), outside)
    return _refuse(report, asked, "a dump", "consistency", "header", "payload")


def _refuse(report: Report, asked: argparse.Namespace, sort: str, *names: str) -> Report:
    """Report options that do not apply to such a file: silence would read as a check."""
    for name in names:
        if getattr(asked, name):
            report.find(NOT_CHECKABLE, f"--{name.replace('_', '-')} does not apply to {sort}")
    return report


def read_fills(
    paths: Sequence[Path], first_day: str, last_day: str, accounts: Sequence[str]
) -> BrokerFile | None:
    """Return what the broker's files tell, None without one; Bad names an unreadable line."""
    if paths:
        files = [(path.name, path.read_bytes()) for path in paths]
        return read_broker_files(files, first_day, last_day, accounts)
    if first_day or last_day or accounts:
        raise Bad("--broker-from, --broker-to and --broker-account need --broker-fills")
    return None


def read_text(path: Path) -> str:
    """Return a file's text with its own line ends; raise Bad if it is not UTF-8."""
    try:
        return path.read_bytes().decode()
    except ValueError as error:
        raise Bad(f"{path} is not UTF-8") from error


def watched(lines: Iterable[bytes], size: int) -> Iterator[bytes]:
    """Yield lines; print progress to stderr every two seconds."""
    done, said = 0, time.monotonic()
    for line in lines:
        yield line
        done += len(line)
        if time.monotonic() - said > 2:  # noqa: PLR2004 - seconds
            said = time.monotonic()
            print(f"{100 * done // max(size, 1)} % read", file=sys.stderr)


def read_keys(given: str) -> tuple[str, ...]:
    """Return trusted keys from text or a file with one a line; raise Bad if one is malformed."""
    with contextlib.suppress(Bad):
        read_vkey(given)
        return (given.strip(BLANK),)
    try:
        text = read_text(Path(given))
    except OSError:
        if "+" in given:
            read_vkey(given)  # raises the reason
        raise
    keys = tuple(line.strip(BLANK) for line in text.split("\n") if line.strip(BLANK))
    for key in keys:
        read_vkey(key)
    if not keys:
        raise Bad(f"{given} holds no key")
    return keys


if __name__ == "__main__":
    sys.exit(main())
