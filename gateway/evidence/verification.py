"""`verify` and `dump`."""

import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

from audit.errors import AuditError
from audit.files import beside, named
from audit.store.tables import DatabaseError, out_of_reach
from audit.upkeep.dump import dump, verify_database
from audit.verifier.verify import (
    INCOMPLETE,
    NOT_CHECKABLE,
    TAIL_S,
    Bad,
    Outside,
    Report,
    Trust,
    verify_dump,
    watched,
)
from gateway.clock import pause, wall_us
from gateway.errors import GatewayError
from gateway.evidence.trust import origin_of_dump, refuse_no_dump, say_whose_keys
from gateway.installation.place import Place
from gateway.telemetry.console import Progress


def judged(judge: Callable[[], int]) -> int:
    """Return a check's exit code; print why it could not begin, and return NOT CHECKABLE then.

    An error's usual exit code, 2, would mean that the log is incomplete.
    """
    try:
        return judge()
    except (AuditError, Bad, GatewayError, OSError) as error:
        said = str(error)
    except DatabaseError as error:
        said = out_of_reach(error)
    sys.stdout.write(f"NOT CHECKABLE: {said}\n")
    return NOT_CHECKABLE


def verify_ledger(place: Place, outside: Outside) -> int:
    """Verify the database; print the findings; return the verifier's exit code."""
    report = _verified(place, outside)
    unsigned = report.unsigned_from is not None and report.findings <= 2  # noqa: PLR2004 - both lags
    if report.exit_code == INCOMPLETE and unsigned:
        pause(TAIL_S / 2)  # an idle gateway signs its first records only now
        report = _verified(place, outside)
    if not Trust(outside.vkeys, outside.policy).keys:
        report.say(
            "no trusted key was given. A verifier gets the log's key from outside;"
            f" this installation's own is {place.state.ledger_vkey}"
        )
    return _print(report, outside, origin_of(place))


def origin_of(place: Place) -> str | None:
    """Return the log's own name, unverified, or None."""
    try:
        return place.reader.head().origin
    except (AuditError, DatabaseError):
        return None


def verify_dump_file(path: Path, outside: Outside) -> int:
    """Verify a dump file; print the findings; return the verifier's exit code.

    Raises:
        OSError: when the file cannot be read.
        Bad: when it is no dump, or no regular file.
    """
    refuse_no_dump(path)
    with path.open("rb") as lines:
        report = verify_dump(watched(lines, path.stat().st_size), (), (), outside)
    return _print(report, outside, origin_of_dump(path))


def _verified(place: Place, outside: Outside) -> Report:
    progress = Progress(sys.stderr)
    shown = partial(progress.show, "verifying")
    try:
        return verify_database(place.dsn, (), now_us=wall_us(), outside=outside, on_record=shown)
    finally:
        progress.end()


def dump_ledger(place: Place, path: Path) -> None:
    """Write the whole ledger to a file."""
    progress = Progress(sys.stderr)
    try:
        records = dump(place.dsn, path, partial(progress.show, "dumping"))
    finally:
        progress.end()
    beside(path).write(
        f"{records} records written to {named(path)}\n"
        f"check with: countersign verify --dump {named(path)} --key KEY\n"
    )


def _print(report: Report, outside: Outside, origin: str | None) -> int:
    say_whose_keys(report, outside, origin)
    report.conclude()
    for line in report.lines:
        sys.stdout.write(f"{line}\n")
    return int(report.exit_code)
