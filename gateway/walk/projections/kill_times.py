"""Times of the newest kill, microseconds since its press, by the ledger.

Times are monotonic; times of another boot than the press's are left out.
"""

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any, Final

from audit.errors import RowRefusedError
from audit.records.kinds import Kind
from audit.records.record import Record
from audit.store.reader import LedgerReader
from gateway.walk.journal.control.kill import KillDrilled, KillOutcome, KillPressed

STEPS: Final[Mapping[str, str]] = {
    "confirmed_us": "the FIX child confirmed that no new order passes",
    "last_order_us": "last byte of a new order (before the press: negative)",
    "first_cancel_us": "first cancel on record, before its bytes left",
    "last_cancel_us": "last cancel on record",
    "answered_us": "the broker had confirmed every live order gone",
}
"""Field of `kill_pressed` or `kill_outcome` -> what happened then."""


def newest_kill(
    reader: LedgerReader, on_stranger: Callable[[RowRefusedError], None] | None = None
) -> dict[str, Any] | None:
    """Return the newest press on record, its newest outcome and the times, or None.

    `on_stranger` receives each row that the gateway did not write; the row is skipped.

    Raises:
        RowRefusedError: when there is such a row and no `on_stranger`.
    """
    pressed = _newest(reader, Kind.KILL_PRESSED, on_stranger)
    if pressed is None:
        return None
    press = KillPressed.of(pressed)
    swept = _newest(reader, Kind.KILL_OUTCOME, on_stranger)
    outcome = None if swept is None else KillOutcome.of(swept)
    if outcome is not None and outcome.kill_epoch != press.kill_epoch:
        outcome = None
    told: dict[str, Any] = {
        "kill_epoch": press.kill_epoch,
        "pressed_by": press.actor_name,
        "pressed_at_us": pressed.recorded_at_us,
        "times_us": times(press, outcome),
    }
    if outcome is not None:
        told |= {name: getattr(outcome, name) for name in ("confirmed", "unknown", "open")}
    return told


def times(press: KillPressed, outcome: KillOutcome | None) -> dict[str, int]:
    """Return the recorded steps, microseconds since the press."""
    since = press.pressed_us
    if since is None:
        return {}
    moments = {step: getattr(press, step, None) for step in STEPS}
    if outcome is not None and outcome.boot_id == press.boot_id:
        moments |= {step: getattr(outcome, step) for step in STEPS if hasattr(outcome, step)}
    return {step: at - since for step, at in moments.items() if at is not None}


def lines(kill: Mapping[str, Any]) -> list[str]:
    """Return a kill as lines for a person."""
    first = f"kill {kill['kill_epoch']}, pressed by {kill['pressed_by']}"
    ended = "no outcome is on record yet"
    if "open" in kill:
        ended = (
            f"orders confirmed gone {kill['confirmed']}, without an answer {kill['unknown']},"
            f" still open {kill['open']}"
        )
    steps = [
        f"{kill['times_us'][step] / 1000:+12.3f} ms  {words}"
        for step, words in STEPS.items()
        if step in kill["times_us"]
    ]
    return [first, ended, *steps]


def newest_drill(
    reader: LedgerReader, on_stranger: Callable[[RowRefusedError], None] | None = None
) -> str:
    """Return a line about the newest drill on record, or the empty text."""
    drilled = _newest(reader, Kind.KILL_DRILLED, on_stranger)
    return "" if drilled is None else drill_line(drilled)


def drill_line(record: Record) -> str:
    """Return a drill as a line for a person."""
    drill = KillDrilled.of(record)
    at = datetime.fromtimestamp(record.recorded_at_us / 1_000_000, tz=UTC)
    word_ms = (drill.durable_us - drill.pressed_us) / 1000
    told = "the FIX process did not answer in time: a kill would have ended it"
    if drill.confirmed_us is not None:
        took_ms = (drill.confirmed_us - drill.pressed_us) / 1000
        told = f"the FIX process answered {took_ms:.3f} ms after the press"
    return (
        f"drill of {at:%Y-%m-%d %H:%M:%S} UTC by {drill.actor_name}: the kill word was durable"
        f" after {word_ms:.3f} ms, {told}; {drill.live} live orders would have been cancelled"
    )


def _newest(
    reader: LedgerReader, kind: Kind, on_stranger: Callable[[RowRefusedError], None] | None
) -> Record | None:
    before = None
    while True:
        try:
            found = reader.records(
                stream="control", kinds=(kind,), before_seq=before, newest_first=True, limit=1
            )
            return next(found, None)
        except RowRefusedError as refused:
            if on_stranger is None:
                raise
            on_stranger(refused)
            before = refused.seq
