"""verify and dump: the ledger against a key from outside, and the whole ledger as one file."""

import sys
from collections.abc import Sequence
from pathlib import Path

from audit.fsck import dump, verify_database, verify_dump
from audit.verify import INCOMPLETE, NOT_CHECKABLE, TAIL_S, Bad, Report, read_vkey
from gateway.attach import Place
from gateway.clock import pause, wall_us


def verify_ledger(place: Place, key: str | None, kept: Sequence[Path] = ()) -> int:
    """Verify the database; prints what was found; returns the verifier's exit code.

    Args:
        place: the ledger.
        key: see `trusted`.
        kept: files with checkpoints kept outside, which the log must contain.
    """
    try:
        keys, notes = trusted(key), [path.read_bytes() for path in kept]
    except (Bad, OSError) as error:
        return _not_checkable(error)
    report = verify_database(place.dsn, keys, notes, now_us=wall_us())
    if report.exit_code == INCOMPLETE and report.findings == 1 and report.unsigned_from is not None:
        pause(TAIL_S / 2)  # a gateway that was idle signs its first records only now
        report = verify_database(place.dsn, keys, notes, now_us=wall_us())
    return _print(report, place)


def verify_dump_file(path: Path, key: str | None, kept: Sequence[Path] = ()) -> int:
    """Verify a dump file; see `verify_ledger`."""
    try:
        report = verify_dump(path, trusted(key), [note.read_bytes() for note in kept])
    except (Bad, OSError) as error:
        return _not_checkable(error)
    return _print(report, None)


def dump_ledger(place: Place, path: Path) -> None:
    """Write the whole ledger to a file."""
    records = dump(place.dsn, path)
    sys.stdout.write(
        f"{records} records written to {path}\n"
        f"check with: countersign verify --dump {path} --key KEY\n"
    )


def trusted(key: str | None) -> tuple[str, ...]:
    """Return the trusted key lines: the text itself, or the lines of the file it names.

    Raises:
        Bad: it is no key.
    """
    if key is None:
        return ()
    path = Path(key)
    try:
        text = path.read_text(encoding="utf-8") if path.is_file() else key
    except UnicodeDecodeError as error:
        raise Bad(f"{key} holds no key: not UTF-8") from error
    lines = tuple(line.strip() for line in text.splitlines() if line.strip())
    for line in lines:
        read_vkey(line)
    return lines


def _not_checkable(error: Exception) -> int:
    sys.stdout.write(f"NOT CHECKABLE: {error}\n")
    return NOT_CHECKABLE


def _print(report: Report, place: Place | None) -> int:
    for line in report.lines:
        sys.stdout.write(f"{line}\n")
    if report.exit_code == 3 and place is not None:  # noqa: PLR2004 - not checkable: no key
        sys.stdout.write(
            "no trusted key was given. A verifier gets the log's key from outside;"
            f" this installation's own is {place.state.ledger_vkey}\n"
        )
    return int(report.exit_code)
