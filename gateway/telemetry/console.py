"""Console output: lines, one progress line, one table. The only module that imports rich."""

import atexit
import logging
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, TextIO

from rich.console import Console
from rich.progress import BarColumn, ProgressColumn, Task, TextColumn
from rich.progress import Progress as Display
from rich.text import Text
from typing_extensions import override

from gateway.clock import monotonic_us

WIDTH = 28
_SHOW_US = 500_000


class OneLine(logging.Formatter):
    """A log format of one line for each event, without tracebacks."""

    @override
    def format(self, record: logging.LogRecord) -> str:
        """Return the event, followed by the exception's type and message if it has one."""
        text = f"{record.levelname} {record.name} {record.getMessage()}"
        if record.exc_info and record.exc_info[1] is not None:
            text += f": {type(record.exc_info[1]).__name__}: {record.exc_info[1]}"
        return " ".join(text.split())


def log_to_stderr(level: str) -> None:
    """Log to stderr, one line for each event; at level DEBUG with tracebacks."""
    handler = logging.StreamHandler()
    if level != "DEBUG":
        handler.setFormatter(OneLine())
    logging.basicConfig(level=level, handlers=[handler])
    if level != "DEBUG":
        # Its warnings are errors at the end of a session that is lost already, such as one that
        # the pulse cut on a busy machine. The error itself reaches us, and we say what it means.
        logging.getLogger("psycopg").setLevel(logging.ERROR)


class _Figures(ProgressColumn):
    """Progress, rate and remaining time of a task; without a total its elapsed time."""

    @override
    def render(self, task: Task) -> Text:
        if task.total is None:
            return Text(f"{task.elapsed or 0:.0f} s")
        left, speed = task.time_remaining, task.speed
        rate = f"  {speed:,.0f}/s, {left:.0f} s left" if speed and left is not None else ""
        return Text(f"{task.completed:,.0f}/{task.total:,.0f}{rate}")


def _display(stream: TextIO, **how: Any) -> Display:  # noqa: ANN401 - as rich has it
    """Return a progress display, which writes nothing unless `stream` is a terminal."""
    console = Console(file=stream)
    return Display(
        *(TextColumn("{task.description:12}", markup=False), BarColumn(WIDTH), _Figures()),
        console=console,
        redirect_stdout=False,
        redirect_stderr=False,
        disable=not (stream.isatty() and console.is_interactive),
        **how,
    )


class Progress:
    """Printed lines and, on a terminal, one progress line, shown after half a second."""

    def __init__(self, stream: TextIO, clock_us: Callable[[], int] = monotonic_us) -> None:
        """Write to `stream`."""
        self._stream = stream
        self._clock_us = clock_us
        self._shown_us = clock_us()
        self._moving = _display(stream, get_time=lambda: clock_us() / 1e6, auto_refresh=False)
        atexit.register(self._moving.stop)  # otherwise the terminal's cursor stays hidden

    def say(self, text: str) -> None:
        """Print a line."""
        self.end()
        self._stream.write(text + "\n")
        self._stream.flush()

    def show(self, stage: str, done: int = 0, total: int | None = None) -> None:
        """Replace the progress line; on anything but a terminal this does nothing."""
        now_us = self._clock_us()
        if self._moving.disable or now_us - self._shown_us < _SHOW_US:
            return
        self._shown_us = now_us
        if [task.description for task in self._moving.tasks] != [stage]:
            for old in self._moving.task_ids:
                self._moving.remove_task(old)
            self._moving.add_task(stage, total=total)
        self._moving.update(self._moving.task_ids[0], completed=done, total=total)
        self._moving.start()
        self._moving.refresh()

    def tenth(self, stage: str, done: int, total: int, note: str) -> None:
        """Replace the progress line; without a terminal print a line at each tenth."""
        self.show(stage, done, total)
        if self._moving.disable and (done == total or done % max(1, total // 10) == 0):
            self.say(f"{stage}  [{done}/{total}]  {note}")

    def end(self) -> None:
        """Stop updating the progress line and leave it on the screen."""
        self._moving.stop()


@contextmanager
def waiting(stream: TextIO, text: str) -> Iterator[None]:
    """Show on a terminal that work of unknown length is in progress."""
    with _display(stream, transient=True) as moving:
        moving.add_task(text, total=None)
        yield


def table(summary: Mapping[str, Any]) -> str:
    """Return the summary as aligned lines, each nested mapping in one line."""
    lines = []
    for name, value in summary.items():
        if isinstance(value, Mapping):
            shown = ", ".join(f"{k}: {v}" for k, v in value.items() if not isinstance(v, Mapping))
            value = shown or "none"  # noqa: PLW2901 - shown instead
        lines.append(f"  {name:28} {'-' if value is None else value}")
    return "\n".join(lines)
