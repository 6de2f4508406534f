"""fsck for people: which log, trusted what, how far it is, and the verdict in words."""

import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from audit.fsck_dump import fsck_dump
from audit.fsck_plan import FsckPlan
from audit.fsck_run import fsck_database
from audit.verify import NOT_CHECKABLE, WORDS, Bad, Outside, Report, verify_tiles
from gateway.attach import Place
from gateway.clock import monotonic_us, wall_us
from gateway.outside import origin_of_dump, origin_of_tiles, read_outside, say_whose_keys
from gateway.progress import RateBar
from gateway.verifying import origin_of

INTERRUPTED = 130
STATE_NAME = "fsck.state"


@dataclass(frozen=True, slots=True, kw_only=True)
class Given:
    """What the command line gives from outside.

    Attributes:
        keys: a log's key lines, or files of such lines.
        checkpoints: files with checkpoints kept outside.
        policy: a file with a witness policy (C2SP tlog-policy).
        rotations: files with signed changes of the log's keys.
    """

    keys: Sequence[str] = ()
    checkpoints: Sequence[Path] = ()
    policy: Path | None = None
    rotations: Sequence[Path] = ()

    def read(self) -> Outside:
        """Return it as the verifier takes it.

        Raises:
            Bad: one of them is not what it should be.
            OSError: a file cannot be read.
        """
        return read_outside(self.keys, self.policy, self.checkpoints, self.rotations)


def fsck_place(place: Place, given: Given, *, resume: bool, payloads: bool) -> int:
    """Check the ledger's database; return the verifier's exit code."""

    def check(outside: Outside, bar: RateBar) -> Report:
        plan = FsckPlan(
            outside=outside,
            state=place.state.root / STATE_NAME,
            resume=resume,
            payloads=payloads,
            readers=max(2, os.cpu_count() or 2),
        )
        report = fsck_database(place.dsn, plan, bar.show, wall_us())
        if not payloads:
            report.say("stored headers, payloads, accounts and blobs were not read (--payloads)")
        return report

    return _run(given, check, lambda: origin_of(place))


def fsck_dump_file(path: Path, given: Given, *, resume: bool) -> int:
    """Check a dump; return the verifier's exit code.

    Raises:
        Bad: it is no regular file, beside which one could write how far the check is.
    """
    if path.exists() and not path.is_file():
        raise Bad(f"{path} is no file: fsck writes beside a dump how far it is")

    def check(outside: Outside, bar: RateBar) -> Report:
        state = path.with_name(path.name + ".fsck")
        return fsck_dump(path, FsckPlan(outside=outside, state=state, resume=resume), bar.show)

    return _run(given, check, lambda: origin_of_dump(path))


def fsck_tiles(folder: Path, given: Given) -> int:
    """Check a folder of tiles; return the verifier's exit code.

    Raises:
        Bad: it is no folder.
    """
    if not folder.is_dir():
        raise Bad(f"{folder} is no folder: a tree of tiles is one (`countersign tiles` writes it)")
    return _run(
        given, lambda outside, _: verify_tiles(folder, outside), lambda: origin_of_tiles(folder)
    )


def _run(
    given: Given,
    check: Callable[[Outside, RateBar], Report],
    origin: Callable[[], str | None],
) -> int:
    """Run a check under a bar, print what it found and return the exit code."""
    bar = RateBar(sys.stderr, monotonic_us)
    try:
        outside = given.read()
        report = check(outside, bar)
    except KeyboardInterrupt:
        bar.end()
        sys.stdout.write("stopped; the same command with --resume goes on from here\n")
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
