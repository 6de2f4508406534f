"""`fsck`: the check of a database, a dump or tiles, with progress and a verdict in words."""

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from audit.upkeep.fsck.dump import fsck_dump
from audit.upkeep.fsck.plan import FsckPlan
from audit.upkeep.fsck.run import fsck_database
from audit.upkeep.fsck.state import was_saved
from audit.verifier.verify import NOT_CHECKABLE, WORDS, Bad, Outside, Report, verify_tiles
from gateway.clock import wall_us
from gateway.evidence.trust import (
    origin_of_dump,
    origin_of_tiles,
    read_outside,
    refuse_no_dump,
    say_whose_keys,
)
from gateway.evidence.verification import origin_of
from gateway.installation.place import Place
from gateway.telemetry.console import Progress

INTERRUPTED = 130
STATE_NAME = "fsck.state"


@dataclass(frozen=True, slots=True, kw_only=True)
class Given:
    """What the command line brings from outside; a key is a key line or a file of key lines."""

    keys: Sequence[str] = ()
    checkpoints: Sequence[Path] = ()
    policy: Path | None = None
    rotations: Sequence[Path] = ()

    def read(self) -> Outside:
        """Return it in the verifier's form.

        Raises:
            Bad: when one of them does not parse.
            OSError: when a file cannot be read.
        """
        return read_outside(self.keys, self.policy, self.checkpoints, self.rotations)


def fsck_place(place: Place, given: Given, *, resume: bool, payloads: bool) -> int:
    """Check the ledger's database; return the verifier's exit code."""
    state = place.state.root / STATE_NAME

    def check(outside: Outside, bar: Progress) -> Report:
        plan = FsckPlan(
            outside=outside,
            state=state,
            resume=resume,
            payloads=payloads,
            readers=max(2, os.cpu_count() or 2),
        )
        report = fsck_database(place.dsn, plan, bar.show, wall_us())
        if not payloads:
            report.say(
                "stored headers, payloads, accounts and blobs were not read, and no statement was"
                " judged (--payloads)"
            )
        return report

    return _run(given, check, lambda: origin_of(place), Progress(sys.stderr), state)


def fsck_dump_file(path: Path, given: Given, *, resume: bool, bar: Progress | None = None) -> int:
    """Check a dump; return the verifier's exit code. `resume` continues an interrupted check.

    Raises:
        Bad: when it is no dump, or no regular file.
        OSError: when it cannot be read.
    """
    refuse_no_dump(path)

    state = path.with_name(path.name + ".fsck")

    def check(outside: Outside, bar: Progress) -> Report:
        return fsck_dump(path, FsckPlan(outside=outside, state=state, resume=resume), bar.show)

    return _run(given, check, lambda: origin_of_dump(path), bar or Progress(sys.stderr), state)


def fsck_tiles(folder: Path, given: Given, bar: Progress | None = None) -> int:
    """Check a folder of tiles with its checkpoint; return the verifier's exit code.

    Raises:
        Bad: when it is no folder.
    """
    if not folder.is_dir():
        raise Bad(f"{folder} is not a folder: name one that `countersign tiles` wrote")

    def check(outside: Outside, bar: Progress) -> Report:
        def shown(numbers: range) -> Iterator[int]:
            for number in numbers:
                yield number
                bar.show("tiles", number + 1, len(numbers))

        return verify_tiles(folder, outside, shown)

    return _run(given, check, lambda: origin_of_tiles(folder), bar or Progress(sys.stderr))


def _run(
    given: Given,
    check: Callable[[Outside, Progress], Report],
    origin: Callable[[], str | None],
    bar: Progress,
    state: Path | None = None,
) -> int:
    """Run a check under a progress bar, print its findings, return its exit code.

    `origin` returns the log's own name; `state` is where an interrupted check is saved.
    """
    try:
        outside = given.read()
        report = check(outside, bar)
    except KeyboardInterrupt:
        bar.end()
        kept = state is not None and was_saved(state)
        how = "with --resume continues from the saved state" if kept else "starts again"
        sys.stdout.write(f"stopped; the same command {how}\n")
        return INTERRUPTED
    except (Bad, OSError) as error:
        bar.end()
        sys.stdout.write(f"{WORDS[NOT_CHECKABLE]}: {error}\n")
        return NOT_CHECKABLE
    bar.end()
    say_whose_keys(report, outside, origin())
    report.conclude()
    for line in report.lines:
        sys.stdout.write(f"{line}\n")
    return report.exit_code
