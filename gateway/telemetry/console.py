"""What the operator sees: lines, one moving line, one table."""

import itertools
import logging
import threading
from collections.abc import Callable, Mapping
from typing import Any, TextIO

from typing_extensions import override

WIDTH = 28
QUIET_S = 2
"""What takes longer says that it is at work."""
_SHOW_US = 500_000


class OneLine(logging.Formatter):
    """Operator's log, one line an event; the traceback is for DEBUG."""

    @override
    def format(self, record: logging.LogRecord) -> str:
        """Return the event and, for an exception, its last word."""
        text = f"{record.levelname} {record.name} {record.getMessage()}"
        if record.exc_info and record.exc_info[1] is not None:
            text += f": {type(record.exc_info[1]).__name__}: {record.exc_info[1]}"
        return " ".join(text.split())


def log_to_stderr(level: str) -> None:
    """Send the log to stderr, as one line an event unless the level is DEBUG."""
    handler = logging.StreamHandler()
    if level != "DEBUG":
        handler.setFormatter(OneLine())
    logging.basicConfig(level=level, handlers=[handler])


class Progress:
    """Lines on a terminal; off a terminal the moving line is printed now and then."""

    def __init__(self, stream: TextIO) -> None:
        """Write to `stream`."""
        self._stream = stream
        self._moving = False
        self._terminal = stream.isatty()
        self._last = ""

    def say(self, text: str) -> None:
        """Print a line that stays."""
        self.end()
        self._stream.write(text + "\n")
        self._stream.flush()

    def line(self, text: str) -> None:
        """Replace the moving line; nothing off a terminal."""
        if self._terminal:
            self._stream.write(f"\r\x1b[K{text}")
            self._stream.flush()
            self._moving = True

    def bar(self, done: int, total: int, note: str) -> None:
        """Show how far it is; off a terminal a line for each tenth."""
        filled = WIDTH * done // total
        text = f"decisions  [{'#' * filled}{'.' * (WIDTH - filled)}] {done}/{total}  {note}"
        if self._terminal:
            self.line(text)
        elif done == total or done % max(1, total // 10) == 0:
            self.say(text)

    def end(self) -> None:
        """Leave the moving line where it is."""
        if self._moving:
            self._stream.write("\n")
            self._moving = False


class RateBar:
    """How far a check is, how fast it goes, when it will end; on a terminal, and over 0.5 s."""

    def __init__(self, stream: TextIO, clock_us: Callable[[], int]) -> None:
        """Draw on a terminal; write nothing elsewhere."""
        self._stream = stream
        self._clock_us = clock_us
        self._stage = ""
        self._begun_us = self._shown_us = clock_us()
        self._first = 0
        self._drawn = False

    def show(self, stage: str, done: int, total: int) -> None:
        """Take the progress of a stage."""
        now_us = self._clock_us()
        if stage != self._stage:
            self._stage, self._begun_us, self._first = stage, now_us, done
        if now_us - self._shown_us < _SHOW_US or not self._stream.isatty():
            return
        self._shown_us, self._drawn = now_us, True
        self._stream.write(f"\r\x1b[K{self.text(done, total, now_us)}")
        self._stream.flush()

    def text(self, done: int, total: int, now_us: int) -> str:
        """Return the bar's line."""
        total = max(total, done, 1)
        filled = WIDTH * done // total
        rate = (done - self._first) / max((now_us - self._begun_us) / 1e6, 1e-6)
        speed = "" if rate <= 0 else f"  {rate:,.0f}/s, {(total - done) / rate:.0f} s left"
        bar = "#" * filled + "." * (WIDTH - filled)
        return f"{self._stage:12} [{bar}] {done:,}/{total:,}{speed}"

    def end(self) -> None:
        """Leave the line."""
        if self._drawn:
            self._stream.write("\n")
            self._drawn = False


class Waiting:
    """How long it takes, where nothing says how far it is; on a terminal, after two seconds."""

    def __init__(self, progress: Progress, text: str) -> None:
        """Say `text` with the seconds behind it."""
        self._progress = progress
        self._text = text
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, name="waiting", daemon=True)

    def __enter__(self) -> None:
        """Begin to count."""
        self._thread.start()

    def __exit__(self, *_: object) -> None:
        """Leave the line."""
        self._over.set()
        self._thread.join()
        self._progress.end()

    def _run(self) -> None:
        for passed_s in itertools.count(QUIET_S):
            if self._over.wait(QUIET_S if passed_s == QUIET_S else 1):
                return
            self._progress.line(f"{self._text}  {passed_s} s")


def table(summary: Mapping[str, Any]) -> str:
    """Return the summary as aligned lines, nested counts in one line each."""
    lines = []
    for name, value in summary.items():
        if isinstance(value, Mapping):
            shown = ", ".join(f"{k}: {v}" for k, v in value.items() if not isinstance(v, Mapping))
            value = shown or "none"  # noqa: PLW2901 - shown instead
        lines.append(f"  {name:28} {'-' if value is None else value}")
    return "\n".join(lines)
