"""verify and dump: the ledger against a key from outside, and the whole ledger as one file."""

import sys
from pathlib import Path

from audit.fsck import dump, verify_database, verify_dump
from audit.verify import Report
from gateway.attach import Place


def verify_ledger(place: Place, key: str | None) -> int:
    """Verify the database; prints what was found; returns the verifier's exit code."""
    return _print(verify_database(place.dsn, trusted(key)), place)


def verify_dump_file(path: Path, key: str | None) -> int:
    """Verify a dump file."""
    return _print(verify_dump(path, trusted(key)), None)


def dump_ledger(place: Place, path: Path) -> None:
    """Write the whole ledger to a file."""
    records = dump(place.dsn, path)
    sys.stdout.write(
        f"{records} records written to {path}\n"
        f"check with: countersign verify --dump {path} --key KEY\n"
    )


def trusted(key: str | None) -> tuple[str, ...]:
    """Return the trusted key lines: the text itself, or the lines of the file it names."""
    if key is None:
        return ()
    path = Path(key)
    text = path.read_text(encoding="utf-8") if path.is_file() else key
    return tuple(line.strip() for line in text.splitlines() if line.strip())


def _print(report: Report, place: Place | None) -> int:
    for line in report.lines:
        sys.stdout.write(f"{line}\n")
    if report.exit_code == 3 and place is not None:  # noqa: PLR2004 - not checkable: no key
        sys.stdout.write(
            "no trusted key was given. A verifier gets the log's key from outside;"
            f" this installation's own is {place.state.ledger_vkey}\n"
        )
    return int(report.exit_code)
