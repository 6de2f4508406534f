"""How much the desk has to do: who waits, and how fast the engine is. Read from memory only.

Not here: the order in which intents are handled (`admission`).
"""

from dataclasses import dataclass
from typing import Any, Final

from gateway.desk.intake.admission import Waiting
from gateway.installation.children.engine_pace import PaceNow

SILENT_S: Final = 5.0
"""The engine beats once a second; after so long it does not step."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """The desk's line and the engine's pace, against the deadline of an answer in seconds."""

    waiting: Waiting
    pace: PaceNow
    deadline_s: float

    @property
    def late(self) -> str:
        """Why an intent of now would not be answered in time, or empty."""
        if self.waiting.needs_s <= self.deadline_s:
            return ""
        return (
            f"busy: an intent of now would be answered in {self.waiting.needs_s:.0f} s,"
            f" {self.deadline_s:.0f} s are allowed"
        )

    @property
    def slow(self) -> str:
        """What speaks against the engine's pace, or empty."""
        if self.pace.silent_s >= SILENT_S:
            return f"no sign of life for {self.pace.silent_s:.0f} s"
        if self.pace.wait_s > self.deadline_s:
            return f"what it was asked for takes {self.pace.wait_s:.0f} s"
        return ""

    def document(self) -> dict[str, Any]:
        """Return it as `/readyz` shows it; times in seconds."""
        speed = self.pace.tokens_s
        return {
            "handled": self.waiting.handled,
            "queue": self.waiting.queue,
            "oldest_wait_s": round(self.waiting.oldest_s, 3),
            "answer_s": round(self.waiting.needs_s, 3),
            "engine_wait_s": round(self.pace.wait_s, 3),
            "engine_tokens_s": None if speed is None else round(speed),
            "engine_silent_s": round(self.pace.silent_s, 1),
        }
