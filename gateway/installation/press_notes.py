"""Who pressed the kill and why: one file in the state folder until the press is recorded.

Rules:

- The kill word is pressed before a note is written; a note never decides whether the gate is open.
- A note names its press by epoch and press id.
- A note that is missing or damaged costs the reason, never the record.
"""

import contextlib
import json
import os
from pathlib import Path
from typing import NamedTuple

from fix.durable.kill_word import Press, sync_folder

_BYTES_MAX = 8192
_TEXT_MAX = 500


class PressNote(NamedTuple):
    """Who pressed, and why."""

    actor: str
    reason: str


class PressNotes:
    """The notes of one existing state folder."""

    def __init__(self, root: Path) -> None:
        self._root = root

    def keep(self, press: Press, note: PressNote) -> None:
        """Write a note; durable on return.

        Raises:
            OSError: the disk refused; the press stays in force.
        """
        path = self._path(press)
        fresh = path.with_name(f"{path.name}.{os.getpid()}")
        text = json.dumps({"actor": note.actor[:_TEXT_MAX], "reason": note.reason[:_TEXT_MAX]})
        descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        fresh.replace(path)  # a crash before this leaves a press without its reason
        sync_folder(self._root)

    def of(self, press: Press) -> PressNote | None:
        """Return a press's note, or None."""
        try:
            with self._path(press).open("rb") as file:
                found = json.loads(file.read(_BYTES_MAX))
            actor, reason = found["actor"], found["reason"]
        except (OSError, ValueError, KeyError, TypeError):
            return None
        if not (isinstance(actor, str) and isinstance(reason, str) and actor and reason):
            return None
        return PressNote(actor[:_TEXT_MAX], reason[:_TEXT_MAX])

    def drop(self, press: Press) -> None:
        """Remove the note of a recorded press; a note that stays does no harm."""
        with contextlib.suppress(OSError):
            self._path(press).unlink(missing_ok=True)

    def _path(self, press: Press) -> Path:
        return self._root / f"kill.press.{press.kill_epoch}.{press.press_id or 'unnamed'}"
