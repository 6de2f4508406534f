"""A back-fill: bars or events of a file, checked against what stands, on record, then taken.

Not here: whether a bar may fill a gap (`gateway.feeds.live.filling`).
"""

from collections.abc import Sequence
from typing import Annotated, Any, Literal

from pydantic import Field

from gateway.desk.bodies.model import RequestModel
from gateway.desk.intake.feeding import Feeding
from gateway.errors import FeedRefusedError
from gateway.feeds.live.conditions import Condition
from gateway.feeds.live.filling import new_bars, runs
from gateway.feeds.live.items import BARS, BarItem
from gateway.feeds.live.series import Item
from gateway.feeds.news.posted import ALL, EventItem

ITEMS_MAX = 1000


class FillRequest(RequestModel):
    """Items of a file that fill what is missing."""

    feed: Literal["bars", "events"]
    file: Annotated[str, Field(pattern=r"^[^\x00-\x1f\x7f]{1,200}$", description="its name")]
    digest: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$", description="SHA-256 of the file")]
    check: Annotated[bool, Field(description="look only: record and take nothing")] = False
    items: Annotated[
        list[dict[str, Any]],
        Field(min_length=1, max_length=ITEMS_MAX, description="as posted to /v1/market/bars"),
    ]


def fill(
    feeding: Feeding, actor: str, request: FillRequest, items: Sequence[Item | EventItem]
) -> dict[str, Any]:
    """Take what does not stand yet; all of it is checked first, and where it is from is on record.

    Raises:
        FeedRefusedError: an item contradicts what stands; nothing was taken.
        AuditError: the ledger does not take the record; nothing was taken.
        NotReadyError: the table of bars does not answer.
    """
    new: list[Item | EventItem] = []
    if request.feed == BARS:
        new += _new_bars(feeding, [one for one in items if isinstance(one, BarItem)])
    else:
        new += _new_events(feeding, [one for one in items if isinstance(one, EventItem)])
    told: dict[str, Any] = {"new": len(new), "repeats": len(items) - len(new), "missing": {}}
    if request.check or not new:
        return told | {"missing": _missing(feeding, items)}
    try:
        taken = feeding.fill(
            request.feed,
            new,
            lambda sequences: (
                f"{len(sequences)} from {request.file} (sha256 {request.digest}), by {actor}:"
                f" {runs(sequences)}"
            ),
        )
    except FeedRefusedError as error:
        raise _renumbered(error, items.index(new[error.item - 1]) + 1) from None
    told |= {"new": taken, "repeats": len(items) - taken}
    return told | {"missing": _missing(feeding, items)}


def _new_bars(feeding: Feeding, bars: Sequence[BarItem]) -> list[BarItem]:
    if feeding.table is None:
        return []
    found: list[BarItem] = []
    for line in sorted({(one.instrument, one.source) for one in bars}):
        mine = [at for at, one in enumerate(bars) if (one.instrument, one.source) == line]
        sequences = [bars[at].sequence for at in mine]
        around = feeding.table.around(*line, min(sequences), max(sequences))
        standing = {one.sequence: one for one in around}
        try:
            found += new_bars(
                [bars[at] for at in mine], standing, feeding.wall_us(), feeding.market.limits
            )
        except FeedRefusedError as error:
            raise _renumbered(error, mine[error.item - 1] + 1) from None
    return found


def _renumbered(error: FeedRefusedError, number: int) -> FeedRefusedError:
    """Return a refusal with the item's number in the whole request."""
    problem = error.problem.partition(": ")[2]
    return FeedRefusedError(item=number, problem=f"item {number}: {problem}")


def _new_events(feeding: Feeding, events: Sequence[EventItem]) -> list[EventItem]:
    found = []
    for number, one in enumerate(events, start=1):
        finding = feeding.market.narrative.judged(one, feeding.wall_us())
        if finding.condition in {Condition.CONFLICT, Condition.AHEAD}:
            said = f"item {number}: sequence {one.sequence} of {one.source}: {finding.detail}"
            raise FeedRefusedError(item=number, problem=said)
        if finding.condition is not Condition.REPEAT:
            found.append(one)
    return found


def _missing(feeding: Feeding, items: Sequence[Item | EventItem]) -> dict[str, int]:
    """Return how many bars of each instrument are still missing, of those in memory."""
    return {
        one.instrument: feeding.market.missing(BARS, one.instrument, one.source)
        for one in items
        if one.instrument != ALL
    }
