"""Which forecast stood, by the part of its instrument's index that a bundle has.

The part begins with the line by which the forecast stands that a decision names, and ends with
the first line after the decision named it. Where there is none, maps of the streams' ends show
that the index ended: one after the decision names the end, or each one from the last line on is
there and names no later line.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from audit.verifier.parts.canonical import ZERO_HASH, text_of
from audit.verifier.parts.contents.seeds import LEDGER_WIDE
from audit.verifier.parts.contents.statements.attempts import INDEXES, STANDS
from audit.verifier.parts.contents.statements.listings import PASSED_OVER
from audit.verifier.parts.contents.statements.seen import (
    is_given,
    list_of,
    mapping_of,
    same,
)
from audit.verifier.parts.records import judge_end, known
from audit.verifier.parts.report import INCOMPLETE, NOT_CHECKABLE, TAMPERED, Report


class ShownLine(NamedTuple):
    """A record of a bundle: a line of an index, or one of the stream of maps."""

    head: Mapping[str, Any]
    body: Mapping[str, Any]
    leaf: bytes

    @property
    def seq(self) -> int:
        """Its number."""
        return int(self.head["seq"])

    @property
    def place(self) -> int:
        """Its number in its stream."""
        return int(self.head["stream_seq"])

    @property
    def is_map(self) -> bool:
        """Whether it is a map of the streams' ends."""
        return bool(self.head["kind"] == "stream_heads")

    @property
    def ends_map(self) -> bool:
        """Whether it is the last part of a map."""
        return self.is_map and bool(self.body["part"] + 1 == self.body["parts"])

    def end_of(self, stream: str) -> Iterator[Sequence[Any]]:
        """Yield the end of a stream, if this is a map that names it."""
        for row in self.body["heads"] if self.is_map and known(self.head) else ():
            if row[0] == stream:
                yield row


def judge_standing(
    report: Report,
    stream: str,
    records: Sequence[tuple[Mapping[str, Any], Mapping[str, Any], bytes]],
) -> None:
    """Check that no forecast was passed over that stood when a decision named another.

    It names its own, and the members of its joint paths.
    """
    shown = [ShownLine(*one) for one in sorted(records, key=lambda one: int(one[0]["seq"]))]
    sets = {one.seq: one for one in shown if one.head["kind"] == "paths_joined"}
    taken, seen = None, set[str]()
    for one in shown:
        if one.head["stream"] != stream or not known(one.head):
            continue
        joint = mapping_of(mapping_of(one.body.get("paths")).get("joint"))
        joined = sets.get(joint["of_seq"]) if type(joint.get("of_seq")) is int else None
        members = [] if joined is None else list_of(joined.body.get("members"))
        named = [(mapping_of(member), "attempt") for member in members]
        if one.head["kind"] == "forecast_taken":
            is_made = one.body.get("of_seq") is not None and not is_given(one.body.get("missing"))
            taken, seen = one if is_made else None, set[str]()
            named = [(one.body, "forecast_attempt")]
        for body, number in named if taken is not None else ():
            instrument = text_of(body.get("instrument"))
            if taken is not None and instrument not in seen:
                seen.add(instrument)
                wanted = [body.get("forecast_id"), body.get(number, 0)]
                _judge_index(report, taken, f"{INDEXES}{instrument}", wanted, shown)


def _judge_index(
    report: Report,
    taken: ShownLine,
    index: str,
    wanted: Sequence[object],
    shown: Sequence[ShownLine],
) -> None:
    """Follow an index from the line of the forecast that a decision names to the one after it."""
    own = [one for one in shown if one.head["stream"] == index]
    lines = {one.place: one for one in own}
    at = None
    for one in own:
        named = [one.body.get("forecast_id"), one.body.get("attempt")]
        if one.seq < taken.seq and _stands(one) and same(named, [*wanted]):
            at = one
    if at is None:
        text = "index: the line by which its forecast stands is not shown"
        return report.find(INCOMPLETE, text, taken.seq)
    while (after := lines.get(at.place + 1)) is not None:
        if after.head["prev"] != at.leaf.hex():
            return report.find(TAMPERED, "prev is not the leaf before it", after.seq)
        if after.seq > taken.seq:
            return None
        if not known(after.head):
            text = "index: a line of an unknown version: which forecast stood cannot be seen"
            return report.find(NOT_CHECKABLE, text, after.seq)
        if _stands(after):
            return report.find(TAMPERED, f"index: {PASSED_OVER}", taken.seq)
        at = after
    beyond = min((place for place in lines if place > at.place), default=None)
    if beyond is not None:
        text = f"{index} goes from {at.place} to {beyond}"
        return report.find(INCOMPLETE, text, lines[beyond].seq)
    return _judge_index_end(report, taken, at, shown)


def _stands(line: ShownLine) -> bool:
    return known(line.head) and bool(line.body.get("event") in STANDS)


def _judge_index_end(
    report: Report, taken: ShownLine, last: ShownLine, shown: Sequence[ShownLine]
) -> None:
    """Check by maps that an index had no line between its last one here and a decision."""
    index, end = last.head["stream"], [last.place, last.leaf.hex()]
    for one in shown:
        for row in one.end_of(index) if one.seq > last.seq else ():
            if row[1:] != end:
                return judge_end(report, row, last.place, last.leaf)
            if one.seq > taken.seq:
                return None
    line = {one.place: one for one in shown if one.head["stream"] == LEDGER_WIDE}
    before = [one for one in line.values() if one.seq < last.seq]
    place, leaf = (before[-1].place, before[-1].leaf) if before else (-1, ZERO_HASH)
    while (after := line.get(place + 1)) is not None and (known(after.head) or not after.is_map):
        if after.head["prev"] != leaf.hex():
            return report.find(TAMPERED, "prev is not the leaf before it", after.seq)
        if after.seq > taken.seq and after.ends_map:
            return None
        place, leaf = after.place, after.leaf
    text = f"record {taken.seq}: whether a newer forecast stood is not checkable"
    return report.say(f"{text}: maps of the streams' ends are not shown")
