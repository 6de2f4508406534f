"""What the operator sees: lines, one moving line, one table."""

import logging
from collections.abc import Mapping
from typing import Any, TextIO

from typing_extensions import override

WIDTH = 28


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


def table(summary: Mapping[str, Any]) -> str:
    """Return the summary as aligned lines, nested counts in one line each."""
    lines = []
    for name, value in summary.items():
        if isinstance(value, Mapping):
            shown = ", ".join(f"{k}: {v}" for k, v in value.items() if not isinstance(v, Mapping))
            value = shown or "none"  # noqa: PLW2901 - shown instead
        lines.append(f"  {name:28} {'-' if value is None else value}")
    return "\n".join(lines)
