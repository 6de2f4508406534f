"""What the operator sees: lines, one moving line, one table. The one door to rich."""

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


class _Figures(ProgressColumn):
    """How far it is, how fast it goes and when it will end; else for how long it has been on."""

    @override
    def render(self, task: Task) -> Text:
        if task.total is None:
            return Text(f"{task.elapsed or 0:.0f} s")
        left, speed = task.time_remaining, task.speed
        rate = f"  {speed:,.0f}/s, {left:.0f} s left" if speed and left is not None else ""
        return Text(f"{task.completed:,.0f}/{task.total:,.0f}{rate}")


def _display(stream: TextIO, **how: Any) -> Display:  # noqa: ANN401 - as rich has it
    """Return a moving line; off a terminal it writes nothing."""
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
    """Lines that stay, and on a terminal one that moves, from half a second on."""

    def __init__(self, stream: TextIO, clock_us: Callable[[], int] = monotonic_us) -> None:
        """Write to `stream`."""
        self._stream = stream
        self._clock_us = clock_us
        self._shown_us = clock_us()
        self._moving = _display(stream, get_time=lambda: clock_us() / 1e6, auto_refresh=False)
        atexit.register(self._moving.stop)  # or the terminal stays without a cursor

    def say(self, text: str) -> None:
        """Print a line that stays."""
        self.end()
        self._stream.write(text + "\n")
        self._stream.flush()

    def show(self, stage: str, done: int = 0, total: int | None = None) -> None:
        """Replace the moving line by how far a stage is; nothing off a terminal."""
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
        """Show how far a stage is; off a terminal as a line for each tenth."""
        self.show(stage, done, total)
        if self._moving.disable and (done == total or done % max(1, total // 10) == 0):
            self.say(f"{stage}  [{done}/{total}]  {note}")

    def end(self) -> None:
        """Leave the moving line where it is."""
        self._moving.stop()


@contextmanager
def waiting(stream: TextIO, text: str) -> Iterator[None]:
    """Show that something is at work which does not say how far it is; on a terminal."""
    with _display(stream, transient=True) as moving:
        moving.add_task(text, total=None)
        yield


def table(summary: Mapping[str, Any]) -> str:
    """Return the summary as aligned lines, nested counts in one line each."""
    lines = []
    for name, value in summary.items():
        if isinstance(value, Mapping):
            shown = ", ".join(f"{k}: {v}" for k, v in value.items() if not isinstance(v, Mapping))
            value = shown or "none"  # noqa: PLW2901 - shown instead
        lines.append(f"  {name:28} {'-' if value is None else value}")
    return "\n".join(lines)
