"""The report: findings, the exit code, lines for people."""

import contextlib
import datetime as dt
from collections.abc import Iterator
from dataclasses import dataclass, field

OK, TAMPERED, INCOMPLETE, NOT_CHECKABLE = 0, 1, 2, 3
WORDS = {OK: "OK", TAMPERED: "TAMPERED", INCOMPLETE: "INCOMPLETE", NOT_CHECKABLE: "NOT CHECKABLE"}
FINDINGS_MAX = 50
TEXT_MAX = 500


class Bad(Exception):  # noqa: N818 - reads as what it says: this input is bad
    """Something in the input is not what it must be."""


class Unknown(Bad):
    """The input has a version that this file does not know, so nothing is said about it."""


@dataclass(slots=True, kw_only=True)
class Report:
    """The exit code and its reason, lines for people, the first bad and first unsigned record."""

    exit_code: int = OK
    reason: str = ""
    lines: list[str] = field(default_factory=list)
    first_bad_seq: int | None = None
    findings: int = 0
    unsigned_from: int | None = None

    def find(self, code: int, text: str, seq: int | None = None) -> None:
        """Add a finding; tampered outweighs incomplete, which outweighs not checkable."""
        self.findings += 1
        if seq is not None:
            text = f"record {seq}: {text}"
        if self.exit_code == OK or code < self.exit_code:
            self.exit_code, self.reason = code, text
        if seq is not None and code != NOT_CHECKABLE:
            self.first_bad_seq = seq if self.first_bad_seq is None else min(seq, self.first_bad_seq)
        if self.findings <= FINDINGS_MAX:
            self.say(f"{WORDS[code]}: {text}")

    def conclude(self) -> None:
        """Add the last line: the exit code's word and the first reason."""
        default = "all as signed" if self.exit_code == OK else "see above"
        self.say(f"{WORDS[self.exit_code]}: {self.reason or default}")
        if self.lines[-2:-1] == self.lines[-1:]:
            self.lines.pop()

    def say(self, text: str) -> None:
        """Add a line, cut short and in printable ASCII: the input may have written part of it."""
        shown = (c if " " <= c <= "~" else ascii(c)[1:-1] for c in text[:TEXT_MAX])
        self.lines.append("".join(shown))

    def caught(self, error: Exception) -> None:
        """Add the error that stopped the verification as a finding; a sound file causes none."""
        text = str(error)
        if not isinstance(error, Bad):
            text = f"the input cannot be judged: {type(error).__name__}: {error}"
        self.find(NOT_CHECKABLE if isinstance(error, Unknown) else TAMPERED, text)


@contextlib.contextmanager
def judging() -> Iterator[Report]:
    """Yield a report; an exception in the block becomes a finding."""
    report = Report()
    try:
        yield report
    except Exception as error:  # noqa: BLE001 - see above
        report.caught(error)


def stamp(time_s: int) -> str:
    """Return a Unix time in seconds as text for people."""
    try:
        return f"{dt.datetime.fromtimestamp(time_s, dt.UTC):%Y-%m-%dT%H:%M:%SZ}"
    except (ValueError, OverflowError, OSError):
        return f"second {time_s}"
