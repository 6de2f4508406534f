"""One followed source: its lines to items, the items to the door, then its position.

Rules:

- Items are taken before the position is kept. A crash in between reads the same lines again, and
  the door knows their items as repeats.
- A line that cannot be read, or is refused, is a recorded condition. Quotes go on behind it as
  behind a gap. Bars and events wait at it: what follows would hide that one is missing. The line is
  tried again when the file changes, and once a minute.
- A file that cannot be read at all (Parquet that is half written or damaged) is a recorded
  condition, and waited at in the same way. Every row of a Parquet file of bars or events is read
  before the first is taken.
- No complaint quotes what a file holds: it says where, and what should be there.
- Where no column numbers the items, they are counted by instrument. Bars and events of a file that
  was replaced are counted from its start again, so that what it repeats are repeats and what it
  changes is refused; quotes count on.

Not here: records (`gateway.desk.intake.feeding`), the thread.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Protocol

from pydantic import ValidationError

from gateway.errors import FeedRefusedError, IntakeError
from gateway.feeds.files.dropped import is_folder, signature_of
from gateway.feeds.files.reading import (
    JSON_LINES,
    FileLine,
    FilePiece,
    all_lines,
    files_of,
    is_parquet,
    marked,
    not_followed,
    read_piece,
    unit_of,
)
from gateway.feeds.files.rows import columns_in, item_in, object_in, said_place, wanted_in
from gateway.feeds.files.sources import FollowedSource
from gateway.feeds.files.state import FilePosition, FileState
from gateway.feeds.live.items import QUOTES, parse
from gateway.feeds.live.series import Item
from gateway.feeds.news.posted import ALL, EVENTS, EventItem, parse_event
from risk.state.instrument import Instrument

BATCH: Final = 500
AGAIN_US: Final = 60_000_000
DONE_MAX: Final = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class LineItem:
    """An item of a line, with the positions before and behind it."""

    item: Item | EventItem
    before: FilePosition
    behind: FilePosition


class FileDoor(Protocol):
    """Takes the items of a file, as it takes those of the API."""

    def take(self, feed: str, items: Sequence[Item | EventItem]) -> dict[str, Any]:
        """Take items in order.

        Raises:
            FeedRefusedError: one was refused; those before it are taken.
        """

    def tell_file(self, state: FileState) -> None:
        """Record how a followed source is, if that changed."""

    def position(self, name: str) -> dict[str, Any] | None:
        """Return the kept position of a source, None without one."""

    def keep_position(self, name: str, document: dict[str, Any]) -> None:
        """Keep a source's position durably."""


@dataclass(slots=True)
class Followed:
    """A source that is followed; one thread calls `round`."""

    source: FollowedSource
    door: FileDoor
    instruments: Mapping[str, Instrument]
    monotonic_us: Callable[[], int]
    state: FileState
    _at: FilePosition = field(default_factory=FilePosition)
    _found: bool = False
    _stopped: tuple[str, int, int] | None = None
    _tried_us: int = 0
    _word: int = 0
    _names: list[str] = field(default_factory=list)

    def round(self) -> bool:
        """Take what is new, at most one piece; return whether there may be more.

        Raises:
            AuditError: the ledger does not take a record; the same lines are read again.
            NotReadyError: the tables do not answer; likewise.
        """
        try:
            return self._round()
        except OSError as error:
            self._tell("missing", f"{error.filename or self.source.path}: {error.strerror}")
            return False

    @property
    def _key(self) -> str:
        return f"{self.source.feed} {self.source.name}"

    def _round(self) -> bool:
        if not self._found:
            self._at, self._found = _known(self.door.position(self._key)), True
        if (path := self._file()) is None:
            return False
        if self._waits(path):
            return False
        last = not self._names or self._at.name == self._names[-1]
        try:
            piece = read_piece(path, self._at, wanted_in(self.source), whole=not last)
            if is_parquet(path) and not piece.position.offset and self.source.feed != QUOTES:
                self._look_through(path, piece.position)
        except IntakeError as error:
            return self._broken(path, error, last=last)
        if piece.changed:
            self._begin_again(piece, path)
        if not piece.lines:
            return self._at_end(path, piece, last=last)
        self._take(path, piece)
        return True

    def _file(self) -> Path | None:
        """Return the file to read on; None while there is none."""
        position, path = self._at, self.source.path
        self._names = names = files_of(path)
        folder = is_folder(path)
        if folder and (odd := not_followed(path)):
            self._tell(
                "skipped", f"{odd} is no regular file and is not read; links are not followed"
            )
        if not names:
            if self.state.condition != "skipped":
                self._tell("missing", f"{path} has no .csv, .ndjson or .parquet file yet")
            return None
        if position.name in names:
            known = {*position.done, position.name}
            skipped = [one for one in names if one < position.name and one not in known]
            if skipped and folder:
                said = f"{skipped[0]} came after {position.name} and is not read"
                self._tell("skipped", f"{said}: give it a later name")
        else:
            later = [one for one in names if one > position.name] if folder else names
            if not later:
                self._tell("missing", f"{path} has nothing behind {position.name}")
                return None
            self._at = position.next_file(later[0])
        return path / self._at.name if folder else path

    def _look_through(self, path: Path, start: FilePosition) -> None:
        """Read every row before the first is taken.

        Raises:
            IntakeError: a row does not hold an item.
        """
        now = start
        for line in all_lines(path, wanted_in(self.source)):
            try:
                now, _ = self._read(path, line, now, now)
            except IntakeError as error:
                where = f"row {line.number}, {error.where}" if line.number else error.where
                raise IntakeError(where=where, problem=error.problem, seen=error.seen) from None

    def _broken(self, path: Path, error: IntakeError, *, last: bool) -> bool:
        """Say why a file cannot be read, and wait at it; quotes go on with the next file."""
        self._tell("malformed", f"{path.name}, {': '.join(error.kept)}")
        if self.source.feed == QUOTES and not last:
            self._keep(self._at.next_file(self._names[self._names.index(self._at.name) + 1]))
            return True
        self._stopped, self._tried_us = signature_of(path), self.monotonic_us()
        return False

    def _waits(self, path: Path) -> bool:
        """Return whether the source waits at a line and nothing changed since."""
        if self._stopped is None:
            return False
        return (
            self._stopped == signature_of(path) and self.monotonic_us() - self._tried_us < AGAIN_US
        )

    def _begin_again(self, piece: FilePiece, path: Path) -> None:
        counts = self._at.counts if self.source.feed == QUOTES else piece.position.counts
        start = piece.position.model_copy(update={"counts": counts, "base": counts})
        self._tell(
            piece.changed, f"{path.name} was {piece.changed} behind {unit_of(path)} {self._at.line}"
        )
        self._at = start

    def _at_end(self, path: Path, piece: FilePiece, *, last: bool) -> bool:
        position = self._at
        self.state.unread, self.state.line = piece.unread, position.line
        if not last and not piece.unread:
            later = self._names[self._names.index(position.name) + 1]
            self._keep(position.next_file(later))
            return True
        if self.state.condition == "skipped":
            return False
        if not position.line:
            self._tell("waiting", f"{path.name} has no complete {unit_of(path)} yet")
            return False
        said = f"{path.name}, {unit_of(path)} {position.line}"
        self._tell("ok", f"{said}; the next has no end yet" if piece.rest else said)
        if self.source.complete and not piece.unread:
            self._say_complete(path)
        return False

    def _take(self, path: Path, piece: FilePiece) -> None:
        """Take a piece's lines: read them, hand them over, keep the position behind them."""
        now, wrong, waits = self._at, "", False
        items: list[LineItem] = []
        for line in piece.lines:
            behind = now.model_copy(update={"offset": line.end, "line": line.number})
            try:
                behind, item = self._read(path, line, now, behind)
            except IntakeError as error:
                at = f"{path.name} {unit_of(path)} {line.number}"
                wrong = f"{at}, {': '.join(error.kept)}"
                if waits := self._needs(path, now):
                    break
                lost = {name: count + 1 for name, count in behind.counts.items()}
                behind = behind.model_copy(update={"counts": lost})
            else:
                if item is not None:
                    items.append(LineItem(item=item, before=now, behind=behind))
            now = behind
        condition = "malformed"
        if refused := self._hand_over(items):
            first, why = refused
            problem = why.problem.partition(": ")[2]
            condition, wrong = (
                "refused",
                f"{path.name} {unit_of(path)} {first.behind.line}: {problem}",
            )
            if self._needs(path, first.behind):
                now, waits = first.before, True
        if wrong:
            self._tell(condition, wrong)
        self._stopped = signature_of(path) if waits else None
        self._tried_us = self.monotonic_us()
        self._keep(now.model_copy(update={"mark": piece.mark or marked(path, now.offset)}))
        self.state.unread = piece.unread - (now.offset - piece.position.offset)
        self.state.line = now.line

    def _hand_over(self, items: Sequence[LineItem]) -> tuple[LineItem, FeedRefusedError] | None:
        """Hand items to the door; return the first that was refused. Quotes go on behind it."""
        refused, at = None, 0
        while at < len(items):
            batch = items[at : at + BATCH]
            try:
                self.door.take(self.source.feed, [one.item for one in batch])
            except FeedRefusedError as error:
                self._count(error.item - 1)
                at += error.item
                refused = refused or (items[at - 1], error)
                if self.source.feed != QUOTES:
                    return refused
            else:
                self._count(len(batch))
                at += len(batch)
        return refused

    def _read(
        self, path: Path, line: FileLine, now: FilePosition, behind: FilePosition
    ) -> tuple[FilePosition, Item | EventItem | None]:
        """Return the position behind a line, and its item; None of a header or an empty line."""
        if line.content is None:
            raise IntakeError(where="column 1", problem="longer than 64 KiB")
        comma = path.suffix.lower() not in JSON_LINES
        if comma and not now.header:
            header = columns_in(self.source, line.content)
            return behind.model_copy(update={"header": header}), None
        if isinstance(line.content, bytes):
            if not line.content.strip():
                return behind, None
            if not comma:
                return self._placed(object_in(self.source, line.content), now, behind)
        return self._placed(item_in(self.source, now.header, line.content), now, behind)

    def _placed(
        self, value: dict[str, Any], now: FilePosition, behind: FilePosition
    ) -> tuple[FilePosition, Item | EventItem]:
        try:
            return self._item(value, behind)
        except IntakeError as error:
            where = said_place(self.source, now.header, error.where)
            raise IntakeError(where=where, problem=error.problem, seen=error.seen) from None

    def _item(
        self, value: dict[str, Any], behind: FilePosition
    ) -> tuple[FilePosition, Item | EventItem]:
        events = self.source.feed == EVENTS
        about = ALL if events else value.get("instrument")
        if "complete_us" not in value and isinstance(about, str):
            number = value.setdefault("sequence", behind.counts.get(about, 0) + 1)
            counts = {**behind.counts, about: number} if isinstance(number, int) else {}
            behind = behind.model_copy(update={"counts": counts})
        if events:
            return behind, parse_event(value)
        return behind, parse(self.source.feed, value, self.instruments)

    def _needs(self, path: Path, now: FilePosition) -> bool:
        """Return whether the source must wait at a line that cannot be taken."""
        titled = bool(now.header) or path.suffix.lower() in JSON_LINES
        return self.source.feed != QUOTES or not titled

    def _say_complete(self, path: Path) -> None:
        """Give the source's word: complete up to the file's last change."""
        upto_us = path.lstat().st_mtime_ns // 1_000
        if upto_us == self._word:
            return
        through = self._at.counts.get(ALL, 0)
        word = {"source": self.source.name, "complete_us": upto_us, "through": through}
        self.door.take(EVENTS, [parse_event(word)])
        self._word = upto_us

    def _count(self, items: int) -> None:
        if items:
            self.state.items += items
            self.state.heard_us = self.monotonic_us()

    def _keep(self, position: FilePosition) -> None:
        if len(position.done) > DONE_MAX:
            position = position.model_copy(update={"done": position.done[-DONE_MAX:]})
        # a crash here leaves lines that are taken and not noted: they are read again, as repeats
        self.door.keep_position(self._key, position.model_dump(mode="json"))
        self._at = position

    def _tell(self, condition: str, said: str) -> None:
        self.state.condition, self.state.said = condition, said
        self.door.tell_file(self.state)


def _known(document: dict[str, Any] | None) -> FilePosition:
    """Return a kept position; the start if none is, or it is not one: items are then repeats."""
    try:
        return FilePosition() if document is None else FilePosition(**document)
    except ValidationError:
        return FilePosition()
