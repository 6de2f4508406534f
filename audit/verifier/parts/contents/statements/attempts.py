"""What earlier records said of forecasts: every attempt, how it ended, and which one stands.

Memory grows with attempts; of each its inputs and its ends stay.
"""

import re
from bisect import bisect_left
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from audit.verifier.parts.canonical import text_of
from audit.verifier.parts.contents.seeds import attempt_in, seed_of

FORECASTS, INDEXES, SETS = "forecast/", "instrument/", "joint/"
_ROOT = re.compile(r"[0-9a-f]{64}")
STANDS = ("made", "again")
"""The lines of an index from which on a forecast stands."""
LISTED = ("snapshot_taken", "forecast_sealed", "forecast_listed")
"""A line of an index, and the records that have one right after them."""


@dataclass(slots=True)
class SeenAttempt:
    """The records of one attempt at a forecast so far; `gap` if an earlier one is not here.

    Attributes:
        inputs: what it rests on; None until they are on record.
        seed: of its samples; empty until it is asked for.
        sampler, paths, n_tokens: who draws, and how much was asked for.
        captured: whether what was sampled is on record.
        made: number and leaf of the record that states the forecast.
        source: who made it, `target` or `table`.
        failed: the reason of its recorded failure; the table may answer all the same.
        outcome: what its seal says; empty until it is sealed.
    """

    records: int = 0
    gap: bool = False
    inputs: Mapping[str, Any] | None = None
    requested: bool = False
    seed: bytes = b""
    sampler: object = None
    paths: object = None
    n_tokens: object = None
    captured: bool = False
    made: tuple[int, str] | None = None
    source: object = None
    failed: object = None
    outcome: object = ""

    @property
    def may_be_followed(self) -> bool:
        """Whether another attempt may be made: this one failed, or the table answered alone."""
        if self.outcome == "made":
            return self.source == "table"
        return self.outcome in ("failed", "abandoned")


@dataclass(slots=True)
class SeenAttempts:
    """The fold over forecasts' streams; `found` has each attempt under its stream's name."""

    found: dict[str, SeenAttempt] = field(default_factory=dict)

    def enter(self, head: Mapping[str, Any]) -> None:
        """Note that a record comes, before it is judged."""
        if head["stream"].startswith(FORECASTS):
            own = self.found.setdefault(head["stream"], SeenAttempt())
            own.gap = own.gap or own.records != head["stream_seq"]
            own.records += 1

    def take(self, head: Mapping[str, Any], body: Mapping[str, Any], leaf: bytes) -> None:
        """Fold a record, after it was judged."""
        own = self.found.get(head["stream"])
        if own is None:
            return
        match head["kind"]:
            case "snapshot_taken":
                own.inputs = _document(body.get("inputs"))
            case "forecast_requested":
                own.requested, own.sampler = True, body.get("sampler")
                own.paths, own.n_tokens = body.get("paths"), body.get("n_tokens")
                root, named = text_of(body.get("seed_root")), attempt_in(head["stream"])
                if named is not None and _ROOT.fullmatch(root):
                    own.seed = seed_of(bytes.fromhex(root), body.get("prompt_ids"), named[1])
            case "rounds_captured" | "tokens_drawn":
                own.captured = True
            case "forecast_failed":
                own.failed = body.get("reason")
            case "forecast_made":
                own.made = (head["seq"], leaf.hex())
                own.source = _document(body.get("forecast")).get("source")
            case "forecast_sealed":
                own.outcome = body.get("outcome")
            case _:
                pass


@dataclass(slots=True)
class Index:
    """The lines of an instrument's index so far; `gap` if an earlier one is not here.

    Attributes:
        lines: number, id and attempt of each line from which on a forecast stands.
        made: the last attempt that made each forecast, by the forecast's id.
        again: how often each forecast stood again.
    """

    records: int = 0
    gap: bool = False
    lines: list[tuple[int, str, object]] = field(default_factory=list)
    made: dict[str, object] = field(default_factory=dict)
    again: dict[str, int] = field(default_factory=dict)

    @property
    def stands(self) -> tuple[str, object] | None:
        """Id and attempt of the forecast that stands."""
        return self.lines[-1][1:] if self.lines else None

    def stood(self, before: int) -> tuple[str, object] | None:
        """Return id and attempt of the forecast that stood before a record."""
        place = bisect_left(self.lines, before, key=lambda line: line[0])
        return self.lines[place - 1][1:] if place else None

    def take(self, seq: int, body: Mapping[str, Any]) -> None:
        """Fold a line, after it was judged."""
        event, name = body.get("event"), text_of(body.get("forecast_id"))
        if event == "made":
            self.made[name] = body.get("attempt")
        if event == "again":
            self.again[name] = self.again.get(name, 0) + 1
        if event in STANDS:
            self.lines.append((seq, name, body.get("attempt")))


@dataclass(slots=True)
class Indexes:
    """The fold over indexes; `found` has each under its stream's name.

    Attributes:
        last: the number of the last record.
        awaited: the line that must come right after it.
        unread: whether it is of a version of these kinds that is not known here.
    """

    found: dict[str, Index] = field(default_factory=dict)
    last: int = -1
    awaited: Mapping[str, Any] | None = None
    unread: bool = False

    def skip(self, head: Mapping[str, Any]) -> None:
        """Note a record that is not known here: it may be a line, or have one."""
        if head["kind"] in LISTED:
            self.last, self.awaited, self.unread = head["seq"], None, True

    def enter(self, head: Mapping[str, Any]) -> None:
        """Note that a record comes, before it is judged."""
        if head["stream"].startswith(INDEXES):
            own = self.found.setdefault(head["stream"], Index())
            own.gap = own.gap or own.records != head["stream_seq"]
            own.records += 1

    def take(self, head: Mapping[str, Any], body: Mapping[str, Any]) -> None:
        """Fold a record, after it was judged."""
        self.last, self.awaited, self.unread = head["seq"], _line_after(head, body), False
        if head["kind"] == "forecast_listed" and head["stream"] in self.found:
            self.found[head["stream"]].take(head["seq"], body)


def _line_after(head: Mapping[str, Any], body: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Return the line of the index that a record has right after it; None if it has none."""
    named = attempt_in(head["stream"])
    if named is None or head["kind"] not in ("snapshot_taken", "forecast_sealed"):
        return None
    event = "opened" if head["kind"] == "snapshot_taken" else body.get("outcome")
    line = {"instrument": body.get("instrument"), "event": event, "again": 0}
    return {**line, "forecast_id": named[0], "attempt": named[1]}


def _document(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}
